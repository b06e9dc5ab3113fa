"""What the part `habits` shows in `gossamer sql`."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.config.settings import Settings
from gossamer.desk.shown import ImageView, Shown, columns_of
from gossamer.manager.revisits.changes import CLASSES
from gossamer.manager.revisits.common import prior_of
from gossamer.manager.revisits.rates import decode


def _of_pages(image: ImageView, settings: Settings) -> tuple[Array, ...]:
    page, prior = image.columns.page, prior_of(image.columns.habits, float(settings.manager.change_period))
    changed = np.asarray(page.changed).view(np.uint8).reshape(-1, CLASSES).sum(1, dtype=np.uint16)
    return page.compared, changed, (86_400 * decode(page.belief, prior).rates).astype(np.float32)


_PAGES: Final = columns_of("""
compared* UTINYINT Visits that compared the page with the version before (255 at most), as of the last image; null
  without an image. The same holds for the next two columns.
changed* USMALLINT How many of these found that it had changed; old ones fade.
change_rate* DOUBLE Changes a day, as far as is known: the most probable rate, learned from its comparisons and from
  what other pages do.
""")
SHOWN: Final = (Shown("pages", _PAGES, _of_pages),)
