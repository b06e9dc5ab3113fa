"""The accounting of a crawl: every known page once, with its reason; pace, and an honest word about the time left."""

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
from gossamer.observe.measure import Curve, Figures, dues_of, figures_of, parts_of, tally_of, thinned
from gossamer.observe.progress import Pace
from gossamer.observe.status import HORIZON, set_aside
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply
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


@given(PAGES, SITES)
def test_known_equals_its_parts(pages: list[tuple[int, int, int, int, int]], sites: list[Any]) -> None:
    columns = columns_of(pages, sites)
    parts = parts_of(columns, tally_of(columns), dues_of(columns), WALL)
    why = parts["why"]
    assert parts["known"] == parts["pending"] + parts["waiting"] + parts["done"] + parts["excluded"] == len(pages)
    assert parts["waiting"] == sum(span["pages"] for span in why["waiting"].values())
    assert parts["done"] == sum(why["done"].values())
    assert parts["excluded"] == sum(why["excluded"].values())
    assert parts["pending"] >= 0


@given(PAGES, SITES)
def test_what_waits_is_counted_by_why_and_with_its_times(
    pages: list[tuple[int, int, int, int, int]], sites: list[Any]
) -> None:
    columns = columns_of(pages, sites)
    waiting = parts_of(columns, tally_of(columns), dues_of(columns), WALL)["why"]["waiting"]
    aside = set_aside(columns.site, WALL)
    expected: dict[str, list[float | None]] = {}
    for state, outcome, _, due, site in pages:
        if state == State.WAITING:
            expected.setdefault(Outcome(outcome).word, []).append(float(due))
        elif state == State.PENDING and aside[site]:
            refused, _, next_ = sites[site]
            expected.setdefault(f"site: {Aside(aside[site]).word}", []).append(None if refused else next_)
    assert {word: span["pages"] for word, span in waiting.items()} == {w: len(d) for w, d in expected.items()}
    for word, dues in expected.items():
        known = [due for due in dues if due is not None]
        assert waiting[word]["first_due"] == (min(known) if known else None)
        assert waiting[word]["last_due"] == (max(known) if known else None)


def test_a_site_whose_usual_wait_is_long_is_not_set_aside() -> None:
    columns = columns_of([(0, 0, 0, 0, 0)], [(0, int(Aside.NONE), WALL + HORIZON + 100)])
    parts = parts_of(columns, tally_of(columns), {}, WALL)
    assert (parts["pending"], parts["waiting"]) == (1, 0)


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
    figures = figures_of(result.crawl.desk, world.clock.wall())
    states = Counter(state for state, _, _ in result.pages.values())
    why = figures["why"]
    assert figures["known"] == len(result.pages)
    assert figures["done"] == states[State.DONE] == sum(why["done"].values())
    assert why["excluded"] == {"robots": 1, "depth": 1}
    assert why["waiting"]["server_error"]["pages"] == 1
    assert why["waiting"]["server_error"]["first_due"] >= world.clock.wall()
    assert {"site: name_failed", "site: robots_unreadable", "site: delay_too_long"} <= set(why["waiting"])
    assert why["waiting"]["site: delay_too_long"]["first_due"] is None
    assert figures["pending"] == 0
    assert why["done"] == Counter(o.word for s, o, _ in result.pages.values() if s is State.DONE and o is not None)


def test_the_dues_are_looked_up_beside_the_loop(tmp_path: Path) -> None:
    world = bad_world(tmp_path)
    desk = world.run(["http://a.example/"]).crawl.desk
    figures = Figures(desk)
    first = figures.now(world.clock.wall(), 1000.0, open=3)
    assert (first["open"], first["why"]["waiting"]["server_error"]["pages"]) == (3, 1)
    assert figures._thread is not None
    figures._thread.join()
    later = figures.now(world.clock.wall(), 1001.0)
    assert later["dues_at"] == round(world.clock.wall(), 3)
    assert later["why"]["waiting"]["server_error"]["first_due"] is not None


@given(st.lists(st.floats(0, 1e9), min_size=0, max_size=200, unique=True), st.integers(2, 70))
def test_thinned_points_keep_both_ends_and_their_order(times: list[float], most: int) -> None:
    points = [[t, 2 * t, 3.0] for t in sorted(times)]
    kept = thinned(points, most)
    assert len(kept) == min(len(points), most)
    assert all(point in points for point in kept)
    assert kept == sorted(kept)
    assert kept[:1] == points[:1]
    assert kept[-1:] == points[-1:]


def test_points_thinned_as_they_come_are_about_as_far_apart() -> None:
    kept: list[list[float]] = []
    for second in range(5_000):
        kept = thinned([*kept, [float(second), 1.0, 1.0]])
    gaps = np.diff([point[0] for point in kept])
    assert len(kept) == 64
    assert gaps.max() <= 4 * gaps[:-1].min()


def test_the_value_of_other_settings_is_a_curve_of_its_own() -> None:
    usual = ManagerSettings()
    curve = Curve.resumed(usual, {})
    curve.add(10.0, 2.5, 3)
    curve.add(10.0, 9.9, 9)
    curve.add(20.0, 3.5, 4)
    written = json.loads(json.dumps({"value": curve.points, "value_of": curve.of}))
    assert Curve.resumed(usual, written).points == [[10.0, 2.5, 3], [20.0, 3.5, 4]]
    assert Curve.resumed(replace(usual, min_period=Duration(60)), written).points, "of no concern to the value"
    for other in (
        replace(usual, index_value="minimum"),
        replace(usual, weights={"opic": 1.0}),
        replace(usual, gamma=2.0),
        replace(usual, preset="archive"),
        replace(usual, change_period=Duration(60)),
        replace(usual, policy="opic"),
    ):
        assert Curve.resumed(other, written).points == []


def figures(visits: int, known: int, done: int, pending: int, **more: Any) -> dict[str, Any]:
    return {
        "visits": visits,
        "bytes": visits * 1000,
        "known": known,
        "done": done,
        "excluded": 0,
        "pending": pending,
        "largest": None,
        **more,
    }


def paced(*points: tuple[float, dict[str, Any]]) -> dict[str, Any]:
    pace, found = Pace(), {}
    for now, said in points:
        found = pace.of(said, now)
    return found


def test_the_time_left_is_what_is_pending_at_the_present_pace() -> None:
    found = paced((0, figures(0, 1000, 0, 1000)), (20, figures(200, 1000, 200, 800)))
    assert found["left"] == {"seconds": 80.0, "why": "what is pending, at this pace"}
    assert paced((0, figures(0, 1000, 0, 1000)), (9, figures(90, 1000, 90, 910)))["rates"]["visits"] == 10.0


def test_the_largest_site_bounds_the_time_left() -> None:
    largest = {"site": "a.example", "pages": 700, "each": 5.0, "seconds": 3500.0}
    found = paced((0, figures(0, 1000, 0, 1000)), (20, figures(200, 1000, 200, 800, largest=largest)))
    assert found["left"]["seconds"] == 3500.0
    assert "a.example" in found["left"]["why"]


def test_the_time_left_is_unknown_while_more_becomes_known_than_done() -> None:
    found = paced((0, figures(0, 1000, 0, 1000)), (20, figures(200, 1300, 200, 1100)))
    assert found["left"]["seconds"] is None
    assert "faster" in found["left"]["why"]
    assert paced((0, figures(0, 10, 0, 10)))["left"]["seconds"] is None


def test_a_run_with_a_limit_ends_no_later_than_that() -> None:
    first, later = figures(0, 1000, 0, 1000), figures(200, 1300, 200, 1100, seconds_left=12.0, pages_left=1000)
    assert paced((0, first), (20, later))["left"] == {"seconds": 12.0, "why": "the time asked for"}


def test_memory_is_that_of_processes_that_live() -> None:
    assert used([os.getpid()]) > 10_000_000
    assert used([2**22 + 1]) == 0
