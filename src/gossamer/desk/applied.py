"""A tick while it is being applied: the argument of the functions in the tables of `crawler/apply.py`."""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.base.model import Visits
from gossamer.collection.journal.effects import Effects
from gossamer.desk.kernels import Tally


@dataclass(slots=True)
class Applied:
    """The effects of a tick, and what is derived from them while they are applied."""

    effects: Effects
    visits: Visits
    """The visits of the effects, in the form that kernels take."""
    tally: Tally
    """Number of visits of each kind: a row for a rare kind is skipped if there is none."""
    for_pages: Visits
    """The visits as pages count them: a redirect to the site's other name counts as not requested."""
