"""From a page's links to its bytes: HTML of the kind found on the Web, in the site's language and charset.

Sizes follow thesis 8.3.2: few pages are very small, from 12 KB on their number falls with the power 3.54, none has
300 KB. How links are written differs from page to page (absolute path, whole URL, relative to the folder or to a base
element, session ids, capital letters, attributes without quotes); originals of duplicates use paths only, so that
both copies have the same bytes and the same links.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from gossamer.demo.dice import Dice
from gossamer.demo.layout import HOME, Kind
from gossamer.demo.links import Link, Role, links, page_dice, written
from gossamer.demo.pieces import Body, Piece
from gossamer.demo.sites import Site
from gossamer.demo.words import sections, titles

if TYPE_CHECKING:
    from gossamer.demo.web import DemoWeb

LARGEST: Final = 290_000
_STYLES: Final = ("path", "path", "whole", "folder", "base", "session")


def size(dice: Dice) -> int:
    """Bytes of a page: mean about 12 KB."""
    if dice.chance(0.6):
        return 500 + int(7_500 * dice.unit())
    return min(LARGEST, int(11_500 * (1 - dice.unit()) ** (-1 / 2.54)))


def render(web: DemoWeb, site: Site, number: int) -> Body:
    layout = web.layout(site.number)
    number = layout.original.get(number, number)
    dice = page_dice(web, site, number)
    if layout.kind[number] is Kind.PLAIN:
        return _plain(web, site, dice, number)
    all_links = links(web, site, number, dice)
    style = "path" if number in layout.twins else dice.pick(_STYLES)
    own = layout.target[number]
    head = _head(web, site, dice, number, own, style, number in layout.quiet)
    session = f"{int(dice.unit() * 2**48):012x}" if style == "session" else ""
    folder = own[: own.rindex("/", 0, (own + "?").index("?")) + 1]
    shout = dice.chance(0.1)
    anchors = [_anchor(site, link, style, folder, session, shout) for link in all_links]
    return _fill(web, site, dice, head + "".join(anchors).encode())


def _plain(web: DemoWeb, site: Site, dice: Dice, number: int) -> Body:
    head = f"{dice.pick(titles(web.seed, site.language))} ({site.host}, {number})\n\n".encode(site.charset)
    return _fill(web, site, dice, head)


def _head(web: DemoWeb, site: Site, dice: Dice, number: int, own: str, style: str, quiet: bool) -> bytes:
    name = dice.pick(titles(web.seed, site.language)) if number != HOME else site.host.partition(".")[0].title()
    parts = ["<!DOCTYPE html>", f'<html lang="{site.language}"><head>']
    if site.charset == "latin-1":
        parts.append('<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">')
    elif dice.chance(0.5):
        parts.append('<meta charset="utf-8">')
    parts.append(f"<title>{name} {number}</title>")
    if quiet:
        parts.append('<meta name="robots" content="nofollow">')
    elif style != "path" and dice.chance(0.02):
        parts.append('<meta name="robots" content="noindex">')
    if style == "base":
        parts.append(f'<base href="http://{site.host}/base/">')
    if style != "path" and dice.chance(0.1):
        parts.append(f'<link rel="canonical" href="{escape(site.home[:-1] + own)}">')
    parts.append(f"</head><body><h1>{name}</h1>\n<p>{site.host}, {number}.</p>\n")
    return "\n".join(parts).encode(site.charset)


def _anchor(site: Site, link: Link, style: str, folder: str, session: str, shout: bool) -> str:
    if style == "path" and not shout:
        return link.html
    url = _written(site, link.url, style, folder, session) if link.site == site.number else link.url
    if shout and link.role is Role.ANCHOR and "?" not in url and not url.endswith("/"):
        return f"<A HREF={url}>{link.number}</A>\n"
    return written(link.role, link.number, url)


def _written(site: Site, target: str, style: str, folder: str, session: str) -> str:
    if style == "whole":
        return f"HTTP://{site.host.title()}:80{target}#top" if target.endswith(".html") else site.home[:-1] + target
    if style == "base":
        return ".." + target
    if style == "folder" and target.startswith(folder) and "?" not in target and target != folder:
        return target[len(folder) :]
    if session and "?" in target:
        return f"{target}&PHPSESSID={session}"
    return target


def _fill(web: DemoWeb, site: Site, dice: Dice, own: bytes) -> Body:
    """Adds text until the page has its size; one piece at least, lest it count as empty."""
    pool = sections(web.seed, site.language, site.charset)
    length, wanted = len(own), size(dice)
    pieces = [Piece.make(own)]
    while length < wanted or len(pieces) < 2:
        pieces.append(dice.pick(pool))
        length += len(pieces[-1].plain)
    return Body.of(*pieces)
