"""The text at the end of a run: the same account of pages as in `status`, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.base.ending import Ending
from gossamer.cli.status_text import awaited_of, line_of, lines
from gossamer.observe.crawl_status import CrawlStatus
from gossamer.observe.ending import Report
from tests.support.statistics import JSON, statistics

ENDED = {
    "run_visits": 10,
    "cpu_seconds": 1.0,
    "ending": "nothing is left that may be requested soon",
    "waits_until": "",
}


def test_the_end_of_a_crawl_accounts_for_every_page_in_the_words_of_status() -> None:
    waiting = JSON["why"]["waiting"] | {
        "site: forbidden_address": {"pages": 5, "first_due": 1_000.0, "last_due": 4_000_000_000.0},
        "site: delay_too_long": {"pages": 4, "first_due": None, "last_due": None},
    }
    ended = statistics(**ENDED, why=JSON["why"] | {"waiting": waiting})
    printed = list(Report(ended, Ending.DONE, False, "crawl", ended).lines())
    account = list(lines(CrawlStatus(ended, True, 7), Path("crawl"), ended.time))
    begin = next(i for i, line in enumerate(account) if "known " in line)
    end = next(i for i, line in enumerate(account) if "outcomes of visits" in line)
    assert set(account[begin:end]) <= set(printed)
    assert len(account[begin:end]) == 1 + 3 + 4 + 2 + 2
    assert any("for good" in line for line in printed)
    assert any("allow_private" in line for line in printed)
    assert any("max_delay" in line for line in printed)


@pytest.mark.parametrize(
    ("ending", "pending", "until", "told"),
    [
        (Ending.STOPPED, 3, "2026-01-01 00:00:00", "3 pages are pending"),
        (Ending.TIME, 1, "", "1 page is pending"),
        (Ending.TIME, 0, "2026-01-01 00:00:00", "the next page is due at 2026-01-01 00:00:00"),
        (Ending.DONE, 3, "2026-01-01 00:00:00", "the next page is due at 2026-01-01 00:00:00"),
        (Ending.DONE, 0, "", ""),
    ],
)
def test_the_ending_and_status_tell_when_the_crawl_can_be_resumed(
    ending: Ending, pending: int, until: str, told: str
) -> None:
    ended = statistics(**ENDED | {"ending": ending.value, "pending": pending, "waits_until": until})
    report = list(Report(ended, ending, False, "crawl", ended).lines())
    status = list(lines(CrawlStatus(ended, False, None), Path("crawl"), ended.time))
    assert [line for line in status if "next:" in line] == ([f"  next: {told}"] if told else [])
    resumed = f"  {told[:1].upper()}{told[1:]}: the same command resumes the crawl."
    assert [line for line in report if "same command" in line] == ([resumed] if told else [])


def test_a_crawl_that_fetched_nothing_names_the_doctor() -> None:
    for visits, told in ((0, 1), (5, 0)):
        ended = statistics(**ENDED | {"run_visits": 0, "visits": visits})
        printed = list(Report(ended, Ending.TIME, False, "my-crawl", ended).lines())
        assert sum("doctor my-crawl" in line for line in printed) == told


def test_a_fault_of_the_name_servers_is_shown_everywhere_and_only_then(tmp_path: Path) -> None:
    fault = "the name servers (192.0.2.53:53) seem to be at fault"
    for given, shown in ((fault, True), ("", False)):
        ended = statistics(**ENDED | {"run_visits": 0}, names_fault=given)
        report, status = Report(ended, Ending.TIME, False, str(tmp_path), ended), CrawlStatus(ended, True, 1)
        for text in ([awaited_of(ended)], [line_of(ended)], lines(status, tmp_path, 1e9), report.lines()):
            assert any("192.0.2.53:53" in line for line in text) == shown
