"""A tick while it is being applied: what the rows of `crawl/apply.py` get."""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.base.model import Visits
from gossamer.collection.journal.effects import Effects
from gossamer.desk.kernels import Tally


@dataclass(slots=True)
class Applied:
    effects: Effects
    visits: Visits
    """Those of the effects, as kernels take them."""
    tally: Tally
    """How many visits of each kind there are: a rare row is skipped where there is none."""
    for_pages: Visits
    """The visits as pages see them: a redirect to the site's other name counts as not asked."""
