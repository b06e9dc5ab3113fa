"""`gossamer explain`: what the desk, an image and the files report about a page or a site agrees with what happened."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from gossamer import config, urls
from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.base.units import human_size
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.lock import LOCK
from gossamer.config.settings import SeederSettings, Settings
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.crawler.open import open_collection
from gossamer.desk.places import Places
from gossamer.manager.history import PLANS, History, Past, read_history
from gossamer.manager.next_visit import NextVisit
from gossamer.manager.plan import Plan
from gossamer.observe.listener import Listener
from gossamer.observe.lists import unpacked
from gossamer.observe.measure import statistics_of
from gossamer.observe.socket import SOCKET, ask
from gossamer.observe.status import plan_standing
from gossamer.read.explain import collection as explain_collection
from gossamer.read.explain import page as pages
from gossamer.read.explain import site as sites
from gossamer.read.explain.address import address_of, scope_verdict
from gossamer.read.explain.answers import PageAnswer, PlanFacts, SiteAnswer, Visit
from gossamer.read.explain.page import _plan_words
from gossamer.read.explain.site import is_site
from gossamer.read.explain.text import _next_lines, lines_of, when_of
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply, SimulatedNames, SimulatedWeb, Sitemaps
from tests.crawler.test_simulated_crawl import random_web
from tests.support.timing import COMMAND, wait_for
from tests.support.world import World

ROOT = "http://a.example/"
RULES = Rules.parse(b"User-agent: *\nDisallow: /private/\nAllow: /private/not", "Gossamer").compiled()
WEB = {
    ROOT: Reply(links=[f"{ROOT}private/1", f"{ROOT}private/not", f"{ROOT}two", f"{ROOT}moved", f"{ROOT}sick"]),
    f"{ROOT}robots.txt": Reply(rules=RULES, delay=3.0),
    f"{ROOT}two": Reply(links=[f"{ROOT}three?x=1", "http://b.example/"], digest=22),
    f"{ROOT}three?x=1": Reply(digest=22),
    f"{ROOT}moved": Reply(outcome=Outcome.REDIRECT, status=301, redirect=f"{ROOT}new", links=[f"{ROOT}new"]),
    f"{ROOT}sick": Reply(outcome=Outcome.SERVER_ERROR, status=503),
    f"{ROOT}private/not": Reply(digest=33),
}
explain_page: Callable[[Path, str], Any] = pages.explain_page
explain_site: Callable[[Path, str], Any] = sites.explain_site
"""Untyped here: the tests read keys that only some answers have."""
CHANGES = ["seeder.domains=example", "seeder.pages_per_site=50"]


def world_in(folder: Path, web: Any = None, *changes: str) -> World:
    world = World(folder, WEB if web is None else web, [*CHANGES, *changes])
    folder.mkdir(exist_ok=True)
    (folder / SETTINGS).write_text(config.dump(world.settings))
    return world


def without_holder(folder: Path) -> Path:
    """Removes the holder of the lock, as if the crawling process had ended: the tests crawl in their own process."""
    (shard_folder(folder) / LOCK).write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain") / "crawl"
    world_in(folder).run([ROOT])
    return without_holder(folder)


def text_of(answer: PageAnswer | SiteAnswer) -> str:
    json.dumps(answer)
    return "\n".join(lines_of(answer, 1_600_000_100.0))


# --- addresses ---------------------------------------------------------------------------------------------------


def test_each_step_to_the_canonical_form_is_reported() -> None:
    settings = SeederSettings(transform=("/old/ => /new/",))
    given = f"HTTP://user@www.Example.org/old/./%61?PHPSESSID={32 * '3'}#x"
    address = address_of(given, settings, urls.Scope.of(settings))
    assert address.canonical == "http://example.org/new/a"
    assert [step["what"].partition(" (")[0] for step in address.steps] == [
        "normalized by the URL standard",
        "fragment, user information or empty query removed",
        "percent-encodings in one spelling",
        "session parameters removed",
        "`www.` removed",
        "rewritten",
    ]
    assert all(a["after"] == b["before"] for a, b in pairwise(address.steps))
    assert address_of("http://example.org/", settings, urls.Scope.of(settings)).steps == ()
    assert address_of("ftp://example.org/", settings, urls.Scope.of(settings)).canonical is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://a.example/page.html", None),
        ("http://a.example/x.PNG", "image"),
        ("http://b.org/", "out_of_scope"),
        ("http://a.example/login", "rejected"),
        (f"http://a.example/{'x' * 3000}", "too_long"),
        ("http://a.example/wanted", None),
        ("http://a.example:22/", "out_of_scope"),
        ("http://a.example:8080/", None),
    ],
)
def test_the_verdict_of_the_settings_on_a_url_has_a_reason(url: str, why: str | None) -> None:
    settings = SeederSettings(domains=("example",))
    verdict = scope_verdict(url, settings, urls.Scope.of(settings))
    assert (verdict["accepted"], verdict["why"]) == (why is None, why)
    accepting = SeederSettings(domains=("example",), accept=("wanted",))
    if why is None:
        verdict = scope_verdict(url, accepting, urls.Scope.of(accepting))
        assert verdict["accepted"] == ("wanted" in url)


@pytest.mark.parametrize("given", ["http://example.org/a\r", " http://example.org/a\t\n", "\nhttp://example.org/a"])
def test_white_space_around_a_url_is_not_part_of_it(given: str) -> None:
    settings = SeederSettings()
    address = address_of(given, settings, urls.Scope.of(settings))
    assert (address.canonical, address.steps) == ("http://example.org/a", ())
    step, *_ = address_of(" example.org/a\r", settings, urls.Scope.of(settings)).steps
    assert (step["before"], step["after"]) == ("example.org/a", "https://example.org/a")


# --- a crawl that has stopped ------------------------------------------------------------------------------------


def test_a_page_is_explained_from_its_discovery_to_its_visits(crawled: Path) -> None:
    said = explain_page(crawled, "http://www.a.example/three?x=1#part")
    assert said["known"]
    assert said["as_of"]["exact"]
    assert said["as_of"]["source"] == "image"
    assert said["found"]["way"] == "SLL"
    assert said["found"]["urls"] == [ROOT, f"{ROOT}two", f"{ROOT}three?x=1"]
    assert said["found"]["on"] == f"{ROOT}two"
    assert (said["standing"]["state"], said["standing"]["depth"], said["standing"]["dynamic"]) == ("done", 2, True)
    assert [visit["outcome"] for visit in said["visits"]] == ["duplicate"]
    assert said["duplicate_of"] == f"{ROOT}two"
    assert said["visits"][0]["sentence"] == Outcome.DUPLICATE.sentence
    original = explain_page(crawled, f"{ROOT}two")
    assert original["duplicates"] == {"pages": 1, "urls": [f"{ROOT}three?x=1"]}
    assert "way SLL" in text_of(said)
    assert f"it has the text and links of {ROOT}two" in text_of(said)
    assert "1 page has its text and links" in text_of(original)


def test_redirects_and_seeds_have_their_letters(crawled: Path) -> None:
    assert explain_page(crawled, ROOT)["found"]["way"] == "S"
    assert explain_page(crawled, ROOT)["found"]["on"] is None
    said = explain_page(crawled, f"{ROOT}moved")
    assert said["visits"][0]["redirect"] == f"{ROOT}new"
    assert f"to {ROOT}new" in text_of(said)


def test_the_rule_of_robots_txt_that_decided_is_named(crawled: Path) -> None:
    forbidden = explain_page(crawled, f"{ROOT}private/1")["standing"]
    assert (forbidden["state"], forbidden["reason"]) == ("excluded", "robots")
    assert forbidden["robots"]["rule"] == "Disallow: /private/"
    allowed = explain_page(crawled, f"{ROOT}private/not")["standing"]
    assert (allowed["robots"]["verdict"], allowed["robots"]["rule"]) == ("allowed", "Allow: /private/not")
    assert explain_page(crawled, f"{ROOT}two")["standing"]["robots"]["rule"] is None


def test_the_explanation_of_a_waiting_page_says_until_when_and_why(crawled: Path) -> None:
    said = explain_page(crawled, f"{ROOT}sick")
    standing = said["standing"]
    assert (standing["state"], standing["outcome"], standing["tries"]) == ("waiting", "server_error", 1)
    assert standing["due"] > said["visits"][0]["time"]
    assert Outcome.SERVER_ERROR.sentence in text_of(said)


def test_the_reasons_why_a_page_is_not_known_are_reported(crawled: Path) -> None:
    def why(url: str) -> str:
        said = explain_page(crawled, url)
        assert not said["known"]
        assert text_of(said)
        return " ".join(said["why_not"])

    assert "links to it" in why(f"{ROOT}nowhere")
    assert "seeder.domains" in why("http://elsewhere.org/")
    assert "class image" in why(f"{ROOT}x.gif")
    assert "seeder.reject" in why(f"{ROOT}login")
    assert "not an http or https" in why("mailto:x@y.example")
    assert explain_page(crawled, f"https://{ROOT[7:]}two")["near"] == [f"{ROOT}two"]


@pytest.mark.parametrize("clean", [True, False], ids=["stop", "kill"])
@pytest.mark.parametrize("what", ["sites", "pages"])
def test_the_limit_of_a_full_domain_is_the_reason(tmp_path: Path, what: str, clean: bool) -> None:
    """Of a domain whose name server answers for every name, or whose server for every path."""
    home, many = "http://s0.evil.example/", [f"http://s{n}.evil.example/" for n in range(1, 9)]
    if what == "pages":
        many = [f"{home}{n}" for n in range(8)]
    world = world_in(tmp_path / "crawl", {home: Reply(links=many)}, f"seeder.{what}_per_domain=3")
    world.run([home], clean=clean, turns=None if clean else 60, commit=not clean)
    without_holder(tmp_path / "crawl")
    said = explain_page(tmp_path / "crawl", many[-1])
    assert not said["known"]
    assert f"evil.example has 3 {what}, and seeder.{what}_per_domain" in " ".join(said["why_not"])
    assert "evil.example" not in " ".join(explain_page(tmp_path / "crawl", f"{ROOT}x")["why_not"])


@pytest.mark.parametrize("clean", [True, False], ids=["stop", "kill"])
def test_a_requested_sitemap_is_distinguished_from_an_unknown_page(tmp_path: Path, clean: bool) -> None:
    """With `www.` or without, from tables and from the journal."""
    read, missing = "http://www.a.example/maps/s.xml", "http://www.a.example/gone.xml"
    web = {"http://www.a.example/": Reply(), read: Reply(links=["http://www.a.example/1"])}
    web["http://www.a.example/robots.txt"] = Reply(sitemaps=Sitemaps([read, missing]))
    folder = tmp_path / "crawl"
    world = world_in(folder, web, "seeder.sitemaps=true")
    world.run(["http://www.a.example/"], clean=clean, commit=True)
    without_holder(folder)
    for url, outcome, words in ((read, "ok", "it lists 1 page"), (missing, "not_found", "no pages were taken from it")):
        said = explain_page(folder, url)
        asked = next(a for a in world.asked if a.url == url)
        assert (said["known"], said["sitemap"]["outcome"]) == (False, outcome)
        assert abs(said["sitemap"]["time"] - world.clock.wall() + world.clock.monotonic() - asked.end) < 2
        lines = text_of(said).splitlines()[1:]
        first = next(i for i, line in enumerate(lines) if "it was" not in line)
        assert lines[first].startswith("  requested as a sitemap ")
        assert f", {outcome}: " in lines[first]
        assert lines[first + 1 : first + 3] == [f"  {words}", "  not known as a page"]
    assert explain_page(folder, "http://a.example/other.xml")["sitemap"] is None
    assert explain_page(folder, "http://nobody.example/s.xml")["sitemap"] is None


def test_a_full_site_is_reported(tmp_path: Path) -> None:
    web = {ROOT: Reply(links=[f"{ROOT}{i}" for i in range(9)])}
    world_in(tmp_path / "c", web, "seeder.pages_per_site=5").run([ROOT])
    said = explain_page(without_holder(tmp_path / "c"), f"{ROOT}8")
    assert "seeder.pages_per_site = 5" in said["why_not"][0]


def test_a_site_is_explained(crawled: Path) -> None:
    assert is_site("a.example")
    assert not is_site(ROOT)
    said = explain_site(crawled, "WWW.a.example")
    assert (said["known"], said["site"]) == (True, "a.example")
    assert said["standing"]["pages"] == {"pending": 0, "waiting": 1, "done": 6, "excluded": 1}
    assert said["standing"]["why"]["excluded"] == {"robots": 1}
    assert said["visits"]["ok"] == 3
    assert said["bytes"] > 0
    assert said["standing"]["clock"]["address"].startswith("192.0.2.")
    assert said["standing"]["clock"]["wait"] >= 3.0
    (asked,) = said["robots"].values()
    assert (asked["outcome"], asked["delay"]) == ("ok", 3.0)
    text = text_of(said)
    assert "Disallow: /private/" in text
    assert "Crawl-delay 3 s" in text
    speeds = said["standing"]["speeds"]
    assert len(speeds["working_day"]) == len(speeds["holiday"]) == 24
    hours = speeds["working_day"] + speeds["holiday"]
    assert min(hours) <= speeds["now"] <= max(hours)
    assert f"speed: {human_size(speeds['now'])}/s at this hour" in text
    assert not explain_site(crawled, "unknown.example")["known"]
    assert "seeder.domains" in text_of(explain_site(crawled, "other.org"))


def test_the_speed_of_a_site_is_reported_by_the_hour(crawled: Path) -> None:
    said = explain_site(crawled, "a.example")
    address, speeds = said["standing"]["clock"]["address"], said["standing"]["speeds"]
    query = f"select round(speed) from speeds where address = '{address}' order by holiday, hour"
    rows = Database(find(crawled), Settings()).query(query).rows
    assert [speed for (speed,) in rows] == [*speeds["working_day"], *speeds["holiday"]]
    speeds["working_day"][3], speeds["working_day"][14] = 2_000, 90_000_000
    assert "  on working days 2.00 KB/s at 3:00 to 90.0 MB/s at 14:00" in text_of(said).splitlines()
    said["standing"]["speeds"] = None
    assert "speed:" not in text_of(said)


# --- files alone -------------------------------------------------------------------------------------------------


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("stopped_before", [False, True])
def test_after_a_kill_the_committed_effects_are_replayed_and_nothing_changes(
    tmp_path: Path, stopped_before: bool
) -> None:
    world = world_in(tmp_path / "c")
    if stopped_before:
        world.run([ROOT], turns=12)
    result = world.run([ROOT], clean=False)
    folder = without_holder(tmp_path / "c")
    before = state_of(folder)
    for url, (state, _, _) in result.pages.items():
        said = explain_page(folder, url)
        assert said["as_of"]["source"] == "replay"
        assert said["standing"]["state"] == state.name.lower()
        assert said["scores"] is not None
        assert said["standing"]["robots"]["verdict"] is not None
    assert "before the crawl was killed" in text_of(said)
    assert explain_site(folder, "a.example")["standing"]["clock"]["requests"] > 0
    assert state_of(folder) == before


def test_without_a_replay_the_files_are_used_and_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay after a kill would take too long."""
    monkeypatch.setattr(explain_collection, "MOST", -1.0)
    world_in(tmp_path / "c").run([ROOT], clean=False)
    folder = without_holder(tmp_path / "c")
    said = explain_page(folder, f"{ROOT}two")
    assert said["as_of"]["source"] == "files"
    assert not said["as_of"]["exact"]
    assert said["found"]["way"] == "SL"
    assert (said["standing"]["state"], said["visits"][-1]["outcome"]) == ("done", "ok")
    assert "gossamer crawl DIR" in text_of(said)
    assert explain_page(folder, f"{ROOT}sick")["standing"]["state"] == "waiting"
    assert explain_site(folder, "a.example")["visits"]["ok"] >= 2


def test_an_image_that_is_not_the_latest_state_is_not_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_collection, "MOST", -1.0)
    world = world_in(tmp_path / "c")
    world.run([ROOT])
    world.clock.advance(100.0)
    world.run(["http://late.example/"], clean=False, turns=60)
    folder = without_holder(tmp_path / "c")
    said = explain_page(folder, f"{ROOT}two")
    assert said["as_of"]["source"] == "image"
    assert not said["as_of"]["exact"]
    assert "AS OF" in text_of(said)
    late = explain_page(folder, "http://late.example/")
    assert late["known"]
    assert late["found"]["way"] == "S"
    assert "robots" not in late["standing"]


@pytest.mark.slow
@pytest.mark.parametrize("clean", [True, False])
def test_every_way_of_discovery_follows_links_that_exist(tmp_path: Path, clean: bool) -> None:
    web = random_web(5, sites=4, pages=150)
    seeds = [f"http://s{i}.example/" for i in range(4)]
    world = world_in(tmp_path / "c", web, "collection.seal_visits=40", "seeder.pages_per_site=1000")
    result = world.run(seeds, clean=clean)
    folder = without_holder(tmp_path / "c")
    assert len(result.pages) > 100
    for url, (state, outcome, _) in list(result.pages.items())[::9]:
        said = explain_page(folder, url)
        way = said["found"]["urls"]
        assert way[-1] == url
        assert way[0] in seeds
        assert all(after in web[before].links for before, after in pairwise(way))
        assert outcome is not None
        assert (said["standing"]["state"], said["visits"][-1]["outcome"]) == (state.name.lower(), outcome.word)


# --- a crawl that runs -------------------------------------------------------------------------------------------


@contextmanager
def running(world: World, seeds: list[str]) -> Iterator[tuple[Crawl, Listener]]:
    store, desk, _ = open_collection(world.folder, world.settings, world.clock)
    web = SimulatedWeb(world.reply, world.clock, desk.seed, asked=world.asked)
    crawl = Crawl(desk, store, web, SimulatedNames(world.address, world.ttl), world.clock, Bounds())
    crawl.plant(seeds)
    listener = Listener(desk, store, crawl.harvest, crawl.planner, world.clock)
    listener.start()
    try:
        yield crawl, listener
    finally:
        listener.close()
        crawl.planner.close()
        store.close()


def test_the_desk_tells_clocks_queues_and_what_comes_next(tmp_path: Path) -> None:
    with running(world_in(tmp_path / "c"), [ROOT]) as (crawl, _):
        for _ in range(90):
            crawl.turn()
        shard, desk = crawl.store.shard, crawl.desk
        sites = range(desk.columns.site.count)
        clocks = (ask(shard, {"clocks": [*sites, 10**9]}) or {})["clocks"]
        assert [clocks[str(site)]["name"] for site in sites] == desk[Places].names[: len(sites)]
        assert all(clocks[str(site)]["planned"] == len(crawl.harvest.planned(site)) for site in sites)
        pending = unpacked((ask(shard, {"pending": True}) or {})["pending"])
        assert pending.tolist() == desk.columns.site.pending[: len(sites)].tolist()
        coming = ask(shard, {"next": 5}) or {}
        times = [each["time"] for each in coming["next"]]
        assert times == sorted(times)
        for each in coming["next"]:
            first = int(crawl.harvest.planned(desk[Places].site(each["site"]))[0])
            assert crawl.store.url(first).decode() == each["url"]


def test_the_desk_of_a_running_crawl_is_asked(tmp_path: Path) -> None:
    with running(world_in(tmp_path / "c"), [ROOT]) as (crawl, _):
        for _ in range(90):
            crawl.turn()
        said = explain_page(tmp_path / "c", f"{ROOT}two")
        assert said["as_of"]["source"] == "desk"
        assert said["as_of"]["exact"]
        assert (said["standing"]["state"], said["found"]["way"]) == ("done", "SL")
        assert [visit["outcome"] for visit in said["visits"]] == ["ok"]
        assert "as the running crawl reports" in text_of(said)
        assert explain_page(tmp_path / "c", f"{ROOT}private/1")["standing"]["robots"]["rule"] == "Disallow: /private/"
        assert not explain_page(tmp_path / "c", f"{ROOT}nowhere")["known"]
        site = explain_site(tmp_path / "c", "a.example")
        assert site["as_of"]["source"] == "desk"
        assert site["standing"]["clock"]["requests"] > 0
        assert text_of(site)
        assert not explain_site(tmp_path / "c", "nobody.example")["known"]


def test_the_desk_and_its_image_report_the_same(tmp_path: Path) -> None:
    world = world_in(tmp_path / "c")
    world.run([ROOT])
    folder = without_holder(tmp_path / "c")
    by_image = {url: explain_page(folder, url)["standing"] for url in WEB if not url.endswith("robots.txt")}
    assert by_image
    with running(world, []) as (crawl, listener):
        for url, expected in by_image.items():
            (number,) = (n for n, u in enumerate(crawl.store.urls(range(8))) if u == url.encode())
            answer = listener.answer(json.dumps({"page": url}).encode())
            assert answer["page"] == number
            assert _timeless(answer["standing"]) == _timeless(expected)


def _timeless(standing: dict[str, Any]) -> dict[str, Any]:
    """The state without times and addresses: the image is read long after the virtual clock's time, and a start forgets
    addresses."""
    kept = {k: v for k, v in standing.items() if k not in ("words", "site", "robots")}
    site = {k: standing["site"][k] for k in ("name", "pages", "pending", "requests", "failures", "wait", "delay")}
    return kept | site | {"rule": standing["robots"]["rule"]}


def test_the_socket_belongs_to_the_owner_and_is_removed_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    folder.mkdir(parents=True)
    path = shard_folder(folder) / SOCKET
    with running(world_in(folder), [ROOT]):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert ask(shard_folder(folder), {"page": ROOT}) is not None
    assert not path.exists()
    assert ask(shard_folder(folder), {"page": ROOT}) is None


def test_a_socket_that_was_removed_is_there_again_soon(tmp_path: Path) -> None:
    shard = shard_folder(tmp_path / "c")
    with running(world_in(tmp_path / "c"), [ROOT]):
        (shard / SOCKET).unlink()
        wait_for(lambda: ask(shard, {"page": ROOT}), "the socket", COMMAND)
        assert stat.S_IMODE((shard / SOCKET).stat().st_mode) == 0o600
    assert not (shard / SOCKET).exists()


def test_a_socket_left_by_a_kill_is_replaced(tmp_path: Path) -> None:
    shard = shard_folder(tmp_path / "c")
    shard.mkdir(parents=True)
    here = os.getcwd()
    os.chdir(shard)
    try:
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(SOCKET)
        stale.close()
    finally:
        os.chdir(here)
    assert ask(shard, {"page": ROOT}) is None
    with running(world_in(tmp_path / "c"), [ROOT]):
        assert ask(shard, {"page": ROOT})["page"] == 0  # type: ignore[index]


@pytest.mark.parametrize("raw", [b"", b"nonsense\n", b"{}\n", b"[]\n", b'{"page": null}\n', b'{"site": ""}\n'])
def test_an_invalid_question_gets_an_answer_too(tmp_path: Path, raw: bytes) -> None:
    with running(world_in(tmp_path / "c"), [ROOT]) as (_, listener):
        assert isinstance(listener.answer(raw), dict)
        assert ask(shard_folder(tmp_path / "c"), {"page": ROOT}) is not None


@pytest.mark.slow
def test_questions_during_the_crawl_are_answered_and_change_nothing(tmp_path: Path) -> None:
    web = random_web(3, sites=4, pages=120)
    names = [f"http://s{i}.example/" for i in range(4)]
    quiet = world_in(tmp_path / "quiet", web)
    expected = quiet.run(names).pages
    asked_world, stop = world_in(tmp_path / "asked", web), threading.Event()
    errors: list[dict[str, Any]] = []

    def nag() -> None:
        while not stop.is_set():
            for url in list(web)[:20]:
                answer = ask(shard_folder(tmp_path / "asked"), {"page": url})
                site = ask(shard_folder(tmp_path / "asked"), {"site": urls.host(url)})
                errors.extend(a for a in (answer, site) if a is not None and "error" in a)

    with running(asked_world, names) as (crawl, _):
        thread = threading.Thread(target=nag)
        thread.start()
        crawl.run()
        stop.set()
        thread.join()
        assert World.pages(crawl) == expected
    assert errors == []


def test_the_command_does_not_import_numba(crawled: Path) -> None:
    code = (
        "import sys\nfrom gossamer.cli.query import explain\n"
        f"explain.main([{str(crawled)!r}, {ROOT!r}], standalone_mode=False)\n"
        f"explain.main([{str(crawled)!r}, 'a.example', '--json'], standalone_mode=False)\n"
        "assert 'numba' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "a seed" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["site"] == "a.example"


def standing(state: str = "pending", **more: Any) -> dict[str, Any]:
    return {"state": state, "in_flight": False, "due": None, "site": {"number": 1, "aside": False}, **more}


@pytest.mark.parametrize(
    ("page", "said", "words"),
    [
        (11, standing(), "number 2 of the 3"),
        (99, standing("done"), "It is done"),
        (99, standing("waiting", due=200.0), "not due"),
        (99, standing(in_flight=True), "right now"),
        (99, standing(site={"number": 1, "aside": True}), "backing off"),
        (99, standing(), "batch_per_site = 3"),
        (99, standing(site={"number": 2, "aside": False}), "batch_size = 5"),
    ],
)
def test_the_reason_why_a_page_is_in_the_plan_or_not_is_reported(page: int, said: dict[str, Any], words: str) -> None:
    pages, ranks = np.array([7, 8, 10, 11, 12], np.uint32), np.arange(5, dtype=np.uint32)
    plan = Plan(np.array([0, 1], np.uint32), np.array([0, 2, 5]), pages, ranks, 0.1, 9, 0.0, 0)
    manager = config.override(Settings(), ["manager.batch_per_site=3", "manager.batch_size=5"])
    found = plan_standing(plan, 100.0, manager, said, page)
    assert words in found["words"]
    assert found["planned"] == (page == 11)
    json.dumps(found)


def test_a_page_found_after_the_plan_is_for_the_next_plan(tmp_path: Path) -> None:
    nothing = np.zeros(0, np.uint32)
    plan = Plan(nothing, np.zeros(1, np.int64), nothing, nothing, 0.1, 0, 0.0, 0)
    assert "the next plan" in plan_standing(plan, 100.0, Settings(), standing(), 5)["words"]


def test_scores_and_rank_are_reported(crawled: Path) -> None:
    said = explain_page(crawled, f"{ROOT}sick")
    assert 0 <= said["scores"]["quality"] <= 1
    assert said["scores"]["rank"] in (0, 1)
    assert "rank" in text_of(said)


# --- one account of what waits --------------------------------------------------------------------------------------

SICK = {
    "http://ill.example/robots.txt": Reply(outcome=Outcome.SERVER_ERROR, status=503),
    "http://ill.example/": Reply(),
    ROOT: Reply(links=["http://ill.example/", "http://ill.example/a"]),
}


def test_pages_of_a_suspended_site_wait_in_explain_as_in_status(tmp_path: Path) -> None:
    with running(world_in(tmp_path / "c", SICK), [ROOT]) as (crawl, listener):
        for _ in range(80):
            crawl.turn()
        wall = crawl.desk.believed(crawl.clock.wall())
        status = statistics_of(crawl.desk, wall).pages.why
        assert status.waiting["site: robots_unreadable"].pages == 2
        site = listener.answer(b'{"site": "ill.example"}')["standing"]
        assert site["pages"] == {"pending": 0, "waiting": 2, "done": 0, "excluded": 0}
        assert site["why"]["waiting"] == {"site: robots_unreadable": 2}
        said = explain_page(tmp_path / "c", "http://ill.example/a")
        assert (said["standing"]["state"], said["standing"]["held"]) == ("waiting", "robots_unreadable")
        assert said["standing"]["due"] == said["standing"]["site"]["next"]
        text = "\n".join(lines_of(said, wall))
        assert "requested when its turn comes" not in text
        assert "robots.txt could not be read" in text


def test_a_failed_robots_txt_is_distinguished_from_one_not_requested_yet(tmp_path: Path) -> None:
    with running(world_in(tmp_path / "c", SICK), [ROOT]) as (crawl, listener):
        answer = listener.answer(json.dumps({"page": ROOT}).encode())
        assert answer["standing"]["robots"]["failures"] == 0
        for _ in range(80):
            crawl.turn()
        wall = crawl.desk.believed(crawl.clock.wall())
        said = explain_page(tmp_path / "c", "http://ill.example/")
        robots = said["standing"]["robots"]
        assert robots["failures"] > 0
        assert robots["again"] == said["standing"]["site"]["next"]
        assert f"requested {robots['failures']} time" in "\n".join(lines_of(said, wall))


def test_robots_txt_and_clock_are_reported_for_an_unknown_page_of_a_known_site(crawled: Path, tmp_path: Path) -> None:
    said = explain_page(crawled, f"{ROOT}private/2")
    assert not said["known"]
    assert (said["would"]["robots"]["verdict"], said["would"]["robots"]["rule"]) == ("forbidden", "Disallow: /private/")
    assert said["would"]["site"]["name"] == "a.example"
    text = text_of(said)
    assert "scope: Links to it are followed." in text
    assert "forbidden by" in text
    assert "site: a.example" in text
    assert explain_page(crawled, "http://a.example:81/")["would"]["robots"]["verdict"] is None
    assert explain_page(crawled, "http://nobody.example/")["would"] is None
    with running(world_in(tmp_path / "c"), [ROOT]) as (crawl, _):
        for _ in range(60):
            crawl.turn()
        live = explain_page(tmp_path / "c", f"{ROOT}private/2")
        assert live["would"]["robots"]["rule"] == "Disallow: /private/"


@pytest.mark.parametrize(
    "target", ["mailto:x@y.z", "/etc/passwd", "http:///x", "", " ", "javascript:void(0)", "ftp://a/"]
)
def test_a_target_that_is_neither_url_nor_site_is_a_usage_error(crawled: Path, target: str) -> None:
    from gossamer.cli.query import explain

    with pytest.raises(UsageError, match="neither an http or https URL"):
        explain.main([str(crawled), target], standalone_mode=False)


@pytest.mark.parametrize("target", ["a.example", "a.example:8080", "[::1]", "192.0.2.1", "a"])
def test_names_of_sites_are_recognised(target: str) -> None:
    assert is_site(target)


# --- plans of the past ----------------------------------------------------------------------------------------------


def past(number: int = 7, made: float = 100.0, **more: Any) -> Past:
    def numbers(*values: int) -> Any:
        return np.array(values, np.uint32)

    given: dict[str, Any] = {
        "known": 50,
        "candidates": 30,
        "batch": 9,
        "cap": 3,
        "sites": numbers(4, 5),
        "ends": numbers(3, 5),
        "pages": numbers(20, 21, 22, 30, 31),
        "aside": numbers(6),
    }
    return Past(number, made, **given | more)


@pytest.mark.parametrize(
    ("page", "site", "visits", "more", "words"),
    [
        (21, 4, [], {}, "number 2 of the 3"),
        (30, 5, [], {}, "number 1 of the 2"),
        (50, 4, [], {}, "not known yet"),
        (40, 5, [{"time": 99.0, "outcome": "ok"}], {}, "already done"),
        (40, 5, [{"time": 101.0, "outcome": "ok"}], {"batch": 5}, "batch_size = 5"),
        (40, 6, [], {}, "suspended"),
        (40, 4, [], {}, "batch_per_site = 3"),
        (40, 5, [{"time": 99.0, "outcome": "timed_out"}], {}, "in flight, waiting"),
    ],
)
def test_the_reason_why_a_page_was_in_a_past_plan_or_not_is_reported(
    page: int, site: int, visits: list[Visit], more: dict[str, int], words: str
) -> None:
    plan = cast(PlanFacts, past(**more).about(page, site))
    assert words in _plan_words(plan, visits)


def test_the_last_plans_are_kept_and_read_back(tmp_path: Path) -> None:
    history = History()
    for number in range(1, 100):
        history.add(past(number, 100.0 * number, pages=np.array([number, 21, 22, 30, 31], np.uint32)))
    history.write(tmp_path)
    again = read_history(tmp_path)
    assert again.last == 99
    assert again.about(80, 4) == history.about(80, 4)
    assert [(said["number"], said["place_in_site"]) for said in again.about(80, 4)] == [
        (80, 1),
        (97, None),
        (98, None),
        (99, None),
    ]
    assert [said["number"] for said in again.about(1, 4)] == [97, 98, 99], "so long ago that it is forgotten"
    history.add(past(100, aside=np.zeros(500_000, np.uint32)))
    assert len(history._past) == 3
    raw = (tmp_path / PLANS).read_bytes()
    for damaged in (raw[:-4], raw[:-1] + b"x", b"", b"{}\n", raw[20:]):
        (tmp_path / PLANS).write_bytes(damaged)
        assert read_history(tmp_path).last == 0


def test_the_plans_that_contained_a_page_are_reported_during_the_crawl_and_after(tmp_path: Path) -> None:
    world = world_in(tmp_path / "c")
    with running(world, [ROOT]) as (crawl, _):
        for _ in range(60):
            crawl.turn()
        live = explain_page(tmp_path / "c", f"{ROOT}two")["plans"]
        assert any(plan["planned"] for plan in live)
        assert live[-1]["number"] == crawl.planner._history.last
        crawl.planner.write_history()
    said = explain_page(without_holder(tmp_path / "c"), f"{ROOT}two")
    assert said["plans"] == live
    assert f"plan {live[-1]['number']} of " in text_of(said)
    with running(world, []) as (crawl, _):
        assert crawl.planner._history.last == live[-1]["number"]


def test_the_next_visit_is_told_in_words() -> None:
    found = NextVisit(2_000.0, "manager.min_period has passed", 5_600.0, 0.5, 0.75, 0.25, 0.125)
    assert list(_next_lines(asdict(found), 1_000.0)) == [
        f"next visit: not before {when_of(2_000.0, 1_000.0)}, when manager.min_period has passed",
        f"  worth it from {when_of(5_600.0, 1_000.0)} on: its score will be 0.5 when it may be requested, and the best "
        "other page of its site that waits has 0.75",
        "  0.25 changes a day are believed: 12 % that it has changed",
    ]
    (never,) = _next_lines(asdict(NextVisit(None, "robots.txt forbids it")), 0.0)
    assert never == "next visit: none, as long as robots.txt forbids it"
