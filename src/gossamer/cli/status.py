"""`gossamer status`: the status of a crawl, from the statistics that it last wrote; never loads the collection.

Every known page is counted once: the lines below "waiting", "done" and "excluded" add up to these numbers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.base.escape import for_json
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.manager.scores.made import LinkScores
from gossamer.observe.account import account, bandwidth_line, part_lines, sentence, stamp
from gossamer.observe.crawl_status import CrawlStatus, read_crawl_status
from gossamer.observe.statistics import IndexValue, Statistics

BARS: Final = "▁▂▃▄▅▆▇█"
WIDTH: Final = 48


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the status of the crawl in DIR."""
    found = read_crawl_status(folder)
    if as_json:
        print(for_json(found.to_json()))
        return
    for line in lines(found, folder, time.time()):
        print(line)


def lines(found: CrawlStatus, folder: Path, now: float) -> Iterator[str]:
    statistics, run = found.statistics, found.statistics.run
    state = f"running (process {found.pid})" if found.running else f"not running: {found.ending}"
    yield f"{folder}: {state}"
    yield from _summary(statistics, now)
    if run.names_fault:
        yield f"  lookups {'pause' if found.running else 'paused when it ended'}: {run.names_fault}"
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
    yield from part_lines(statistics.parts)
    yield from _next(found)


def _summary(statistics: Statistics, now: float) -> Iterator[str]:
    requests, run = statistics.requests, statistics.run
    if statistics.time:
        yield f"  as of {stamp(statistics.time)}, {human_time(max(0.0, now - statistics.time))} ago"
    yield (
        f"  {plural(requests.visits, 'visit')}, {plural(requests.stored, 'page')} stored,"
        f" {plural(statistics.sites.known, 'site')}, {human_size(requests.bytes)} in {human_time(run.seconds)}"
    )
    if run.bandwidth is not None:
        yield f"  {bandwidth_line(run.bandwidth)}"


def _next(found: CrawlStatus) -> Iterator[str]:
    pages, left, ended = found.statistics.pages, found.statistics.progress.left, found.statistics.ended
    if found.running:
        seconds = "unknown" if left.seconds is None else f"at least {human_time(left.seconds)}"
        yield f"  time left: {seconds} ({left.why})"
    if found.ending and pages.pending:
        yield f"  next: {plural(pages.pending, 'page')} may be requested at once"
    elif ended is not None and ended.waits_until:
        yield f"  next: the first waiting page is due at {ended.waits_until}"


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
    low, high = min(0.0, *(v for _, v in points)), max(v for _, v in points)
    bars, current = [], 0
    for place in range(min(width, max(1, len(points)))):
        until = end if len(points) == 1 else start + (end - start) * place / (min(width, len(points)) - 1)
        while current + 1 < len(points) and points[current + 1][0] <= until:
            current += 1
        share = (points[current][1] - low) / (high - low) if high > low else 0.0
        bars.append(BARS[round(share * (len(BARS) - 1))])
    return "".join(bars)
