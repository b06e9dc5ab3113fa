"""The sitemaps of the demonstration Web: an index with a gzip file and a text file, a text file, RSS, and Atom.

robots.txt names them where there is one that can; otherwise they are at the well-known place. They list the home page,
the hubs, and pages to which nothing else leads; those of a living Web list other pages, with dates.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from gossamer.webs.demo.layout import HOME, Layout, UrlKind
from gossamer.webs.demo.site import Robots, Site

WELL_KNOWN: Final = "/sitemap.xml"
DATED: Final = "urlset"
"""A form that only a living Web has."""
_FIRST: Final = {
    "index": "/maps/index.xml",
    "text": "/maps/all.txt",
    "rss": "/maps/news.rss",
    "atom": "/maps/feed.atom",
    DATED: "/maps/pages.xml",
}
FORMS: Final = ("index", "text", "rss", "atom")
_PART, _REST = "/maps/pages.xml.gz", "/maps/rest.txt"
_CHANGED: Final = "2023-11-14"
"""The date of everything in the fixed Web."""
_SILENT: Final = (Robots.MISSING, Robots.REFUSED, Robots.UNAVAILABLE)
"""Sites whose robots.txt names no sitemap."""


class Entry(NamedTuple):
    """A page in a sitemap."""

    target: str
    date: str = ""
    """Of its last change, as W3C-DTF; "": that of the fixed Web, or none."""


def sitemap_place(site: Site) -> str | None:
    """Path of the first sitemap of a site; None: it has none."""
    if not site.features.sitemap:
        return None
    return WELL_KNOWN if site.robots in _SILENT else _FIRST[site.features.sitemap]


def sitemap_line(site: Site) -> str:
    """The line for its robots.txt; "": it needs none."""
    place = sitemap_place(site)
    return "" if place in (None, WELL_KNOWN) else f"Sitemap: {_root(site)}{place}\n"


def is_sitemap(site: Site, target: str) -> bool:
    parts = (_PART, _REST) if site.features.sitemap == "index" else ()
    return bool(site.features.sitemap) and (target == sitemap_place(site) or target in parts)


def sitemap_body(
    site: Site, layout: Layout, target: str, more: Sequence[Entry] | None = None
) -> tuple[bytes, str] | None:
    """Body and type of a sitemap; None if the target is no sitemap of the site. `more`: what it lists in place of home
    page and hubs."""
    if not is_sitemap(site, target):
        return None
    listed = [Entry(layout.target[n]) for n, kind in enumerate(layout.kind) if kind is UrlKind.LISTED]
    others = [Entry(layout.target[n]) for n in (HOME, *layout.hubs)] if more is None else [*more]
    half = len(listed) // 2
    if target == _REST:
        return _text(site, listed[half:]), "text/plain"
    if target == _PART:
        return gzip.compress(_urlset(site, others + listed[:half])[0], mtime=0), "application/gzip"
    return _first(site, others + listed)


def _first(site: Site, entries: list[Entry]) -> tuple[bytes, str]:
    match site.features.sitemap:
        case "index":
            parts = "".join(f"<sitemap><loc>{_root(site)}{part}</loc></sitemap>" for part in (_PART, _REST))
            return _xml(f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{parts}</sitemapindex>')
        case "text":
            return _text(site, entries), "text/plain"
        case "rss":
            items = "".join(
                f"<item><link>{escape(_root(site) + e.target)}</link>{_element('dc:date', e.date)}</item>"
                for e in entries
            )
            dc = ' xmlns:dc="http://purl.org/dc/elements/1.1/"' if "<dc:" in items else ""
            return _xml(f'<rss version="2.0"{dc}><channel><link>{_root(site)}/</link>{items}</channel></rss>')
        case "atom":
            items = "".join(
                f"<entry><link href={quoteattr(_root(site) + e.target)}/>{_element('updated', e.date)}</entry>"
                for e in entries
            )
            return _xml(f'<feed xmlns="http://www.w3.org/2005/Atom">{items}</feed>')
        case _:
            return _urlset(site, entries)


def _element(name: str, text: str) -> str:
    return f"<{name}>{text}</{name}>" if text else ""


def _root(site: Site) -> str:
    return f"{site.scheme}://{site.name}"


def _text(site: Site, entries: Sequence[Entry]) -> bytes:
    return "".join(f"{_root(site)}{e.target}\r\n" for e in entries).encode("utf-8-sig")


def _xml(text: str) -> tuple[bytes, str]:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode(), "application/xml"


def _urlset(site: Site, entries: Sequence[Entry]) -> tuple[bytes, str]:
    rows = "".join(
        f"<url><loc>{escape(_root(site) + e.target)}</loc><lastmod>{e.date or _CHANGED}</lastmod></url>\n"
        for e in entries
    )
    return _xml(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>')
