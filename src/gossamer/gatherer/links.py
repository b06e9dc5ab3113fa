"""The links of a page: distinct, canonical, of a class, in scope or counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from gossamer.model import Counted, LinkFlag, LinkKind
from gossamer.urls import Joiner, Scope, UrlClass, classify, host

_NOFOLLOW: Final = int(LinkFlag.NOFOLLOW)
_DYNAMIC_FLAG: Final = int(LinkFlag.DYNAMIC)
_PAGE: Final = UrlClass.PAGE
_DYNAMIC: Final = UrlClass.DYNAMIC
_OUT_OF_SCOPE: Final = int(Counted.OUT_OF_SCOPE)
_TOO_LONG: Final = int(Counted.TOO_LONG)
_LONGEST: Final = 16_384
"""Characters of a reference that are looked at."""

Kinds = dict[str, tuple[LinkKind, bool]]
"""Reference or target to its kind, and whether it is nofollow every time: in the order found."""


class Link(NamedTuple):
    """A tuple rather than a frozen dataclass: 75 are made for every page."""

    url: str
    """In canonical form."""
    kind: LinkKind
    flags: int
    """LinkFlag."""


def note(found: Kinds, name: str, kind: LinkKind, nofollow: bool) -> None:
    """The first kind stays; one that may be followed is enough."""
    known = found.get(name)
    if known is None:
        found[name] = (kind, nofollow)
    elif known[1] and not nofollow:
        found[name] = (known[0], False)


def resolved(references: Kinds, base: str, session_ids: tuple[str, ...]) -> tuple[Kinds, int]:
    """Targets in canonical form, and the number of references that have none."""
    targets: Kinds = {}
    others, join = 0, Joiner(base, session_ids)
    for raw, of in references.items():
        url = join(raw) if len(raw) <= _LONGEST else None
        if url is None:
            others += 1
        elif url not in targets:
            targets[url] = of
        else:
            note(targets, url, *of)
    return targets, others


def judged(targets: Mapping[str, tuple[LinkKind, bool]], own: str, scope: Scope, counted: list[int]) -> list[Link]:
    """The targets that may become pages, but for the page itself; the others are added to `counted`."""
    links = list[Link]()
    root = own[: own.index("/", 8) + 1]
    accepted = {root: scope.accepts(host(own))}
    for url, (kind, nofollow) in targets.items():
        of = classify(url)
        if of < _PAGE:
            counted[of] += 1
            continue
        if not url.startswith(root):
            root = url[: url.index("/", 8) + 1]
            if root not in accepted:
                accepted[root] = scope.accepts(host(url))
        if not accepted[root]:
            counted[_OUT_OF_SCOPE] += 1
        elif len(url) > scope.url_length:
            counted[_TOO_LONG] += 1
        elif url != own:
            flags = _NOFOLLOW if nofollow else 0
            links.append(Link(url, kind, flags | _DYNAMIC_FLAG if of is _DYNAMIC else flags))
    return links
