"""Duplicates by content: the kernel, compared with a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from gossamer.base.model import NONE, Outcome, VisitFlag
from gossamer.crawler.parts import new_columns
from gossamer.seeder.copies import keep_contents, mark_duplicates
from gossamer.web.message import Links, Results
from tests.support.visits import COUNTS, SEEDS, SITES, made_visits


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_the_first_page_with_a_content_is_the_original_and_all_others_are_duplicates(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, columns, known = made_visits(random, count), new_columns(100, SITES), dict[int, int]()
    expected = visits.copy()
    for visit in expected:
        empty = visit["flags"] & (VisitFlag.EMPTY | VisitFlag.NOINDEX)
        visit["duplicate_of"] = NONE
        if visit["digest"] and visit["outcome"] == Outcome.OK and not empty and visit["page"] != NONE:
            first = known.setdefault(int(visit["digest"]), int(visit["page"]))
            if first != visit["page"]:
                visit["duplicate_of"], visit["outcome"] = first, Outcome.DUPLICATE
    mark_duplicates(columns, Results(visits, b"", Links.none()), seed)
    assert visits.tobytes() == expected.tobytes()
    again = new_columns(100, SITES)
    keep_contents(again, visits, seed)
    cells = [np.concatenate(known.digests.cells()) for known in (columns, again)]
    assert sorted(cells[0].tolist()) == sorted(cells[1].tolist())
