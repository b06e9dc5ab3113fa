"""What became of the pages of a real site, by `gossamer changes`, and as its watches were told."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from gossamer.base.errors import UsageError
from gossamer.cli import app
from gossamer.cli.watch import _webhook
from gossamer.collection import watches
from gossamer.read.tell.message import signature
from tests.support.changing import AFTER, BEFORE, HOST, ROOT, served
from tests.support.crawling import gossamer
from tests.support.receiving import Receiver, receiving

WATCHES = {
    "news": (f"{ROOT}news", "--command"),
    "site": (f"www.{HOST}", "--webhook"),
    "nothing": ("http://nowhere.example/*", "--webhook"),
}


class Crawled(NamedTuple):
    folder: Path
    receiver: Receiver
    """What the webhooks got."""
    added: dict[str, dict[str, Any]]
    """What `gossamer watch` said about each watch."""
    ran: Path
    """What the command got."""


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """A site that was crawled, watched, changed, and crawled again after its period."""
    place = tmp_path_factory.mktemp("changes")
    folder, ran = place / "crawl", place / "ran.json"
    with served() as site, receiving() as receiver:
        site.pages = dict(BEFORE)
        site.crawl(folder, "--set", "collection.private_webhooks=true")
        to = {"--command": f"cp /dev/stdin {ran}", "--webhook": receiver.url}
        added = {
            name: gossamer("watch", folder, target, option, to[option], "--json").figures
            for name, (target, option) in WATCHES.items()
        }
        time.sleep(1)  # manager.min_period
        site.pages = dict(AFTER)
        site.crawl(folder)
    return Crawled(folder, receiver, added, ran)


@pytest.fixture(scope="module")
def crawled(crawl: Crawled) -> Path:
    return crawl.folder


def changes(folder: Path, *more: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["changes", str(folder), "--json", *more])
    assert result.exit_code == 0, result.exception
    found: list[dict[str, Any]] = json.loads(result.stdout)["events"]
    return found


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_feed_and_page_are_written_as_a_whole(crawled: Path, tmp_path: Path) -> None:
    feed, page = tmp_path / "feed.xml", tmp_path / "page.html"
    feed.write_text("an older feed")
    ended = gossamer("changes", crawled, "--atom", feed, "--html", page)
    assert ended.code == 0, ended.errors
    assert len(ElementTree.parse(feed).findall("{http://www.w3.org/2005/Atom}entry")) == 10
    assert "<ins>A new reading room.</ins>" in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["feed.xml", "page.html"]


@pytest.mark.slow
def test_watches_of_a_crawl_are_told_by_itself(crawl: Crawled) -> None:
    """Everything since the watch was added, in order, in bundles, and signed; nothing that was known before."""
    after = [event for event in reversed(changes(crawl.folder)) if event["kind"] != "new" or "fresh" in event["url"]]
    told = crawl.receiver.events
    assert [(e["kind"], e["url"]) for e in told] == [(e["kind"], e["url"]) for e in after]
    assert len(crawl.receiver.got) <= len(told)
    for fields, body in crawl.receiver.got:
        stamp = int(fields["Gossamer-Timestamp"])
        assert fields["Gossamer-Signature"] == signature(crawl.added["site"]["secret"], stamp, body)
        assert abs(stamp - time.time()) < 3600
    ran = json.loads(crawl.ran.read_text())
    assert [(e["url"], e["added"][-1]) for e in ran["events"]] == [(f"{ROOT}news", "A new reading room.")]


@pytest.mark.slow
def test_a_watch_that_matches_nothing_says_so_and_stays(crawl: Crawled) -> None:
    assert {name: added["pages"] for name, added in crawl.added.items()} == {"news": 1, "site": 5, "nothing": 0}
    listed = gossamer("watch", crawl.folder).output
    assert "  2  site.example  webhook http://127.0.0.1:" in listed
    assert "  3  http://nowhere.example/*  webhook" in listed
    assert crawl.added["site"]["secret"] not in listed
    said = gossamer("watch", crawl.folder, "no.example", "--within", "1h")
    assert "no known page matches it yet; it stays" in said.output
    assert gossamer("watch", crawl.folder, "--remove", "4").output == "removed: watch 4, no.example\n"
    assert gossamer("watch", crawl.folder, "--remove", "4").code == 2


@pytest.mark.slow
def test_nothing_is_told_twice_when_there_is_nothing_new(crawl: Crawled) -> None:
    before = len(crawl.receiver.got)
    ended = gossamer("watch", crawl.folder, "--once")
    assert (ended.code, ended.errors, len(crawl.receiver.got)) == (0, "", before)


@pytest.mark.slow
def test_a_webhook_that_fails_for_a_day_is_in_status(crawl: Crawled) -> None:
    failing = watches.Standing(1, 1, failures=30, since=time.time() - 90_000, error="it answers 500")
    found = watches.read(crawl.folder).watches[1]
    before = watches.read_standing(crawl.folder, found)
    watches.write_standing(crawl.folder, found.number, failing)
    assert "watch 2 (site.example): it answers 500" in gossamer("status", crawl.folder).output
    assert gossamer("status", crawl.folder, "--json").figures["untold"][0]["watch"] == 2
    watches.write_standing(crawl.folder, found.number, before)
    assert "not told since" not in gossamer("status", crawl.folder).output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x y"], "neither a URL nor the name of a site"),
        ([ROOT, "--webhook", "ftp://x/"], "not a URL of http or https"),
        ([ROOT, "--webhook", "https://me:word@x.example/"], "user name or password"),
        ([ROOT, "--command", "no-such-program-here x"], "there is no program"),
        ([ROOT, "--command", "echo 'x"], "No closing quotation"),
        ([ROOT, "--within", "soon"], "--within soon"),
        ([ROOT, "--within", "59s"], "too short"),
        (["--webhook", "http://x.example/"], "need a TARGET"),
        ([ROOT, "--remove", "1"], "cannot be combined"),
    ],
)
def test_bad_input_is_refused_and_adds_nothing(crawl: Crawled, arguments: list[str], said: str) -> None:
    before = watches.read(crawl.folder)
    result = CliRunner().invoke(app, ["watch", str(crawl.folder), *arguments])
    assert said in str(result.exception)
    assert watches.read(crawl.folder) == before


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]:80", "localhost", "10.1.2.3"])
def test_a_webhook_at_a_private_address_is_refused_at_once(host: str) -> None:
    with pytest.raises(UsageError, match="is a private address"):
        _webhook(f"http://{host}/x", private=False)
    _webhook(f"http://{host}/x", private=True)
    _webhook("http://hook.example/x", private=False)
    _webhook("http://192.88.98.1/x", private=False)


def test_a_webhook_is_stored_as_it_is_sent() -> None:
    assert _webhook("https://hook.exämple/ü?a=1", private=False) == "https://hook.xn--exmple-cua/%C3%BC?a=1"
    assert _webhook("https://hook.example/A?x#y", private=False) == "https://hook.example/A?x#y"
    with pytest.raises(UsageError, match="user name or password"):
        _webhook("https://ü:p@hook.example/", private=False)
    with pytest.raises(UsageError, match="is a private address"):
        _webhook("http://①②⑦.0.0.1/", private=False)
