"""Pages that resemble other pages of their site: the kernels, compared with plain Python page by page."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings

from gossamer.base.model import NONE, VISIT_TEXTS, Ask, Outcome, VisitFlag
from gossamer.crawler.parts import new_columns
from gossamer.desk.columns import Columns
from gossamer.harvester.errands.probes import NEAR, said
from gossamer.harvester.errands.similar import RECENT, Alike, look_at, said_in
from tests.support.visits import COUNTS, PAGES, SEEDS, SITES, made_visits

Array = npt.NDArray[Any]


class Plain:
    """`Alike` in plain Python."""

    def __init__(self) -> None:
        self.recent = [[0] * RECENT for _ in range(SITES)]
        self.place, self.title, self.told, self.common = ([0] * SITES for _ in range(4))
        self.varied = [False] * SITES

    def add(self, columns: Columns, visits: Array, values: list[int], titles: list[int]) -> list[bool]:
        sites, alike = visits["site"].tolist(), list[bool]()
        for visit, site, value in zip(visits, sites, values, strict=True):
            near = any(before and (before ^ value).bit_count() <= NEAR for before in self.recent[site])
            fetched = visit["ask"] == Ask.PAGE and visit["outcome"] <= Outcome.DUPLICATE
            copied = fetched and visit["duplicate_of"] != NONE
            own = copied and columns.origin.site[columns.page.origin[visit["duplicate_of"]]] == site
            alike.append(bool((value != 0 and near) or own))
        for site, value, title in zip(sites, values, titles, strict=True):
            if title:
                if self.title[site] and title != self.title[site]:
                    self.varied[site] = True
                elif self.title[site] and (value ^ self.told[site]).bit_count() > NEAR:
                    self.common[site] = title
                self.title[site], self.told[site] = title, value
        places = list(self.place)
        for site, value in zip(sites, values, strict=True):
            if value:
                self.recent[site][places[site]] = value
                self.place[site] = (places[site] + 1) % RECENT
        return alike


def plain_contents(visit: Any) -> int:
    """`contents_of` in plain Python: the sketch, else the digest, else the beginning of the digest of the body."""
    return int(visit["sketch"]) or int(visit["digest"]) or int.from_bytes(bytes(visit["payload"][:8]), "little")


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_contents_are_read_with_their_titles(seed: int, count: int) -> None:
    visits = made_visits(np.random.default_rng(seed), count)
    found = said_in(visits)
    fetched = (visits["ask"] == Ask.PAGE) & (visits["outcome"] <= Outcome.DUPLICATE)
    contents = [plain_contents(visit) for visit in visits]
    assert said(visits).tolist() == contents
    values = np.where(fetched, np.array(contents, np.uint64), 0)
    assert found.values.tolist() == values.tolist()
    lengths, place = visits["texts"].astype(int), VISIT_TEXTS.index("title")
    titles = []
    for i in np.flatnonzero(values).tolist():
        start = int(lengths[:i].sum() + lengths[i, :place].sum())
        if lengths[i, place]:
            titles.append([i, start, start + int(lengths[i, place])])
    assert [list(each) for each in found.titles] == titles
    assert found.probes == (visits["ask"] == Ask.PROBE).sum()
    assert found.redirects == ((visits["ask"] == Ask.PAGE) & (visits["outcome"] == Outcome.REDIRECT)).sum()


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_pages_that_differ_in_few_bits_from_the_last_pages_of_their_site_are_alike(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    columns, alike, plain = new_columns(PAGES, SITES), Alike(SITES), Plain()
    columns.page.origin[:] = random.integers(0, SITES, PAGES)
    columns.origin.site[:SITES] = random.integers(0, SITES, SITES)
    for _ in range(4):
        visits = made_visits(random, count)
        visits["sketch"] = random.choice([0, 1, 7, 15, 1 << 63, 0xFFFF], count)
        values, titles = said_in(visits).values, random.integers(0, 3, count).astype(np.uint64)
        titles[values == 0] = 0
        found = alike.add(columns, visits, values, titles)
        assert found.tolist() == plain.add(columns, visits, values.tolist(), titles.tolist())
        for site in range(SITES):
            for title in range(1, 4):
                assert alike.tells(site, title) == (plain.varied[site] and plain.common[site] != title)


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_pages_of_probed_sites_and_of_origins_with_many_redirects_are_compared(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, telling = made_visits(random, count), random.integers(0, 2, SITES) == 1
    moved, found = random.choice([0, 63, 64, 900], SITES).astype(np.uint16), np.ones(count, np.bool_)
    outcome, probed, many = visits["outcome"], telling[visits["site"]], moved[visits["origin"]] >= 64
    redirected = (outcome == Outcome.REDIRECT) & (visits["flags"] & VisitFlag.RESPELLED == 0)
    expected = (visits["ask"] == Ask.PAGE) & (((outcome == Outcome.OK) & probed) | (redirected & (probed | many)))
    assert look_at(visits, telling, moved, 64, found) == expected.sum()
    assert found.tolist() == expected.tolist()
