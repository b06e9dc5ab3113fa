"""Decides when to plan, and takes finished plans over. A background thread makes the plan; it writes no columns.

The next plan is begun when something has changed and the sites left in the current plan can no longer keep the
connections busy, or pages were wanted (`wanted.py`), but not sooner than ten times the last plan's duration after it
(BUbiNG's rule for its sieve; five times, for wanted pages). The duration of the first plan of a process does not
count: it may include compiling the kernels. When fewer requests are in flight than `harvester.least_connections`, the
current plan ends even if its sites have work left, and sooner: after five times its duration (4.4). A new plan replaces
the old plan: pages that were not requested go back, and nothing is counted against them.

A crawl is *settled* while another plan would fill no connection: all of them have work, or else all sites that could be
asked, soon or at all. In the latter case a plan is made once per `RENEW`, for a better order. The loop is not woken for
it: it begins and is taken over in turns that come anyway. Whether the crawl is settled is looked at in every tick.

Invariant, a property test of the same name: a site is planned before it may be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import U32
from gossamer.base.askable import is_suspended
from gossamer.base.model import Reason, State, VerdictFlag
from gossamer.collection.journal.effects import Verdict
from gossamer.collection.store import Store
from gossamer.desk.account import Account
from gossamer.desk.desk import Desk
from gossamer.desk.rules import Rules
from gossamer.manager.history import Past, Said, read_history
from gossamer.manager.pages import Pages
from gossamer.manager.plan import Plan, make_plan
from gossamer.manager.revisits.common import AGAIN, SCALE
from gossamer.manager.revisits.habits import Habits
from gossamer.manager.scans import find_unjudged
from gossamer.manager.steer import Steering
from gossamer.manager.value import TOTAL, Value
from gossamer.manager.wanted import Wanted, put_first

PAUSE: Final = 0.25
"""Minimum seconds between plans."""
EARLY: Final = 0.2 * PAUSE
"""A turn that comes so many seconds before its time may begin a plan: the loop is not woken again for it."""
RENEW: Final = 1.0
"""Minimum seconds between plans of a settled crawl."""
SOON: Final = 2 * RENEW
"""A site that may not be asked for so many seconds needs no plan yet: the next one is made in time."""
AT_ONCE: Final = 20_000
"""Maximum number of pages judged at a time."""


class Unjudged(NamedTuple):
    """Pages to which the robots rules are still to be applied, with their URLs."""

    pages: U32
    texts: list[bytes]


class Made(NamedTuple):
    """The last plan."""

    plan: Plan | None = None
    at: float = 0.0
    """Wall time when it was begun."""

    @property
    def index_value(self) -> float:
        """V(I) when the plan was made."""
        return 0.0 if self.plan is None else self.plan.index_value

    @property
    def index_pages(self) -> int:
        """Number of pages in the index then."""
        return 0 if self.plan is None else self.plan.index_pages


class Planner:
    """Runs one plan at a time in a background thread."""

    def __init__(self, desk: Desk, store: Store, horizon: float, ring: Callable[[], None] = lambda: None) -> None:
        """`ring` is called when a plan is finished, in its thread."""
        self._desk, self._store, self._horizon, self._ring = desk, store, horizon, ring
        self.value = Value.of(desk.settings.manager)
        self._steering = Steering(desk.settings.manager.new_share) if self.value.continuous else None
        self._thread = ThreadPoolExecutor(1, "plan")
        self._running: Future[tuple[Plan, Past, Unjudged]] | None = None
        self._wanted, self._from = Wanted(), (0.0, 0.0)
        """Monotonic times before which no plan is begun: usually, and while few requests are in flight."""
        self._renewed = -np.inf
        self._settled = False
        """As of the last look. The end of a plan that is being made wakes nobody then."""
        self.stale = True
        """Something has changed since the last plan was begun."""
        self._history = read_history(store.shard)
        self.made = Made()

    def want(self, pages: Iterable[int]) -> None:
        """Pages that the user has asked for: they go first."""
        self._wanted.add(pages)
        self.outdate()

    def follow_orders(self, preferred: Iterable[int]) -> None:
        """Pages of these sites come before all others; and the settings of the desk may have changed. A plan is made
        soon."""
        self.value = Value.of(self._desk.settings.manager)
        self._wanted.prefer(preferred)
        self.outdate()

    def outdate(self) -> None:
        """Notes that something has changed: a new plan may be worthwhile."""
        self.stale = True

    @property
    def idle(self) -> bool:
        """Whether no plan is being made, and a new plan would be the same."""
        return self._running is None and not self.stale

    def next_time(self, in_flight: int, wait: bool = False) -> float:
        """Monotonic time until which the loop may sleep: then a plan may be begun, if anything has changed, or is taken
        over. inf while one is being made whose end rings; -inf if the next turn will `wait` for it."""
        if self._running is not None:
            taken = self._renewed + PAUSE if self._settled else np.inf
            return -np.inf if wait else taken
        first = self._first(in_flight)
        return max(first, self._renewed + RENEW + PAUSE) if self._settled and not self._wanted.pressing else first

    def _first(self, in_flight: int) -> float:
        """Monotonic time before which no plan is begun."""
        return self._from[self._wanted.pressing or self._few(in_flight)]

    def begin(self, now: float, wall: float, busy_sites: Callable[[float], int], in_flight: int) -> None:
        """Begins a plan, if one is due."""
        if self._running is not None or not self.stale or now < self._first(in_flight) - EARLY:
            return
        self._from = now + PAUSE, now + PAUSE
        pressing, connections = self._wanted.pressing, self._desk.settings.harvester.connections
        busy = busy_sites(now + self._horizon)
        if not pressing and not self._few(in_flight) and busy >= connections:
            self._settled = True
            return
        all_busy = self._open_sites(wall + SOON) <= busy_sites(now + SOON)
        all_busy = all_busy or self._open_sites(wall + self._horizon) <= busy
        self._settled = not pressing and all_busy
        if self._settled and now < self._renewed + RENEW:
            return
        self.stale = False
        self._renewed = now
        self._steer()
        wanted = self._wanted.now(self._desk.columns, wall + self._horizon)
        self._running = self._thread.submit(self._make, wall, wanted)
        if not self._settled:
            self._wake_at_its_end()

    def _wake_at_its_end(self) -> None:
        assert self._running is not None
        self._settled = False
        self._running.add_done_callback(lambda _: self._ring())

    def take(self, now: float, wait: bool = False) -> tuple[Plan, list[Verdict]] | None:
        """Takes a finished plan, with verdicts on pages that became known before the robots rules of their origins."""
        if self._running is None:
            return None
        if not (wait or self._running.done()):
            if self._settled:  # it takes longer than a turn
                self._wake_at_its_end()
            return None
        plan, past, unjudged = self._running.result()
        self._running = None
        usual = PAUSE if wait or self.made.plan is None else max(PAUSE, 10 * plan.seconds)
        self._from = now + usual, now + max(PAUSE, 5 * plan.seconds)
        self.made = Made(plan, past.made)
        self._history.add(past)
        return plan, self._judge(unjudged)

    def appraise(self, wall: float) -> tuple[float, int]:
        """The current V(I), and the number of pages in the index. Takes 0.1 s at 10^7 known pages."""
        plan = self._plan(wall, 1, 1, 0.0)
        return plan.index_value, plan.index_pages

    def plans_about(self, page: int, site: int) -> list[Said]:
        """What each of the last plans did with the page."""
        return self._history.about(page, site)

    def write_history(self) -> None:
        """Writes the last plans to disk, for `gossamer explain` after the crawl."""
        self._history.write(self._store.shard)

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _open_sites(self, until: float) -> int:
        """Number of sites that have pending pages and may be asked before `until`."""
        site = self._desk.columns.site
        used = slice(0, site.count)
        suspended = is_suspended(site.refused[used], site.next[used], until)
        return int(np.count_nonzero((site.pending[used] > 0) & ~suspended))

    def _few(self, in_flight: int) -> bool:
        harvester = self._desk.settings.harvester
        return in_flight < min(harvester.least_connections, harvester.connections)

    def _plan(
        self,
        wall: float,
        batch_size: int,
        per_site: int,
        horizon: float,
        steering: Steering | None = None,
        only: Sequence[int] = (),
    ) -> Plan:
        columns, pages = self._desk.columns, self._desk[Pages]
        issued = int(pages.totals[TOTAL])
        return make_plan(columns, pages.policy, wall, batch_size, per_site, horizon, self.value, issued, steering, only)

    def _requests(self) -> tuple[int, int]:
        """Requests for pages so far: for new ones, and for those that were fetched before."""
        again = int(self._desk.columns.habits[AGAIN])
        return self._desk[Account].visits - again, again

    def _steer(self) -> None:
        """Corrects the scale of re-visits by what was requested since the last plan was begun."""
        if self._steering is not None:
            plan = self.made.plan
            due = (0, 0) if plan is None else (plan.candidates - plan.again, plan.again)
            self._steering.heed(self._requests(), *due)

    def _make(self, wall: float, wanted: U32) -> tuple[Plan, Past, Unjudged]:
        desk, manager = self._desk, self._desk.settings.manager
        known, site = desk.columns.page.count, desk.columns.site
        used = slice(0, site.count)
        aside = np.flatnonzero(is_suspended(site.refused[used], site.next[used], wall + self._horizon))
        limits = manager.batch_size, manager.batch_per_site
        plan = self._plan(wall, *limits, self._horizon, self._steering)
        if preferred := self._wanted.sites:
            first = self._plan(wall, *limits, self._horizon, only=preferred)
            plan = put_first(plan, first.pages[np.argsort(first.ranks)], desk.columns)
        plan = put_first(plan, wanted, desk.columns)
        if self._steering is not None:
            desk.columns.habits[SCALE] = plan.scale
            desk[Habits].measure(wall)
        pages = np.zeros(0, np.uint32)
        if desk[Rules].unjudged:
            desk[Rules].unjudged = False
            pages = find_unjudged(desk.columns, wall, AT_ONCE)
        arrays = plan.sites, plan.offsets[1:].astype(np.uint32), plan.pages, aside.astype(np.uint32)
        past = Past(self._history.last + 1, wall, known, plan.candidates, *limits, *arrays)
        return plan, past, Unjudged(pages, self._store.urls(pages.tolist()) if len(pages) else [])

    def _judge(self, unjudged: Unjudged) -> list[Verdict]:
        pages, texts = unjudged
        if not len(pages):
            return []
        self._desk[Rules].unjudged |= len(pages) == AT_ONCE
        allowed = self._desk[Rules].allowed(pages, texts).tolist()
        flag = VerdictFlag.ROBOTS
        yes, no = (State.PENDING, Reason.NONE, flag), (State.EXCLUDED, Reason.ROBOTS, flag)
        return [Verdict(page, *(yes if ok else no)) for page, ok in zip(pages.tolist(), allowed, strict=True)]
