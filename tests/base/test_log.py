"""`--log`: JSON lines, at most one a visit, by level; and a log that cannot be written does not stop a crawl."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer.base.errors import UsageError
from gossamer.base.log import EventLog, Level, level_of
from gossamer.base.model import NONE, VISIT, Ask, Assignment, Outcome, Visits
from tests.support.timing import takes_less


def assignment(number: int, url: str = "http://a.example/", ask: Ask = Ask.PAGE) -> Assignment:
    return Assignment(number, ask, number if ask is Ask.PAGE else NONE, 0, 0, url.encode(), "192.0.2.1", 80)


def visits(*outcomes: Outcome, first: int = 0) -> Visits:
    found = np.zeros(len(outcomes), VISIT)
    found["number"] = found["page"] = first + np.arange(len(outcomes))
    found["outcome"], found["duplicate_of"] = outcomes, NONE
    found["time"], found["start"], found["end"] = 1.6e9, 10.0, 10.25
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def ignore(_: str) -> None:
    pass


def test_a_visit_is_one_line_with_its_url_and_outcome(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log", Level.INFO, ignore)
    url = 'http://a.example/"quoted"\\ü'
    log.visits(visits(Outcome.OK, Outcome.NOT_FOUND), urls=[url.encode(), b"http://a.example/"])
    first, second = lines(tmp_path / "log")
    assert (first["url"], first["outcome"], first["level"], first["event"]) == (url, "ok", "info", "visit")
    assert (first["time"], first["seconds"], first["page"]) == (1.6e9, 0.25, 0)
    assert second["outcome"] == "not_found"


def test_failures_are_warnings_with_what_went_wrong(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log", Level.WARNING, ignore)
    log.visits(visits(Outcome.OK, Outcome.TIMED_OUT), lambda i: f"detail of {i}")
    (only,) = lines(tmp_path / "log")
    assert (only["level"], only["outcome"], only["detail"]) == ("warning", "timed_out", "detail of 1")


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("level", list(Level))
def test_the_level_decides_what_is_written(tmp_path: Path, outcome: Outcome, level: Level) -> None:
    log = EventLog(tmp_path / "log", level, ignore)
    log.visits(visits(outcome))
    written = lines(tmp_path / "log")
    assert len(written) == (level_of(outcome) >= level)
    assert all(line["level"] == level_of(outcome).word for line in written)


def test_robots_txt_and_duplicates_are_told_apart(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log", Level.INFO, ignore)
    both = visits(Outcome.OK, Outcome.DUPLICATE)
    both["ask"][0], both["page"][0], both["duplicate_of"][1] = Ask.ROBOTS, NONE, 77
    log.visits(both)
    robots, duplicate = lines(tmp_path / "log")
    assert robots["event"] == "robots"
    assert "page" not in robots
    assert duplicate["duplicate_of"] == 77


def test_events_and_faults_carry_their_fields(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log", Level.INFO, ignore)
    log.event("plan", wall=5.0, pages=100, folder=tmp_path)
    log.event("tick", Level.DEBUG)
    log.fault(ValueError("what"))
    plan, fault = lines(tmp_path / "log")
    assert (plan["event"], plan["time"], plan["pages"], plan["folder"]) == ("plan", 5.0, 100, str(tmp_path))
    assert (fault["level"], fault["kind"], fault["message"]) == ("error", "ValueError", "what")


def test_a_second_run_appends(tmp_path: Path) -> None:
    for _ in range(2):
        log = EventLog(tmp_path / "log", Level.INFO, ignore)
        log.event("start")
        log.close()
        log.event("after the end")
    assert len(lines(tmp_path / "log")) == 2


def test_a_log_that_cannot_be_opened_names_the_cure(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--log"):
        EventLog(tmp_path / "missing" / "log", Level.INFO, ignore)
    with pytest.raises(UsageError, match="no such level"):
        Level.named("loud")
    assert Level.named("warning") is Level.WARNING


def test_a_failed_write_is_said_once_and_the_missing_lines_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    log = EventLog(tmp_path / "log", Level.INFO, said.append)
    log.event("before")
    real, room = os.write, [0]

    def full(fd: int, data: Any) -> int:
        if len(data) > room[0]:
            if room[0]:
                return real(fd, data[: room.pop()])
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(os, "write", full)
    for _ in range(3):
        log.visits(visits(Outcome.OK, Outcome.OK))
    monkeypatch.setattr(os, "write", real)
    log.event("after")
    assert len(said) == 1
    assert "No space left" in said[0]
    before, missing, after = lines(tmp_path / "log")
    assert (before["event"], missing["event"], missing["lines"], after["event"]) == ("before", "lines_lost", 6, "after")


def test_a_line_that_was_cut_short_does_not_spoil_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(tmp_path / "log", Level.INFO, ignore)
    real, cuts = os.write, [10]

    def cut(fd: int, data: Any) -> int:
        if cuts:
            return real(fd, data[: cuts.pop()])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", cut)
    log.event("torn")
    monkeypatch.setattr(os, "write", real)
    log.event("whole")
    torn, *rest = (tmp_path / "log").read_text().splitlines()
    assert len(torn) == 10
    assert [json.loads(line)["event"] for line in rest] == ["lines_lost", "whole"]


def test_the_visits_of_a_tick_are_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a visit costs is measured by `bench.log`; here the bound is ten times off."""
    log = EventLog(tmp_path / "log", Level.INFO, ignore)
    batch, urls = visits(*[Outcome.OK] * 100), [f"http://a.example/{i}".encode() for i in range(100)]
    assert takes_less(lambda: log.visits(batch, urls=urls), than=100 * 20e-6)
    real, sizes = os.write, list[int]()

    def counted(fd: int, data: memoryview) -> int:
        sizes.append(len(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", counted)
    before = (tmp_path / "log").stat().st_size
    log.visits(batch, urls=urls)
    assert sizes == [(tmp_path / "log").stat().st_size - before]


def test_every_line_is_written_in_one_form(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log", Level.INFO, ignore)
    log.visits(visits(Outcome.OK))
    log.event("start", known=3)
    log.close()
    text = (tmp_path / "log").read_text()
    assert '"event":"visit"' in text
    assert '"event":"start"' in text
    assert '": ' not in text
