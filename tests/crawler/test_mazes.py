"""Mazes (A.6.1, A.6.2): sites with endless new URLs behind their links. Each crawl of them ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import urls
from gossamer.base.ending import Ending
from gossamer.base.model import Counted, Outcome, Reason, State
from gossamer.config import Settings
from gossamer.config.settings import SeederSettings
from gossamer.gatherer.gather import gather
from gossamer.manager.pages import Pages
from gossamer.read.explain.address import scope_verdict
from gossamer.urls import Scope, canonical
from gossamer.webs.simulated import Reply
from tests.support.timing import takes_less
from tests.support.world import World, impolite

SESSION_IDS = SeederSettings().session_ids
EVERYWHERE = Scope(("*",))
HOME = "http://example.org/"
PER_SITE = 40
parts = st.sampled_from(["a", "b", "c", "cc", "11", "2011", ""])


@given(
    st.lists(parts, max_size=9),
    st.lists(st.sampled_from(["x=1", "x=2", "y=1", "y", ""]), max_size=7),
    st.integers(0, 3),
)
def test_a_url_is_a_trap_if_it_repeats_a_path_segment_or_parameter_too_often(
    path: list[str], query: list[str], most: int
) -> None:
    url = HOME + "/".join(path) + ("?" + "&".join(query) if query else "")
    named = Counter(part for part in path if part and not part.isdigit())
    given = Counter(part for part in query if part)
    expected = most > 0 and max([0, *named.values(), *given.values()]) > most
    scope = Scope(("*",), repeats=most)
    assert scope.entraps(url) is expected
    assert scope.entraps(url) is expected, "the same again, when its folder is cached"


def test_trap_links_are_counted_and_explain_gives_the_reason() -> None:
    body = b'<a href="c/">on</a><a href="other">off</a><a href="/a/b?x=1&amp;x=1&amp;x=1">q</a>' + b"words " * 20
    found = gather(f"{HOME}a/b/c/c/", "text/html", (), body, Settings().gatherer, EVERYWHERE, "Gossamer")
    assert [link.url for link in found.links] == [f"{HOME}a/b/c/c/other"]
    assert found.counted[Counted.TRAP] == 2
    said = scope_verdict(f"{HOME}a/b/c/c/c/", SeederSettings(domains=("*",)), EVERYWHERE)
    assert (said["accepted"], said["why"]) == (False, "trap")
    assert "seeder.repeats = 2" in said["words"]


def test_reject_patterns_take_linear_time() -> None:
    for query in ("?" * 1_900, "a=" * 950, "?sid=1&" * 270, "a&login" * 270):
        assert takes_less(partial(EVERYWHERE.rejects, f"{HOME}x?{query}x"), than=0.02)


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("/(S(lit3py55t21z5v55vlm25s55))/orders.aspx", "/orders.aspx"),
        ("/app/(X(1)S(abc))/a.aspx?b=1", "/app/a.aspx?b=1"),
        ("/app/(X(1)S(abc))/a.aspx?XTCsid=5&b=1", "/app/a.aspx?b=1"),
        ("/Lisp_(S(x)", "/Lisp_(S(x)"),
        ("/(S(x))", "/(S(x))"),
        ("/page_(disambiguation)/x", "/page_(disambiguation)/x"),
    ],
)
def test_sessions_in_paths_are_removed(url: str, without: str) -> None:
    assert canonical(f"http://h.example{url}", None, SESSION_IDS) == f"http://h.example{without}"
    assert canonical(f"http://h.example{url}") == f"http://h.example{url}", "only if the settings say so"


@pytest.mark.parametrize("link", ["b.aspx", "../b.aspx", "./b", "?x=1", "/(S(other))/b", "http://h.example/(S(o))/b"])
@pytest.mark.parametrize(
    "base", ["http://h.example/(S(x))/a", "http://h.example/p/(S(x))/q/a", "http://h.example/p;sid=1/q"]
)
def test_links_of_a_base_with_a_session_are_joined_by_the_standard(base: str, link: str) -> None:
    assert urls.Joiner(base, SESSION_IDS)(link) == canonical(link, base, SESSION_IDS)
    assert "S(" not in (canonical(link, base, SESSION_IDS) or "")


def _page(url: str, links: list[str]) -> Reply:
    """A page as a worker gathers it."""
    body = f"<title>{url}</title>{url}" + "".join(f'<a href="{link}">x</a>' for link in links)
    found = gather(url, "text/html", (), body.encode(), Settings().gatherer, EVERYWHERE, "Gossamer")
    return Reply(links=[link.url for link in found.links])


def _number(url: str) -> int:
    return int("0" + "".join(c for c in url.rpartition("=")[2] if c.isdigit()))


def _months_around(url: str) -> list[int]:
    digits = [int(part) for part in url.split("/") if part.isdecimal()]
    month = 12 * digits[0] + digits[1] - 1 if len(digits) == 2 else 24_321
    return [month - 1, month + 1]


def _random(url: str, i: int) -> str:
    return f"{urls.fingerprint(f'{url} {i}', 0):016x}"


MAZES: dict[str, Callable[[str], list[str]]] = {
    "deeper": lambda url: ["c/", "other/", "../"],
    "calendar": lambda url: [f"/month?m={_number(url) + step}" for step in (1, 2, 12)],
    "query": lambda url: [f"{url}{'&' if '?' in url else '?'}a={len(url)}", f"{url}{'&' if '?' in url else '?'}b=1"],
    "names": lambda url: [f"/{_random(url, i)}" for i in range(9)],
    "session": lambda url: [f"/p{i}?token={_random(url, i)}" for i in range(5)],
    "known-session": lambda url: [f"/p{i}?PHPSESSID={2 * _random(url, i)}" for i in range(5)],
    "aspnet": lambda url: [f"/(S({_random(url, i)}aspxaspx))/p{i}.aspx" for i in range(5)],
    "months": lambda url: [f"/{month // 12:04d}/{month % 12 + 1:02d}/" for month in _months_around(url)],
    "facets": lambda url: [f"{url}{'&' if '?' in url else '?'}f{i}=on" for i in range(4) if f"f{i}=" not in url],
    "frames": lambda url: [f"{url}/f{i}" for i in range(4)],
}
"""By maze: the links of a page."""


def test_a_crawl_of_mazes_ends_by_itself_and_keeps_the_limits_of_pages(tmp_path: Path) -> None:
    def reply(url: str) -> Reply:
        name = urls.host(url).partition(".")[0]
        if url.endswith("/robots.txt"):
            return Reply(Outcome.NOT_FOUND, 404)
        return _page(url, MAZES[name](url))

    changes = [f"seeder.pages_per_site={PER_SITE}", "harvester.wait=5s", "seeder.depth_static=4"]
    here = World(tmp_path, reply, changes, address=lambda host: f"192.0.2.{[*MAZES].index(host.partition('.')[0])}")
    result = here.run([f"http://{name}.example/" for name in MAZES])
    assert result.ending is Ending.DONE
    known = Counter(urls.host(url).partition(".")[0] for url in result.pages)
    assert max(known.values()) <= PER_SITE
    assert known["known-session"] == known["aspnet"] == 6, "a page is one page under any session id"
    assert known["names"] == known["session"] == PER_SITE, "only the limits end these"
    assert sum(known[name] == PER_SITE for name in known) < len(MAZES), "some end before their limit"
    limits = {True: here.settings.seeder.depth_dynamic, False: here.settings.seeder.depth_static}
    for url in result.in_state(State.DONE):
        assert result.pages[url][2] <= limits[urls.classify(url).dynamic]
    reasons = result.crawl.desk[Pages].counts[State.EXCLUDED]
    assert reasons[Reason.DEPTH] > 0
    assert len(here.asked) <= len(MAZES) * (PER_SITE + 1)
    assert impolite(here.asked, 5.0, 1.0) == []


def test_known_trap_pages_are_excluded_when_the_settings_say_so(tmp_path: Path) -> None:
    start, maze = "http://a.example/", "http://a.example/c/c/c/"
    here = World(tmp_path, {start: Reply(links=[maze])}, ["seeder.domains=*", "seeder.repeats=0"])
    here.run([start], pages=1)
    here.changes = ["seeder.domains=*"]
    result = here.run(turns=0)
    page = result.crawl.desk.columns.page
    assert (page.state[1], page.reason[1]) == (State.EXCLUDED, Reason.TRAP)
    here.changes = ["seeder.domains=*", "seeder.repeats=3"]
    assert here.run().pages[maze][0] is State.DONE


def test_a_forum_with_a_page_per_posting_does_not_keep_others_waiting(tmp_path: Path) -> None:
    """A.5.1: only a good order helps. Other sites get their turns, however large the forum is."""
    postings = [f"http://forum.example/post?id={i}" for i in range(300)]
    others = [f"http://o{i}.example/" for i in range(10)]
    web = {"http://forum.example/": Reply(links=[*postings, *others])} | {url: Reply() for url in (*postings, *others)}
    here = World(tmp_path, web)
    result = here.run(["http://forum.example/"], pages=30)
    assert set(others) <= result.in_state(State.DONE)
