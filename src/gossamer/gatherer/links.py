"""The links of a page: resolved to canonical form, made distinct, classified, and accepted or counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from gossamer.base.model import Counted, LinkFlag, LinkKind, Tag
from gossamer.gatherer.counted import Seen
from gossamer.urls import Scope, UrlClass, has_www

_WITH_WWW: Final = ("http://www.", "https://www.")
_NOFOLLOW: Final = int(LinkFlag.NOFOLLOW)
_WWW: Final = int(LinkFlag.WWW)
_DYNAMIC_FLAG: Final = int(LinkFlag.DYNAMIC)
_PAGE: Final = UrlClass.PAGE
_DYNAMIC: Final = UrlClass.DYNAMIC
_OUT_OF_SCOPE: Final = int(Counted.OUT_OF_SCOPE)
_TOO_LONG: Final = int(Counted.TOO_LONG)
_REJECTED: Final = int(Counted.REJECTED)
_TRAP: Final = int(Counted.TRAP)
_LONGEST: Final = 16_384
"""Maximum characters of a reference."""

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


def merged(known: Found, again: Found) -> Found:
    """Merge two links to one target: the first kind, nofollow only if both are, and the first text of the page."""
    flags = known[1] if again[1] & _NOFOLLOW else known[1] & ~_NOFOLLOW
    earlier = again[4] is known[4] and again[3] < known[3]
    if again[2] and (earlier or not known[2]):
        return (known[0], flags, *again[2:])
    return (known[0], flags, *known[2:])


def resolved(references: Mapping[str, Found], base: str, scope: Scope, seen: Seen) -> Kinds:
    """The targets in canonical form. References without a canonical form are counted in `seen`."""
    targets: Kinds = {}
    join, known_as = scope.joiner(base), targets.get
    for raw, found in references.items():
        url = join(raw) if len(raw) <= _LONGEST else None
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
    links = list[Link]()
    class_of, rejects, entraps, longest = scope.classes.of, scope.rejects, scope.entraps, scope.url_length
    new = tuple.__new__  # `Link(...)` takes twice as long
    root = own[: own.index("/", 8) + 1]
    accepted = {root: scope.admits(root)}
    for url, found in targets.items():
        if url == own:
            continue
        of = class_of(url)
        if of < _PAGE:
            seen.add(of, url)
            continue
        if not url.startswith(root):
            root = url[: url.index("/", 8) + 1]
            if root not in accepted:
                accepted[root] = scope.admits(root)
        if not accepted[root]:
            seen.add(_OUT_OF_SCOPE, url)
        elif len(url) > longest:
            seen.add(_TOO_LONG, url)
        elif rejects(url):
            seen.add(_REJECTED, url)
        elif entraps(url):
            seen.add(_TRAP, url)
        else:
            if of is _DYNAMIC:
                found = (found[0], found[1] | _DYNAMIC_FLAG, *found[2:])
            links.append(new(Link, (url, *found)))
    return links
