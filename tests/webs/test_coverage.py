"""Comparison of a crawl with the truth: a whole crawl misses nothing, and everything missing is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.base.model import Outcome
from gossamer.webs.coverage import Coverage, Fate, Part, compare, lines
from gossamer.webs.demo import DemoWeb, UrlKind
from gossamer.webs.demo.links import only_counted
from gossamer.webs.demo.web import DEPTH_DYNAMIC
from tests.support.crawling import LIGHT, Ended, gossamer, serve

WEB = DemoWeb(seed=5, sites=30, pages=600, largest=2_000, errors=0.01, busy=0.005, silent=1)
TRUTH, EXPECTED = WEB.truth(), WEB.reachable()
Found = dict[str, Fate]


def perfect() -> Found:
    """The result of a whole crawl without faults."""
    found, groups = Found(), dict[str, str]()
    for url, e in EXPECTED.items():
        t, copied = TRUTH[url], TRUTH[url].copy_of or url
        fate = Fate("excluded", "robots", None)
        if e.outcomes:
            word = "duplicate" if e.same_as in groups else Outcome.OK.word if e.same_as else min(e.outcomes).word
            of = groups.get(e.same_as or "")
            stored = word in ("ok", "duplicate")
            texts = (t.language, t.charset, t.title, t.description) if stored else ("", "", "", "")
            counted = len(only_counted(WEB, t.site, t.number)) if stored else 0
            fate = Fate("done", "none", word, of, *texts, copied.encode(), counted, stored)
        if e.same_as:
            groups.setdefault(e.same_as, url)
        found[url] = fate
    return found


def compared(found: Found) -> Coverage:
    return compare(WEB, found, DEPTH_DYNAMIC)


def parts(coverage: Coverage) -> dict[str, Part]:
    found = {"known": coverage.known, "fetched": coverage.fetched, "stored": coverage.stored}
    found |= coverage.kinds | coverage.texts
    return found | {f"repeats: {name}": part for name, part in coverage.repeats.items()}


def of_kind(kind: UrlKind) -> str:
    return next(url for url, e in EXPECTED.items() if e.kind is kind)


def test_a_perfect_crawl_misses_nothing() -> None:
    coverage = compared(perfect())
    assert all(part.there == part.found for part in parts(coverage).values()), parts(coverage)
    assert {name for name, part in parts(coverage).items() if not part.there} == {"moody", "changing", "failing"}
    assert (coverage.not_repeats, coverage.not_there) == ([], [])
    assert "what became of the others" in next(lines(coverage))


def test_a_recognised_soft_404_is_as_it_should_be() -> None:
    found = perfect()
    loses(SOFT, outcome="soft_404", duplicate_of=None)(found)
    coverage = compared(found)
    assert all(part.there == part.found for part in parts(coverage).values()), parts(coverage)


def loses(url: str, **changes: object) -> Callable[[Found], None]:
    def change(found: Found) -> None:
        found[url] = replace(found[url], **changes)  # type: ignore[arg-type]

    return change


PAGE = next(u for u, e in EXPECTED.items() if e.kind is UrlKind.PAGE and not e.same_as and not TRUTH[u].copy_of)
MIRRORED = next(u for u, e in EXPECTED.items() if e.kind is UrlKind.PAGE and TRUTH[u].copy_of)
TWIN = next(u for u, fate in perfect().items() if fate.duplicate_of and EXPECTED[u].kind is not UrlKind.SOFT)
SOFT = next(u for u, fate in perfect().items() if fate.duplicate_of and EXPECTED[u].kind is UrlKind.SOFT)
HIDDEN = next(u for u, t in TRUTH.items() if t.kind is UrlKind.HIDDEN)


@pytest.mark.parametrize(
    ("fault", "name", "others"),
    [
        (lambda found: found.pop(PAGE), "known", {"not known": 1}),
        (loses(PAGE, outcome=None, state="pending"), "stored", {"pending": 1}),
        (loses(PAGE, outcome="timed_out"), "stored", {"timed_out": 1}),
        (loses(PAGE, outcome="timed_out"), "fetched", {"timed_out": 1}),
        (loses(PAGE, stored=False), "stored", {"ok": 1}),
        (loses(of_kind(UrlKind.FORBIDDEN), outcome="ok"), "forbidden", {"ok": 1}),
        (loses(of_kind(UrlKind.ERROR), outcome="ok"), "errors", {"ok": 1}),
        (loses(of_kind(UrlKind.REDIRECT), outcome=None, state="excluded"), "redirects", {"excluded: none": 1}),
        (lambda found: found.update({HIDDEN: Fate("done", "none", "ok")}), "nofollow", {"ok": 1}),
        (loses(of_kind(UrlKind.DOWN), outcome="connect_failed"), "down", {"connect_failed": 1}),
        (loses(TWIN, outcome="ok"), "repeats: duplicates", {"ok": 1}),
        (loses(SOFT, outcome="ok"), "repeats: soft", {"ok": 1}),
        (loses(PAGE, outcome="soft_404"), "fetched", {"soft_404": 1}),
        (loses(TWIN, outcome="soft_404"), "repeats: duplicates", {"soft_404": 1}),
        (loses(MIRRORED, payload=b"other"), "repeats: mirrors", {"ok": 1}),
        (loses(PAGE, language="xx"), "language", {"xx": 1}),
        (loses(PAGE, title=""), "title", {"none": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_fault_of_a_crawl_is_reported_by_kind(
    fault: Callable[[Found], None], name: str, others: dict[str, int]
) -> None:
    found = perfect()
    fault(found)
    coverage = compared(found)
    part = parts(coverage)[name]
    assert part.found == part.there - 1
    assert part.others == others
    assert any(f"{word} 1" in line for line in lines(coverage) for word in others)


def test_a_wrong_url_and_a_wrong_duplicate_are_reported() -> None:
    found = perfect()
    odd = PAGE + "?PHPSESSID=1"
    found[odd] = found[PAGE]
    found[PAGE] = replace(found[PAGE], outcome="duplicate", duplicate_of=MIRRORED)
    coverage = compared(found)
    assert (coverage.not_there, coverage.not_repeats) == ([odd], [PAGE])
    assert f"  {odd}" in list(lines(coverage))


def test_wrong_counts_of_links_are_reported() -> None:
    found = perfect()
    found[PAGE] = replace(found[PAGE], counted=found[PAGE].counted + 3)
    assert compared(found).kinds["counted"].others == {"pages with a different number": 1}


def test_noindex_pages_are_fetched_and_need_not_be_stored() -> None:
    found = perfect()
    whole = compared(found)
    found[PAGE] = replace(found[PAGE], stored=False, noindex=True, language="", title="")
    withheld = compared(found)
    assert withheld.fetched == whole.fetched
    assert (withheld.stored.there, withheld.stored.found) == (whole.stored.there - 1, whole.stored.found - 1)
    found[PAGE] = replace(found[PAGE], stored=True)
    assert compared(found).stored == whole.stored, "with gatherer.keep_noindex"


SMALL = DemoWeb(seed=5, sites=20, pages=300, largest=2_000, silent=1)
OPTIONS = ("--sites", "20", "--pages", "300", "--seed", "5", "--with", "silent=1")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled")
    with serve(SMALL, folder, *LIGHT, "harvester.first_byte_timeout=20s") as served:
        ended = served.crawl(folder / "crawl", "--workers", "1")
    assert ended.code == 0, ended.errors
    return folder / "crawl"


def against(folder: Path, *options: str) -> Ended:
    return gossamer("web", *options, "--against", folder)


@pytest.mark.slow
def test_a_whole_crawl_finds_everything(crawled: Path) -> None:
    figures = against(crawled, *OPTIONS, "--json").figures
    assert figures["known"] == {"there": len(SMALL.reachable()), "found": len(SMALL.reachable()), "others": {}}
    status = gossamer("status", crawled, "--json").figures
    assert figures["stored"]["found"] == status["stored"] < figures["fetched"]["found"]
    for part in (figures["fetched"], figures["stored"], *figures["kinds"].values(), *figures["repeats"].values()):
        assert part["found"] == part["there"], figures
    assert figures["kinds"]["silent"]["there"] == 1
    assert figures["repeats"]["duplicates"]["there"] > 5
    assert (figures["not_repeats"], figures["not_there"]) == ([], [])


@pytest.mark.slow
def test_a_crawl_of_another_web_is_refused(crawled: Path, tmp_path: Path) -> None:
    refused = against(crawled, "--seed", "6")
    assert (refused.code, "another Web" in refused.errors) == (2, True)
    assert against(tmp_path).code == 2
