"""Links that never become pages: to images, files, other domains and schemes. A crawl counts them on each page."""

from __future__ import annotations

from urllib.parse import urljoin

from gossamer.webs.demo.layout import UrlKind
from gossamer.webs.demo.links import Role, links
from gossamer.webs.demo.places import Places

_COUNTED = (Role.IMAGE, Role.COUNTED)


def only_counted(web: Places, site: int, number: int) -> set[str]:
    """The distinct targets of such links on a page, as absolute URLs."""
    place = web.all_sites[site]
    if not web.counted or not place.readable or web.layout(site).kind[number] not in (UrlKind.PAGE, UrlKind.DUPLICATE):
        return set()
    return {urljoin(place.home, link.url) for link in links(web, place, number) if link.role in _COUNTED}
