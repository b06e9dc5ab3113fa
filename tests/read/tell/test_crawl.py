"""What becomes of a crawl itself: what holds when, that it is told once, and that it arrives."""

from __future__ import annotations

import hmac
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli import app
from gossamer.collection import watches
from gossamer.collection.watches import CRAWL, Watch
from gossamer.config.settings import Settings
from gossamer.observe.crawl_status import CrawlStatus
from gossamer.observe.statistics import Awaited, PageCounts, Progress, Rates, Requests, Run, Statistics
from gossamer.read.tell import crawl
from gossamer.read.tell.crawl import ENOUGH, KINDS, LEAST_FREE, STALLED, CrawlTeller, Look, Told
from gossamer.read.tell.message import Message
from gossamer.read.tell.send import NotToldError
from tests.support.receiving import receiving

PLENTY = 10 * LEAST_FREE


def status(
    time: float, visits: int, pending: int = 9, refused: int = 0, awaited: Awaited | None = None, speed: float = 0.0
) -> CrawlStatus:
    outcomes = {"ok": visits - refused, "refused": refused}
    statistics = Statistics(
        time,
        PageCounts(100, pending, 0, 100 - pending, 0),
        Requests(visits, outcomes=outcomes),
        run=Run(awaited=awaited or Awaited()),
        progress=Progress(Rates(bytes=speed)),
    )
    return CrawlStatus(statistics, True, 1)


SETS = st.sets(st.sampled_from(KINDS))


@given(st.lists(SETS, max_size=30))
def test_a_state_is_told_once_until_it_is_over(looks: list[set[str]]) -> None:
    told, before, expected = Told(), set[str](), []
    for place, found in enumerate(looks):
        told = told.now(dict.fromkeys(found, "so"), float(place), figures=0.0)
        expected += [kind for kind in KINDS if kind in found - before]
        before = found
    assert [each.kind for each in told.began] == expected[-crawl.KEPT :]


@given(st.lists(SETS, max_size=30))
def test_what_begins_gets_the_next_number(looks: list[set[str]]) -> None:
    told = Told()
    for place, found in enumerate(looks):
        told = told.now(dict.fromkeys(found, "so"), float(place))
    numbers = [each.number for each in told.began]
    assert numbers == list(range(told.last - len(numbers) + 1, told.last + 1))


def test_a_second_end_is_told_though_nobody_looked_in_between() -> None:
    told = Told().now({"ended": "done"}, 5.0, figures=4.0)
    assert told.now({"ended": "done"}, 9.0, figures=4.0) == told
    assert [each.time for each in told.now({"ended": "done"}, 9.0, figures=8.0).began] == [4.0, 8.0]


def test_a_crawl_has_stalled_when_nothing_is_requested_that_could_be() -> None:
    def after(seconds: float, visits: int = 5, **more: object) -> dict[str, str]:
        look = Look()
        look.found(status(0.0, 5), PLENTY, 0.0)
        return look.found(status(seconds, visits, **more), PLENTY, seconds)  # type: ignore[arg-type]

    assert "stalled" not in after(STALLED - 1)
    assert after(STALLED)["stalled"].startswith("nothing was requested for 15 min")
    assert "stalled" not in after(STALLED, visits=6)
    assert "stalled" not in after(STALLED, pending=0), "nothing is left to request"
    assert "stalled" not in after(STALLED, awaited=Awaited(quiet_until=STALLED + 60))
    assert "stalled" not in after(STALLED, awaited=Awaited(paused="ann, 2026-11-19 22:00:00"))
    assert "stalled" not in after(STALLED, awaited=Awaited(sites=1, seconds=60.0)), "politeness makes it wait"
    again = Look(Told().now({"stalled": "so", "blocked": "so"}, 1.0))
    assert again.found(status(2.0, 5), PLENTY, 2.0) == {"stalled": "so", "blocked": "so"}, "it lasts for another look"
    assert again.found(status(3.0, 6), PLENTY, 3.0) == {"blocked": "so"}
    look = Look()
    look.found(status(0.0, 5), PLENTY, 0.0)
    assert "no figures" in look.found(status(0.0, 5), PLENTY, STALLED)["stalled"]


def test_a_crawl_is_blocked_when_most_requests_are_refused() -> None:
    look = Look()
    assert look.found(status(0.0, 1000, refused=900), PLENTY, 0.0) == {}, "what was before is not judged"
    assert look.found(status(1.0, 1000 + ENOUGH - 1, refused=900 + ENOUGH - 1), PLENTY, 1.0) == {}
    found = look.found(status(2.0, 1000 + ENOUGH, refused=900 + ENOUGH), PLENTY, 2.0)
    assert found == {"blocked": "50 of the last 50 requests were refused"}
    assert "blocked" in look.found(status(3.0, 1060, refused=950), PLENTY, 3.0), "until it is judged again"
    assert look.found(status(4.0, 1100, refused=960), PLENTY, 4.0) == {}


def test_a_disk_is_almost_full_by_its_size_and_by_the_speed_of_the_crawl() -> None:
    for free, speed, low in ((LEAST_FREE, 0.0, False), (LEAST_FREE - 1, 0.0, True), (PLENTY, PLENTY / 3000, True)):
        assert ("disk_low" in Look().found(status(0.0, 1, speed=speed), free, 0.0)) == low
    assert Look().found(status(0.0, 1), None, 0.0) == {}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shard-000").mkdir()
    (tmp_path / "crawl.toml").write_text("")
    monkeypatch.setattr(crawl, "_free", lambda folder: PLENTY)
    return tmp_path


def test_a_message_that_fails_is_tried_again_and_told_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, sent, works = [100.0], list[Message](), [False]
    monkeypatch.setattr(crawl, "read_crawl_status", lambda folder: status(now[0], int(now[0]), refused=int(now[0])))

    def send(watch: Watch, message: Message, settings: Settings, at: float) -> None:
        sent.append(message)
        if not works[0]:
            raise NotToldError("it answers 500")

    watch = watches.add(folder, Watch(0, CRAWL, "https://hooks.example/", added=1.0))
    pages = watches.add(folder, Watch(0, "https://a.example/*", "https://hooks.example/", added=1.0))
    teller = CrawlTeller(folder, lambda: now[0], sender=send)
    for moment in (100.0, 200.0, 201.0):
        now[0] = moment
        assert not teller.turn((watch, pages))
    assert len(sent) == 1, "it pauses after a failure"
    assert watches.read_standing(folder, watch).failures == 1
    works[0], now[0] = True, 400.0
    assert CrawlTeller(folder, lambda: now[0], sender=send).turn((watch, pages)), "another teller goes on"
    assert not teller.turn((watch, pages))
    event = json.loads(sent[-1].body)["events"]
    assert [(each["id"], each["kind"]) for each in event] == [("crawl/1", "blocked")]
    assert json.loads(sent[-1].body)["crawl"]["visits"] == 400
    assert watches.read_standing(folder, pages).told == 0


def test_the_end_of_a_crawl_is_told_by_a_signed_webhook(tmp_path: Path) -> None:
    """By a whole crawl: the teller beside it tells the end."""
    from click.testing import CliRunner

    folder, run = tmp_path / "crawl", CliRunner().invoke
    words = ["crawl", str(folder), "--demo", "--pages", "5", "--set", "harvester.workers=1"]
    words += ["--set", "collection.private_webhooks=true", "--set", "collection.max_pages=100000"]
    assert run(app, words).exit_code == 0
    with receiving() as receiver:
        added = run(app, ["watch", str(folder), "crawl:", "--webhook", receiver.url, "--json"])
        secret = json.loads(added.stdout)["secret"]
        assert run(app, ["watch", str(folder), "--once"]).exit_code == 0
        assert receiver.got == [], "the end before the watch is not told"
        assert run(app, [*words[:4], "9", *words[5:]]).exit_code == 0
        assert [event["kind"] for event in receiver.events] == ["ended"]
        assert receiver.events[0]["words"] == "the requested number of pages is reached"
        fields, body = receiver.got[0]
        signed = hmac.new(secret.encode(), fields["Gossamer-Timestamp"].encode() + b"." + body, sha256)
        assert fields["Gossamer-Signature"] == f"sha256={signed.hexdigest()}"
        assert run(app, ["watch", str(folder), "--once"]).exit_code == 0
        assert len(receiver.got) == 1


def test_a_watch_of_the_crawl_matches_no_page() -> None:
    watch = replace(Watch(1, CRAWL), webhook="x")
    assert not any(watch.matches(url) for url in ("http://crawl/", "https://crawl.example/crawl:"))
