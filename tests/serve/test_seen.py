"""What the server remembers between two questions, and the charts that it draws."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gossamer.base.errors import UsageError
from gossamer.serve.charts import HIGH, WIDE, bar, line, stack
from gossamer.serve.seen import Seen


def test_a_thing_is_made_once_however_many_ask_for_it() -> None:
    now, made, all_there = [0.0], list[int](), threading.Barrier(4)
    seen = Seen(lambda: now[0])

    def make() -> int:
        made.append(len(made))
        return made[-1]

    def ask(_: int) -> int:
        all_there.wait()
        return seen.once("figures", 1.0, make)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [0] * 4
    assert made == [0]
    now[0] = 0.9
    assert seen.once("figures", 1.0, make) == 0
    now[0] = 1.0
    assert seen.once("figures", 1.0, make) == 1
    assert seen.once("others", 1.0, make) == 2


def test_what_takes_long_is_kept_longer_and_an_error_is_not_kept() -> None:
    now = [0.0]
    seen = Seen(lambda: now[0])

    def slow() -> float:
        now[0] += 1.0
        return now[0]

    def fails() -> None:
        raise UsageError("no", "")

    with pytest.raises(UsageError):
        seen.once("slow", 1.0, fails)
    assert seen.once("slow", 1.0, slow) == 1.0
    now[0] = 20.9
    assert seen.once("slow", 1.0, slow) == 1.0, "a second of work in twenty at most"
    now[0] = 21.1
    assert seen.once("slow", 1.0, slow) > 1.0


def test_what_an_order_has_changed_is_made_anew() -> None:
    seen = Seen()
    assert seen.once("orders", 60.0, lambda: 1) == 1
    seen.forget("orders", "never made")
    assert seen.once("orders", 60.0, lambda: 2) == 2


FINITE = st.floats(0, 1e15)


@given(st.lists(st.tuples(st.floats(0, 1e9), FINITE), max_size=400), st.text(max_size=9))
def test_a_curve_stays_in_its_frame_and_ends_with_the_last_value(points: list[tuple[float, float]], said: str) -> None:
    points.sort()
    tree = LexborHTMLParser(line("rate", points, said))
    curves = tree.css("polyline")
    assert bool(curves) == (len(points) > 1)
    for curve in curves:
        found = [tuple(map(float, pair.split(","))) for pair in (curve.attributes["points"] or "").split()]
        assert len(found) <= 242
        assert all(-0.1 <= x <= WIDE + 0.1 and -0.1 <= y <= HIGH + 0.1 for x, y in found)
        most = max(value for _, value in points) or 1.0
        assert found[-1][1] == pytest.approx(HIGH - HIGH * points[-1][1] / most, abs=0.06)


@given(st.lists(st.integers(0, 10**9), max_size=6), st.floats(-1, 2))
def test_bars_are_as_wide_as_their_shares(counts: list[int], share: float) -> None:
    parts = [(f"part{i}", count) for i, count in enumerate(counts)]
    drawn = LexborHTMLParser(stack(parts, sum(counts), "all")).css("rect")
    widths = [float(each.attributes["width"] or 0) for each in drawn]
    assert sum(widths) == pytest.approx(100.0 if sum(counts) else 0.0, abs=0.01)
    (part,) = LexborHTMLParser(bar(share)).css(".part")
    assert 0.0 <= float(part.attributes["width"] or 0) <= 100.0
