"""Checks the times: whether archive and tables agree, and whether the clock was right.

A crawl stores times by the clock of its machine. If that was wrong and was corrected during the crawl, the tick of the
correction marks all times before it (`crawler/timekeeper.py`): this is said as a note. If nobody noticed, the servers
did: their answers have a Date. Where the answers of an archive file contradict its times, this is a fault.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import median
from typing import Final

from gossamer.base.units import human_time, plural
from gossamer.read.sql.database import Database
from gossamer.read.verify.dates import Dates
from gossamer.read.verify.faults import REPORT, Fault, VerifyReport

WRONG: Final = 3600.0
"""Seconds by which the servers' dates must contradict ours: single servers are often wrong by less."""
LEAST: Final = 10
"""Answers, of at least `HOSTS` hosts, that are needed as evidence."""
HOSTS: Final = 3
DAY: Final = 86_400.0
CURE: Final = (
    "The clock of the machine was wrong. Set it before the next run, and let it be kept right (NTP). Stored times do"
    " not change: add the difference in queries."
)


class Marks:
    """The corrections of the clock that ticks mark."""

    def __init__(self, marks: Iterable[tuple[int, float]] = ()) -> None:
        """Pairs of tick and seconds, in order."""
        self.all = list(marks)
        self._ticks = [tick for tick, _ in self.all]

    def after(self, tick: int) -> float:
        """Seconds by which the times of a tick are to be corrected."""
        return sum(seconds for _, seconds in self.all[bisect_left(self._ticks, tick) :])


def marks_of(database: Database) -> Marks:
    return Marks(
        (int(tick), float(seconds))
        for tick, seconds in database.run("select tick, clock from stored.ticks where clock is not null order by tick")
    )


def check_spans(database: Database, marks: Marks, report: VerifyReport) -> None:
    """A note for each span of ticks before a correction; a fault for times in the future."""
    first = 0
    for tick, _ in [*marks.all, (2**63 - 1, 0.0)]:
        off = marks.after(tick)
        (row,) = database.run(
            'select count(*), min(epoch("time")), max(epoch("time")) from stored.visits where tick > ? and tick <= ?',
            [first, tick],
        )
        visits, begin, end = int(row[0]), float(row[1] or 0.0), float(row[2] or 0.0)
        if visits and off:
            late = "late" if off < 0 else "early"
            report.notes.append(
                f"The clock was wrong in ticks {first + 1} to {tick}: the times of {plural(visits, 'visit')}, stored as"
                f" {_text(begin)} to {_text(end)}, are too {late} by {human_time(abs(off))}. Add {off:+.0f} seconds."
            )
        if visits and end + off > time.time() + DAY:
            wrong = f"there are visits in the future, up to {_text(end + off)}"
            report.add(Fault("visits/", f"after tick {first}", wrong, CURE))
        first = tick
    report.count("times", 1 + len(marks.all))


def check_dates(name: str, dates: list[Dates], marked: bool, report: VerifyReport) -> None:
    """The dates in all pieces of an archive file. `marked`: a correction is marked in the collection: of requests that
    were under way then, the archive has the time by the old clock."""
    differ, first = sum(each.differ for each in dates), next((each for each in dates if each.differ), None)
    if first is not None:
        wrong = f"{plural(differ, 'record')} differ from the tables in time, the first by {human_time(abs(first.by))}"
        if marked:
            report.notes.append(f"{name}: {wrong}: the clock was corrected while they were requested.")
        else:
            report.add(Fault(name, f"byte {first.at}", wrong, CURE if abs(first.by) > WRONG else REPORT))
    answered = [answer for each in dates for answer in each.answered]
    if len(answered) < LEAST or len({answer.host for answer in answered}) < HOSTS:
        return
    ahead = median(answer.ahead for answer in answered)
    agree = sum(abs(answer.ahead - ahead) < WRONG for answer in answered)
    if abs(ahead) > WRONG and agree > 0.8 * len(answered):
        late = "late" if ahead < 0 else "early"
        wrong = f"its times, and those of its visits, are too {late} by about {human_time(abs(ahead))}"
        report.add(Fault(name, "", f"{wrong}: the Date of {len(answered)} answers says so", CURE))


def _text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
