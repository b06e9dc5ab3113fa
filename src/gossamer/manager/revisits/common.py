"""What is known of the changes of all pages together: the places in the array `columns.habits`."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64
from gossamer.manager.revisits.rates import Prior

PRIOR: Final = slice(0, 128)
"""Shares of the prior; all 0 before anything was learned."""
SPENT: Final = slice(128, 132)
"""Re-visits whose pages came in full, and their bytes; those that were answered 304, and their bytes."""
TOLD, CHANGED = slice(160, 170), slice(170, 180)
"""Observations by tenth of the predicted probability of a change, and how many of these had changed."""
FOUND: Final = slice(180, 184)
"""Visits by `Change`."""
NOT_MODIFIED: Final = 184
AGAIN: Final = 185
"""Visits of pages that were done before."""
BEGUN: Final = 186
"""Wall time of the first of these."""
SCALE: Final = 187
"""Logarithm of the worth of new pages, as the last plan had it (`manager/revisits/scale.py`)."""
OBSERVED, NEXT_FIT, CURSOR, LEFT = 188, 189, 190, 191
"""Observations so far, at how many the prior is fitted next, and the pages whose beliefs are computed again."""
APART: Final = 192
"""`Prior.apart`."""
GATHERING: Final = 193
"""How many of the pages left a round still gathers for the places of their sites."""
LASTS_LOGS, LASTS_WEIGHTS = slice(194, 197), slice(197, 200)
"""`Bursts`."""
HINTS_LOGS, HINTS_WEIGHTS = slice(200, 216), slice(216, 232)
"""`Lifetimes`."""


def prior_of(habits: F64, period: float) -> Prior:
    """The prior in force; before anything was learned, pages change once in `period` seconds."""
    return Prior(np.asarray(habits[PRIOR]), float(habits[APART])) if habits[PRIOR].any() else Prior.of(period)


def saved_by(habits: F64) -> float:
    """Bytes that answers 304 saved, if their pages are as long, on average, as those that came in full."""
    full, full_bytes, unsent, unsent_bytes = np.asarray(habits[SPENT]).tolist()
    return max(0.0, unsent * full_bytes / full - unsent_bytes) if full else 0.0
