"""A week of a continuous crawl of the living demonstration Web, in virtual time, with kills (`bench/week.py`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.week import Week, living
from gossamer.base.model import Ask
from gossamer.collection import merging
from gossamer.read.compact import background
from gossamer.read.verify.verify import verify
from gossamer.webs.coverage import lived


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    """Six sites and their pages; four segments become one, so that there are several tiers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "FANOUT", 4)
        patch.setattr(background, "FANOUT", 4)
        found = Week(tmp_path_factory.mktemp("week") / "c", living(1, 6, 40, 40.0))
        found.live()
        yield found


def test_no_request_of_a_week_is_impolite(week: Week) -> None:
    assert week.impolite() == []
    assert len(week.kills) == 14
    pages = [asked.url for asked in week.world.asked if asked.ask is Ask.PAGE]
    assert len(pages) > 3 * len(set(pages)), "they were visited again"


def test_nothing_is_lost_in_a_week_of_kills(week: Week) -> None:
    assert week.faults == []
    assert week.lost() == []
    assert verify(week.folder).findings == []
    found = lived.judge(week.web, week.folder)
    assert found.false == 0
    assert found.noticed > 50
    assert found.claims["major"].get("none", 0) <= sum(told.wrong for told in found.validators.values())
    assert found.claims["gone"].keys() == {"gone"}


def test_nothing_is_told_twice_after_its_mark_in_a_week_of_kills(week: Week) -> None:
    assert week.told.late == 0
    assert week.told.kills > 5
    assert week.told.refusals > 1
    untold, unordered, twice = week.untold()
    assert (untold, unordered) == (0, 0)
    assert 0 < twice < len(week.told.marks), "by kills between the answer and the mark"


def test_files_and_the_work_of_a_start_stay_as_they_are_in_a_week(week: Week) -> None:
    first, second = week.ends[:3], week.ends[3:]
    assert max(day.files for day in second) <= 1.3 * max(day.files for day in first)
    assert max(day.read for day in second) <= 1.5 * max(day.read for day in first)
    assert week.ends[-1].visits > 5 * week.ends[0].visits
