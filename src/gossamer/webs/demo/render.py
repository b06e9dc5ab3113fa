"""Renders pages and robots.txt files: HTML of the kind found on the Web, in the language and charset of the site.

Sizes follow thesis 8.3.2: few pages are very small, from 12 KB on their number decreases with the power 3.54, and none
has 300 KB. How links are written differs from page to page (absolute path, absolute URL, relative to the folder or to a
base element, session ids, capital letters, attributes without quotes). Originals of duplicates, and sites that a mirror
repeats, use paths only, so that both copies have the same bytes and the same links.
"""

from __future__ import annotations

import re
from html import escape
from math import exp
from statistics import NormalDist
from typing import Final, NamedTuple

from gossamer.webs.demo import national
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.languages import LANGUAGES
from gossamer.webs.demo.layout import UrlKind
from gossamer.webs.demo.links import (
    DemoLink,
    Role,
    description,
    links,
    month_links,
    month_title,
    page_dice,
    title,
    written,
)
from gossamer.webs.demo.pieces import Body, BodyPiece
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import WWW, Declared, Robots, Site, SiteNames
from gossamer.webs.demo.sitemaps import sitemap_line
from gossamer.webs.demo.words import sections, sentence

LARGEST: Final = 290_000
HEAVY_MEDIAN: Final = 35_000
HEAVY_SPREAD: Final = 1.146
"""Standard deviation of the logarithm: nine tenths of the pages are then below 152 KB."""
HEAVIEST: Final = 2_000_000
_NORMAL: Final = NormalDist()
MARK: Final = "0session0session0session0session"
"""The placeholder for a session id in a page: the server replaces it by a new id of the same length in every answer, so
that a crawler that takes the ids for pages never ends."""
_SESSIONS: Final = {
    "jsessionid": re.compile(r";jsessionid=[0-9a-z]{32}"),
    "PHPSESSID": re.compile(r"[?&]PHPSESSID=[0-9a-z]{32}$"),
}
_STYLES: Final = ("path", "path", "whole", "folder", "base", "session")


class Edition(NamedTuple):
    """What a version of a page has besides the content that all its versions share; the default: nothing."""

    key: tuple[int | str, ...] = ()
    """Key of the dice for its sentences."""
    stamp: str = ""
    """A date and a counter."""
    news: tuple[str, ...] = ()
    """Paths of pages that it lists."""
    is_news: bool = False
    """The page is one of those that others list."""


UNCHANGING: Final = Edition()


def size(dice: Dice, heavy: bool = False) -> int:
    """Size of a page in bytes: mean about 12 KB. `heavy`: log-normal, as in the HTTP Archive."""
    if heavy:
        return min(HEAVIEST, int(HEAVY_MEDIAN * exp(HEAVY_SPREAD * _NORMAL.inv_cdf(max(dice.unit(), 1e-9)))))
    if dice.chance(0.6):
        return 500 + int(7_500 * dice.unit())
    return min(LARGEST, int(11_500 * (1 - dice.unit()) ** (-1 / 2.54)))


def render(web: Places, site: Site, number: int, edition: Edition = UNCHANGING) -> Body:
    """The body of a page of a site that is not a mirror."""
    if edition.is_news:
        return _render_news(web, site, number, edition)
    layout = web.layout(site.number)
    number = layout.original.get(number, number)
    if layout.kind[number] is UrlKind.CALENDAR:
        return render_month(web, site, layout.months[number])
    dice = page_dice(web, site, number)
    if layout.kind[number] is UrlKind.PLAIN:
        own = f"{title(web, site, number)} ({site.host}, {number})\n\n" + (edition.stamp and f"{edition.stamp}\n\n")
        return _fill(web, site, dice, _encoded(site, own), edition, plain=True)
    all_links = links(web, site, number, dice)
    style = _style(site, dice, number in layout.twins)
    own = layout.target[number]
    head = _head(web, site, dice, number, own, style, number in layout.quiet)
    session = f"{int(dice.unit() * 2**48):032x}" if style == "session" else ""
    folder = own[: own.rindex("/", 0, (own + "?").index("?")) + 1]
    shout = dice.chance(0.1) and not site.features.session
    anchors = [_anchor(site, link, style, folder, session, shout) for link in all_links]
    return _fill(
        web, site, dice, _encoded(site, head + "".join(anchors) + _own(web, site, edition)), edition, len(all_links)
    )


def _own(web: Places, site: Site, edition: Edition) -> str:
    """The part of a page that belongs to its version alone: date and counter, a few sentences, the news, and links to
    some hubs."""
    if not edition.key:
        return ""
    dice, layout = Dice(*edition.key), web.layout(site.number)
    said = LANGUAGES[site.language].space.join(sentence(dice, site.language) for _ in range(3))
    hubs = [layout.target[dice.pick(layout.hubs)] for _ in range(dice.below(3))] if layout.hubs else []
    linked = [*edition.news, *dict.fromkeys(hubs)]
    anchors = "".join(written(Role.ANCHOR, url, sentence(Dice(*edition.key, url), site.language)) for url in linked)
    return f"<p>{edition.stamp}</p>\n<p>{said}</p>\n{anchors}"


def _render_news(web: Places, site: Site, number: int, edition: Edition) -> Body:
    """News that a page has brought: they link to the home page and to that page."""
    dice, layout = Dice(*edition.key, "news"), web.layout(site.number)
    name = sentence(Dice(*edition.key[:-1]), site.language)
    back = written(Role.ANCHOR, layout.target[number], title(web, site, number))
    begin = _beginning(site, site.charset.declared is not Declared.NOWHERE)
    own = f"{begin}<title>{name}</title></head><body><h1>{name}</h1>\n{back}{_own(web, site, edition)}"
    pool = sections(web.seed, *_text_of(site))
    return Body.of(BodyPiece.make(_encoded(site, own)), *(dice.pick(pool) for _ in range(1 + dice.below(3))))


def render_month(web: Places, site: Site, month: int) -> Body:
    """A page of a calendar; there is one for every integer."""
    dice = Dice(web.seed, "month", site.number, month)
    name = month_title(site, month)
    anchors = "".join(link.html for link in month_links(web, site, month))
    begin = _beginning(site, site.charset.declared is not Declared.NOWHERE)
    own = f"{begin}<title>{name}</title></head><body><h1>{name}</h1>\n<p>{site.host}</p>\n"
    return Body.of(BodyPiece.make(_encoded(site, own + anchors)), dice.pick(sections(web.seed, *_text_of(site))))


def render_missing(site: Site) -> Body:
    """The page of a soft site for a target that does not exist."""
    words = LANGUAGES[site.language]
    text = f"<title>404</title></head><body><p>{words.missing}</p>\n<p>{words.missing}</p>\n"
    begin = _beginning(site, site.charset.declared is not Declared.NOWHERE)
    own = f'{begin}{text}<a href="/">{words.home}</a></body></html>\n'
    return Body.of(BodyPiece.make(_encoded(site, own)))


def _encoded(site: Site, text: str) -> bytes:
    """The text in the charset of the site; other characters are written as character references."""
    return site.charset.mark + text.encode(site.charset.codec, "xmlcharrefreplace")


def _text_of(site: Site) -> tuple[str, str]:
    return site.language, site.charset.codec


def _style(site: Site, dice: Dice, has_twin: bool) -> str:
    chosen = dice.pick(_STYLES)
    if site.features.session:
        return "every session"
    return "path" if has_twin or site.ties.mirrored else chosen


def _beginning(site: Site, declare: bool) -> str:
    charset = f'<meta http-equiv="Content-Type" content="text/html; charset={site.charset.label}">\n' if declare else ""
    return f'<!DOCTYPE html>\n<html lang="{site.language}"><head>\n{charset}'


def _head(web: Places, site: Site, dice: Dice, number: int, own: str, style: str, quiet: bool) -> str:
    declared = site.charset.declared
    declare = declared is Declared.META or (dice.chance(0.5) and declared is Declared.MIXED)
    name = title(web, site, number)
    parts = [_beginning(site, declare), f"<title>{name} {number}</title>"]
    if text := description(web, site, number):
        parts.append(f'<meta name="description" content="{escape(text)}">')
    if quiet:
        parts.append('<meta name="robots" content="nofollow">')
    elif style != "path" and dice.chance(0.02):
        parts.append('<meta name="robots" content="noindex">')
    if style == "base":
        parts.append(f'<base href="{_root(site, own)}/base/">')
    if style in ("whole", "folder", "base", "session") and dice.chance(0.1):
        parts.append(f'<link rel="canonical" href="{escape(_root(site, own) + own)}">')
    parts.append(f"</head><body><h1>{name}</h1>\n<p>{site.host}, {number}.</p>\n")
    return "\n".join(parts)


def _root(site: Site, own: str) -> str:
    """The origin of the site, as its own pages write it: with either name, if both have the same pages."""
    name = WWW + site.host if site.names is SiteNames.BOTH and len(own) % 2 else site.name
    return f"{site.scheme}://{name}"


def _anchor(site: Site, link: DemoLink, style: str, folder: str, session: str, shout: bool) -> str:
    if (style == "path" and not shout) or link.site != site.number:
        return link.html
    url = _written(site, link.url, style, folder, session)
    if shout and link.role is Role.ANCHOR and "?" not in url and not url.endswith("/"):
        return f"<A HREF={url}>{link.text}</A>\n"
    return written(link.role, url, link.text)


def _written(site: Site, target: str, style: str, folder: str, session: str) -> str:
    match style:
        case "every session":
            return with_session(site, target, MARK)
        case "whole" if target.endswith(".html") and not site.http.secure:
            return f"HTTP://{_root(site, target)[7:].title()}:80{target}#top"
        case "whole":
            return _root(site, target) + target
        case "base":
            return ".." + target
        case "folder" if target.startswith(folder) and "?" not in target and target != folder:
            return target[len(folder) :]
        case "session" if "?" in target:
            return f"{target}&PHPSESSID={session}"
    return target


def _fill(
    web: Places, site: Site, dice: Dice, own: bytes, edition: Edition, links: int = 0, plain: bool = False
) -> Body:
    """Adds text until the page has its size; at least one piece, so that it does not count as empty. The first piece
    and half of the others are the edition's own."""
    pool, other = sections(web.seed, *_text_of(site), plain), Dice(*edition.key, "text")
    length, wanted = len(own), national.length(dice, links) if web.national else size(dice, web.heavy)
    pieces = [BodyPiece.make(own)]
    while length < wanted or len(pieces) < 2:
        usual = dice.pick(pool)
        pieces.append(other.pick(pool) if edition.key and (len(pieces) == 1 or other.chance(0.5)) else usual)
        length += len(pieces[-1].plain)
    return Body.of(*pieces)


def with_session(site: Site, target: str, session: str) -> str:
    """The target with a session id: `;jsessionid=` at the end of the path, `PHPSESSID=` at the end of the query."""
    if site.features.session == "jsessionid":
        path, mark, query = target.partition("?")
        return f"{path};jsessionid={session}{mark}{query}"
    return f"{target}{'&' if '?' in target else '?'}PHPSESSID={session}"


def without_session(site: Site, target: str) -> str:
    return _SESSIONS[site.features.session].sub("", target)


def robots_text(web: Shape, site: Site) -> bytes | None:
    """The robots.txt that a site serves with status 200; None: it serves none. A soft site serves its page for missing
    targets, which has no rules in it."""
    delay = (f"Crawl-delay: {site.delay:g}\n" if site.delay else "") + sitemap_line(site)
    folders = "Disallow: /private/\nAllow: /private/open/\n"
    match site.robots:
        case Robots.MISSING if site.features.soft:
            return render_missing(site).plain
        case Robots.EMPTY:
            text = f"# come in\nUser-agent: *\nDisallow:\n{delay}"
        case Robots.FOLDERS:
            text = f"User-agent: *\n{folders}{delay}"
        case Robots.PATTERNS:
            text = f"User-agent: *\nDisallow: /*?*print=1$\nDisallow: /*/draft-*.html$ # not ready\n{delay}"
        case Robots.NAMED:
            text = f"User-agent: *\nDisallow: /\n\nUser-agent: {web.agent}\n{folders}{delay}"
        case _:
            return None
    return text.encode()
