"""Behaviours of whole sites that never end, or are larger than any crawl: calendars, facets, names, rules, sitemaps."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Final

from gossamer.webs.hostile.behaviour import Behaviour, HostileRequest, made, says
from gossamer.webs.hostile.saying import answer, page

NAMES: Final = 60
"""Names below `wildcard` that are linked to; it answers for all others, too."""
RULES: Final = 20_000
FACETS: Final = {"colour": "red", "size": "large", "brand": "own", "price": "low"}
LONG_PIECE: Final = 200_000
"""Bytes of each kind of costly markup in a sitemap."""
_PIECES: Final = (
    f"<url><loc>{'&#38;' * 3_000}</loc></url>",
    "<url>" + "<lastmod>Mon, 31 Feb 2020 00:00:00 +9999</lastmod>" * 4 + "</url>",
    "<!---->",
    "<![CDATA[]]>",
    "<url><loc>",
    "<!DOCTYPE []",
    "<loc",
    "<",
)
_OK: Final = ("ok",)
_MAZE: Final = ("ok", "duplicate", "excluded: depth")


def _calendar(request: HostileRequest) -> bytes:
    """A page for each month, from the year 0 to the end of time, with links to the months around it."""
    digits = [int(part) for part in request.path.split("/") if part.isdecimal()]
    month = max(12 * digits[0] + digits[1] - 1, 1) if len(digits) == 2 else 24_321
    links = [f"/calendar/{m // 12:04d}/{m % 12 + 1:02d}/" for m in (month - 1, month + 1)]
    return answer(page(f"month {month % 12 + 1} of the year {month // 12}, in which nothing is on", *links))


def _facets(request: HostileRequest) -> bytes:
    """A shop whose lists are narrowed down by one facet after the other: the same list under each order of them."""
    query = request.target.partition("?")[2]
    chosen = [part for part in query.split("&") if part]
    names = {part.partition("=")[0] for part in chosen}
    links = [f"/shop?{'&'.join([*chosen, f'{name}={FACETS[name]}'])}" for name in FACETS if name not in names]
    return answer(page(f"a list by {' and '.join(sorted(names)) or 'nothing'}", *(link for link in links)))


def _below(request: HostileRequest) -> bytes:
    """Every name has a start page, with links to three further names."""
    if request.path != "/":
        return answer(page("nothing"), "404 Not Found")
    first, _, rest = request.host.partition(".")
    number = int(first[1:]) if first[1:].isdecimal() else 0
    home = rest if number else request.host
    links = [f"http://n{n}.{home}/" for n in range(3 * number + 1, 3 * number + 4) if n <= NAMES]
    return answer(page(f"name {number} of very many", *links))


def _maps(request: HostileRequest) -> bytes:
    """Each sitemap is an index that names itself and sixty further ones."""
    number = request.path.rpartition("/")[2]
    if not request.path.startswith("/maps/") or not number.isdecimal():
        return answer(page(f"a page of {request.host}"))
    named = (int(number), *(60 * int(number) + n for n in range(1, 61)))
    rows = "".join(f"<sitemap><loc>http://{request.host}/maps/{n}</loc></sitemap>" for n in named)
    return answer(f"<sitemapindex>{rows}</sitemapindex>".encode(), kind="application/xml")


@cache
def _costly_map() -> bytes:
    rows = "<urlset><url><loc>http://costly-map.hostile.test/listed</loc></url>"
    rows += "".join(piece * (LONG_PIECE // len(piece)) for piece in _PIECES)
    return answer(gzip.compress(rows.encode()), "200 OK", "application/xml", "Content-Encoding: gzip")


def _with_costly_map(request: HostileRequest) -> bytes:
    return _costly_map() if request.path == "/map" else answer(page(f"page {request.path} behind a costly sitemap"))


def _many_rules() -> str:
    """500 KB of rules that are all different."""
    return "User-agent: *\n" + "".join(f"Disallow: /rule/{n:05d}*x\n" for n in range(RULES))


# fmt: off
MAZES: Final = (
    Behaviour("calendar", "A calendar with a page for each month, before and after, without end.",
        {"/calendar/*": _MAZE}, made(_calendar), "A.6.2", starts=("/calendar/2026/11/",)),
    Behaviour("facets", "A shop that has each list under every order of its facets.",
        {"/shop*": _MAZE}, made(_facets), "A.6.2", starts=("/shop",)),
    Behaviour("wildcard", "A name server that answers for every name below its own, and pages that link to such names.",
        {"/": _OK}, made(_below), whole=True, wild=True),
    Behaviour("many-rules", "A robots.txt of 500 KB, all of it rules.",
        {"/page": _OK, "/rule/00007-x": ("excluded: robots",)}, says(answer(page("behind many rules"))),
        robots=_many_rules()),
    Behaviour("endless-maps", "Indexes of sitemaps that name themselves, and ever more indexes.",
        {"/page": _OK}, made(_maps), robots="Sitemap: http://endless-maps.hostile.test/maps/0\n"),
    Behaviour("costly-map", "A sitemap of markup that is never closed, and of dates that do not exist.",
        {"/page": _OK, "/listed": _OK}, made(_with_costly_map), starts=("/page",),
        robots="Sitemap: http://costly-map.hostile.test/map\n"),
)
# fmt: on
