"""Statistics made from the desk: every known page is counted once, with its reason."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.memory import used
from gossamer.base.model import Outcome, Reason, State
from gossamer.base.outcomes import Aside
from gossamer.base.units import Duration
from gossamer.config.settings import ManagerSettings
from gossamer.observe.measure import Curve, Meter, dues_of, pages_of, statistics_of, thinned
from gossamer.observe.statistics import IndexValue, PageCounts, Run, ValuePoint
from gossamer.observe.status import HORIZON, set_aside
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply
from tests.support.statistics import tally_of
from tests.support.world import World

WALL = 1_600_000_000.0


def columns_of(pages: list[tuple[int, int, int, int, int]], sites: list[tuple[int, int, float]]) -> Any:
    """Pages are (state, outcome, reason, due, site), sites (refused, why, next)."""
    table = np.array(pages, np.int64).reshape(-1, 5)
    page = SimpleNamespace(
        count=len(pages),
        state=table[:, 0].astype("u1"),
        outcome=table[:, 1].astype("u1"),
        reason=table[:, 2].astype("u1"),
        due=table[:, 3].astype("<u4"),
    )
    pending = np.bincount(table[table[:, 0] == State.PENDING, 4], minlength=len(sites))
    site = SimpleNamespace(
        count=len(sites),
        refused=np.array([s[0] for s in sites], "u1"),
        why=np.array([s[1] for s in sites], "u1"),
        next=np.array([s[2] for s in sites]),
        pending=pending.astype("<u4"),
    )
    return SimpleNamespace(page=page, site=site)


PAGES = st.lists(
    st.tuples(
        st.sampled_from([int(s) for s in State]),
        st.integers(0, len(Outcome) - 1),
        st.sampled_from([int(r) for r in Reason if r is not Reason.NONE]),
        st.integers(1_500_000_000, 1_700_000_000),
        st.integers(0, 3),
    ),
    max_size=60,
)
SITES = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, len(Aside) - 1), st.floats(WALL - 1e5, WALL + 1e5)),
    min_size=4,
    max_size=4,
)


def account_of(columns: Any) -> PageCounts:
    return pages_of(columns, tally_of(columns), dues_of(columns), set_aside(columns.site, WALL))


@given(PAGES, SITES)
def test_known_equals_its_parts(pages: list[tuple[int, int, int, int, int]], sites: list[Any]) -> None:
    found = account_of(columns_of(pages, sites))
    assert found.known == found.pending + found.waiting + found.done + found.excluded == len(pages)
    assert found.waiting == sum(span.pages for span in found.why.waiting.values())
    assert found.done == sum(found.why.done.values())
    assert found.excluded == sum(found.why.excluded.values())
    assert found.pending >= 0


@given(PAGES, SITES)
def test_waiting_pages_are_counted_by_reason_and_with_their_times(
    pages: list[tuple[int, int, int, int, int]], sites: list[Any]
) -> None:
    columns = columns_of(pages, sites)
    waiting = account_of(columns).why.waiting
    aside = set_aside(columns.site, WALL)
    expected: dict[str, list[float | None]] = {}
    for state, outcome, _, due, site in pages:
        if state == State.WAITING:
            expected.setdefault(Outcome(outcome).word, []).append(float(due))
        elif state == State.PENDING and aside[site]:
            refused, _, next_ = sites[site]
            expected.setdefault(f"site: {Aside(aside[site]).word}", []).append(None if refused else next_)
    assert {word: span.pages for word, span in waiting.items()} == {w: len(d) for w, d in expected.items()}
    for word, dues in expected.items():
        known = [due for due in dues if due is not None]
        assert waiting[word].first_due == (min(known) if known else None)
        assert waiting[word].last_due == (max(known) if known else None)


def test_a_site_whose_usual_wait_is_long_is_not_backing_off() -> None:
    columns = columns_of([(0, 0, 0, 0, 0)], [(0, int(Aside.NONE), WALL + HORIZON + 100)])
    found = account_of(columns)
    assert (found.pending, found.waiting) == (1, 0)


def bad_world(folder: Path) -> World:
    root = "http://a.example/"
    rules = Rules.parse(b"User-agent: *\nDisallow: /private/", "Gossamer").compiled()
    none = Reply(outcome=Outcome.NOT_FOUND, status=404)
    web = {
        root: Reply(
            links=[f"{root}{name}" for name in ("private/1", "ok", "sick", "d1")]
            + [f"http://{name}.example/" for name in ("gone", "noname", "rude")]
        ),
        f"{root}ok": Reply(digest=7),
        f"{root}sick": Reply(outcome=Outcome.SERVER_ERROR, status=500),
        f"{root}d1": Reply(links=[f"{root}d2?x"], digest=8),
        f"{root}d2?x": Reply(links=[f"{root}d3?x"], digest=9),
        f"{root}robots.txt": Reply(rules=rules),
        "http://gone.example/robots.txt": Reply(outcome=Outcome.TIMED_OUT),
        "http://rude.example/robots.txt": Reply(rules=rules, delay=9_000.0),
        "http://noname.example/robots.txt": none,
    }
    changes = ["seeder.depth_dynamic=2", "seeder.domains=example"]
    return World(folder, web, changes, address=lambda host: None if "noname" in host else "192.0.2.7")


def test_a_crawl_in_trouble_accounts_for_every_page(tmp_path: Path) -> None:
    world = bad_world(tmp_path)
    result = world.run(["http://a.example/"])
    pages = statistics_of(result.crawl.desk, world.clock.wall()).pages
    states, why = Counter(state for state, _, _ in result.pages.values()), pages.why
    assert pages.known == len(result.pages)
    assert pages.done == states[State.DONE] == sum(why.done.values())
    assert why.excluded == {"robots": 1, "depth": 1}
    assert why.waiting["server_error"].pages == 1
    assert (why.waiting["server_error"].first_due or 0) >= world.clock.wall()
    assert {"site: name_failed", "site: robots_unreadable", "site: delay_too_long"} <= set(why.waiting)
    assert why.waiting["site: delay_too_long"].first_due is None
    assert pages.pending == 0
    assert why.done == Counter(o.word for s, o, _ in result.pages.values() if s is State.DONE and o is not None)


def test_the_site_with_most_to_do_is_found_by_its_own_waits(tmp_path: Path) -> None:
    for per_turn, each in ((1, 15.0), (5, (15.0 + 4 * 5.0) / 5)):
        settings = [f"harvester.per_turn={per_turn}", "harvester.wait=15s", "harvester.pause=5s"]
        world = World(tmp_path / str(per_turn), {}, settings)
        desk = world.run(["http://a.example/", *(f"http://b.example/{i}" for i in range(3))], turns=0).crawl.desk
        largest = statistics_of(desk, world.clock.wall()).sites.largest
        assert largest is not None
        assert (largest.site, largest.pages) == ("b.example", 3)
        assert (largest.each, largest.seconds) == (each, 3 * each)


def test_the_dues_are_looked_up_in_the_background(tmp_path: Path) -> None:
    world = bad_world(tmp_path)
    desk = world.run(["http://a.example/"]).crawl.desk
    meter = Meter(desk)
    first = meter.now(world.clock.wall(), 1000.0, Run(seeds_skipped=3))
    assert (first.run.seeds_skipped, first.pages.why.waiting["server_error"].pages) == (3, 1)
    assert meter._thread is not None
    meter._thread.join()
    later = meter.now(world.clock.wall(), 1001.0, Run())
    assert later.pages.dues_at == round(world.clock.wall(), 3)
    assert later.pages.why.waiting["server_error"].first_due is not None


@given(st.lists(st.floats(0, 1e9), min_size=0, max_size=200, unique=True), st.integers(2, 70))
def test_thinned_points_keep_both_ends_and_their_order(times: list[float], most: int) -> None:
    points = tuple(ValuePoint(t, 2 * t, 3) for t in sorted(times))
    left = thinned(points, most)
    assert len(left) == min(len(points), most)
    assert all(point in points for point in left)
    assert list(left) == sorted(left)
    assert left[:1] == points[:1]
    assert left[-1:] == points[-1:]


def test_points_thinned_as_they_come_are_about_as_far_apart() -> None:
    points: tuple[ValuePoint, ...] = ()
    for second in range(5_000):
        points = thinned((*points, ValuePoint(float(second), 1.0, 1)))
    gaps = np.diff([point.time for point in points])
    assert len(points) == 64
    assert gaps.max() <= 4 * gaps[:-1].min()


def test_the_value_of_other_settings_is_a_curve_of_its_own() -> None:
    usual = ManagerSettings()
    curve = Curve.resumed(usual, IndexValue())
    curve.add(10.0, 2.5, 3)
    curve.add(10.0, 9.9, 9)
    curve.add(20.0, 3.5, 4)
    written = IndexValue.from_json(json.loads(json.dumps(curve.value.to_json())))
    assert Curve.resumed(usual, written).value.points == ((10.0, 2.5, 3), (20.0, 3.5, 4))
    unrelated = replace(usual, min_period=Duration(60))
    assert Curve.resumed(unrelated, written).value.points, "the value does not depend on it"
    for other in (
        replace(usual, weights={"opic": 1.0}),
        replace(usual, gamma=2.0),
        replace(usual, preset="archive"),
        replace(usual, change_period=Duration(60)),
        replace(usual, policy="opic"),
    ):
        assert Curve.resumed(other, written).value.points == ()


def test_memory_is_that_of_processes_that_live() -> None:
    assert used([os.getpid()]) > 10_000_000
    assert used([2**22 + 1]) == 0
