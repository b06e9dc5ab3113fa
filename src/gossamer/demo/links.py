"""The links of a page: where they lead, how they are written, and which of them a crawl must follow.

In-degree is far more skewed than out-degree (thesis 8.5.1): every page links to its home page and to a few hubs, most
pages are linked from little more than their parent. About a tenth of the links to pages are broken, external links
are found only in the sites that have some, and files that a crawl only counts are mixed in.
"""

from __future__ import annotations

from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.demo.dice import Dice
from gossamer.demo.layout import HOME, PAGES, Kind, Layout
from gossamer.demo.sites import Site
from gossamer.demo.words import PLAIN

if TYPE_CHECKING:
    from gossamer.demo.web import DemoWeb


class Role(StrEnum):
    ANCHOR = "anchor"
    FRAME = "frame"
    NOFOLLOW = "nofollow"
    """An anchor with rel=nofollow."""
    IMAGE = "image"
    COUNTED = "counted"
    """An anchor to a file, another domain or another scheme: never becomes a page."""


FOLLOWED: Final = (Role.ANCHOR, Role.FRAME)


class Link(NamedTuple):
    role: Role
    site: int
    """-1: not a place of the demonstration Web."""
    number: int
    url: str
    """Path and query inside the page's own site; the whole URL elsewhere."""
    html: str
    """As it is written where nothing else is asked for."""


_TEXTS: Final = ("more", "next", "here", "read on", "details", "archive", "mapa", "ver todo", "inicio", "contacto")


def written(role: Role, number: int, url: str) -> str:
    if "&" in url:
        url = escape(url)
    match role:
        case Role.IMAGE:
            return f'<img src="{url}" alt="">\n'
        case Role.FRAME:
            return f'<iframe src="{url}"></iframe>\n'
        case Role.NOFOLLOW:
            return f'<a href="{url}" rel="nofollow">{_TEXTS[number % 10]}</a>\n'
        case _:
            return f'<a href="{url}">{_TEXTS[number % 10]}</a>\n'


def link_to(role: Role, site: int, number: int, url: str) -> Link:
    return Link(role, site, number, url, written(role, number, url))


def _files() -> list[tuple[Link, ...]]:
    """Sets of images, files, other domains and schemes; a page has one of them."""
    dice, out = Dice("files"), []
    for _ in range(512):
        some = [(Role.IMAGE, f"/img/{dice.pick(PLAIN)}.gif") for _ in range(dice.below(6))]
        if dice.chance(0.2):
            some.append((Role.COUNTED, dice.pick(_FORMS).format(dice.pick(PLAIN), dice.below(1000))))
        if dice.chance(0.1):
            some.append((Role.COUNTED, f"http://www.{dice.pick(PLAIN)}.invalid/{dice.pick(PLAIN)}.html"))
        if dice.chance(0.05):
            some.append((Role.COUNTED, dice.pick(("mailto:webmaster@gossamer.test", "javascript:history.back()"))))
        out.append(tuple(link_to(role, -1, n, url) for n, (role, url) in enumerate(some)))
    return out


_FORMS: Final = (
    "/files/{}-{}.pdf", "/files/{}-{}.pdf", "/files/{}-{}.doc", "/media/{}-{}.mp3", "/media/{}-{}.avi",
    "/down/{}-{}.zip", "/down/{}-{}.tar.gz", "/down/{}-{}.exe", "/src/{}-{}.c", "/down/{}-{}.rpm",
)  # fmt: skip
_FILES: Final = _files()


def links(web: DemoWeb, site: Site, number: int, dice: Dice | None = None) -> list[Link]:
    """All links of a page in the order in which they are written. A duplicate has its original's.

    `dice`: those of the page, not yet thrown; whoever renders it goes on with them.
    """
    layout = web.layout(site.number)
    number = layout.original.get(number, number)
    if layout.kind[number] is not Kind.PAGE:
        return []
    dice = dice or page_dice(web, site, number)
    out = _inside(site, layout, dice, number)
    if site.linking:
        out += _outside(web, site, dice, number)
    if layout.broken:
        share = web.broken / (1 - web.broken)
        out += [_own(site, layout, dice.pick(layout.broken)) for _ in range(dice.whole(share * len(out)))]
    if web.counted:
        out += dice.pick(_FILES)
    middle = dice.below(len(out) + 1)
    return out[middle:] + out[:middle]


def page_dice(web: DemoWeb, site: Site, number: int) -> Dice:
    return Dice(web.seed, "page", site.number, number)


def _own(site: Site, layout: Layout, number: int) -> Link:
    found = layout.links.get(number)
    if found is None:
        found = layout.links[number] = link_to(Role.ANCHOR, site.number, number, layout.target[number])
    return found


def _inside(site: Site, layout: Layout, dice: Dice, number: int) -> list[Link]:
    numbers = [HOME] if number != HOME else []
    if layout.level[number] > 1:
        numbers.append(layout.parent[number])
    if layout.hubs:
        numbers += {dice.pick(layout.hubs, 2.0) for _ in range(1 + dice.below(4))} - {number, *numbers}
    if number != HOME:
        numbers += _siblings(layout, dice, number)
    out = [_own(site, layout, n) for n in sorted(numbers)]
    for n in layout.children.get(number, ()):
        if layout.kind[n] is Kind.HIDDEN and number not in layout.quiet:
            out.append(link_to(Role.NOFOLLOW, site.number, n, layout.target[n]))
        elif n in layout.moved:
            continue
        elif number % 50 == 7:
            out.append(link_to(Role.FRAME, site.number, n, layout.target[n]))
        else:
            out.append(_own(site, layout, n))
    return out


def _siblings(layout: Layout, dice: Dice, number: int) -> set[int]:
    """A few pages of the same parent. Neither the page nor its duplicates: a link to itself would tell them apart."""
    family = layout.children[layout.parent[number]]
    return {
        n for n in [dice.pick(family) for _ in range(dice.below(5))]
        if layout.kind[n] in PAGES and n not in layout.moved and n != number and layout.original.get(n) != number
    }  # fmt: skip


def _outside(web: DemoWeb, site: Site, dice: Dice, number: int) -> list[Link]:
    targets = list(web.promised(site.number)) if number == HOME else []
    if dice.chance(0.3):
        targets += [dice.pick(web.linked_sites, 2.5) for _ in range(1 + dice.below(3))]
    out = []
    for target in targets:
        if target.number == site.number:
            continue
        hubs = web.layout(target.number).hubs if dice.chance(0.3) else []
        n = dice.pick(hubs) if hubs else HOME
        out.append(link_to(Role.ANCHOR, target.number, n, web.url(target.number, n)))
    return out
