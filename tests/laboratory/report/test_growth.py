"""Growth of sites and moves of structure: things that are compared one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.model import Outcome
from gossamer.collection.layout import SETTINGS
from gossamer.config import dump
from gossamer.laboratory.findings.finding import Finding
from gossamer.laboratory.report import make
from gossamer.laboratory.report.paired import CORRELATION, compared, growth
from gossamer.laboratory.report.parts import Named
from gossamer.webs.simulated import Reply
from tests.laboratory.report.test_report import SEEDS, crawled, facts, made_links, reached, site
from tests.support.world import World

DAY = 86_400.0


def said(before: dict[str, float], after: dict[str, float]) -> dict[str, Any]:
    return {fact.label: fact.value for fact in growth(before, after)}


@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_growth_that_depends_on_size_is_told_from_growth_that_does_not(slope: float) -> None:
    rng = np.random.default_rng(1)
    size = np.exp(rng.normal(4, 1, 2_000))
    grown = np.exp(0.3 + slope * (np.log(size) - 4) + rng.normal(0, 0.5, len(size)))
    found = said(*({str(n): float(v) for n, v in enumerate(each)} for each in (size, size * grown)))
    error = 4 / len(size) ** 0.5
    assert found["mean growth of a site (logarithm)"] == pytest.approx(0.3, abs=error)
    expected = slope / (slope**2 + 0.5**2) ** 0.5
    assert found[CORRELATION] == pytest.approx(expected, abs=error)


@given(*[st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9).map(float))] * 2)
def test_every_site_is_at_both_dates_or_new_or_gone(before: dict[str, float], after: dict[str, float]) -> None:
    found = said(before, after)
    one, two = ({name for name, number in each.items() if number} for each in (before, after))
    assert found["sites at both dates"] == len(one & two)
    assert found["new sites"] == len(two - one)
    assert found["sites that are gone"] == len(one - two)
    assert found["of these, larger"] + found["of these, smaller"] <= len(one & two)


def test_moves_between_kinds_are_counted() -> None:
    one = Named("m", "Moves", "sites", {"a": "in", "b": "in", "c": "out"}, ("in", "out"))
    two = Named("m", "Moves", "sites", {"a": "out", "c": "out", "d": "in"}, ("in", "out"))
    (table,), _, (sentence,) = compared("x", one, "y", two)
    assert [column.name for column in table.columns][1:] == ["in", "out", "gone"]
    assert table.rows == (("in", 0, 1, 1), ("out", 0, 1, 0), ("new", 1, 0, 0))
    assert "of 2 sites in both collections, 1 (50.0%)" in sentence.text


def test_collections_without_a_common_site_are_not_compared() -> None:
    one, two = (Named("m", "", "sites", {name: 1.0}) for name in "ab")
    assert compared("x", one, "y", two) == ((), (), ())


# --- two collections --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    """A Web, and the same Web with other links between its pages."""
    place = tmp_path_factory.mktemp("growth")
    folders = [crawled(place / name, links, SEEDS) for name, links in (("old", old()), ("new", new()))]
    return {each.name: each for each in make.report(folders, ["growth", "site-graph"])}


def old() -> dict[str, list[str]]:
    return made_links(3)


def new() -> dict[str, list[str]]:
    """Some pages are gone."""
    keep = random.Random(1)
    links = old()
    gone = {url for url in links if not url.endswith("/") and keep.random() < 0.2}
    return {url: [target for target in of if target not in gone] for url, of in links.items() if url not in gone}


def pages_of(links: dict[str, list[str]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for url in reached(links):
        found[site(url)] = found.get(site(url), 0.0) + 1
    return found


def test_two_collections_show_how_sites_have_grown(both: dict[str, Finding]) -> None:
    before, after = pages_of(old()), pages_of(new())
    (table,) = (each for each in both["growth"].tables if each.name == "site-growth-new")
    found: dict[str, Any] = {str(row[0]): row[1] for row in table.rows}
    assert found == pytest.approx(said(before, after))
    assert found["of these, smaller"] > 0
    (plot,) = both["growth"].plots
    assert sorted(zip(plot.series[0].x, plot.series[0].y, strict=True)) == sorted(
        (before[name], after[name]) for name in before if name in after
    )


def test_two_collections_show_how_the_structure_moves(both: dict[str, Finding]) -> None:
    (table,) = (each for each in both["site-graph"].tables if each.name == "site-moves-new")
    assert sum(sum(int(n or 0) for n in row[1:]) for row in table.rows) == len(pages_of(old()) | pages_of(new()))
    assert any("where they were in old" in sentence.text for sentence in both["site-graph"].sentences)


# --- one collection with several dates --------------------------------------------------------------------------------


def test_a_collection_with_several_dates_shows_its_growth(tmp_path: Path) -> None:
    """Visited each day for 20 days: on day 5 site a gets two pages and site b one; on day 10 one of site b is gone."""
    world = World(tmp_path, {}, ["manager.continuous=true", "manager.new_share=0"])
    begun = world.clock.monotonic()
    first = {"a": 3, "b": 2, "c": 4}

    def reply(url: str) -> Reply:
        day, name = (world.clock.monotonic() - begun) / DAY, url.partition("://")[2][0]
        count = first[name] + {"a": 2, "b": 1, "c": 0}[name] * (day > 5)
        number = url.rpartition("/")[2]
        if number == "robots.txt" or (number and int(number) >= count) or (url.endswith("b.example/1") and day > 10):
            return Reply(outcome=Outcome.NOT_FOUND, status=404)
        links = [f"http://{name}.example/{n}" for n in range(1, count)] if not number else []
        return Reply(links=links, digest=hash((url, count if not number else 0)) % 10**6 + 1, sketch=hash(url) % 2**60)

    world.replies = reply
    world.run([f"http://{name}.example/" for name in first], seconds=20 * DAY)
    (tmp_path / SETTINGS).write_text(dump(world.settings))
    (found,) = make.report([tmp_path], ["growth"])
    shown = facts(found)
    (plot,) = found.plots
    assert sorted(zip(plot.series[0].x, plot.series[0].y, strict=True)) == [(2.0, 2.0), (3.0, 5.0), (4.0, 4.0)]
    assert shown["of these, larger"] == 1
    assert shown["growth of all pages"] == pytest.approx(11 / 9 - 1)


def test_a_collection_with_one_date_says_what_it_needs(tmp_path: Path) -> None:
    (found,) = make.report([crawled(tmp_path / "once", old(), SEEDS)], ["growth"])
    assert "--against" in found.setting
    assert not found.tables
    assert not found.plots
