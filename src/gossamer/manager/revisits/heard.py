"""What sitemaps say of changed pages, and whose word counts: the part of the desk that hears signals (`signals`).

In a continuous crawl the sitemaps of a site are read again and again. A page with a `lastmod` is *dated*. A `lastmod`
that is later than our copy is a signal; another one counts if it is later than the last reading of the site's sitemaps,
too. Verdicts bring both through the journal. A dated page has one byte: 1, and the number of its signals since its last
visit. What is known of a site that ever gave a signal is a row of likelihoods; what is believed of it, two columns.

Invariants, each a test of the same name:

- A signal counts once.
- A visit answers all signals.
- A replay hears the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np

from gossamer.base.arrays import F64, I64, Array, Bools, Records
from gossamer.base.askable import REVISITED
from gossamer.base.model import NONE, Outcome, State, VerdictFlag
from gossamer.collection.image import Image, Parts
from gossamer.collection.journal.effects import VERDICT, SiteEvent
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.manager.revisits.policies import chance
from gossamer.manager.revisits.rates import Belief
from gossamer.manager.revisits.shown import HEARD, Trusted
from gossamer.manager.revisits.signals import BELIEVED, MOST, PAIRS, Trust, learn, told, trust

_DATED, _SIGNALLED = int(VerdictFlag.DATED), int(VerdictFlag.SIGNALLED)
_READ: Final = int(SiteEvent.SITEMAPS_READ)
_ANSWERS: Final = np.array(
    [o in REVISITED or o is Outcome.NOT_MODIFIED for o in Outcome] + [False] * (256 - len(Outcome))
)


class Heard(Part):
    name = "signals"
    columns: ClassVar[Declared] = {
        "page": {"signals": "u1"},  # 0: no sitemap dates it; else 1 + its signals since its last visit, 255 at most
        "site": {
            "trusted": "<u4",  # 1 + its row of likelihoods; 0: it never gave a signal
            "doubt": "<f4",  # -log(1 - p) of its signals
            "announced": "<f4",  # share of its changes that signals announce
            "sitemap_read": "<f8",  # wall: when its sitemaps were read; 0: never
        },
    }
    times = ("site.sitemap_read",)
    needs = ("trusts",)
    shown = HEARD

    def __init__(self, desk: Desk) -> None:
        self._page, self._site, self._site_of = desk.columns.page, desk.columns.site, desk.columns.origin.site
        self._continuous = desk.settings.manager.continuous
        self._rows = np.zeros((0, len(PAIRS)))

    def arrays(self) -> dict[str, Array | Parts]:
        return {"trusts": self._rows.reshape(-1)}

    def load(self, image: Image) -> None:
        self._rows = image.array("trusts").reshape(-1, len(PAIRS)).copy()

    def _sites(self, pages: Array) -> Array:
        found: Array = self._site_of[self._page.origin[pages]]
        return found

    # --- signals ------------------------------------------------------------------------------------------------

    def verdicts(self, hints: Records) -> Records:
        """Verdicts on fetched pages from these dates, before the journal."""
        pages, at = np.unique(hints["page"].astype(np.int64), return_index=True)
        known = (pages < self._page.count) & self._continuous
        known[known] &= (self._page.state[pages[known]] == State.DONE) & (self._page.reason[pages[known]] == 0)
        pages, dates, page = pages[known], hints["lastmod"][at[known]], self._page
        signals = page.signals[pages]
        new = dates > page.due[pages]
        new &= (signals < 2) | (dates > self._site.sitemap_read[self._sites(pages)])
        told = new | (signals == 0)
        found = np.zeros(int(told.sum()), VERDICT)
        found["page"], found["judged"] = pages[told], np.where(new[told], _SIGNALLED, _DATED)
        found["state"], found["reason"] = page.state[pages[told]], page.reason[pages[told]]
        return found

    def follow(self, applied: Applied) -> None:
        effects, signals = applied.effects, self._page.signals
        visits = applied.for_pages
        if len(visits):
            answered = visits["page"][_ANSWERS[visits["outcome"]] & (visits["page"] != NONE)]
            signals[answered] = np.minimum(signals[answered], 1)
        if len(effects.verdicts):
            judged = effects.verdicts["judged"]
            dated, told = (effects.verdicts["page"][judged & flag != 0] for flag in (_DATED, _SIGNALLED))
            signals[dated] = np.maximum(signals[dated], 1)
            signals[told] = np.minimum(np.maximum(signals[told], 1), MOST) + 1
            self._give_rows(np.unique(self._sites(told)))
        events = effects.site_events
        if len(events):
            read = events[events["event"] == _READ]
            self._site.sitemap_read[read["site"]] = read["time"]

    def _give_rows(self, sites: Array) -> None:
        new = sites[self._site.trusted[sites] == 0]
        if len(new):
            self._site.trusted[new] = len(self._rows) + 1 + np.arange(len(new))
            self._rows = np.concatenate((self._rows, np.zeros((len(new), len(PAIRS)))))

    # --- learning -----------------------------------------------------------------------------------------------

    def answer(self, pages: I64, belief: Belief, seconds: F64, changed: Bools) -> F64:
        """Learns from what visits found after these times. Returns the probability of a change, as it was believed."""
        found, sites, signals = chance(belief, seconds), self._sites(pages), self._page.signals[pages]
        some = np.flatnonzero((signals > 0) & (self._site.trusted[sites] > 0))
        if len(some):
            sites, count = sites[some], signals[some] - 1.0
            belief, seconds = Belief(belief.mean[some], belief.spread[some]), seconds[some]
            found[some] = told(belief, seconds, count, Trust(self._site.doubt, self._site.announced).of(sites))
            rows, first, of = np.unique(self._site.trusted[sites] - 1, return_index=True, return_inverse=True)
            likelihoods = self._rows[rows]
            learn(likelihoods, of, belief, seconds, count, changed[some])
            self._rows[rows] = likelihoods
            self._site.doubt[sites[first]], self._site.announced[sites[first]] = trust(likelihoods)
        return found

    # --- telling ------------------------------------------------------------------------------------------------

    def statistics(self) -> Mapping[str, float]:
        """Sites whose dates were heard, how many of them are believed, and pages with signals that are not answered."""
        if not len(self._rows):
            return {}
        doubt = self._site.doubt[: self._site.count]
        return {
            "sites": len(self._rows),
            "believed": int((doubt > BELIEVED).sum()),
            "unanswered": int((self._page.signals[: self._page.count] > 1).sum()),
        }

    def explain_page(self, page: int) -> Mapping[str, object]:
        return Trusted(self._page, self._site).explain_page(page)

    def explain_site(self, site: int) -> Mapping[str, object]:
        return Trusted(self._page, self._site).explain_site(site)
