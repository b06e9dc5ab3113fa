"""The links of a page: where they lead, how they are written, and which of them a crawl must follow; and the titles
and descriptions of pages.

In-degree is far more skewed than out-degree (thesis 8.5.1): every page links to its home page and to a few hubs, while
most pages have few links besides the one from their parent. About a tenth of the links to pages are broken; only some
sites have external links; and files that a crawl only counts are mixed in. The text of a link is the title of its
target.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from html import escape
from typing import Final, NamedTuple
from urllib.parse import urljoin

from gossamer.webs.demo import national
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.languages import LANGUAGES
from gossamer.webs.demo.layout import HOME, LAST_MONTH, PAGES, Layout, UrlKind, month_target
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.site import Site
from gossamer.webs.demo.words import PLAIN, descriptions, titles


class Role(StrEnum):
    """How a page refers to a target."""

    ANCHOR = "anchor"
    FRAME = "frame"
    NOFOLLOW = "nofollow"
    """An anchor with rel=nofollow."""
    IMAGE = "image"
    COUNTED = "counted"
    """An anchor to a file, another domain or another scheme: it never becomes a page."""


FOLLOWED: Final = (Role.ANCHOR, Role.FRAME)
_COUNTED: Final = (Role.IMAGE, Role.COUNTED)


class DemoLink(NamedTuple):
    """A link of a page."""

    role: Role
    site: int
    """-1: outside the demonstration Web."""
    number: int
    url: str
    """Path and query for a target in the same site; the absolute URL, with the bare name, for others."""
    html: str
    """The default HTML of the link."""
    text: str


def written(role: Role, url: str, text: str) -> str:
    if "&" in url:
        url = escape(url)
    match role:
        case Role.IMAGE:
            return f'<img src="{url}" alt="">\n'
        case Role.FRAME:
            return f'<iframe src="{url}"></iframe>\n'
        case Role.NOFOLLOW:
            return f'<a href="{url}" rel="nofollow">{text}</a>\n'
        case _:
            return f'<a href="{url}">{text}</a>\n'


def _link(role: Role, site: int, number: int, url: str, text: str) -> DemoLink:
    return DemoLink(role, site, number, url, written(role, url, text), text)


def _national_files() -> list[tuple[DemoLink, ...]]:
    """The same for a national Web: kinds of files and names of hosts have the shares of chapter 8."""
    dice, out, files, hosts = Dice("national files"), list[tuple[DemoLink, ...]](), 0, 0
    for _ in range(2_048):
        images = (f"/img/{dice.pick(PLAIN)}.{dice.pick(national.IMAGES)}" for _ in range(1 + dice.below(5)))
        some = [(Role.IMAGE, url) for url in images]
        if dice.chance(0.3):
            form, files = national.evenly(files, national.FILES), files + 1
            some.append((Role.COUNTED, form.format(dice.pick(PLAIN), dice.below(1000))))
        if dice.chance(0.2):
            name, hosts = national.external(hosts), hosts + 1
            some.append((Role.COUNTED, f"http://www.{dice.pick(PLAIN)}.{name}/{dice.pick(PLAIN)}.html"))
        out.append(tuple(_link(role, -1, n, url, url.rpartition("/")[2]) for n, (role, url) in enumerate(some)))
    return out


def _files() -> list[tuple[DemoLink, ...]]:
    """Sets of links to images, files, other domains and schemes; each page has one set."""
    dice, out = Dice("files"), []
    for _ in range(512):
        some = [(Role.IMAGE, f"/img/{dice.pick(PLAIN)}.gif") for _ in range(dice.below(6))]
        if dice.chance(0.2):
            some.append((Role.COUNTED, dice.pick(_FORMS).format(dice.pick(PLAIN), dice.below(1000))))
        if dice.chance(0.1):
            some.append((Role.COUNTED, f"http://www.{dice.pick(PLAIN)}.invalid/{dice.pick(PLAIN)}.html"))
        if dice.chance(0.05):
            some.append((Role.COUNTED, dice.pick(("mailto:webmaster@gossamer.test", "javascript:history.back()"))))
        out.append(tuple(_link(role, -1, n, url, url.rpartition("/")[2]) for n, (role, url) in enumerate(some)))
    return out


_FORMS: Final = (
    "/files/{}-{}.pdf", "/files/{}-{}.pdf", "/files/{}-{}.doc", "/media/{}-{}.mp3", "/media/{}-{}.avi",
    "/down/{}-{}.zip", "/down/{}-{}.tar.gz", "/down/{}-{}.exe", "/src/{}-{}.c", "/down/{}-{}.rpm",
)  # fmt: skip
_FILES: Final = cache(_files)
_NATIONAL_FILES: Final = cache(_national_files)


def links(web: Places, site: Site, number: int, dice: Dice | None = None) -> list[DemoLink]:
    """All links of a page, in the order in which they are written. A duplicate has the links of its original; a mirror
    links to itself where its original does.

    `dice`: those of the page, not yet thrown; the renderer continues with them.
    """
    if site.ties.mirror_of >= 0:
        there = links(web, web.source(site), number, dice)
        return [link._replace(site=site.number) if link.site == site.ties.mirror_of else link for link in there]
    layout = web.layout(site.number)
    number = layout.original.get(number, number)
    match layout.kind[number]:
        case UrlKind.CALENDAR:
            return month_links(web, site, layout.months[number])
        case UrlKind.SOFT:
            return [_own(web, site, layout, HOME)]
        case UrlKind.PAGE:
            return _of_page(web, site, layout, number, dice or page_dice(web, site, number))
    return []


def _of_page(web: Places, site: Site, layout: Layout, number: int, dice: Dice) -> list[DemoLink]:
    out = _inside(web, site, layout, dice, number)
    if site.ties.linking:
        out += _outside(web, site, dice, number)
    if layout.broken:
        share = web.broken / (1 - web.broken)
        out += [_own(web, site, layout, dice.pick(layout.broken)) for _ in range(dice.whole(share * len(out)))]
    if web.counted:
        out += dice.pick(_NATIONAL_FILES() if web.national else _FILES())
    middle = dice.below(len(out) + 1)
    return out[middle:] + out[:middle]


def page_dice(web: Places, site: Site, number: int) -> Dice:
    return Dice(web.seed, "page", site.number, number)


def month_links(web: Places, site: Site, month: int) -> list[DemoLink]:
    """The home page, the previous month and the next month; months beyond the layout have no number."""
    layout, words = web.layout(site.number), LANGUAGES[site.language]
    out = [_own(web, site, layout, HOME)]
    for other, text in ((month - 1, words.earlier), (month + 1, words.later)):
        there = site.number if abs(other) <= LAST_MONTH else -1
        target = month_target(other)
        out.append(_link(Role.ANCHOR, there, layout.number.get(target, -1), target, text))
    return out


def _own(web: Places, site: Site, layout: Layout, number: int) -> DemoLink:
    url, found = layout.target[number], layout.anchors.get(number)
    if found is None:
        text = title(web, site, number)
        found = layout.anchors[number] = written(Role.ANCHOR, url, text), text
    return DemoLink(Role.ANCHOR, site.number, number, url, *found)


def _inside(web: Places, site: Site, layout: Layout, dice: Dice, number: int) -> list[DemoLink]:
    numbers = [HOME] if number != HOME else []
    if layout.level[number] > 1:
        numbers.append(layout.parent[number])
    if layout.hubs:
        numbers += {dice.pick(layout.hubs, 2.0) for _ in range(1 + dice.below(4))} - {number, *numbers}
    if number != HOME:
        numbers += _siblings(layout, dice, number)
    if web.national and site.pages > national.LARGE:
        level = layout.level[number]
        there = len(numbers) + len(layout.children.get(number, ())) + 3
        found = national.further(dice, level, web.statics(site.number), layout.level, there)
        numbers += found - {number, *numbers}
    out = [_own(web, site, layout, n) for n in sorted(numbers)]
    for n in layout.children.get(number, ()):
        if layout.kind[n] is UrlKind.HIDDEN and number not in layout.quiet:
            out.append(_link(Role.NOFOLLOW, site.number, n, layout.target[n], title(web, site, n)))
        elif n in layout.moved:
            continue
        elif number % 50 == 7:
            out.append(_link(Role.FRAME, site.number, n, layout.target[n], ""))
        else:
            out.append(_own(web, site, layout, n))
    return out


def _siblings(layout: Layout, dice: Dice, number: int) -> set[int]:
    """A few pages of the same parent, but neither the page nor its duplicates: a link to itself would make them
    differ."""
    family = layout.children[layout.parent[number]]
    return {
        n
        for n in [dice.pick(family) for _ in range(dice.below(5))]
        if layout.kind[n] in PAGES and n not in layout.moved and n != number and layout.original.get(n) != number
    }


def _outside(web: Places, site: Site, dice: Dice, number: int) -> list[DemoLink]:
    targets = list(web.promised(site.number)) if number == HOME else []
    others = [web.all_sites[n] for n in site.ties.promised] if web.national else web.linked_sites
    if dice.chance(0.3) and others:
        targets += [dice.pick(others, 2.5) for _ in range(1 + dice.below(3))]
    out = []
    for target in targets:
        if target.number == site.number:
            continue
        layout = web.layout(target.number)
        n = dice.pick(layout.hubs) if layout.hubs and dice.chance(0.3) else HOME
        html = written(Role.ANCHOR, web.spelled(target, dice) + layout.target[n], site_title(target))
        out.append(DemoLink(Role.ANCHOR, target.number, n, web.url(target.number, n), html, site_title(target)))
    return out


def only_counted(web: Places, site: int, number: int) -> set[str]:
    """The distinct targets of links of a page that never become pages (images, files, other domains and schemes), as
    absolute URLs. A crawl counts them on each page."""
    place = web.all_sites[site]
    if not web.counted or not place.readable or web.layout(site).kind[number] not in (UrlKind.PAGE, UrlKind.DUPLICATE):
        return set()
    return {urljoin(place.home, link.url) for link in links(web, place, number) if link.role in _COUNTED}


def site_title(site: Site) -> str:
    return site.host.partition(".")[0].title()


def title(web: Places, site: Site, number: int) -> str:
    """The title of a page, without the number at the end of the title element."""
    if number == HOME:
        return site_title(site)
    layout = web.layout(site.number)
    if number in layout.months:
        return month_title(site, layout.months[number])
    return titles(web.seed, site.language)[_throw(web, site, number, 0)]


def month_title(site: Site, month: int) -> str:
    return f"{LANGUAGES[site.language].calendar} {month}"


def description(web: Places, site: Site, number: int) -> str:
    """The description in its meta element; "": it has none."""
    if _throw(web, site, number, 1) >= 1_000 * web.descriptions:
        return ""
    return descriptions(web.seed, site.language)[_throw(web, site, number, 2)]


def _throw(web: Places, site: Site, number: int, of: int) -> int:
    """A number below 1,000 for each page and purpose, by arithmetic: every link needs a title, and dice (2 µs) would be
    the most expensive part of it."""
    mixed = (web.seed * 31 + site.number * 7_919 + number * 104_729 + of * 1_299_709) * 2_654_435_761
    return (mixed >> 15) % 1_000
