"""What the part `pages` shows in `gossamer sql`. Quality and value are computed as the manager does, for the time of
the image and with the settings in force. Cost: 25 bytes per page while a query runs, and 0.1 s at 10^6 pages."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.model import Outcome, State
from gossamer.config.settings import Settings
from gossamer.desk.shown import ImageView, Shown, columns_of
from gossamer.manager.position import chunks
from gossamer.manager.strategies import LIVE
from gossamer.manager.value import GIVEN, Value, terms_of


def _of_pages(image: ImageView, settings: Settings) -> tuple[Array, ...]:
    """The value of a page is that of its stored copy: 0 if there is none in the index."""
    known = image.columns
    cash = np.asarray(known.page.cash) & np.uint64(GIVEN - 1)
    worth = Value.of(settings.manager)
    terms = terms_of(known, LIVE[settings.manager.policy].code, worth, image.issued, image.wall)
    quality, value = np.zeros((2, known.page.count), np.float32)
    for chunk in chunks(known, terms):
        here = slice(chunk.first, chunk.end)
        quality[here] = chunk.quality()
        held = (known.page.state[here] == State.DONE) & (known.page.outcome[here] == Outcome.OK)
        value[here] = np.where(held, quality[here] ** worth.alpha * chunk.kept(), 0)
    return known.page.depth, (cash / max(1, image.issued)).astype(np.float32), known.page.boost, quality, value


def _of_sites(image: ImageView, settings: Settings) -> tuple[Array]:
    return (image.columns.site.pending,)


_PAGES: Final = columns_of("""
current_depth* UTINYINT Current depth, as of the last image (made at a clean stop, and from time to time during a
  crawl); null for pages found since, or without an image. The same holds for the next four columns.
opic* DOUBLE Share of the page of all cash (OPIC): what it holds or, if it was fetched, what it held.
boost* DOUBLE Boost by the patterns of manager.boosts.
quality* DOUBLE Weighted sum of the scores, from 0 to 1.
value* DOUBLE Value of the stored copy at the time of the image; 0 without a copy.
""")
_SITES: Final = columns_of("pending* BIGINT Number of pending pages, as of the last image; null without an image.")
SHOWN: Final = (Shown("pages", _PAGES, _of_pages), Shown("sites", _SITES, _of_sites))
