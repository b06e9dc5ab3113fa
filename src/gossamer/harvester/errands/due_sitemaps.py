"""Sitemaps that are due: the durable half of `sitemaps.py`.

A site is here from the moment when one of its robots.txt files is read and its sitemaps are due, until all sitemaps
were read or tried. After a stop or a kill in between, the next start reads them again, except *spent* sitemaps: empty
sitemaps, and sitemaps whose pages are all taken.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from gossamer import urls
from gossamer.base.model import Outcome
from gossamer.base.outcomes import TRANSIENT
from gossamer.collection.image import Image
from gossamer.collection.journal.effects import taken_sitemap
from gossamer.config import Settings
from gossamer.desk.desk import Declared, Desk, Part

NOT_SPENT: Final = TRANSIENT | {Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.RETURNED}
"""Outcomes of a sitemap after which it may be requested again before its round has ended."""
_RETURNED: Final = int(Outcome.RETURNED)
OFTENER: Final = 7
"""How many times as often a continuous crawl reads sitemaps: their dates tell which pages have changed."""


def sitemaps_every(settings: Settings) -> float:
    """Seconds between two readings of the sitemaps of a site."""
    return settings.seeder.sitemap_every / (OFTENER if settings.manager.continuous else 1)


class DueSitemaps(Part):
    """When the sitemaps of each site are due, and which of them are still to be read."""

    name = "sitemaps"
    columns: ClassVar[Declared] = {
        "site": {"sitemap_due": "<f8"}  # wall: its sitemaps are not requested before; 0: they never were
    }
    times = ("site.sitemap_due",)

    def __init__(self, desk: Desk) -> None:
        self.named: dict[int, dict[int, bytes]] = {}
        """By site whose sitemaps are to be read, then by origin: the URLs in its robots.txt, one per line."""
        self.spent: dict[int, set[int]] = {}
        """For these sites: fingerprints of sitemaps that are not requested again until all are read."""

    def meta(self) -> dict[str, Any]:
        return {
            "sitemaps": {site: {o: text.decode() for o, text in of.items()} for site, of in self.named.items()},
            "spent": {site: sorted(spent) for site, spent in self.spent.items()},
        }

    def load(self, image: Image) -> None:
        self.named = {
            int(site): {int(origin): text.encode() for origin, text in of.items()}
            for site, of in image.meta["sitemaps"].items()
        }
        self.spent = {int(site): set(spent) for site, spent in image.meta.get("spent", {}).items()}


def note_named(desk: Desk, visit: Any, texts: dict[str, bytes]) -> None:
    """After a robots.txt was read: if its site has pages and its sitemaps are due, notes the sitemaps that it names.

    The first origin that answers when they are due begins the round of the site; other origins that answer before the
    round ends join it.
    """
    origins, sites, seeder = desk.columns.origin, desk.columns.site, desk.settings.seeder
    origin, time = int(visit["origin"]), float(visit["time"])
    site = int(origins.site[origin])
    readable = visit["outcome"] != _RETURNED and origins.valid[origin] >= time
    if seeder.sitemaps and readable and sites.pages[site] and sites.sitemap_due[site] <= time:
        lines = texts["sitemaps"].split(b"\n", seeder.sitemaps_per_site)[: seeder.sitemaps_per_site]
        desk[DueSitemaps].named.setdefault(site, {})[origin] = b"\n".join(lines)


def note_spent(desk: Desk, visit: Any, texts: dict[str, bytes]) -> None:
    """After an answer to a request for a sitemap: it is spent if the answer was final or empty. A sitemap that lists
    pages is not spent until SITEMAP_TAKEN says that they are taken."""
    part, site, outcome = desk[DueSitemaps], int(visit["site"]), Outcome(int(visit["outcome"]))
    empty = outcome is Outcome.OK and not visit["out_degree"] and not texts["sitemaps"]
    if site in part.named and (empty or outcome not in NOT_SPENT):
        url = texts["title"].decode()
        spent = urls.fingerprint(desk.scope.canonical(url) or url, desk.seed)
        part.spent.setdefault(site, set()).add(spent)


def end_round(desk: Desk, event: Any) -> None:
    """SITEMAPS_READ: all sitemaps of the site were read or tried."""
    part, site = desk[DueSitemaps], int(event["site"])
    desk.columns.site.sitemap_due[site] = event["until"]
    part.named.pop(site, None)
    part.spent.pop(site, None)


def note_taken(desk: Desk, event: Any) -> None:
    """SITEMAP_TAKEN: all pages that one sitemap lists are known."""
    part, site = desk[DueSitemaps], int(event["site"])
    if site in part.named:
        part.spent.setdefault(site, set()).add(taken_sitemap(event))
