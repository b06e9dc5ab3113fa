"""The layout of a site: every target that answers, its place in the site, and its kind.

Numbers 0 .. pages-1 are the pages (0 is the home page); other targets follow. Pages form a tree, and each is linked
from its parent, so all are reachable. A link inside a site leads to the home page, a hub (a page linked from the home
page), the parent, a child or a sibling: once the home page is read, no page is found deeper than its level, in any
order of the others. Levels end at 12 for static and 4 for dynamic pages (the depth limits of a crawl are 15 and 5), so
the result of a finished crawl does not depend on its order.

The order of the dice decides the bytes of the Web: a change of it changes all Webs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from gossamer.webs.demo import national
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import Down, Robots, Site
from gossamer.webs.demo.words import PLAIN

DEEPEST_STATIC: Final = 12
DEEPEST_DYNAMIC: Final = 4
LAST_MONTH: Final = 20
"""Months of a calendar in each direction that a layout has. There are more, but no crawl should reach them."""
SCRIPTS: Final = ("article.php", "view.php", "list.php", "show.asp", "item.jsp")
HUBS: Final = 12
LISTED: Final = 8
"""Number of pages of a site that only its sitemap lists."""
HOME: Final = 0


class UrlKind(StrEnum):
    """What is behind a URL."""

    PAGE = "page"
    PLAIN = "plain"
    """A page of type text/plain, without links."""
    DUPLICATE = "duplicate"
    """Has the text and links of another page of the site."""
    REDIRECT = "redirect"
    BROKEN = "broken"
    """Linked, but answers 404."""
    SOFT = "soft"
    """Linked, but answers 200 with a text that says that there is no such page: the same for the whole site."""
    ERROR = "error"
    """Answers 500."""
    BUSY = "busy"
    """Answers 429 with Retry-After."""
    FORBIDDEN = "forbidden"
    """Linked, but robots.txt forbids it."""
    HIDDEN = "hidden"
    """Only nofollow links, or links on nofollow pages, lead to it."""
    CALENDAR = "calendar"
    """A month; links to the next and to the previous one, without end."""
    LISTED = "listed"
    """Not linked: only the sitemap of its site lists it."""
    TORN = "torn"
    """The connection breaks off in the middle of the body."""
    DOWN = "down"
    """The home page of a site that cannot be reached."""


PAGES: Final = (UrlKind.PAGE, UrlKind.PLAIN, UrlKind.DUPLICATE)
_STATUS: Final = {UrlKind.BROKEN: 404, UrlKind.ERROR: 500, UrlKind.BUSY: 429, UrlKind.DOWN: 0}


@dataclass(slots=True)
class Layout:
    """Parallel lists over the numbers of a site."""

    kind: list[UrlKind] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    """-1: no page links to it."""
    target: list[str] = field(default_factory=list)
    """Path and query."""
    children: dict[int, list[int]] = field(default_factory=dict)
    hubs: list[int] = field(default_factory=list)
    quiet: set[int] = field(default_factory=set)
    """Pages whose meta robots element says nofollow."""
    original: dict[int, int] = field(default_factory=dict)
    """From a duplicate to the page that it repeats."""
    twins: set[int] = field(default_factory=set)
    """Pages that have duplicates."""
    leads_to: dict[int, tuple[int, int]] = field(default_factory=dict)
    """From a redirect to (site, number)."""
    moved: dict[int, int] = field(default_factory=dict)
    """From a page to the redirect that its parent links to instead."""
    broken: list[int] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)
    """From path and query to number."""
    anchors: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Plain links to targets of the site: their HTML and their text; made when first needed."""
    months: dict[int, int] = field(default_factory=dict)
    """From number to month of a calendar."""

    def add(self, kind: UrlKind, level: int, parent: int, target: str) -> int:
        self.kind.append(kind)
        self.level.append(level)
        self.parent.append(parent)
        self.target.append(target)
        n = len(self.kind) - 1
        self.number[target] = n
        if parent >= 0:
            self.children.setdefault(parent, []).append(n)
        return n

    def status(self, number: int) -> int:
        """The status code of a target; 0: nobody answers."""
        kind = self.kind[number]
        return (301, 302)[number % 2] if kind is UrlKind.REDIRECT else _STATUS.get(kind, 200)


def make_layout(web: Shape, site: Site, elsewhere: list[Site]) -> Layout:
    """`elsewhere`: other sites to which redirects may lead."""
    dice = Dice(web.seed, "layout", site.number)
    out = Layout()
    if site.down is not Down.NO:
        out.add(UrlKind.DOWN, 0, -1, "/")
        return out
    out.add(UrlKind.PAGE, 0, -1, "/")
    _pages(web, site, dice, out)
    tops = [n for n in out.children.get(HOME, ()) if out.kind[n] is UrlKind.PAGE and n not in out.quiet]
    out.hubs = tops[: min(HUBS, (len(tops) + 1) // 2)]
    if web.duplicates:
        _duplicates(web, site, dice, out)
    _others(web, site, dice, out)
    if web.redirects:
        _redirects(web, site, dice, out, elsewhere)
    if site.features.calendar:
        _calendar(out)
    for _ in range(LISTED if site.features.sitemap else 0):
        out.add(UrlKind.LISTED, 1, -1, f"/listed/{len(out.kind)}.html")
    return out


def _calendar(out: Layout) -> None:
    """Months 0, 1, -1, 2, -2 ...: each is linked only from the one before it, the first one from the home page."""
    number = {0: out.add(UrlKind.CALENDAR, 1, HOME, month_target(0))}
    for far in range(1, LAST_MONTH + 1):
        for month in (far, -far):
            before = number[month - 1 if month > 0 else month + 1]
            number[month] = out.add(UrlKind.CALENDAR, far + 1, before, month_target(month))
    out.months = {n: month for month, n in number.items()}


def month_target(month: int) -> str:
    return f"/calendar?month={month}"


def _levels(dice: Dice, pages: int, is_national: bool) -> list[int]:
    """Levels of all pages except the home page, ascending. Small sites are shallow (8.4.3), large ones are not
    (8.3.4)."""
    if is_national:
        deepest = national.deepest(pages)
    elif pages < 6:
        deepest = 1
    elif pages < 40:
        deepest = 2
    elif pages < 150:
        deepest = 3 + dice.below(2)
    elif pages < 600:
        deepest = 5 + dice.below(4)
    else:
        deepest = 8 + dice.below(DEEPEST_STATIC - 7)
    deepest = min(deepest, pages - 1)
    weights = [level**1.5 * 2.0 ** (-4.8 * level / (deepest + 1)) for level in range(1, deepest + 1)]
    total = sum(weights)
    ways: list[float] = []
    for weight in weights:
        ways.append((ways[-1] if ways else 0.0) + weight / total)
    found = list(range(1, deepest + 1))
    for _ in range(pages - 1 - deepest):
        throw = dice.unit()
        found.append(next((n for n, way in enumerate(ways, 1) if throw < way), deepest))
    return sorted(found)


def _pages(web: Shape, site: Site, dice: Dice, out: Layout) -> None:
    levels = _levels(dice, site.pages, web.national)
    shallow = sum(level <= DEEPEST_DYNAMIC for level in levels)
    dynamic = min(0.97, web.dynamic * len(levels) / max(1, shallow))
    shares = [dynamic] * (DEEPEST_DYNAMIC + 1)
    if web.national:
        shares = national.dynamic(levels, dynamic, DEEPEST_DYNAMIC)
    parents, next_parents, before = [HOME], list[int](), 1
    for n, level in enumerate(levels, 1):
        if level != before:
            parents, next_parents, before = next_parents, [], level
        first = not next_parents
        kind = UrlKind.PLAIN if not first and dice.chance(web.plain) else UrlKind.PAGE
        is_dynamic = kind is UrlKind.PAGE and level <= DEEPEST_DYNAMIC and dice.chance(shares[level])
        target = _target(site, dice, n, kind, is_dynamic, national.SCRIPTS if web.national else SCRIPTS)
        out.add(kind, level, dice.pick(parents, 2.0), target)
        if kind is UrlKind.PAGE and not first and web.nofollow and dice.chance(0.01):
            out.quiet.add(n)
        elif kind is UrlKind.PAGE and (first or dice.chance(0.5)):
            next_parents.append(n)


def _target(site: Site, dice: Dice, n: int, kind: UrlKind, dynamic: bool, scripts: Sequence[str]) -> str:
    word = dice.pick(PLAIN)
    if kind is UrlKind.PLAIN:
        return f"/notes/{word}-{n}"
    if dynamic:
        script = dice.pick(scripts)
        return f"/{script}?id={n}" + (f"&topic={word}" if dice.chance(0.2) else "")
    if site.robots in (Robots.FOLDERS, Robots.NAMED) and dice.chance(0.05):
        return f"/private/open/{word}-{n}.html"
    folder = dice.pick(PLAIN)
    return f"/{folder}/{word}-{n}/" if dice.chance(0.15) else f"/{folder}/{word}-{n}.html"


def _duplicates(web: Shape, site: Site, dice: Dice, out: Layout) -> None:
    """Makes duplicates of leaves of the same parent: in whatever order they are fetched, the same links are found at
    the same depth."""
    for n in range(2, site.pages):
        if not dice.chance(web.duplicates * 2.3) or not _leaf(out, n) or n in out.twins:
            continue
        twins = [m for m in out.children[out.parent[n]] if m != n and _leaf(out, m)]
        if twins:
            out.kind[n] = UrlKind.DUPLICATE
            out.original[n] = dice.pick(twins)
            out.twins.add(out.original[n])


def statics(layout: Layout, pages: int) -> list[int]:
    """Pages that any page of a national Web may link to, by level."""
    return [n for n in range(1, pages) if "?" not in layout.target[n] and _is_free(layout, n)]


def _is_free(out: Layout, n: int) -> bool:
    return out.kind[n] in PAGES and n not in out.moved and n not in out.original and n not in out.twins


def _leaf(out: Layout, n: int) -> bool:
    return out.kind[n] is UrlKind.PAGE and n not in out.children and n not in out.quiet and n not in out.hubs


def _others(web: Shape, site: Site, dice: Dice, out: Layout) -> None:
    """Adds targets that do not answer with a page, and targets that may not or should not be requested."""
    givers = _givers(out, site)
    for kind, count, path in (
        (UrlKind.ERROR, web.errors * site.pages, "fault"),
        (UrlKind.BUSY, web.busy * site.pages, "busy"),
        (UrlKind.TORN, site.features.torn, "torn"),
        (UrlKind.HIDDEN, web.nofollow * site.pages, "guestbook"),
        (UrlKind.FORBIDDEN, web.forbidden * site.pages if site.has_rules else 0.0, ""),
    ):
        for _ in range(dice.whole(count)):
            parent = dice.pick([*givers, *sorted(out.quiet)] if kind is UrlKind.HIDDEN else givers)
            n = len(out.kind)
            level = out.level[parent] + 1
            out.add(kind, level, parent, f"/{path}/{n}.html" if path else _forbidden(site, dice, n, level))
    if web.broken:
        count = site.pages * web.broken * 1.1
        for _ in range(dice.whole(count) if web.national else max(1, round(count))):
            kind = UrlKind.SOFT if site.features.soft else UrlKind.BROKEN
            out.broken.append(out.add(kind, 0, -1, f"/missing/{dice.pick(PLAIN)}-{len(out.kind)}.html"))
        if site.features.soft and out.broken:
            out.original |= dict.fromkeys(out.broken[1:], out.broken[0])
            out.twins.add(out.broken[0])


def _givers(out: Layout, site: Site) -> list[int]:
    """Pages that may get links to other targets: certainly read, followed, and not repeated by another page."""
    return [n for n in range(site.pages) if out.kind[n] is UrlKind.PAGE and n not in out.quiet and n not in out.twins]


def _forbidden(site: Site, dice: Dice, n: int, level: int) -> str:
    if site.robots is not Robots.PATTERNS:
        return f"/private/{dice.pick(PLAIN)}-{n}.html"
    if level <= DEEPEST_DYNAMIC and dice.chance(0.5):
        return f"/article.php?id={n}&print=1"
    return f"/{dice.pick(PLAIN)}/draft-{n}.html"


def _redirects(web: Shape, site: Site, dice: Dice, out: Layout, elsewhere: list[Site]) -> None:
    """Redirects to pages that are linked in no other way, to hubs, in two steps, in a circle of two, and to other
    sites."""
    givers = _givers(out, site)
    for _ in range(dice.whole(web.redirects * site.pages)):
        throw = dice.unit()
        page = 1 + dice.below(max(1, site.pages - 1))
        if throw < 0.4 and page < site.pages and page not in out.hubs and page not in out.moved:
            out.moved[page] = _redirect(site, dice, out, out.parent[page], page)
            continue
        parent = dice.pick(givers)
        if throw < 0.8:
            _redirect(site, dice, out, parent, dice.pick([HOME, *out.hubs]))
        elif throw < 0.87:
            last = _redirect(site, dice, out, -1, dice.pick([HOME, *out.hubs]))
            _redirect(site, dice, out, parent, last)
        elif throw < 0.9:
            one = _redirect(site, dice, out, parent, HOME)
            out.leads_to[one] = (site.number, _redirect(site, dice, out, -1, one))
        else:
            n = _redirect(site, dice, out, parent, HOME)
            if site.ties.linking and elsewhere:
                out.leads_to[n] = (dice.pick(elsewhere).number, HOME)


def _redirect(site: Site, dice: Dice, out: Layout, parent: int, page: int) -> int:
    n = len(out.kind)
    level = out.level[parent] + 1 if parent >= 0 else DEEPEST_STATIC
    dynamic = level <= DEEPEST_DYNAMIC and dice.chance(0.3)
    n = out.add(UrlKind.REDIRECT, level, parent, f"/go.php?to={n}" if dynamic else f"/old/{n}.html")
    out.leads_to[n] = (site.number, page)
    return n
