"""What the part `habits` shows in `gossamer sql`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.config.settings import Settings
from gossamer.desk.shown import ImageView, Shown, columns_of
from gossamer.manager.revisits.changes import CLASSES
from gossamer.manager.revisits.common import CHANGED, TOLD, prior_of
from gossamer.manager.revisits.rates import STEP, Prior, decode
from gossamer.manager.revisits.scale import copies_of, staleness
from gossamer.manager.revisits.signals import BELIEVED

DAY: Final = 86_400.0


def _of_pages(image: ImageView, settings: Settings) -> tuple[Array, ...]:
    page, prior = image.columns.page, prior_of(image.columns.habits, float(settings.manager.change_period))
    changed = np.asarray(page.changed).view(np.uint8).reshape(-1, CLASSES).sum(1, dtype=np.uint16)
    return page.compared, changed, (DAY * decode(page.belief, prior).rates).astype(np.float32)


def _of_sites(image: ImageView, settings: Settings) -> tuple[Array]:
    prior = prior_of(image.columns.habits, float(settings.manager.change_period))
    return ((DAY * prior.median * np.exp(STEP * np.asarray(image.columns.site.pace, np.float64))).astype(np.float32),)


def _calibration(image: ImageView, settings: Settings) -> tuple[Array, ...]:
    told, changed = (np.asarray(image.columns.habits[part]).astype(np.int64) for part in (TOLD, CHANGED))
    share = np.array([c / n if n else None for n, c in zip(told.tolist(), changed.tolist(), strict=True)], object)
    return np.arange(10) / 10, np.arange(1, 11) / 10, told, changed, share


def _freshness(image: ImageView, settings: Settings) -> tuple[Array, ...]:
    columns, prior = image.columns, prior_of(image.columns.habits, float(settings.manager.change_period))
    copies = copies_of(columns)
    found = staleness(columns, prior, image.wall, copies)
    of = columns.origin.site[columns.page.origin[copies]]
    sites, rows, counts = np.unique(of, return_inverse=True, return_counts=True)
    fresh, behind = (np.bincount(rows, each, len(sites)) / counts for each in (1 - found.outdated, found.behind))
    return sites.astype(np.int64), counts, fresh, behind / DAY


def _of_dates(image: ImageView, settings: Settings) -> tuple[Array]:
    site = image.columns.site
    right = np.round(-np.expm1(-np.asarray(site.doubt, np.float64)), 4).tolist()
    heard = np.asarray(site.trusted).tolist()
    return (np.array([share if row else None for share, row in zip(right, heard, strict=True)], object),)


class Trusted:
    """What `gossamer explain` says of the signals of a page, and of its site, from the desk or from an image."""

    name = "signals"

    def __init__(self, page: Any, site: Any) -> None:
        self._page, self._site = page, site

    def explain_page(self, page: int) -> Mapping[str, object]:
        signals = int(self._page.signals[page])
        return {"since_the_last_visit": signals - 1} if signals else {}

    def explain_site(self, site: int) -> Mapping[str, object]:
        if not self._site.trusted[site]:
            return {}
        doubt, announced = float(self._site.doubt[site]), float(self._site.announced[site])
        return {
            "lastmod": "believed" if doubt > BELIEVED else "not believed",
            "right": f"{100 * -np.expm1(-doubt):.0f} %",
            "changes_announced": f"{100 * announced:.0f} %",
        }


class Told:
    """What `gossamer explain` says of a page that was compared, from the desk or from an image."""

    name = "habits"

    def __init__(self, columns: Any) -> None:
        self._page = columns

    def explain_page(self, page: int) -> Mapping[str, object]:
        compared = int(self._page.compared[page])
        if not compared:
            return {}
        belief = decode(self._page.belief[page : page + 1], Prior.of(DAY))  # of one that was compared: not the prior
        low, rate, high = (DAY * float(np.exp(belief.mean + side * belief.spread)[0]) for side in (-1, 0, 1))
        return {
            "compared": compared,
            "changed": int(np.frombuffer(self._page.changed[page].tobytes(), np.uint8).sum()),
            "changes_a_day": float(f"{rate:.3g}"),
            "probably_between": f"{low:.3g} and {high:.3g}",
        }

    def explain_site(self, site: int) -> Mapping[str, object]:
        return {}


_PAGES: Final = columns_of("""
compared* UTINYINT Visits that compared the page with the version before (255 at most), as of the last image; null
  without an image. The same holds for the next two columns.
changed* USMALLINT How many of these found that it had changed; old ones fade.
change_rate* DOUBLE Changes a day, as far as is known: the most probable rate, learned from its comparisons and from
  what other pages do, of its site first of all.
""")
_SITES: Final = columns_of("""
change_rate* DOUBLE Changes a day of one of its pages, as far as is known: half of them change more often. As long as
  little is known of a site, it is near that of all sites. As of the last image; null without an image.
""")
_DATES: Final = columns_of("""
lastmod* DOUBLE How far the dates in its sitemaps are believed: the share of later dates that were right about a change,
  as of the last image; null if there never was a later date, or no image.
""")
HEARD: Final = (Shown("sites", _DATES, _of_dates),)
_CALIBRATION: Final = columns_of("""
predicted_from* DOUBLE Least probability of a change, as it was predicted just before the visit.
predicted_to* DOUBLE The probability below which the next row begins.
visits* BIGINT Visits of pages with such a probability that compared them with the version before.
changed* BIGINT How many of these found a major change.
share* DOUBLE The observed share: it should lie between the two. Null without a visit.
""")
_FRESHNESS: Final = columns_of("""
site* BIGINT Number of a site.
copies* BIGINT Pages of it that are in the index.
freshness* DOUBLE Expected share of these copies that are up to date; of the collection: sum(copies * freshness) /
  sum(copies).
age* DOUBLE For how many days they have been outdated, on average.
""")
SHOWN: Final = (
    Shown("pages", _PAGES, _of_pages),
    Shown("sites", _SITES, _of_sites),
    Shown("calibration", _CALIBRATION, _calibration),
    Shown("freshness", _FRESHNESS, _freshness),
)
