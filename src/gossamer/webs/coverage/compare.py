"""Compares what was there with what was found.

A URL is *as it should be* in one of three cases: its last request had an allowed outcome; it must not be requested
(robots.txt forbids it, nobody answers, it is too deep), it is known, and it was not requested; only nofollow links lead
to it, and it is not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.base.units import thousands
from gossamer.config import Settings
from gossamer.urls import host
from gossamer.webs.coverage.fates import Fate
from gossamer.webs.demo.kinds import COUNTED, PAGES, SITES
from gossamer.webs.demo.layout import DEEPEST_DYNAMIC, LAST_MONTH, UrlKind
from gossamer.webs.demo.links import only_counted
from gossamer.webs.demo.truth import Expected, Truth
from gossamer.webs.demo.web import DemoWeb

_FETCHED: Final = frozenset({Outcome.OK.word, Outcome.DUPLICATE.word})
NOT_KNOWN: Final = "not known"
_REPEATS: Final = {
    "duplicates": "text and links of another page, recognised as duplicates",
    "soft": "soft 404 after the first of its site, recognised as duplicates",
    "mirrors": "bytes of a page of another site, recognised as equal",
}
_SHOWN: Final = 4
_EXAMPLES: Final = 3


@dataclass(slots=True)
class Part:
    """The count of one kind."""

    there: int = 0
    found: int = 0
    """Number that are as they should be."""
    others: dict[str, int] = field(default_factory=dict)
    """What became of the rest: outcomes and states, with their numbers."""

    def add(self, is_right: bool, word: str) -> None:
        self.there += 1
        self.found += is_right
        if not is_right:
            self.others[word] = self.others.get(word, 0) + 1


@dataclass(frozen=True, slots=True)
class Coverage:
    """The result of a comparison."""

    known: Part
    """URLs that a complete crawl comes to know."""
    fetched: Part
    """Pages that a complete crawl fetches without an error."""
    stored: Part
    """The fetched pages that are archived: all except noindex pages, unless the crawl keeps these too."""
    kinds: dict[str, Part]
    """By kind, as `gossamer web --list` names them; `counted` counts links."""
    repeats: dict[str, Part]
    """Pages that repeat another: `duplicates` of the same site, `soft` pages that say that there is no such page, pages
    of `mirrors`, which are recognised by their bytes."""
    not_repeats: list[str]
    """Pages wrongly taken for a duplicate."""
    texts: dict[str, Part]
    """What was read from the stored pages."""
    not_there: list[str]
    """Known URLs to which no followed link leads."""


def compare(web: DemoWeb, found: Mapping[str, Fate], depth_dynamic: int) -> Coverage:
    """`depth_dynamic`: the depth limit of the crawl; it decides how much of a calendar is there."""
    expected, truths = web.reachable(depth_dynamic), web.truth()
    urls = expected | dict.fromkeys(url for url, t in truths.items() if t.kind is UrlKind.HIDDEN)
    kinds = _by_kind(web, truths, urls, found)
    kinds[COUNTED] = _counted(web, truths, found)
    known, fetched, stored = Part(), Part(), Part()
    for url, e in expected.items():
        known.add(url in found, NOT_KNOWN)
        word = _word(found, url)
        if e.outcomes & {Outcome.OK} and not (e.outcomes & {Outcome.SOFT_404} and word == Outcome.SOFT_404.word):
            fetched.add(word in _FETCHED, word)
            if url not in found or not found[url].withheld:
                stored.add(word in _FETCHED and found[url].stored, word)
    not_repeats = [u for u, fate in found.items() if fate.duplicate_of and not _is_repeat(expected, u, fate)]
    return Coverage(
        known,
        fetched,
        stored,
        kinds,
        _repeats(truths, expected, found),
        sorted(not_repeats),
        _texts(truths, found),
        sorted(found.keys() - expected.keys()),
    )


def _word(found: Mapping[str, Fate], url: str) -> str:
    fate = found.get(url)
    return fate.word if fate else NOT_KNOWN


def _is_right(expected: Expected | None, fate: Fate | None) -> bool:
    if expected is None or fate is None:
        return expected is None and fate is None
    if expected.excluded:
        return fate.outcome is None
    return fate.outcome in {outcome.word for outcome in expected.outcomes}


def _by_kind(
    web: DemoWeb, truths: Mapping[str, Truth], urls: Mapping[str, Expected | None], found: Mapping[str, Fate]
) -> dict[str, Part]:
    out = {kind: Part() for kind in (*SITES, *PAGES)}
    of_site = {s.number: [kind for kind, (_, is_so) in SITES.items() if is_so(web, s)] for s in web.all_sites}
    for url, e in urls.items():
        t = truths[url]
        of_page = [kind for kind, (_, is_so) in PAGES.items() if is_so(t)]
        for kind in (*(of_site[t.site] if e else ()), *of_page):
            out[kind].add(_is_right(e, found.get(url)), _word(found, url))
    return out


def _counted(web: DemoWeb, truths: Mapping[str, Truth], found: Mapping[str, Fate]) -> Part:
    """Links on the fetched pages that are only counted."""
    there = {u: len(only_counted(web, t.site, t.number)) for u, t in truths.items() if _word(found, u) in _FETCHED}
    differ = sum(n != found[url].counted for url, n in there.items())
    others = {"pages with a different number": differ} if differ else {}
    return Part(sum(there.values()), sum(found[url].counted for url in there), others)


def _is_repeat(expected: Mapping[str, Expected], url: str, fate: Fate) -> bool:
    """Whether the page named as its original has the same text and links."""
    one, other = expected.get(url), expected.get(fate.duplicate_of or "")
    return one is not None and other is not None and one.same_as is not None and one.same_as == other.same_as


def _repeats(
    truths: Mapping[str, Truth], expected: Mapping[str, Expected], found: Mapping[str, Fate]
) -> dict[str, Part]:
    """Of a group of pages that are alike, all but one must be recognised: all but the page that was stored first, or
    any one if none was. A noindex page belongs to no group: it is not kept, and nothing repeats it."""
    groups: dict[str, list[str]] = defaultdict(list)
    for url, e in expected.items():
        if e.same_as and not (url in found and found[url].withheld):
            groups[e.same_as].append(url)
    out = {"duplicates": Part(), "soft": Part(), "mirrors": Part()}
    for urls in groups.values():
        kind = "soft" if expected[urls[0]].kind is UrlKind.SOFT else "duplicates"
        words = sorted((_word(found, url) for url in urls), key=lambda word: word != Outcome.OK.word)
        for word in words[1:]:
            recognised = word == Outcome.DUPLICATE.word or (kind == "soft" and word == Outcome.SOFT_404.word)
            out[kind].add(recognised, word)
    for url in (url for url in expected if truths[url].copy_of):
        out["mirrors"].add(_same_bytes(found, url, truths[url].copy_of or ""), _word(found, url))
    return out


def _same_bytes(found: Mapping[str, Fate], *urls: str) -> bool:
    payloads = {found[url].payload if url in found else b"" for url in urls}
    return len(payloads) == 1 and payloads != {b""}


def _texts(truths: Mapping[str, Truth], found: Mapping[str, Fate]) -> dict[str, Part]:
    kept = {url: fate for url, fate in found.items() if fate.word in _FETCHED and fate.stored}
    stored = [(truths[url], fate) for url, fate in kept.items() if url in truths]
    return {name: _text(name, stored) for name in ("language", "charset", "title", "description")}


def _text(name: str, stored: Iterable[tuple[Truth, Fate]]) -> Part:
    part = Part()
    for t, fate in stored:
        if getattr(t, name):
            part.add(getattr(t, name) == getattr(fate, name), getattr(fate, name) or "none")
    return part


def as_served(web: DemoWeb, urls: Collection[str]) -> DemoWeb:
    """The Web that a collection was crawled from: without its https sites if none was served, because they need
    certificates, which not every machine can make."""
    if not {host(url) for url in urls} <= {s.host for s in web.all_sites}:
        raise UsageError(
            "This is a crawl of another Web: it has pages of sites that this Web does not have.",
            "Give --sites, --pages, --seed, --with and --without as when the Web was served.",
        )
    return web if any(url.startswith("https:") for url in urls) else replace(web, tls=0)


def depth_of(settings: Settings) -> int:
    """The depth limit for the truth about calendars."""
    return min(max(settings.seeder.depth_dynamic, DEEPEST_DYNAMIC), LAST_MONTH)


def lines(coverage: Coverage) -> Iterator[str]:
    yield f"{'':<14}{'there':>9}{'found':>9}{'':>8}  what became of the others"
    yield _line("URLs known", coverage.known)
    yield _line("pages fetched", coverage.fetched)
    yield _line("pages stored", coverage.stored)
    yield "by kind (found: as it should be; `gossamer web --list` describes the kinds)"
    for kind, part in coverage.kinds.items():
        if part.there:
            yield f"  {_line(kind, part, 12)}"
    yield "pages that repeat others"
    for kind, part in coverage.repeats.items():
        yield f"  {_line(kind, part, 12, _REPEATS[kind])}"
    yield "what was read from the stored pages"
    for name, part in coverage.texts.items():
        yield f"  {_line(name, part, 12)}"
    for what, urls in (
        ("wrongly taken for duplicates", coverage.not_repeats),
        ("known, but not there", coverage.not_there),
    ):
        yield f"{what}: {thousands(len(urls)) if urls else 'none'}"
        yield from examples(urls, _EXAMPLES)


def _line(name: str, part: Part, width: int = 14, otherwise: str = "") -> str:
    share = f"{100 * part.found / part.there:.1f} %" if part.there else ""
    most = sorted(part.others.items(), key=lambda one: -one[1])[:_SHOWN]
    others = [f"{word} {thousands(n)}" for word, n in most]
    if len(part.others) > _SHOWN:
        others.append("…")
    row = f"{name:<{width}}{thousands(part.there):>9}{thousands(part.found):>9}{share:>8}"
    return f"{row}  {', '.join(others) or otherwise}".rstrip()


def examples(texts: list[str], most: int) -> Iterator[str]:
    yield from (f"  {text}" for text in texts[:most])
    if len(texts) > most:
        yield "  …"
