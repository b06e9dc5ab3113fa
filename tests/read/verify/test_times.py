"""Verify finds wrong times: in the archive, in the tables, and of a clock that nobody has set right."""

from __future__ import annotations

import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from bench import verify as bench
from bench.verify import Maker
from gossamer.collection.journal.effects import Effects
from gossamer.read.verify.dates import Dates
from gossamer.read.verify.times import Marks
from gossamer.read.verify.verify import verify
from gossamer.web.archive.archive import Exchange
from gossamer.web.fetch.response import read_head

DAY = 86_400.0


def with_dates(patch: pytest.MonkeyPatch, served: float, archived: float = 0.0) -> None:
    """Answers have a Date that is ahead of the clock by `served` seconds, records one that is ahead by `archived`."""

    def exchange(url: bytes, address: str, when: float, *rest: Any) -> Exchange:
        request, head, *others = rest
        date = b"Date: %s\r\n" % formatdate(when + served, usegmt=True).encode()
        dated = read_head([head.raw[0], date, *head.raw[1:], b"\r\n"])
        return Exchange(url, address, when + archived, request, dated, *others)

    patch.setattr(bench, "Exchange", exchange)


def faults(folder: Path) -> list[str]:
    return [str(fault) for fault in verify(folder).findings]


@pytest.mark.parametrize(("served", "said"), [(800 * DAY, "too early by about"), (-2 * DAY, "too late by about")])
def test_a_clock_that_was_wrong_and_never_set_is_found_by_the_dates_of_the_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: float, said: str
) -> None:
    with_dates(monkeypatch, served)
    (fault,) = faults(Maker(tmp_path).make(70, 40).folder)
    assert "warc/000000.warc.gz: its times, and those of its visits, are" in fault
    assert said in fault
    assert "Set it before the next run" in fault


def test_clocks_of_servers_that_are_minutes_wrong_are_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_dates(monkeypatch, 600.0)
    assert faults(Maker(tmp_path).make(70, 40).folder) == []


def test_records_that_differ_from_the_tables_in_time_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_dates(monkeypatch, 0.0, archived=DAY)
    (fault,) = faults(Maker(tmp_path).make(30, 40).folder)
    assert "records differ from the tables in time, the first by 1 d 00 h" in fault


@pytest.mark.parametrize("marked", [True, False])
def test_ticks_that_go_back_in_time_are_a_fault_unless_a_correction_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marked: bool
) -> None:
    made = Maker._effects

    def effects(self: Maker, sites: int, origins: int) -> Effects:
        found = made(self, sites, origins)
        if found.tick <= 3:
            found.wall += DAY
        if found.tick == 3 and marked:
            found.clock = -DAY
        return found

    monkeypatch.setattr(Maker, "_effects", effects)
    report = verify(Maker(tmp_path).make(50, 20).folder)
    if marked:
        assert report.good, report.findings
        assert any("The clock was wrong in ticks 1 to 3: the times of" in note for note in report.notes)
        assert any("are too late by 1 d 00 h. Add -86400 seconds." in note for note in report.notes)
    else:
        (fault,) = report.findings
        assert fault.wrong.startswith("tick 4 is dated before tick 3")


def test_visits_in_the_future_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "START", time.time() + 10 * DAY)
    (fault,) = faults(Maker(tmp_path).make(30, 40).folder)
    assert "there are visits in the future" in fault


def test_the_corrections_of_a_tick_are_those_marked_after_it() -> None:
    marks = Marks([(5, 10.0), (9, -3.0)])
    assert [marks.after(tick) for tick in (1, 5, 6, 9, 10)] == [7.0, 7.0, -3.0, -3.0, 0.0]


@pytest.mark.parametrize("date", [b"", b"never", b"2026-13-45T00:00:00Z"])
def test_a_date_that_cannot_be_read_is_no_evidence(date: bytes) -> None:
    dates = Dates()
    dates.take(0, date, b"http://a.example/", b"HTTP/1.1 200 OK\r\nDate: never\r\n\r\n", 0, 1e9, 0.0)
    dates.take(0, b"2001-09-09T01:46:40Z", b"http://a/", b"HTTP/1.1 200 OK\r\nDate: never\r\n\r\n", 0, 1e9, 0.0)
    assert (dates.differ, dates.answered) == (0, [])
