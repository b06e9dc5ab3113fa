"""The links of a page: resolved to canonical form, made distinct, classified, and accepted or counted.

Links that the crawl does not fetch are counted by class, extension and registrable domain (ERRATA, last line). A result
has them as sorted lines of text: class, extension, domain and count, separated by tabs. The class is a name of
`Counted` in lower case. The extension is empty for classes that do not depend on it. Links that are not http have their
scheme instead of the extension, and no domain. A page has at most `MOST_LINES` lines: the rarest are summed by class,
without extension, under the domain "…".

Invariant: `the_lines_of_a_page_add_up_to_its_counts`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from gossamer.base.model import Counted, LinkFlag, LinkKind, Tag, VisitFlag
from gossamer.config.settings import GathererSettings
from gossamer.urls import Join, Scope, UrlClass, canonical, extension, has_www, host, registrable

_WITH_WWW: Final = ("http://www.", "https://www.")
_NOFOLLOW, _WWW, _DYNAMIC_FLAG = int(LinkFlag.NOFOLLOW), int(LinkFlag.WWW), int(LinkFlag.DYNAMIC)
_EMBEDDED: Final = LinkKind.EMBEDDED
_EMPHASIS = int(LinkFlag.HEADING | LinkFlag.BOLD)
_PAGE, _DYNAMIC, _DOCUMENT = UrlClass.PAGE, UrlClass.DYNAMIC, UrlClass.DOCUMENT
_OUT_OF_SCOPE, _TOO_LONG = int(Counted.OUT_OF_SCOPE), int(Counted.TOO_LONG)
_REJECTED, _TRAP, _NOT_HTTP = int(Counted.REJECTED), int(Counted.TRAP), int(Counted.NOT_HTTP)
LONGEST: Final = 16_384
"""Maximum characters of a reference."""
_NEEDS_NO_PATH: Final = re.compile(
    r"[\0- ]*+(?:[/\\]|https?:[/\\]{2}|(?!https?:)[a-z][a-z0-9+.-]*+:)", re.IGNORECASE | re.ASCII
).match
"""A reference that is the same for all bases with the same host."""
MOST_LINES: Final = 200
REST: Final = "…"
_WORDS: Final = [of.name.lower() for of in Counted]
_LONGEST_DOMAIN: Final = 253
# fmt: off
_SCHEMES: Final = frozenset({
    "about", "blob", "callto", "data", "facetime", "file", "ftp", "geo", "gopher", "intent", "irc", "javascript",
    "magnet", "mailto", "market", "news", "sip", "skype", "sms", "tel", "tg", "viber", "webcal", "whatsapp", "xmpp",
})
# fmt: on

Found = tuple[LinkKind, int, str, int, Tag]
"""Kind, LinkFlag bits, text, position and tag: a `Link` without its URL."""
Kinds = dict[str, Found]
"""What was found for each reference or target, in the order of discovery."""


class Link(NamedTuple):
    """A link of a page. A tuple rather than a frozen dataclass, because every page makes 75 of them."""

    url: str
    """In canonical form."""
    kind: LinkKind
    flags: int
    """LinkFlag bits."""
    text: str = ""
    """Text of the first element that has one, white space folded."""
    position: int = 0
    """Index of that element among the elements of its tag; of the first element if none has text."""
    tag: Tag = Tag.OTHER


class Seen:
    """The counted links of one page."""

    __slots__ = ("_found", "counted", "outside")

    def __init__(self) -> None:
        self.counted = [0] * len(Counted)
        """By `Counted`."""
        self.outside: list[tuple[str, Found]] = []
        """Pages and documents of hosts out of scope, and other parts by http of a page by https."""
        self._found: defaultdict[tuple[int, str, str], int] = defaultdict(int)

    def add(self, of: int, url: str) -> None:
        """Count a target in canonical form. `of`: its class in `Counted`, or the `UrlClass` of the same value. The
        classes before OUT_OF_SCOPE have an extension."""
        self.counted[of] += 1
        self._found[of, extension(url) if of < _OUT_OF_SCOPE else "", url[: url.index("/", 8) + 1]] += 1

    def add_other(self, raw: str) -> None:
        """Count a reference that has no canonical form."""
        self.counted[_NOT_HTTP] += 1
        self._found[_NOT_HTTP, scheme(raw), ""] += 1

    def lines(self) -> bytes:
        """The lines of the result."""
        if not self._found:
            return b""
        sums: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        for (of, ending, root), count in self._found.items():
            sums[_WORDS[of], ending, registrable(host(root))[:_LONGEST_DOMAIN] if root else ""] += count
        if len(sums) > MOST_LINES:
            sums = _fewer(sums)
        return "".join(f"{of}\t{ending}\t{domain}\t{n}\n" for (of, ending, domain), n in sorted(sums.items())).encode()


def _fewer(sums: dict[tuple[str, str, str], int]) -> defaultdict[tuple[str, str, str], int]:
    """The most frequent lines, and one line with the sum of the others for each class."""
    ranked = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    room = MOST_LINES - len(Counted)
    fewer = defaultdict(int, ranked[:room])
    for (of, _, _), count in ranked[room:]:
        fewer[of, "", REST] += count
    return fewer


def scheme(raw: str) -> str:
    """The scheme of a reference if it is a common one, otherwise "other"."""
    name = raw[:16].lstrip().partition(":")[0].lower()
    return name if name in _SCHEMES else "other"


def merged(known: Found, again: Found) -> Found:
    """Merge two links to one target: the first kind, nofollow only if both are, emphasized if one is, and the first
    text of the page."""
    flags = (known[1] if again[1] & _NOFOLLOW else known[1] & ~_NOFOLLOW) | again[1] & _EMPHASIS
    earlier = again[4] is known[4] and again[3] < known[3]
    if again[2] and (earlier or not known[2]):
        return (known[0], flags, *again[2:])
    return (known[0], flags, *known[2:])


def based(raw: str, url: str, references: Kinds, scope: Scope, seen: Seen) -> tuple[str, Kinds]:
    """The base of a page whose base element says `raw`, and the references to resolve against it.

    A base that is not http is ignored, as browsers do. One that is longer than a URL may be is never joined: a page of
    15 KB, compressed, made 5 GB of URLs that way. What is relative to its path leads to URLs that are too long, and is
    counted as such; what needs only its host is resolved. (Without the base, links would lead where nobody meant.)
    """
    root, whole = _base(raw, url, scope)
    if whole:
        return root, references
    kept = {raw: found for raw, found in references.items() if _NEEDS_NO_PATH(raw)}
    for _ in range(len(references) - len(kept)):
        seen.add(_TOO_LONG, root)
    return root, kept


def _base(raw: str, url: str, scope: Scope) -> tuple[str, bool]:
    """The base; False: only its root, as the base is longer than a URL may be."""
    base = canonical(raw[:LONGEST], url)
    if base is None:
        return url, True
    if len(base) <= scope.url_length and len(raw) <= LONGEST:
        return base, True
    return base[: base.index("/", 8) + 1], False


def joining(raw: str, url: str, scope: Scope, charset: str, proven: int) -> Join:
    """What joins the references of a page whose base element says `raw` ("": it has none), within the same bounds."""
    base, whole = _base(raw, url, scope) if raw else (url, True)
    join = scope.proving(scope.joiner(base, charset), url, proven)

    def joined(reference: str) -> str | None:
        return join(reference) if len(reference) <= LONGEST and (whole or _NEEDS_NO_PATH(reference)) else None

    return joined


def resolved(references: Mapping[str, Found], join: Join, seen: Seen, before: Kinds | None = None) -> Kinds:
    """The targets in canonical form, as `join` gives it, after those found `before`. References without one are counted
    in `seen`."""
    targets: Kinds = {} if before is None else before
    known_as = targets.get
    for raw, found in references.items():
        url = join(raw) if len(raw) <= LONGEST else None
        if url is None:
            seen.add_other(raw)
            continue
        if "//" in raw and has_www(raw) and not url.startswith(_WITH_WWW):
            found = (found[0], found[1] | _WWW, *found[2:])
        known = known_as(url)
        targets[url] = found if known is None else merged(known, found)
    return targets


def judged(targets: Mapping[str, Found], own: str, scope: Scope, seen: Seen) -> list[Link]:
    """Links to the targets that may become pages, without the page itself. The other targets are counted in `seen`."""
    pages: Kinds = {}
    class_of, longest = scope.classes.of, scope.url_length
    root, secure = own[: own.index("/", 8) + 1], own.startswith("https:")
    accepted = {root: scope.admits(root)}
    for url, found in targets.items():
        if url == own:
            continue
        of = class_of(url)
        if of < _PAGE:
            seen.add(of, url)
            insecure = secure and found[0] is _EMBEDDED and url.startswith("http:")
            if insecure or (of >= _DOCUMENT and not scope.admits(url)):
                seen.outside.append((url, found))
            continue
        if not url.startswith(root):
            root = url[: url.index("/", 8) + 1]
            if root not in accepted:
                accepted[root] = scope.admits(root)
        if not accepted[root]:
            seen.add(_OUT_OF_SCOPE, url)
            seen.outside.append((url, found))
        elif len(url) > longest:
            seen.add(_TOO_LONG, url)
        elif of is _DYNAMIC:
            pages[url] = (found[0], found[1] | _DYNAMIC_FLAG, *found[2:])
        else:
            pages[url] = found
    rejected, entrapped = scope.rejected(pages), scope.entrapped(pages)
    for url in rejected:
        seen.add(_REJECTED, url)
        del pages[url]
    for url in entrapped - rejected:
        seen.add(_TRAP, url)
        del pages[url]
    new = tuple.__new__  # `Link(...)` takes twice as long
    return [new(Link, (url, *found)) for url, found in pages.items()]


def followed(targets: Kinds, url: str, flags: int, settings: GathererSettings, scope: Scope, seen: Seen) -> list[Link]:
    """Links to the targets that may become pages. If the page says nofollow (`flags`), so do all of them; if the
    settings say so, a link inside the site does not by itself."""
    links = judged(targets, url, scope, seen)
    if not settings.nofollow_inside:
        home, inside = host(url), ~_NOFOLLOW
        links = [link._replace(flags=link.flags & inside) if host(link.url) == home else link for link in links]
    if flags & VisitFlag.NOFOLLOW:
        links = [link._replace(flags=link.flags | _NOFOLLOW) for link in links]
    return links
