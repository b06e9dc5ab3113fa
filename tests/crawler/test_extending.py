"""A part of the state, an errand and a step are each added in one file, and found wherever the others are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.base.model import Ask
from gossamer.cli.status_text import lines
from gossamer.collection import image, manifest
from gossamer.collection.layout import shard_folder
from gossamer.crawler.parts import PARTS
from gossamer.crawler.tick import STEPS
from gossamer.desk.account import Account
from gossamer.harvester.errands.table import ERRANDS
from gossamer.observe.crawl_status import CrawlStatus
from gossamer.observe.listener import DeskView
from gossamer.observe.measure import statistics_of
from gossamer.observe.status import site_standing
from gossamer.read.explain.text import part_lines
from gossamer.read.sql.columns import SHOWN
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.webs.simulated import Reply
from tests.crawler.extending.errand import IconErrand
from tests.crawler.extending.part import SentBytes
from tests.crawler.extending.step import NOTED, NOTING
from tests.support.world import World, impolite, state_of

A, B = "http://a.example/", "http://b.example/"
WEB = {A: Reply(links=[A + "1", B], digest=1), A + "1": Reply(digest=2), B: Reply(digest=3)}


@pytest.fixture
def world(tmp_path: Path) -> World:
    NOTED.clear()
    changes = ("seeder.domains=*", "harvester.soft_404=false")
    return World(
        tmp_path, WEB, changes, parts=(*PARTS, SentBytes), errands=(*ERRANDS, IconErrand), steps=(*STEPS, NOTING)
    )


def test_a_part_of_the_state_is_in_image_replay_status_explain_and_sql(world: World) -> None:
    desk = world.run([A]).crawl.desk
    part = desk[SentBytes]
    sent = desk.columns.site.sent[:2].tolist()
    assert part.seen[0] > 0
    assert min(sent) > 0
    told = statistics_of(desk, world.clock.wall())
    assert told.parts["sent bytes"] == told.to_json()["parts"]["sent bytes"] == {"bytes": sum(sent)}
    status = list(lines(CrawlStatus(told, True, 7), world.folder, told.time))
    assert f"    sent bytes: bytes {sum(sent):,}" in status
    standing = site_standing(DeskView(desk), world.settings, 1, told.time, 0)
    assert list(part_lines(standing)) == [f"sent bytes: sent_bytes {sent[0]}"]
    shard = shard_folder(world.folder)
    line = manifest.read(shard).image
    assert line is not None
    kept = image.read(shard, line)
    assert kept.array("site.sent").tolist() == sent
    assert kept.array("visits_seen").tolist() == part.seen.tolist()
    shown = [each for part in desk.parts for each in part.shown]
    assert shown[:-1] == list(SHOWN), "SQL lists them itself, so that it need not import numba"
    rows = Database(find(world.folder), world.settings, shown=shown).query(
        "select sent, pending from sites order by site"
    )
    assert [row[0] for row in rows.rows] == sent
    assert state_of(world.replayed()) == state_of(desk)
    again = world.run().crawl.desk
    assert again.columns.site.sent[:2].tolist() == sent, "from the image"


def test_an_errand_is_asked_for_in_its_sites_turns_and_politely(world: World) -> None:
    crawl = world.run([A]).crawl
    icons = crawl.harvest._errands[IconErrand]
    assert sorted(icons.answered) == [b"http://a.example/icon", b"http://b.example/icon"]
    asked = [asked.url for asked in world.asked if asked.ask is Ask.PROBE]
    assert sorted(asked) == [A + "icon", B + "icon"]
    assert impolite(world.asked, 15.0, 1.0) == []
    told = statistics_of(crawl.desk, world.clock.wall(), errands=crawl.harvest.parts())
    assert told.parts[IconErrand.name] == {"answered": 2}
    standing = site_standing(DeskView(crawl.desk, crawl.harvest.parts()), world.settings, 1, told.time, 0)
    assert standing["parts"][IconErrand.name] == {"icon": "asked for"}
    assert crawl.desk[Account].probe_visits == 2


def test_a_step_runs_in_every_tick_that_results_lead_to(world: World) -> None:
    crawl = world.run([A]).crawl
    assert sum(NOTED) == crawl.desk[Account].visits + crawl.desk[Account].robots_visits + 2
