"""Follows the system clock when it is set, so that a clock that was wrong does not leave wrong times for ever.

The crawl counts its own time (`base/clock.py`): a clock that is set makes no request early or late. But stored times
are read by people, and a machine may begin a crawl before its clock is set, decades off. So a step of the system clock
that has held for `HELD` seconds is followed, in one tick: the crawl's wall time moves by whole seconds, and every time
in the state moves with it (`Part.times`). No wait gets longer or shorter, whichever of the two clocks is right.

The tick is the mark for the past: the column `clock` of the table `ticks` has the seconds, and all times in ticks up to
it are off by as much. `gossamer verify` says so.

Refused: to believe Date headers during a crawl (a server's word against the machine's). To rewrite old times: segments
never change. To follow a clock that shows a time before this program existed.

Invariants, each a test of the same name: a clock that was wrong is corrected for the rest and marked for the past; no
wait changes when the clock is followed; a kill at any point of a correction loses no wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gossamer.base.clock import EARLIEST, NOTABLE, Clock
from gossamer.base.log import Level
from gossamer.collection.runs import write_reckoning
from gossamer.crawler.tick import STEPS, Stages, Step, commit
from gossamer.web.seam import Web

HELD: Final = 10.0
"""Seconds for which the system clock must have been ahead, or behind, by the same time."""
EVERY: Final = 0.5
"""Seconds between two looks at it."""


class Timekeeper:
    """Watches the system clock: `turn` is called once per turn of the loop."""

    def __init__(
        self, clock: Clock, stages: Stages, web: Web, settled: Callable[[], bool], steps: Sequence[Step] = STEPS
    ) -> None:
        """`settled` ends what is under way with times of the present clock; it returns False if it cannot now."""
        self._clock, self._stages, self._web, self._settled, self._steps = clock, stages, web, settled, steps
        self._next = 0.0
        self._ahead = 0.0
        self._since = 0.0

    def turn(self) -> None:
        now = self._clock.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        ahead = self._clock.ahead_of_wall()
        if abs(ahead - self._ahead) > NOTABLE:
            self._ahead, self._since = ahead, now
            return
        settled = now - self._since >= HELD and self._clock.shown() >= EARLIEST
        if abs(ahead) > NOTABLE and settled and self._settled():
            self._follow(round(ahead))
            self._ahead = self._clock.ahead_of_wall()

    def _follow(self, seconds: float) -> None:
        """Moves the crawl's clock, and all stored times with it. After a kill, what the state and clock.json know of
        the correction may differ; `Clock.go_on` makes up for it."""
        stages, clock = self._stages, self._clock
        effects = stages.desk.effects(clock.wall(), clock.monotonic())
        effects.clock = seconds
        commit(stages, effects, self._steps)
        stages.store.commit()
        write_reckoning(stages.store.shard, clock.correct(seconds))
        self._web.tell_time()
        stages.committed()
        if stages.log is not None:
            stages.log.event("clock_followed", Level.WARNING, seconds=seconds)
