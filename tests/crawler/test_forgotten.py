"""What was forgotten is kept out: by links, sitemaps, seeds, orders and redirects, in the runs that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gossamer import config, urls
from gossamer.base.model import NONE
from gossamer.collection.forgetting import tombstones
from gossamer.collection.forgetting.tombstones import Forgotten, Tombstone
from gossamer.crawler.parts import new_desk
from gossamer.desk.places import Places
from gossamer.harvester.errands.placing import site_in
from gossamer.read.verify.verify import verify
from gossamer.webs.demo import DemoWeb
from tests.support.crawling import LIGHT, SMALL, gossamer, serve
from tests.support.reading import Found

REASON: Final = "asked by its owner"


def settings(*names: str) -> list[str]:
    return [part for name in names for part in ("--set", name)]


def test_a_forgotten_page_is_never_requested_again(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with serve(DemoWeb(sites=6, pages=60), tmp_path) as served:
        assert served.crawl(folder, *settings(*SMALL, *LIGHT)).code == 0
        found = Found(folder)
        linked = {target for _, target, _ in found.links}
        page = next(
            url for url, (_, outcome) in found.states.items() if outcome == 0 and url in linked and url.count("/") > 3
        )
        site = next(name for name in found.desk[Places].names if name not in page and f"http://{name}/" in found.urls)
        before = len(served.log.read_text())
        done = gossamer("forget", folder, page, site, "--reason", REASON, "--yes")
        assert done.code == 0, done.errors
        assert gossamer("again", folder, "--yes").code == 0
        ended = served.crawl(folder, page, *settings(*SMALL, *LIGHT))
        assert ended.code == 0, ended.errors
        assert f"skipped: {page}: It was forgotten on" in ended.errors
        assert REASON in ended.errors
        again = served.log.read_text()[before:]
    host, path = page.split("/", 3)[2:]
    assert len(again.splitlines()) > len(found.urls) // 2
    assert not [line for line in again.splitlines() if host in line and f" /{path} " in line]
    assert not [line for line in again.splitlines() if site in line]
    later = Found(folder)
    assert page not in later.urls
    assert site not in later.desk[Places].names
    assert not [url for url in later.urls if site in url]
    assert verify(folder).findings == []
    for target in (page, site, f"http://{site}/any"):
        told = gossamer("explain", folder, target)
        assert "It was forgotten on" in told.output
        assert REASON in told.output
    added = gossamer("add", folder, page)
    assert (added.code, REASON in added.errors) == (2, True)


def test_an_errand_makes_no_forgotten_site_known(tmp_path: Path) -> None:
    desk = new_desk(config.Settings(), 7)
    desk.forgotten = Forgotten.of([Tombstone(1.0, REASON, True, urls.fingerprint("gone.example", 7), None)], 7)
    effects = desk.effects(1.0, 1.0)
    assert site_in(desk, "gone.example", False, effects) == NONE
    assert site_in(desk, "other.example", False, effects) != NONE
    assert effects.sites.split() == [b"other.example"]
    assert tombstones.Forgotten().of_site("gone.example") is None
