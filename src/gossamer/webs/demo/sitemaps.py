"""The sitemaps of the demonstration Web: an index with a gzip file and a text file, a text file, RSS, and Atom.

robots.txt names them where there is one that can; otherwise they are at the well-known place. They list the home page,
the hubs, and pages to which nothing else leads.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from gossamer.webs.demo.layout import HOME, Layout, UrlKind
from gossamer.webs.demo.site import Robots, Site

WELL_KNOWN: Final = "/sitemap.xml"
_FIRST: Final = {
    "index": "/maps/index.xml",
    "text": "/maps/all.txt",
    "rss": "/maps/news.rss",
    "atom": "/maps/feed.atom",
}
FORMS: Final = tuple(_FIRST)
_PART, _REST = "/maps/pages.xml.gz", "/maps/rest.txt"
_CHANGED: Final = 1_700_000_000
_SILENT: Final = (Robots.MISSING, Robots.REFUSED, Robots.UNAVAILABLE)
"""Sites whose robots.txt names no sitemap."""


def sitemap_place(site: Site) -> str | None:
    """Path of the first sitemap of a site; None: it has none."""
    if not site.features.sitemap:
        return None
    return WELL_KNOWN if site.robots in _SILENT else _FIRST[site.features.sitemap]


def sitemap_line(site: Site) -> str:
    """The line for its robots.txt; "": it needs none."""
    place = sitemap_place(site)
    return "" if place in (None, WELL_KNOWN) else f"Sitemap: {_root(site)}{place}\n"


def sitemap_body(site: Site, layout: Layout, target: str) -> tuple[bytes, str] | None:
    """Body and type of a sitemap; None if the target is no sitemap of the site."""
    if not site.features.sitemap:
        return None
    listed = [n for n, kind in enumerate(layout.kind) if kind is UrlKind.LISTED]
    others = [HOME, *layout.hubs]
    if target == sitemap_place(site):
        return _first(site, layout, others + listed)
    half = len(listed) // 2
    if site.features.sitemap == "index" and target == _PART:
        return gzip.compress(_urlset(site, layout, others + listed[:half]), mtime=0), "application/gzip"
    if site.features.sitemap == "index" and target == _REST:
        return _text(site, layout, listed[half:]), "text/plain"
    return None


def _first(site: Site, layout: Layout, numbers: list[int]) -> tuple[bytes, str]:
    match site.features.sitemap:
        case "index":
            parts = "".join(f"<sitemap><loc>{_root(site)}{part}</loc></sitemap>" for part in (_PART, _REST))
            return _xml(f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{parts}</sitemapindex>')
        case "text":
            return _text(site, layout, numbers), "text/plain"
        case "rss":
            items = "".join(f"<item><link>{escape(url)}</link></item>" for url in _urls(site, layout, numbers))
            return _xml(f'<rss version="2.0"><channel><link>{_root(site)}/</link>{items}</channel></rss>')
        case _:
            entries = "".join(f"<entry><link href={quoteattr(url)}/></entry>" for url in _urls(site, layout, numbers))
            return _xml(f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>')


def _root(site: Site) -> str:
    return f"{site.scheme}://{site.name}"


def _urls(site: Site, layout: Layout, numbers: Iterable[int]) -> list[str]:
    return [_root(site) + layout.target[n] for n in numbers]


def _text(site: Site, layout: Layout, numbers: Iterable[int]) -> bytes:
    return "".join(f"{url}\r\n" for url in _urls(site, layout, numbers)).encode("utf-8-sig")


def _xml(text: str) -> tuple[bytes, str]:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode(), "application/xml"


def _urlset(site: Site, layout: Layout, numbers: Iterable[int]) -> bytes:
    day = time.strftime("%Y-%m-%d", time.gmtime(_CHANGED))
    urls = _urls(site, layout, numbers)
    entries = "".join(f"<url><loc>{escape(url)}</loc><lastmod>{day}</lastmod></url>\n" for url in urls)
    return _xml(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>')[0]
