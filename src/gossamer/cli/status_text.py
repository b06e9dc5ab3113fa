"""The statistics of a crawl as text: the lines of `gossamer status`, and the line that shows its progress.

Nothing is computed here: the numbers are those of `--json` (`observe/statistics.py`). In the lines of `status`, every
known page is counted once: those below "waiting", "done" and "excluded" add up to these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from gossamer.base.outcomes import SITE_FAILURES, TRANSIENT, Outcome
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.cli.history import bars
from gossamer.harvester.bandwidth.use import BandwidthUse
from gossamer.manager.scores.made import LinkScores
from gossamer.observe.account import account, bandwidth_line, part_lines, sentence, stamp
from gossamer.observe.crawl_status import CrawlStatus
from gossamer.observe.ending import next_line
from gossamer.observe.statistics import IndexValue, Statistics, TimeLeft

WIDTH: Final = 48
MOST_ERRORS: Final = 4
"""How many kinds of errors are named; the others are added up."""
_ALSO = (Outcome.NOT_FOUND, Outcome.REFUSED, Outcome.BAD_ENCODING, Outcome.FORBIDDEN_ADDRESS, Outcome.WORKER_DIED)
_ERRORS: Final = {outcome.word for outcome in SITE_FAILURES | TRANSIENT | set(_ALSO)}

_RATES: Final = ("hourly", "daily", "weekly", "monthly", "rarely")
"""As the part `habits` has them (`manager/revisits/scale.py`)."""


def lines(found: CrawlStatus, folder: Path, now: float) -> Iterator[str]:
    statistics, run = found.statistics, found.statistics.run
    state = f"running (process {found.pid})" if found.running else f"not running: {found.ending}"
    yield f"{folder}: {state}"
    yield from _summary(statistics, now, found.running)
    if run.names_fault and not found.running:
        yield f"  lookups paused when it ended: {run.names_fault}"
    yield from account(statistics.pages, now)
    if statistics.sites.slowed:
        yield (
            f"  slowed: {plural(statistics.sites.slowed, 'site')} that failed, asked for it, or lately took longer to"
            " answer (gossamer explain DIR SITE)"
        )
    yield "  outcomes of visits:"
    for word, count in statistics.requests.outcomes.items():
        yield f"    {thousands(count):>12}  {word:<20} {sentence(word)}"
    if run.index.points:
        yield "  " + value_line(run.index)
    if run.scores is not None:
        yield "  " + scores_line(run.scores, statistics.requests.visits)
    yield from revisit_lines(statistics.parts.get("habits", {}))
    yield from part_lines({name: numbers for name, numbers in statistics.parts.items() if name != "habits"})
    for watch, standing in found.untold:
        yield f"  not told since {stamp(standing.since)}: watch {watch.number} ({watch.target}): {standing.error}"
    yield from _next(found)


def revisit_lines(numbers: Mapping[str, float]) -> Iterator[str]:
    """What re-visits found, and how up to date the copies are expected to be; `--json` has how good the predictions
    were, too."""
    none, minor, major = (numbers.get(change, 0) for change in ("none", "minor", "major"))
    if compared := none + minor + major:
        again, unsent = (thousands(int(numbers.get(name, 0))) for name in ("re-visits", "not_modified"))
        yield (
            f"  re-visits: {again}; unchanged {none / compared:.1%} ({unsent} by 304), minor changes"
            f" {minor / compared:.1%}, major changes {major / compared:.1%}"
        )
        if saved := numbers.get("saved_bytes"):
            yield f"  answers 304 saved about {human_size(saved)}"
    if "freshness" in numbers:
        yield (
            f"  expected freshness: {numbers['freshness']:.1%} of the copies are up to date; on average they have been"
            f" outdated for {human_time(86_400 * numbers.get('days_behind', 0.0))}"
        )
        rates = ", ".join(f"{numbers[word]:.0%} {word}" for word in _RATES if numbers.get(word, 0.0) >= 0.005)
        yield f"  copies change about: {rates}"


def _summary(statistics: Statistics, now: float, running: bool) -> Iterator[str]:
    requests, run = statistics.requests, statistics.run
    if statistics.time:
        yield f"  as of {stamp(statistics.time)}, {human_time(max(0.0, now - statistics.time))} ago"
    yield (
        f"  in all: {plural(requests.visits, 'visit')}, {plural(requests.stored, 'page')} stored,"
        f" {human_size(requests.bytes)} received, {plural(statistics.sites.known, 'site')}"
    )
    yield f"  {'this' if running else 'last'} run: {plural(run.visits, 'visit')} in {human_time(run.seconds)}"
    if run.bandwidth is not None:
        yield f"  {bandwidth_line(run.bandwidth)}"


def _next(found: CrawlStatus) -> Iterator[str]:
    pages, left, ended = found.statistics.pages, found.statistics.progress.left, found.statistics.ended
    if found.running:
        yield f"  now: {'; '.join(filter(None, (awaited_of(found.statistics), next_of(found.statistics))))}"
        yield f"  time left: {left_of(left)}"
    elif line := next_line(pages, ended):
        yield f"  next: {line}"


def value_line(index: IndexValue) -> str:
    """V(I) over time, since the settings that it depends on were last changed."""
    first, last = index.points[0], index.points[-1]
    kind = f" ({index.of['index_value']})" if index.of else ""
    return (
        f"value of the index V(I){kind}: {plot([(point.time, point.value) for point in index.points])}"
        f"  {last.value:.6g} with {thousands(last.pages)} pages; {first.value:.6g} at {stamp(first.time)}"
    )


def scores_line(scores: LinkScores, visits: int) -> str:
    """When link scores were last computed, or why they were not. `visits`: of the crawl, now."""
    if not scores.made:
        return f"link scores: none yet: {scores.why}"
    links = f" and {thousands(scores.links)} links" if scores.links else ""
    return (
        f"link scores: of {thousands(scores.pages or 0)} pages{links}, made at {stamp(scores.made)};"
        f" {thousands(max(0, visits - (scores.visits or 0)))} visits since"
    )


def plot(points: list[tuple[float, float]], width: int = WIDTH) -> str:
    """A line of bars: at each place the last value known at that time; the highest bar is the largest value."""
    start, end = points[0][0], points[-1][0]
    low, shown, current = min(0.0, *(v for _, v in points)), [], 0
    for place in range(min(width, max(1, len(points)))):
        until = end if len(points) == 1 else start + (end - start) * place / (min(width, len(points)) - 1)
        while current + 1 < len(points) and points[current + 1][0] <= until:
            current += 1
        shown.append(points[current][1] - low)
    return bars(shown)


def line_of(statistics: Statistics) -> str:
    """The same in one line: `grep -o "pending [0-9,]*"` extracts a column."""
    pages, requests, run, rates = statistics.pages, statistics.requests, statistics.run, statistics.progress.rates
    errors = " ".join(f"{word}={count}" for word, count in errors_of(requests.outcomes))
    parts = [
        f"{human_time(run.seconds)}",
        f"{plural(requests.visits, 'visit')} ({rates.visits:.1f}/s)",
        f"{human_size(requests.bytes)} ({human_size(max(0, rates.bytes))}/s)",
        f"known {thousands(pages.known)}",
        *(f"{state} {thousands(count)}" for state, count in pages.parts()),
        *_now(statistics),
        *([] if run.bandwidth is None else [f"bandwidth {bandwidth_of(run.bandwidth)}"]),
        f"errors {errors or 'none'}",
        f"left {left_of(statistics.progress.left)}",
        awaited_of(statistics),
        *filter(None, [next_of(statistics)]),
    ]
    return "; ".join(parts)


def _now(statistics: Statistics) -> list[str]:
    run = statistics.run
    active = "" if run.sites_active is None else f" ({thousands(run.sites_active)} active)"
    memory = [] if run.resources.rss is None else [f"{human_size(run.resources.rss)} of memory"]
    return [plural(statistics.sites.known, "site") + active, plural(run.resources.open, "connection"), *memory]


def awaited_of(statistics: Statistics) -> str:
    """What the crawl waits for now."""
    run, waits = statistics.run, statistics.run.awaited
    if run.names_fault:
        return f"waiting for the name servers: {run.names_fault}"
    if waits.paused:
        return f"paused ({waits.paused}): gossamer steer DIR go"
    if waits.quiet_until:
        return f"quiet until {stamp(waits.quiet_until)} (harvester.quiet_hours)"
    parts = [
        plural(number, word)
        for number, word in ((run.resources.open, "answer"), (waits.names, "name"), (waits.sites, "site"))
        if number
    ]
    if parts:
        return f"waiting for {_listed(parts)}"
    if statistics.pages.pending:
        return "planning"
    dues = [span.first_due for span in statistics.pages.why.waiting.values() if span.first_due is not None]
    return f"waiting for the next page, due at {stamp(max(statistics.time, min(dues)))}" if dues else "nothing is due"


def next_of(statistics: Statistics) -> str:
    """Which site is requested next, and when; empty if that is at once, or not known."""
    waits = statistics.run.awaited
    known = waits.site and waits.seconds >= 1 and not waits.quiet_until and not waits.paused
    return f"next request in {human_time(waits.seconds)}: {waits.site}" if known else ""


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def bandwidth_of(use: BandwidthUse) -> str:
    """What was used in the last seconds, of what is granted."""
    used, order = f"{human_size(use.used)}/s", f"{plural(use.inversions, 'inversion')}"
    if not use.granted:
        return f"{used}, no limit at this hour, {order}"
    return f"{used} of {human_size(use.granted)}/s ({use.used / use.granted:.0%}), {order}"


def errors_of(outcomes: Mapping[str, int]) -> list[tuple[str, int]]:
    """The most frequent errors first; the rest are added up as `other`."""
    errors = sorted(((w, n) for w, n in outcomes.items() if w in _ERRORS), key=lambda e: (-e[1], e[0]))
    rest = sum(count for _, count in errors[MOST_ERRORS:])
    return errors[:MOST_ERRORS] + ([("other", rest)] if rest else [])


def left_of(left: TimeLeft) -> str:
    if left.seconds is None:
        return f"unknown ({left.why})"
    return f"at least {human_time(left.seconds)} ({left.why})"
