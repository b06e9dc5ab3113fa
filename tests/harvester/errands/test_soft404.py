"""Soft 404 (A.3.4): which sites are probed, when, and which of their pages are treated as missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import urls
from gossamer.base.ending import Ending
from gossamer.base.model import NONE, VISIT, Ask, Assignment, LinkKind, Outcome, State, VisitFlag
from gossamer.config import Settings, override
from gossamer.crawler.parts import LAYOUT
from gossamer.desk.account import Account
from gossamer.desk.columns import Group
from gossamer.gatherer.reader import Reader
from gossamer.harvester.errands.probes import MOST, NAME, ROW, SAME, Answer, Kind, ProbeAnswers, Probes, answer_of, vote
from gossamer.harvester.errands.soft404 import ALIKE, MANY, TRIES
from gossamer.read.explain.page import explain_page
from gossamer.read.explain.text import lines_of
from gossamer.robots import Rules
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.message import HEAD, Results, decode_results
from gossamer.webs.simulated import Labels, Reply
from tests.support.world import Result, World, impolite, robots_first, state_of

ROOT = "http://a.example/"
NOTHING = 0x0123_4567_89AB_CDEF
"""The sketch of an error page."""
SOFT = Outcome.SOFT_404


def told(number: int) -> int:
    """Sketches that differ in many bits."""
    return number * 0x9E37_79B9_7F4A_7C15 % (1 << 64) or 1


def nothing(url: str = "", bits: int = 0) -> Reply:
    return Reply(sketch=NOTHING ^ bits, title="Sorry", links=(f"{ROOT}from-an-error-page",))


def site(missing: Callable[[str], Reply], dead: int = 12, alive: int = 6, folder: str = "") -> Callable[[str], Reply]:
    """Links to `dead` missing pages and to `alive` existing ones, each with a text of its own."""
    pages = [f"{ROOT}{folder}old{i}" for i in range(dead)] + [f"{ROOT}{folder}p{i}" for i in range(alive)]

    def reply(url: str) -> Reply:
        if url == ROOT:
            return Reply(links=pages, sketch=told(1), title="Home")
        if url in pages[dead:]:
            return Reply(sketch=told(pages.index(url) + 2), title=url)
        if url.endswith("/robots.txt"):
            return Reply(Outcome.NOT_FOUND, 404)
        return missing(url)

    return reply


def _with_robots(pages: Callable[[str], Reply], robots: Reply) -> Callable[[str], Reply]:
    return lambda url: robots if url.endswith("/robots.txt") else pages(url)


def probes(here: World) -> list[str]:
    return [a.url for a in here.asked if a.ask is Ask.PROBE]


def with_outcome(result: Result, outcome: Outcome) -> set[str]:
    return {url for url, (_, found, _) in result.pages.items() if found is outcome}


def test_a_site_that_answers_as_if_all_pages_existed_is_probed_once_and_detected(tmp_path: Path) -> None:
    here = World(tmp_path, site(nothing))
    result = here.run([ROOT])
    assert result.ending is Ending.DONE
    assert len(probes(here)) == 1
    assert re.fullmatch(re.escape(ROOT + NAME) + "[0-9a-f]{16}", probes(here)[0])
    soft, taken = with_outcome(result, SOFT), with_outcome(result, Outcome.OK)
    assert len(soft) > 12 - ALIKE - 3
    assert soft < {f"{ROOT}old{i}" for i in range(12)}
    assert {f"{ROOT}p{i}" for i in range(6)} | {ROOT} <= taken, "a page with a text of its own is a page"
    assert not any(NAME in url for url in result.pages), "a probe is not a page"
    assert result.crawl.desk[Account].stored == len(taken)
    assert impolite(here.asked, 5.0, 1.0) == []
    assert robots_first(here.asked)


def test_links_of_a_soft_404_are_not_followed(tmp_path: Path) -> None:
    """The first of them is fetched before the probe, so its links are followed."""
    here = World(tmp_path, site(lambda url: Reply(sketch=NOTHING, title="Sorry", links=[f"{url}/more"])))
    result = here.run([ROOT])
    followed = {url.removesuffix("/more") for url in result.pages if url.endswith("/more")}
    assert followed.isdisjoint(with_outcome(result, SOFT))
    assert len(followed) <= ALIKE + 3


@pytest.mark.parametrize("bits", [0, 0b1, 0b111])
def test_near_equal_answers_are_soft_404(tmp_path: Path, bits: int) -> None:
    here = World(tmp_path, site(lambda url: nothing(url, 0 if NAME in url else bits)))
    assert len(with_outcome(here.run([ROOT]), SOFT)) > 6


def test_an_answer_that_differs_in_four_bits_or_has_another_title_is_a_page(tmp_path: Path) -> None:
    far = World(tmp_path / "far", site(lambda url: nothing(url, 0 if NAME in url else 0b1111)))
    assert with_outcome(far.run([ROOT]), SOFT) == set()
    own = World(tmp_path / "own", site(lambda url: Reply(sketch=NOTHING, title=url)))
    assert with_outcome(own.run([ROOT]), SOFT) == set()
    assert probes(far)
    assert probes(own)


def test_a_site_that_answers_honestly_has_no_soft_404(tmp_path: Path) -> None:
    """Its pages resemble one another, but it answers 404 for missing pages."""
    missing = Reply(Outcome.NOT_FOUND, 404)
    here = World(tmp_path, site(lambda url: missing if NAME in url else nothing(url)))
    result = here.run([ROOT])
    assert with_outcome(result, SOFT) == set()
    assert len(probes(here)) == 1


def test_a_site_whose_pages_do_not_resemble_one_another_is_not_probed(tmp_path: Path) -> None:
    numbers = {f"{ROOT}old{i}": told(i + 50) for i in range(12)}
    here = World(tmp_path, site(lambda url: Reply(sketch=numbers.get(url, NOTHING), title="Sorry")))
    here.run([ROOT])
    assert probes(here) == []


@pytest.mark.parametrize(("honest", "most"), [(True, 2), (False, MOST)])
def test_a_folder_is_probed_once_and_no_more_probes_of_a_site_than_most(
    tmp_path: Path, honest: bool, most: int
) -> None:
    """The pages of each folder have the same text, and each folder has its own error page. If the site is honest, the
    suspicion fades."""
    pages = [f"{ROOT}f{n}/p{i}" for n in range(12) for i in range(6)]

    def reply(url: str) -> Reply:
        if url == ROOT:
            return Reply(links=pages, sketch=told(1))
        if url.endswith("robots.txt") or (honest and NAME in url):
            return Reply(Outcome.NOT_FOUND, 404)
        if NAME in url:
            return Reply(sketch=told(1_000 + len(url)), title=url)
        return Reply(sketch=told(99 + pages.index(url) // 6), title=url)

    here = World(tmp_path, reply)
    assert with_outcome(here.run([ROOT]), SOFT) == set()
    folders = [urls.folder(url) for url in probes(here)]
    assert len(folders) == len(set(folders)) == most
    assert impolite(here.asked, 5.0, 1.0) == []


def test_pages_that_redirect_to_the_target_of_a_probe_are_soft_404(tmp_path: Path) -> None:
    to = Reply(Outcome.REDIRECT, 302, [f"{ROOT}sorry"], LinkKind.REDIRECT, redirect=f"{ROOT}sorry")
    here = World(tmp_path, site(lambda url: Reply(title="Sorry", sketch=NOTHING) if url.endswith("sorry") else to))
    result = here.run([ROOT])
    assert len(probes(here)) == 1
    assert len(with_outcome(result, SOFT)) >= 12 - ALIKE - 3
    assert result.pages[f"{ROOT}sorry"][1] is Outcome.OK


def test_a_redirect_of_a_soft_404_is_followed(tmp_path: Path) -> None:
    """Nothing else leads to the error page: its own content decides."""

    def missing(url: str) -> Reply:
        if "twin" in url or url.endswith("sorry"):
            return nothing(url)
        return Reply(Outcome.REDIRECT, 302, [f"{ROOT}sorry"], LinkKind.REDIRECT, redirect=f"{ROOT}sorry")

    twins = [f"{ROOT}twin{i}" for i in range(4)]
    here = World(tmp_path, lambda url: Reply(links=twins) if url == f"{ROOT}seed" else site(missing)(url))
    here.run([f"{ROOT}seed"])
    assert len(probes(here)) == 1
    result = here.run([ROOT])
    assert with_outcome(result, SOFT) == {f"{ROOT}old{i}" for i in range(12)}
    assert result.pages[f"{ROOT}sorry"][1] is Outcome.OK


def test_a_redirect_that_repeats_the_requested_name_proves_nothing(tmp_path: Path) -> None:
    """A program shows all pages of the site by a query, and answers 404 for missing ones."""

    def missing(url: str) -> Reply:
        if "twin" in url:
            return nothing(url)
        if "?item=" not in url:
            target = f"{ROOT}index.php?item={url.removeprefix(ROOT)}"
            return Reply(Outcome.REDIRECT, 301, [target], LinkKind.REDIRECT, redirect=target)
        return Reply(sketch=told(int("0" + re.sub(r"\D", "", url)) % 100 + 200), title=url)

    twins = [f"{ROOT}twin{i}" for i in range(4)]
    here = World(tmp_path, lambda url: Reply(links=twins) if url == f"{ROOT}seed" else site(missing)(url))
    here.run([f"{ROOT}seed"])
    result = here.run([ROOT])
    assert len(probes(here)) == 1
    assert with_outcome(result, SOFT) == set()
    assert {f"{ROOT}index.php?item=old{i}" for i in range(12)} <= with_outcome(result, Outcome.OK)


@pytest.mark.parametrize(
    "target",
    ["https://a.example/{0}", "http://a.example/shown/{0}.html", "http://a.example/{1}", "http://a.example/f?for={1}"],
)
def test_the_name_of_a_probe_is_recognised_in_any_case_and_without_its_extension(target: str) -> None:
    name = f"{NAME}00ab00ab00ab00ab"
    visit = np.zeros(1, VISIT)[0]
    visit["outcome"] = Outcome.REDIRECT
    texts = {"title": f"{ROOT}{name}.php ".encode(), "redirect": target.format(name, name.upper()).encode()}
    answer = answer_of(visit, texts, urls.Scope(("*",)), 7)
    assert answer == Answer(Kind.NOTHING, urls.fingerprint(ROOT, 7))
    elsewhere = answer_of(visit, texts | {"redirect": b"http://a.example/sorry"}, urls.Scope(("*",)), 7)
    assert elsewhere.kind is Kind.REDIRECT


def test_a_probe_that_is_redirected_to_another_spelling_of_itself_proves_nothing(tmp_path: Path) -> None:
    def missing(url: str) -> Reply:
        if NAME in url:
            target = url.replace("http://", "https://")
            return Reply(Outcome.REDIRECT, 301, redirect=target)
        return nothing(url)

    here = World(tmp_path, site(missing))
    assert with_outcome(here.run([ROOT]), SOFT) == set()
    assert probes(here)


def test_many_redirects_to_one_address_are_soft_404_without_a_probe(tmp_path: Path) -> None:
    rules = Rules.parse(f"User-agent: *\nDisallow: /{NAME}".encode(), "Gossamer").compiled()
    to = Reply(Outcome.REDIRECT, 302, [ROOT], LinkKind.REDIRECT, redirect=ROOT)
    pages = site(lambda url: to, dead=60)
    here = World(tmp_path, _with_robots(pages, Reply(rules=rules)))
    result = here.run([ROOT])
    assert probes(here) == [], "robots.txt forbids it"
    assert len(with_outcome(result, SOFT)) == 60 - MANY
    assert result.pages[ROOT][1] is Outcome.OK


def test_seeds_and_start_pages_are_never_soft_404(tmp_path: Path) -> None:
    """The site shows its start page for every missing page."""

    def reply(url: str) -> Reply:
        if "robots" in url:
            return Reply(Outcome.NOT_FOUND, 404)
        links = [f"{ROOT}old{i}" for i in range(12)] if url == ROOT else ()
        return Reply(sketch=NOTHING, title="Home", links=links, digest=9, labels=Labels(VisitFlag.EMPTY))

    here = World(tmp_path, reply, ["manager.min_period=1h", "manager.gamma=1"])
    here.run([ROOT, f"{ROOT}seed"])
    here.clock.advance(5 * 3600.0)
    again = here.run(seconds=3600.0)
    assert sum(a.url == ROOT for a in here.asked) > 1
    assert again.pages[ROOT][1] is again.pages[f"{ROOT}seed"][1] is Outcome.OK
    (kept,) = {answer.kept for answer in again.crawl.desk[ProbeAnswers].probes.of(0)}
    assert kept != NONE
    assert len(with_outcome(again, SOFT)) == 11, (
        "pages that were fetched before the probe are soft 404 when fetched again"
    )


@pytest.mark.parametrize("seed", ["start", ""])
def test_the_page_that_a_site_shows_for_missing_pages_is_kept(tmp_path: Path, seed: str) -> None:
    """It is the first after the probe, or the target of a seed; all others are soft 404."""

    def reply(url: str) -> Reply:
        if "robots" in url:
            return Reply(Outcome.NOT_FOUND, 404)
        if url == ROOT:
            return Reply(Outcome.REDIRECT, 301, [f"{ROOT}start"], LinkKind.REDIRECT, redirect=f"{ROOT}start")
        if "own" in url:
            return Reply(sketch=told(int(url[-1]) + 50), title=url)
        links = [f"{ROOT}{word}{i}" for i in range(9) for word in ("own", "old")]
        return Reply(sketch=NOTHING, title="Start", links=links)

    here = World(tmp_path, reply, ["manager.min_period=1h", "manager.gamma=1"])
    here.run([f"{ROOT}{seed}"])
    for _ in range(2):
        here.clock.advance(5 * 3600.0)
        result = here.run(seconds=3600.0)
    assert result.pages[f"{ROOT}start"][1] is Outcome.OK
    olds = {f"{ROOT}old{i}" for i in range(9)}
    soft = with_outcome(result, SOFT)
    assert soft < olds
    assert len(soft) >= 8 - ALIKE - 3
    assert state_of(here.replayed()) == state_of(result.crawl.desk)


def test_the_kept_page_is_replaced_when_its_content_changes() -> None:
    kept = Probes(Group(1, LAYOUT["site"]).probe)
    kept.add(0, Answer(Kind.TEXT, 1, NOTHING, 5, 8, 100))

    def page(number: int, outcome: Outcome = Outcome.OK, digest: int = 8) -> int:
        visit = np.zeros(1, VISIT)[0]
        visit["page"], visit["outcome"], visit["digest"], visit["sketch"] = number, outcome, digest, NOTHING
        visit["text_length"] = 100
        kept.note(visit, NOTHING, 5)
        return next(kept.of(0)).kept

    assert [page(4), page(6), page(4, digest=9), page(4, Outcome.NOT_FOUND), page(6)] == [4, 4, 4, NONE, 6]


def test_pages_with_a_constant_title_are_pages_unless_they_are_identical(tmp_path: Path) -> None:
    """All have almost the text of the error page, as pages of one template do, and its title or none."""
    for name, title, flags in (("constant", "ACME", 0), ("none", "", 0), ("noindex", "", VisitFlag.NOINDEX)):

        def missing(url: str, title: str = title, flags: int = flags) -> Reply:
            number = int(re.sub(r"\D", "", url) or 0) if NAME not in url else 0
            dead = number >= 6 or NAME in url
            bits, digest = (0, 77) if dead else (1 << number, 100 + number)
            return Reply(sketch=NOTHING ^ bits, digest=digest, title=title, labels=Labels(flags | VisitFlag.EMPTY))

        def reply(url: str, title: str = title, missing: Callable[[str], Reply] = missing) -> Reply:
            found = site(missing, dead=16, alive=0)(url)
            return replace(found, title=title) if url == ROOT else found

        here = World(tmp_path / name, reply)
        result = here.run([ROOT])
        soft = with_outcome(result, SOFT)
        assert soft < {f"{ROOT}old{i}" for i in range(6, 16)}, name
        assert len(soft) >= 10 - ALIKE - 3, name


def test_a_title_of_pages_with_different_texts_proves_nothing(tmp_path: Path) -> None:
    def missing(url: str) -> Reply:
        if "own" in url:
            return Reply(sketch=told(int(url[-1]) + 50), title="Sorry")
        return Reply(sketch=NOTHING, title="Sorry", links=[f"{ROOT}own{i}" for i in range(9)])

    here = World(tmp_path, site(missing, dead=60))
    here.run([ROOT])
    assert next(here.replayed()[ProbeAnswers].probes.of(0)).common


def test_near_equal_pages_are_as_long_as_the_answer() -> None:
    answer, visit = Answer(Kind.TEXT, 1, NOTHING, 5, 8, 1000), np.zeros(1, VISIT)[0]
    for length, near in ((1000, True), (901, True), (1099, True), (880, False), (1120, False)):
        visit["text_length"] = length
        assert answer.repeated_by(visit, NOTHING ^ 1, 5) is near
        assert answer.belied_by(visit, NOTHING ^ 1, 5) is not near


@pytest.mark.parametrize(
    "outcome", [Outcome.TIMED_OUT, Outcome.SERVER_ERROR, Outcome.TOO_MANY_REQUESTS, Outcome.CHALLENGED]
)
def test_a_probe_with_a_transient_failure_is_repeated_three_times_at_most(tmp_path: Path, outcome: Outcome) -> None:
    for failures, tried in ((1, 2), (9, TRIES)):
        failed = Counter[str]()

        def missing(url: str, failures: int = failures, failed: Counter[str] = failed) -> Reply:
            failed[url] += 1
            return Reply(outcome, 0) if NAME in url and failed[url] <= failures else nothing(url)

        here = World(tmp_path / f"{failures}", site(missing, dead=30))
        result = here.run([ROOT])
        assert len(probes(here)) == tried
        assert bool(with_outcome(result, SOFT)) is (failures == 1)
        assert len(list(result.crawl.desk[ProbeAnswers].probes.of(0))) == (failures == 1)
        assert impolite(here.asked, 5.0, 1.0) == []


def test_rows_of_an_image_of_an_earlier_version_can_be_read() -> None:
    fields = [(name, ROW[name]) for name in ("before", "kind", "folder", "value", "title")]
    sites = Group(2, LAYOUT["site"])
    sites.probe[1] = 2
    kept = Probes(sites.probe)
    kept.load(np.array([(0, Kind.PATH, 1, 2, 0), (1, Kind.REDIRECT, 3, 4, 0)], fields))
    assert list(kept.of(1)) == [Answer(Kind.REDIRECT, 3, 4), Answer(Kind.NOTHING, 1)]
    assert kept.telling.tolist() == [False, True]


def test_without_the_setting_no_site_is_probed(tmp_path: Path) -> None:
    here = World(tmp_path, site(nothing), ["harvester.soft_404=false"])
    assert with_outcome(here.run([ROOT]), SOFT) == set()
    assert probes(here) == []


def test_a_probe_is_asked_for_by_robots_txt_and_under_all_clocks(tmp_path: Path) -> None:
    rules = Rules.parse(f"User-agent: *\nDisallow: /shut/\nDisallow: /{NAME}".encode(), "Gossamer")
    for folder, allowed in (("open/", True), ("", False)):
        pages = site(nothing, folder=folder)
        robots = Reply(rules=rules.compiled(), delay=20.0)
        here = World(tmp_path / f"{allowed}", _with_robots(pages, robots))
        here.run([ROOT])
        assert bool(probes(here)) is allowed
        asked = sorted(here.asked, key=lambda a: a.start)
        assert all(b.start >= a.end + 20.0 - 1e-6 for a, b in pairwise(asked))


@pytest.mark.parametrize("sealed", [False, True])
def test_the_answer_to_a_probe_survives_a_kill(tmp_path: Path, sealed: bool) -> None:
    here = World(tmp_path, site(nothing, dead=40))
    here.run([ROOT], clean=False, turns=400, commit=True, sealed=sealed)
    assert len(probes(here)) == len(list(here.replayed()[ProbeAnswers].probes.of(0))) == 1
    result = here.run()
    assert len(probes(here)) == 1
    assert state_of(here.replayed()) == state_of(result.crawl.desk)
    assert impolite(here.asked, 5.0, 1.0) == []
    again = here.run()
    assert list(again.crawl.desk[ProbeAnswers].probes.of(0)) == list(result.crawl.desk[ProbeAnswers].probes.of(0)), (
        "from the image"
    )


def test_explain_says_why_a_page_is_soft_404(tmp_path: Path) -> None:
    here = World(tmp_path, site(nothing))
    result = here.run([ROOT])
    page = min(with_outcome(result, SOFT))
    said = "\n".join(lines_of(explain_page(tmp_path, page), here.clock.wall()))
    assert "soft_404 (200): " + SOFT.sentence in said
    assert "the same answer as for a page that cannot exist" in said
    assert probes(here)[0] in said
    assert result.in_state(State.DONE)


def test_the_number_of_kept_probes_is_bounded() -> None:
    sites = Group(3, LAYOUT["site"])
    kept = Probes(sites.probe)
    for i in range(3 * MOST):
        kept.add(i % 2, Answer(Kind.TEXT, i, i + 1, 0))
    assert [len(list(kept.of(s))) for s in range(3)] == [MOST, MOST, 0]
    other = Probes(sites.probe)
    other.load(kept.dump())
    assert list(other.of(1)) == list(kept.of(1))
    assert next(other.of(1)).folder == 2 * MOST - 1


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 100), st.randoms())
def test_the_target_of_most_redirects_is_found(others: list[int], more: int, random: Random) -> None:
    """With one counter per origin, in any order of redirects; few redirects prove nothing."""
    origins, count = Group(2, LAYOUT["origin"]), Counter[int]()
    votes = [7 + i for i in others] + [5] * (SAME * len(others) + more)
    random.shuffle(votes)
    for target in votes:
        vote(origins, 1, target)
        count[target] += 1
        assert origins.moved[1] <= SAME * count[int(origins.moved_to[1])]
    assert origins.moved_to[1] == 5
    assert origins.moved[0] == 0


def test_a_worker_reads_the_answer_to_a_probe_like_a_page_but_without_its_links() -> None:
    url = f"{ROOT}a/{NAME}1.html"
    body = b"<title>Sorry</title>" + b"there is no such page here " * 9 + b'<a href="/x">x</a><img src=y.png>'
    read: dict[Ask, tuple[np.void, Results]] = {}
    for ask in (Ask.PAGE, Ask.PROBE):
        fetched = Fetched(
            Assignment(1, ask, NONE, 0, 0, url.encode(), "127.0.0.1", 80),
            None,
            "",
            0.0,
            0.1,
            status=200,
            headers={"content-type": "text/html"},
            body=body,
        )
        results = decode_results([Reader(override(Settings(), ("seeder.domains=*",)), 7).result(fetched)[HEAD.size :]])
        read[ask] = (results.visits[0], results)
    visit, results = read[Ask.PROBE]
    assert (visit["outcome"], len(results.links), visit["counted"].sum()) == (Outcome.OK, 0, 0)
    assert len(read[Ask.PAGE][1].links) == 1
    assert results.text(0, "title").decode() == f"{url} Sorry"
    assert all(visit[name] == read[Ask.PAGE][0][name] for name in ("sketch", "digest", "text_length"))
    answer = answer_of(visit, results.visit_texts().all()[0], urls.Scope(("*",)), 7)
    assert answer == Answer(
        Kind.TEXT,
        urls.fingerprint(f"{ROOT}a/", 7),
        int(visit["sketch"]),
        urls.fingerprint("Sorry", 7),
        int(visit["digest"]),
        int(visit["text_length"]),
    )
