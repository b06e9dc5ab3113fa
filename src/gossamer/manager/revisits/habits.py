"""How often pages change, as far as the crawl has seen: the part of the desk that learns it from visits.

A visit that compared a page with the version before (`visits.change`) is an observation, if the visit before it
succeeded: after failures nobody knows for how long the page was as it is. Only major changes count as changes. A minor
one, of dates or counters, is none: to visit a page again for it would gain nothing.

A page has 20 bytes: its `changes`, and what is believed of its rate, as a code of two bytes (`rates.encode`), so that a
plan needs no estimates. The code also says whether the last visit found a change, which corrects the belief (`bursts`).
What is known once for all pages is in `columns.habits`; what is known of a site has ten bytes (`sites`). The prior is
fitted anew whenever there are a third more observations; after that the beliefs of all pages are computed again, some
at each observation, so that no tick takes long and a replay does the same: once to find the places of the sites, and
once with these. A page that was never compared has the belief of its site, from its first visit on, corrected by the
lifetime of its answer (`lifetimes`); its class of lifetimes stands in `unchanged` meanwhile, as a negative number.
Under the policy `adaptive` the code holds the inverse of the page's interval (Nutch).

Invariants, each a test of the same name:

- A replay learns the same.
- A page visited once has the rate of the prior.
- A page visited once has the rate of its site.
- Only intervals that are known are observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from gossamer.base.arrays import F64, I64, U16, Array
from gossamer.base.askable import REVISITED
from gossamer.base.model import NONE, Change, Outcome, State, Visits
from gossamer.collection.image import Image, Parts
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.manager.revisits.bursts import FIRST, OTHER, SAME, Bursts
from gossamer.manager.revisits.changes import CLASSES, Changes, observe
from gossamer.manager.revisits.common import (
    AGAIN,
    APART,
    BEGUN,
    CHANGED,
    CURSOR,
    FOUND,
    GATHERING,
    HINTS_LOGS,
    HINTS_WEIGHTS,
    LASTS_LOGS,
    LASTS_WEIGHTS,
    LEFT,
    NEXT_FIT,
    NOT_MODIFIED,
    OBSERVED,
    PRIOR,
    SPENT,
    TOLD,
    prior_of,
    saved_by,
)
from gossamer.manager.revisits.heard import Heard
from gossamer.manager.revisits.lifetimes import COUNT, Lifetimes, class_of
from gossamer.manager.revisits.rates import Belief, Prior, believe, decode, encode, fit, found_change
from gossamer.manager.revisits.scale import measure
from gossamer.manager.revisits.shown import SHOWN, Told
from gossamer.manager.revisits.sites import Sites

FITTED: Final = 2048
"""Pages to which the prior is fitted: 15 ms."""
_ROUNDS: Final = 3
FIRST_FIT, _LAST_STEP = 100, 100_000
_AHEAD: Final = 32
"""Pages that are looked at for each observation, while beliefs are computed again."""
_SHRINK, _GROW = 0.8, 1.2
_TOLD: Final = 20
"""Observations of which a share is told."""
_IS_REVISITED: Final = np.array([o in REVISITED for o in Outcome] + [False] * (256 - len(Outcome)))


def next_fit(observed: float) -> float:
    """At how many observations the prior is fitted next."""
    return observed + float(np.clip(observed / 3, FIRST_FIT, _LAST_STEP))


class Habits(Part):
    name = "habits"
    columns: ClassVar[Declared] = {
        "page": {
            "unchanged": "<f4",  # seconds in which visits found no change; before: minus its class of lifetimes
            "changed": f"V{CLASSES}",  # intervals with a change, by their length: one byte for each of its nodes
            "compared": "u1",  # comparisons with the version before, 255 at most
            "belief": "<u2",  # what is believed of its rate (`rates.encode`); 0: that of the prior
        },
        "site": {"pace": "i1", "pace_vague": "u1", "pace_weight": "<f4", "pace_total": "<f4"},  # `sites.Sites`
    }
    needs = ("habits",)
    shown = SHOWN

    def __init__(self, desk: Desk) -> None:
        page, manager = desk.columns.page, desk.settings.manager
        site = desk.columns.site
        self._page, self._common, self._heard = page, desk.columns.habits, desk[Heard]
        self._columns = desk.columns
        self._sites = Sites(site.pace, site.pace_vague, site.pace_weight, site.pace_total)
        changed = page.changed.view(np.uint8).reshape(-1, CLASSES)
        self.changes = Changes(page.unchanged, changed, page.compared)
        self._bursts = Bursts(self._common[LASTS_LOGS], self._common[LASTS_WEIGHTS])
        self._lifetimes = Lifetimes(self._common[HINTS_LOGS], self._common[HINTS_WEIGHTS])
        self._period, self._continuous = float(manager.change_period), manager.continuous
        self._adapts = manager.revisit == "adaptive"
        self.measured: Mapping[str, float] = {}
        """Expected freshness and age, as of the last plan."""

    def arrays(self) -> dict[str, Array | Parts]:
        return {"habits": self._common}

    def meta(self) -> dict[str, Any]:
        return {"adapts": self._adapts, "nodes": CLASSES, "lifetimes": COUNT}

    def fits(self, image: Image) -> bool:
        meta = image.meta  # images of earlier versions count by other lengths
        return super().fits(image) and all(meta.get(key) == value for key, value in self.meta().items())

    def load(self, image: Image) -> None:
        image.into("habits", self._common)

    @property
    def prior(self) -> Prior:
        return prior_of(self._common, self._period)

    # --- learning -----------------------------------------------------------------------------------------------

    def follow_visits(self, visits: Visits) -> None:
        """Learns from visits. Called before the pages learn, which overwrites the time of the visit before."""
        if self._continuous:
            self._count_again(visits)
        compared = np.flatnonzero(visits["change"])
        if len(compared):
            self._take(visits[compared])
        if not self._adapts and (self._continuous or self._common[APART]):
            self._meet(visits[_IS_REVISITED[visits["outcome"]] & (visits["page"] != NONE)])

    def _count_again(self, visits: Visits) -> None:
        page = visits["page"]
        counts = (page != NONE) & (visits["outcome"] != Outcome.RETURNED)
        again = int((self._page.state[page[counts]] == State.DONE).sum())
        if again:
            self._common[AGAIN] += again
            self._common[BEGUN] = self._common[BEGUN] or float(visits["time"].min())

    def _take(self, visits: Visits) -> None:
        self._common[FOUND] += np.bincount(visits["change"], minlength=len(Change))[: len(Change)]
        unsent, received = visits["outcome"] == Outcome.NOT_MODIFIED, visits["received"].astype(np.float64)
        self._common[NOT_MODIFIED] += unsent.sum()
        self._common[SPENT] += (~unsent).sum(), received[~unsent].sum(), unsent.sum(), received[unsent].sum()
        visits = visits[_IS_REVISITED[self._page.outcome[visits["page"]]]]
        pages, first = np.unique(visits["page"].astype(np.int64), return_index=True)
        if len(pages):
            seconds = np.maximum(visits["time"][first] - self._page.due[pages], 1.0)
            self._observe(pages, seconds, visits["change"][first] == Change.MAJOR)

    def _observe(self, pages: I64, seconds: F64, changed: Array) -> None:
        common, codes = self._common, self._page.belief
        belief, last = decode(codes[pages], self.prior).after(seconds, self.prior), self._last(pages)
        told = self._heard.answer(pages, belief, seconds, changed)
        tenth = np.minimum((10 * told).astype(np.int64), 9)
        common[TOLD] += np.bincount(tenth, minlength=10)
        common[CHANGED] += np.bincount(tenth, changed, minlength=10)
        first = self._page.compared[pages] == 0
        hints = self._hints(pages[first])
        self._page.unchanged[pages[first]] = 0
        observe(self.changes, pages, seconds, changed)
        common[OBSERVED] += len(pages)
        if self._adapts:
            codes[pages] = self._adapted(codes[pages], changed)
            return
        if common[OBSERVED] >= max(FIRST_FIT, common[NEXT_FIT]):
            self._fit()
        self._bursts.learn(last, belief, seconds, told, changed)
        of_first = Belief(belief.mean[first], belief.spread[first])
        self._lifetimes.learn(hints, of_first, seconds[first], told[first], changed[first])
        self._write(pages, changed)
        self._refresh(_AHEAD * len(pages))

    def _meet(self, visits: Visits) -> None:
        """Notes the lifetimes of pages that were not compared yet, and what is believed of them."""
        visits = visits[self._page.compared[visits["page"]] == 0]
        pages = visits["page"].astype(np.int64)
        self._page.unchanged[pages] = -class_of(visits["lifetime"])
        told = pages[self._is_told(pages)]
        if len(told):
            self._write(told, False)

    def _hints(self, pages: I64) -> I64:
        """Which factor of `Lifetimes` pages have that were not compared yet."""
        known = self._sites.vague[self._site_of(pages)] > 0
        return -self._page.unchanged[pages].astype(np.int64) + COUNT * known

    def _is_told(self, pages: I64) -> Array:
        """Whether more is believed of pages that were not compared yet than of all pages."""
        found: Array = (self._sites.vague[self._site_of(pages)] > 0) | (self._lifetimes.used[self._hints(pages)] != 0)
        return found

    def _site_of(self, pages: I64) -> I64:
        return self._columns.origin.site[self._page.origin[pages]].astype(np.int64)

    def _believed(self, pages: I64) -> Belief:
        homes, changes = self._sites.homes(self._site_of(pages), self.prior), self.changes.of(pages)
        return believe(changes._replace(unchanged=np.maximum(changes.unchanged, 0)), self.prior, homes)

    def _last(self, pages: I64) -> Array:
        """What the last visit found (`bursts`)."""
        found: Array = np.where(found_change(self._page.belief[pages]), OTHER, SAME)
        found[self._page.compared[pages] == 0] = FIRST
        return found

    def _write(self, pages: I64, changed: Array | bool) -> None:
        """Writes the beliefs, and whether the last visit found a change."""
        compared = self._page.compared[pages] > 0
        last = np.where(changed, OTHER, np.where(compared, SAME, FIRST))
        belief = self._bursts.corrected(self._believed(pages), last)
        belief.mean[~compared] += self._lifetimes.used[self._hints(pages[~compared])]
        self._page.belief[pages] = encode(belief, changed)

    def _adapted(self, codes: U16, changed: Array) -> U16:
        """Nutch: the interval shrinks by a fifth with a change, and grows by a fifth without; it begins with a day."""
        first = Belief(np.full(len(codes), -np.log(86_400), np.float32), np.zeros(len(codes), np.float32))
        now = np.where(codes == 0, first.mean, decode(codes, self.prior).mean)
        return encode(Belief((now - np.log(np.where(changed, _SHRINK, _GROW))).astype(np.float32), first.spread))

    def _fit(self) -> None:
        """Fits the prior to pages all over the collection, and begins to compute all beliefs again."""
        common = self._common
        seen = np.flatnonzero(self._page.compared[: self._page.count])
        some = seen[:: max(1, len(seen) // FITTED)]
        homes = self._sites.homes(self._site_of(some), self.prior)
        self._keep(fit(self.changes.of(some), self.prior, _ROUNDS, homes))
        common[NEXT_FIT] = next_fit(common[OBSERVED])
        common[GATHERING] = common[LEFT] = self._page.count
        self._sites.weight[: self._columns.site.count] = self._sites.total[: self._columns.site.count] = 0

    def _keep(self, prior: Prior) -> None:
        self._common[PRIOR], self._common[APART] = prior.shares, prior.apart

    def _refresh(self, most: int) -> None:
        """Computes the beliefs of the next pages again, since the prior has changed: first for the places of sites."""
        common = self._common
        if common[GATHERING] > 0:
            some, count = self._next_pages(min(most, int(common[GATHERING])))
            known = some[self._page.compared[some] > 0]
            self._sites.gather(self._site_of(known), self._believed(known), self.prior)
            common[GATHERING] -= count
            if common[GATHERING] <= 0:
                self._keep(self._sites.settle(self.prior))
        elif common[LEFT] > 0:
            some, count = self._next_pages(min(most, int(common[LEFT])))
            has = self._page.compared[some] > 0
            has[~has] = self._is_told(some[~has])
            self._page.belief[some[~has]] = 0
            self._write(some[has], found_change(self._page.belief[some[has]]))
            common[LEFT] -= count

    def _next_pages(self, most: int) -> tuple[I64, int]:
        """The pages at the cursor that have a copy, and by how many pages it moves on."""
        page, count = self._page, self._page.count
        start = int(self._common[CURSOR]) % count
        most = min(most, count - start)
        there = slice(start, start + most)
        self._common[CURSOR] = start + most
        copies = (page.state[there] == State.DONE) & _IS_REVISITED[page.outcome[there]] | (page.compared[there] > 0)
        return start + np.flatnonzero(copies), most

    # --- telling ------------------------------------------------------------------------------------------------

    def measure(self, wall: float) -> None:
        """Looks at the copies; called by the plan, in its thread."""
        self.measured = measure(self._columns, self.prior, wall)

    def statistics(self) -> Mapping[str, float]:
        """`told_20_30`: of pages whose probability of a change was predicted as 20 to 30 %, the share that had
        changed, in per cent."""
        found = self._common[FOUND].tolist()
        told = zip(self._common[TOLD].tolist(), self._common[CHANGED].tolist(), strict=True)
        numbers = {
            "re-visits": int(self._common[AGAIN]),
            **{each.name.lower(): int(found[each]) for each in Change if each},
            "not_modified": int(self._common[NOT_MODIFIED]),
            "saved_bytes": round(saved_by(self._common)),
            "lifetimes_heeded": int((self._lifetimes.used != 0).sum()),
            **self.measured,
        }
        shares = {f"told_{10 * i}_{10 * i + 10}": round(100 * c / n, 1) for i, (n, c) in enumerate(told) if n >= _TOLD}
        return numbers | shares

    def explain_page(self, page: int) -> Mapping[str, object]:
        return Told(self._page).explain_page(page)


def observe_changes(desk: Desk, applied: Applied) -> None:
    desk[Habits].follow_visits(applied.for_pages)
