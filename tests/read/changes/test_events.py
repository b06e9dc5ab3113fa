"""What became of the pages of a real site, by `gossamer changes`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.changing import AFTER, BEFORE, HOST, ROOT, served
from tests.support.crawling import gossamer


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that was crawled, changed, and was crawled again after its period."""
    folder = tmp_path_factory.mktemp("changes") / "crawl"
    with served() as site:
        for pages in (BEFORE, AFTER):
            site.pages = dict(pages)
            site.crawl(folder)
            time.sleep(1)  # manager.min_period
    return folder


def changes(folder: Path, *more: str) -> list[dict[str, Any]]:
    ended = gossamer("changes", folder, "--json", *more)
    assert ended.code == 0, ended.errors
    found: list[dict[str, Any]] = ended.figures["events"]
    return found


def test_events_of_a_real_site_have_their_lines(crawled: Path) -> None:
    found = changes(crawled)
    later = {(event["kind"], event["url"].removeprefix(ROOT)) for event in found[:-5]}
    assert later == {("changed", ""), ("changed", "news"), ("new", "fresh"), ("gone", "old"), ("moved", "away")}
    assert [event["kind"] for event in found[-5:]] == ["new"] * 5
    assert [event["tick"] for event in found] == sorted((event["tick"] for event in found), reverse=True)
    by_url = {event["url"].removeprefix(ROOT): event for event in found[:-5]}
    assert by_url["news"]["removed"] == ["Opening hours: Monday to Friday."]
    assert by_url["news"]["added"] == ["Opening hours: Monday to Saturday.", "A new reading room."]
    assert by_url["away"]["target"] == f"{ROOT}fresh"
    assert by_url["old"]["before"]["file"] == "warc/000000.warc.gz"


def test_events_are_chosen_by_time_site_and_kind(crawled: Path) -> None:
    every = changes(crawled)
    assert changes(crawled, "--since", "1d", "--site", f"www.{HOST}") == every
    assert changes(crawled, "--until", "2020-01-01") == changes(crawled, "--since", "0s") == []
    assert {event["kind"] for event in changes(crawled, "--kind", "gone", "--kind", "moved")} == {"gone", "moved"}
    assert changes(crawled, "--rows", "2") == every[:2]
    assert "added" not in json.dumps(changes(crawled, "--lines", "0"))
    unknown = gossamer("changes", crawled, "--site", "nowhere.example")
    assert (unknown.code, "nowhere.example is not a site" in unknown.errors) == (2, True)
    assert gossamer("changes", crawled, "--since", "yesterday-ish").code == 2


def test_feed_and_page_are_written_as_a_whole(crawled: Path, tmp_path: Path) -> None:
    feed, page = tmp_path / "feed.xml", tmp_path / "page.html"
    feed.write_text("an older feed")
    ended = gossamer("changes", crawled, "--atom", feed, "--html", page)
    assert ended.code == 0, ended.errors
    assert len(ElementTree.parse(feed).findall("{http://www.w3.org/2005/Atom}entry")) == 10
    assert "<ins>A new reading room.</ins>" in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["feed.xml", "page.html"]
