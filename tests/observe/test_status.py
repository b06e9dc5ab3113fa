"""The state of a page or a site in words; parts of the desk add what they know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gossamer.desk.desk import Part
from gossamer.harvester.backoff import Backoff
from gossamer.observe.listener import DeskView
from gossamer.observe.status import page_standing, site_standing
from gossamer.read.explain.text import clock_lines, part_lines
from tests.support.world import World

ROOT = "http://a.example/"


class History(Part):
    """Knows something about page 0 and its site."""

    name = "history"

    def explain_page(self, page: int) -> Mapping[str, object]:
        return {"changes": 3, "seen": None} if page == 0 else {}

    def explain_site(self, site: int) -> Mapping[str, object]:
        return {"feeds": [f"http://{site}.example/feed"]}


def view_of(folder: Path, *parts: type[Part]) -> tuple[World, DeskView]:
    world = World(folder, {})
    desk = world.run([ROOT, f"{ROOT}other"], turns=0).crawl.desk
    view = DeskView(desk)
    view.parts = (*desk.parts, *(part(desk) for part in parts))
    return world, view


def test_parts_of_the_desk_add_what_they_know_about_pages_and_sites(tmp_path: Path) -> None:
    world, view = view_of(tmp_path, History)
    first, second = (page_standing(view, world.settings, world.clock.wall(), page, ROOT) for page in (0, 1))
    assert first["parts"] == {"history": {"changes": 3, "seen": None}}
    assert "parts" not in second
    site = site_standing(view, world.settings, 1, world.clock.wall(), 0)
    assert site["parts"] == {"history": {"feeds": ["http://0.example/feed"]}}
    assert list(part_lines(first)) == ["history: changes 3, seen None"]
    assert list(part_lines(second)) == []
    json.dumps([first, second, site])


def test_without_parts_nothing_is_added(tmp_path: Path) -> None:
    world, view = view_of(tmp_path)
    assert "parts" not in page_standing(view, world.settings, world.clock.wall(), 0, ROOT)
    assert "parts" not in site_standing(view, world.settings, 1, world.clock.wall(), 0)


def test_the_wait_of_a_site_is_that_of_the_desk(tmp_path: Path) -> None:
    world, view = view_of(tmp_path)
    site = view.columns.site
    harvester = world.settings.harvester
    for pages, delay in ((1, 0.0), (1, 40.0), (harvester.large_site + 1, 0.0), (harvester.large_site + 1, 2.5)):
        site.pages[0], site.delay[0] = pages, delay
        clock = site_standing(view, world.settings, 1, world.clock.wall(), 0)["clock"]
        assert clock["wait"] == round(float(view._desk[Backoff].waits(np.zeros(1, np.uint32))[0]), 3)
        assert any("between turns" in line for line in clock_lines(clock, None, world.clock.wall()))
