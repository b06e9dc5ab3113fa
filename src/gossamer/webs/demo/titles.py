"""Titles and descriptions of pages: for their own head, and for links to them."""

from __future__ import annotations

from gossamer.webs.demo.layout import HOME
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.scripts import LANGUAGES
from gossamer.webs.demo.site import Site
from gossamer.webs.demo.words import descriptions, titles


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
