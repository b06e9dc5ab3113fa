"""Pages that the user has asked for, in plans."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import PageFlag, State
from gossamer.desk.columns import Columns
from gossamer.manager.plan import Plan, make_plan
from gossamer.manager.strategies import LIVE
from gossamer.manager.wanted import Wanted, put_first
from tests.manager.test_plan import WALL, random_columns


def planned(plan: Plan) -> dict[int, list[int]]:
    """The pages by site, in their order."""
    slices = zip(plan.offsets[:-1].tolist(), plan.offsets[1:].tolist(), strict=True)
    return {site: plan.pages[a:b].tolist() for site, (a, b) in zip(plan.sites.tolist(), slices, strict=True)}


def made(seed: int, known: int, sites: int, wishes: int) -> tuple[Columns, Wanted, Plan, Plan, list[int]]:
    """Columns, wishes, a plan, the same with the wishes, and the pages that are wanted and may be planned."""
    random = Random(seed)
    columns = random_columns(random, known, sites)
    wanted = Wanted()
    wanted.add([random.randrange(known) for _ in range(wishes)])
    plan = make_plan(columns, LIVE["opic"], WALL, 20, 5, 100.0)
    now = wanted.now(columns, WALL + 100.0)
    return columns, wanted, plan, put_first(plan, now, columns), now.tolist()


WORLDS = st.builds(made, st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 6), st.integers(0, 8))


@settings(max_examples=50, deadline=None)
@given(WORLDS)
def test_wanted_pages_come_first_at_their_sites(world: tuple[Columns, Wanted, Plan, Plan, list[int]]) -> None:
    columns, _, _, after, now = world
    ranks = dict(zip(after.pages.tolist(), after.ranks.tolist(), strict=True))
    assert [ranks[page] for page in now] == list(range(len(now)))
    assert sorted(ranks.values()) == list(range(len(ranks)))
    for site, pages in planned(after).items():
        wishes = [page for page in now if columns.origin.site[columns.page.origin[page]] == site]
        assert pages[: len(wishes)] == wishes
    for page in now:
        site = columns.origin.site[columns.page.origin[page]]
        assert columns.page.state[page] == State.PENDING
        assert not columns.page.flags[page] & PageFlag.ASSIGNED
        assert columns.site.next[site] <= WALL + 100.0, "no site is asked that is suspended"
        assert not columns.site.refused[site]


@settings(max_examples=50, deadline=None)
@given(WORLDS)
def test_other_pages_keep_their_order(world: tuple[Columns, Wanted, Plan, Plan, list[int]]) -> None:
    _, _, before, after, now = world

    def others(plan: Plan) -> list[int]:
        return [page for page in plan.pages[np.argsort(plan.ranks)].tolist() if page not in now]

    assert others(after) == others(before)


def test_a_page_is_wanted_until_it_is_answered() -> None:
    columns = random_columns(Random(1), 3, 1)
    columns.page.state[:3], columns.page.flags[:3] = State.PENDING, 0
    columns.site.refused[0], columns.site.next[0] = 0, 0.0
    wanted = Wanted()
    wanted.add([2, 0, 2])
    assert [wanted.pressing, wanted.now(columns, WALL).tolist(), wanted.pressing] == [True, [2, 0], False]
    columns.page.flags[2] = PageFlag.ASSIGNED
    assert wanted.now(columns, WALL).tolist() == [0]
    columns.page.flags[2] = 0
    columns.site.next[0] = WALL + 1
    assert wanted.now(columns, WALL).tolist() == []
    columns.site.next[0] = 0.0
    assert wanted.now(columns, WALL).tolist() == [2, 0], "it went back, and its site may be asked again"
    columns.page.state[2] = State.DONE
    assert wanted.now(columns, WALL).tolist() == [0]
    columns.page.state[2] = State.PENDING
    assert wanted.now(columns, WALL).tolist() == [0], "it was answered"
