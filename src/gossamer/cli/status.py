"""`gossamer status`: where a crawl stands, from what it last wrote; never loads the collection.

Every known page is accounted for: the lines below "waiting", "done" and "excluded" add up to them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gossamer.base.escape import for_json
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.collection.status_file import read_standing
from gossamer.observe.account import account, bandwidth_line, sentence, stamp

BARS: Final = "▁▂▃▄▅▆▇█"
WIDTH: Final = 48


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection.")],
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show where the crawl in DIR stands."""
    standing = read_standing(folder)
    if as_json:
        print(for_json(standing))
        return
    for line in lines(standing, folder, time.time()):
        print(line)


def lines(f: Mapping[str, Any], folder: Path, now: float) -> Iterator[str]:
    running = f"running (process {f['pid']})" if f["running"] else f"not running: {f['ending']}"
    yield f"{folder}: {running}"
    if f.get("time"):
        yield f"  as of {stamp(f['time'])}, {human_time(max(0.0, now - f['time']))} ago"
    yield (
        f"  {plural(f['visits'], 'visit')}, {plural(f['stored'], 'page')} stored, {plural(f['sites'], 'site')}, "
        f"{human_size(f['bytes'])} in {human_time(f['seconds'])}"
    )
    if f.get("bandwidth"):
        yield f"  {bandwidth_line(f['bandwidth'])}"
    if f.get("names_fault"):
        yield f"  lookups {'pause' if f['running'] else 'paused when it ended'}: {f['names_fault']}"
    yield from account(f, now)
    if f.get("slowed"):
        yield (
            f"  slowed: {plural(f['slowed'], 'site')} that failed, asked for it, or lately took longer to answer"
            " (gossamer explain DIR SITE)"
        )
    yield "  outcomes of visits:"
    for word, count in f["outcomes"].items():
        yield f"    {thousands(count):>12}  {word:<20} {sentence(word)}"
    if f.get("value"):
        yield "  " + value_line(f["value"], f.get("value_of", {}))
    if f.get("scores"):
        yield "  " + scores_line(f["scores"], f["visits"])
    if f["running"] and f.get("left"):
        seconds, why = f["left"]["seconds"], f["left"]["why"]
        yield f"  time left: {'unknown' if seconds is None else f'at least {human_time(seconds)}'} ({why})"
    if f.get("ending") and f["pending"]:
        yield f"  next: {plural(f['pending'], 'page')} may be asked for at once"
    elif f.get("waits_until"):  # written when a crawl ends
        yield f"  next: something that waits is due at {f['waits_until']}"


def value_line(points: list[list[float]], of: Mapping[str, Any]) -> str:
    """V(I) over time, since the settings that it depends on were last changed."""
    first, last = points[0], points[-1]
    kind = f" ({of['index_value']})" if of else ""
    return (
        f"value of the index V(I){kind}: {plot([(p[0], p[1]) for p in points])}  {last[1]:.6g} with"
        f" {thousands(int(last[2]))} pages; {first[1]:.6g} at {stamp(first[0])}"
    )


def scores_line(scores: Mapping[str, Any], visits: int) -> str:
    if not scores["made"]:
        return f"link scores: none yet: {scores['why']}"
    links = f" and {thousands(scores['links'])} links" if scores["links"] else ""
    return (
        f"link scores: of {thousands(scores['pages'])} pages{links}, made at"
        f" {stamp(scores['made'])}; {thousands(max(0, visits - scores['visits']))} visits since"
    )


def plot(points: list[tuple[float, float]], width: int = WIDTH) -> str:
    """A line of bars: at each place the last value known at that time; the highest bar is the largest value."""
    start, end = points[0][0], points[-1][0]
    low, high = min(0.0, *(v for _, v in points)), max(v for _, v in points)
    bars, at = [], 0
    for place in range(min(width, max(1, len(points)))):
        until = end if len(points) == 1 else start + (end - start) * place / (min(width, len(points)) - 1)
        while at + 1 < len(points) and points[at + 1][0] <= until:
            at += 1
        share = (points[at][1] - low) / (high - low) if high > low else 0.0
        bars.append(BARS[round(share * (len(BARS) - 1))])
    return "".join(bars)
