"""Gather: turns the headers and the decoded body of a page into a `Gathered`.

It is a pure function, bounded by the bytes of the body, by nesting and by the number of links.

Links are in the order of the setting `gatherer.links`, and within one entry in the order of the page. A target that
occurs several times keeps its first kind and its first text that is not empty; it is nofollow only if all its links
are. Links of a page to itself and mere fragments are left out. Targets that cannot become pages are only counted. Links
of header fields (`Refresh`, `Link`) come last.

The digest covers the text without white space and all resolved targets of the page itself, including the counted ones
(ERRATA: "same cleaned text, same resolved links, and not almost empty"). A second digest covers the same without
digits: it stays when only dates and numbers change. The sketch covers the text alone.

Cost for 25 KB and 75 links: `bench/gather.py` prints it, part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborHTMLParser
from xxhash import xxh3_64

from gossamer.base.model import LinkKind, Tag, VisitFlag
from gossamer.config.settings import GathererSettings
from gossamer.gatherer.charset import charset_of, decode, in_utf_8
from gossamer.gatherer.directives import of_header
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.language import LEAST, language
from gossamer.gatherer.links import Kinds, Seen, based, followed, judged, resolved
from gossamer.gatherer.markup.limits import bounded
from gossamer.gatherer.markup.tags import Marks
from gossamer.gatherer.mentions import lines, mentions
from gossamer.gatherer.read import HTML, SILENT, Read, folded, read, read_headers
from gossamer.gatherer.sketch import sketch
from gossamer.gatherer.text import page_lines, plain_lines, visible_text, without_white
from gossamer.robots.parse import product_token
from gossamer.urls import Scope

ALMOST_EMPTY: Final = 32
"""Characters of cleaned text. A page with fewer is never treated as a duplicate."""
LONGEST_TITLE: Final = 300

_EMPTY, _DIGITS = int(VisitFlag.EMPTY), b"0123456789"
_LINKING: Final = frozenset(("link", "refresh"))
"""Header fields that may have links."""
_NOTHING: Final = Read(0, 0)


def gather(
    url: str,
    content_type: str,
    robots_tag: Sequence[str],
    body: bytes,
    settings: GathererSettings,
    scope: Scope,
    agent: str,
    content_language: str = "",
    now: float = 0.0,
    headers: Mapping[str, str] | None = None,
    proven: int = 0,
    extract: Callable[[LexborHTMLParser, bytes, str], bytes] | None = None,
) -> Gathered:
    """Gather a page. `url`: in canonical form; `content_type`, `robots_tag`, `content_language`: values of headers;
    `body`: decoded; `now`: wall time, for dates in directives; `headers`: all, by lower-case name, for their links;
    `proven`: session parameters of the site (`Scope.proving`); `extract` makes rows of the page."""
    beside = read_headers(headers, settings) if headers and not _LINKING.isdisjoint(headers) else _NOTHING
    text, charset = decode(body, charset_of(content_type))
    flags = of_header(robots_tag, agent, now) if robots_tag else 0
    if (mime := content_type.partition(";")[0].strip().lower()) and mime not in HTML:
        told = _not_html(text, content_language, beside.references, url, flags, settings, scope, proven)
        return replace(told, charset=charset, flags=flags | told.flags)
    markup, tags = bounded(text, in_utf_8(text, charset, body))
    del text  # do not hold a large page three times
    tree = LexborHTMLParser(markup)
    rows = extract(tree, markup, charset) if extract is not None else b""  # before elements are removed
    found = read(tree, tags, settings, product_token(agent), now)
    seen, base, references = Seen(), url, found.references
    if found.base:
        base, references = based(found.base, url, references, scope, seen)
    join = scope.proving(scope.joiner(base, charset), url, proven)
    targets = resolved(references, join, seen)
    of_page: Iterable[str] = list(targets) if beside.references else targets
    if beside.references:
        more = islice(beside.references.items(), settings.max_links - len(found.references))
        resolved(dict(more), scope.proving(scope.joiner(url), url, proven), seen, targets)
    out_degree = len(targets) - (url in targets) + sum(seen.counted)
    links = followed(targets, url, flags := flags | found.flags, settings, scope, seen)
    title = _title(tree, tags)
    visible = visible_text(tree, [each for each in settings.drop if each not in SILENT and tags.may_have(each)])
    told = _of_text(visible, of_page, found.declared or content_language, settings)
    return Gathered(
        charset,
        title,
        told.text_length,
        told.digest,
        flags | told.flags,
        out_degree,
        links,
        seen.counted,
        seen.lines() + (lines(mentions(found, beside, seen.outside, join)) if settings.mentions else b""),
        told.language,
        found.description,
        told.sketch,
        told.numberless,
        page_lines(tree, settings.keep, title) if settings.text else None,
        found.preferences,
        rows,
    )


def redirected(location: str, own: str, scope: Scope, proven: int = 0) -> Gathered:
    """What was gathered from a redirect: one link, judged like a link of a page."""
    seen, join = Seen(), scope.proving(scope.joiner(own), own, proven)
    targets = resolved({location: (LinkKind.REDIRECT, 0, "", 0, Tag.HEADER)}, join, seen)
    links = judged(targets, own, scope, seen)
    return Gathered(out_degree=len(links) + sum(seen.counted), links=links, counted=seen.counted, seen=seen.lines())


def _not_html(
    text: str,
    spoken: str,
    references: Kinds,
    url: str,
    flags: int,
    settings: GathererSettings,
    scope: Scope,
    proven: int,
) -> Gathered:
    """A page of plain text, with the links of header fields: it has no others."""
    kept = plain_lines(text, settings.keep) if settings.text else None
    told = replace(_of_text(text, (), spoken, settings), text=kept)
    if not references:
        return told
    seen = Seen()
    targets = resolved(references, scope.proving(scope.joiner(url), url, proven), seen)
    out_degree = len(targets) - (url in targets) + sum(seen.counted)
    links = followed(targets, url, flags, settings, scope, seen)
    return replace(told, out_degree=out_degree, links=links, counted=seen.counted, seen=seen.lines())


def _title(tree: LexborHTMLParser, tags: Marks) -> str:
    titles = tree.tags("title") if tags.may_have("title") else []
    return folded(titles[0].text(), LONGEST_TITLE) if titles else ""


def _of_text(text: str, targets: Iterable[str], declared: str, settings: GathererSettings) -> Gathered:
    """Length, digests, sketch and language of a text; the flag EMPTY if it is almost empty."""
    whole = text.encode(errors="replace")
    cleaned, length = without_white(text, whole)
    listed = "\n".join(("", *targets)).encode()
    numberless = _digest(cleaned.translate(None, _DIGITS), listed.translate(None, _DIGITS)) if length else 0
    if length < ALMOST_EMPTY:
        return Gathered(text_length=length, flags=_EMPTY, numberless=numberless)
    spoken = language(text, declared) if settings.language and length >= LEAST else ""
    digest = _digest(cleaned, listed)
    return Gathered(text_length=length, digest=digest, sketch=sketch(whole), numberless=numberless, language=spoken)


def _digest(cleaned: bytes, targets: bytes) -> int:
    state = xxh3_64(cleaned)
    state.update(targets)
    return state.intdigest() or 1
