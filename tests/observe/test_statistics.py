"""The values of the statistics: their JSON form is that of earlier versions, and nothing is lost on the way."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gossamer.base.errors import GossamerError
from gossamer.cli.status_text import lines
from gossamer.collection.layout import MANIFEST, shard_folder
from gossamer.collection.runs import STANDING, write_status
from gossamer.observe import statistics
from gossamer.observe.crawl_status import KILLED, CrawlStatus, last_statistics, read_crawl_status
from gossamer.observe.statistics import Statistics, statistics_of_parts
from tests.support.statistics import JSON
from tests.support.statistics import statistics as some

WHOLE: dict[str, Any] = JSON | {
    "robots_visits": 40,
    "sitemap_visits": 5,
    "probe_visits": 6,
    "slowed": 7,
    "largest": {"site": "a.example", "pages": 2244, "each": 5.0, "seconds": 11_220.0},
    "longest": [
        {"site": "a.example", "pages": 2244, "each": 5.0, "seconds": 11_220.0},
        {"site": "b.example", "pages": 100, "each": 15.0, "seconds": 1_500.0},
    ],
    "awaited": {"names": 2, "sites": 30, "site": "c.example", "seconds": 3.5, "quiet_until": 0.0, "paused": ""},
    "dues_at": 1_599_999_995.0,
    "run_visits": 345,
    "longest_turn": 0.0712,
    "seeds_skipped": 2,
    "value": [[1.6e9, 1.0, 10], [1.6e9 + 60, 2.5, 25]],
    "value_of": {"index_value": "sum", "alpha": 1.0, "boosts": {}},
    "desk_seconds": 12.5,
    "cpu_seconds": 100.25,
    "scores": {
        "made": 1.6e9,
        "visits": 900,
        "pages": 5000,
        "links": 70_000,
        "cpu": 0.8,
        "cpu_since": 1.0,
        "why": "",
    },
    "seconds_left": 12.0,
    "pages_left": 1000,
    "names_fault": "the name servers seem to be at fault",
    "bandwidth": {
        "granted": 100_000,
        "used": 95_000,
        "read": 7_000_000,
        "share": 0.97,
        "inversions": 3,
        "capped": 1,
        "predicted": 90_000,
        "threshold": 110_000,
    },
    "ending": "stopped on request",
    "waits_until": "2026-01-01 00:00:00",
}
"""Every key that the first version with all of them wrote."""


def test_the_json_form_has_the_keys_and_values_of_earlier_versions() -> None:
    read = Statistics.from_json(WHOLE)
    assert json.loads(json.dumps(read.to_json())) == WHOLE
    assert Statistics.from_json(read.to_json()) == read


def test_while_a_crawl_runs_there_is_no_ending_in_the_json_form() -> None:
    running = {key: value for key, value in WHOLE.items() if key not in ("ending", "waits_until")}
    assert Statistics.from_json(running).to_json() == running


def test_missing_keys_have_defaults() -> None:
    assert Statistics.from_json({}) == Statistics()
    for key in WHOLE:
        fewer = {name: value for name, value in WHOLE.items() if name != key}
        assert Statistics.from_json(fewer).to_json().keys() <= WHOLE.keys()
    assert Statistics.from_json({"known": 3, "unheard_of": 1}).pages.known == 3


@pytest.mark.parametrize("damaged", [[], 7, None, {"known": "many"}, {"why": 3}, {"value": [[1]]}])
def test_what_is_no_statistics_is_refused(damaged: Any) -> None:
    with pytest.raises(ValueError, match="no statistics"):
        Statistics.from_json(damaged)


def test_the_values_are_frozen_and_small() -> None:
    kinds = [kind for kind in vars(statistics).values() if isinstance(kind, type) and is_dataclass(kind)]
    assert Statistics in kinds
    for kind in kinds:
        assert len(fields(kind)) <= 15
        assert "__slots__" in vars(kind)
    with pytest.raises(FrozenInstanceError):
        Statistics().time = 1.0  # type: ignore[misc]


def test_the_states_add_up_to_the_known_pages() -> None:
    pages = some().pages
    assert sum(count for _, count in pages.parts()) == pages.known


# --- the status file ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shard_folder(tmp_path).mkdir()
    (shard_folder(tmp_path) / MANIFEST).touch()
    return tmp_path


def test_the_status_file_has_the_statistics_and_who_writes_it(folder: Path) -> None:
    write_status(shard_folder(folder), WHOLE)
    status = read_crawl_status(folder)
    assert (status.running, status.pid, status.ending) == (False, None, "stopped on request")
    assert status.to_json() == WHOLE | {"running": False, "pid": None}
    assert last_statistics(shard_folder(folder)) == status.statistics


def test_a_crawl_that_does_not_run_and_has_not_ended_was_killed(folder: Path) -> None:
    write_status(shard_folder(folder), JSON)
    assert read_crawl_status(folder).ending == KILLED
    assert read_crawl_status(folder).to_json()["ending"] == KILLED
    assert CrawlStatus(some(), True, 7).ending == ""
    assert "ending" not in CrawlStatus(some(), True, 7).to_json()


@pytest.mark.parametrize(("raw", "why"), [(None, "never ran"), (b"{", "damaged"), (b"[]", "damaged")])
def test_a_status_file_that_cannot_be_read_names_the_cure(folder: Path, raw: bytes | None, why: str) -> None:
    if raw is not None:
        (shard_folder(folder) / STANDING).write_bytes(raw)
    with pytest.raises(GossamerError, match=why):
        read_crawl_status(folder)
    assert last_statistics(shard_folder(folder)) == Statistics(), "a run does without it"


# --- parts of the desk ----------------------------------------------------------------------------------------------


class Part:
    def __init__(self, name: str, **numbers: float) -> None:
        self.name, self._numbers = name, numbers

    def statistics(self) -> dict[str, float]:
        return self._numbers


def test_parts_are_shown_by_status_and_json_if_there_are_any() -> None:
    parts = statistics_of_parts([Part("feeds", read=1234, lost=0), Part("silent"), Part("idle", waiting=0)])
    assert parts == {"feeds": {"read": 1234}}
    parts = statistics_of_parts([Part("feeds", read=1234), Part("feeds", share=0.5)])
    assert parts == {"feeds": {"read": 1234, "share": 0.5}}
    told = replace(some(), parts=parts)
    assert told.to_json()["parts"] == parts
    assert Statistics.from_json(told.to_json()) == told
    assert "parts" not in some().to_json()
    assert "    feeds: read 1,234, share 0.5" in list(lines(CrawlStatus(told, True, 7), Path("crawl"), 1.6e9))
    assert not any("parts" in line for line in lines(CrawlStatus(some(), True, 7), Path("crawl"), 1.6e9))
