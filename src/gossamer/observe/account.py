"""The account of all known pages as lines for people: `status` and the end of a crawl print the same lines.

The lines below "waiting", "done" and "excluded" add up to these numbers. Light to import, because `status` does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from gossamer.base.outcomes import Aside, Outcome, Reason
from gossamer.base.units import human_size, plural, thousands
from gossamer.harvester.bandwidth.use import BandwidthUse
from gossamer.observe.statistics import PageCounts, PartStatistics, Waiting


def bandwidth_line(use: BandwidthUse) -> str:
    """What a run used of the bandwidth granted to it, from its first request on."""
    share = "" if use.share is None else f", {use.share:.1%} of what was granted"
    capped = f", {plural(use.capped, 'request')} capped to what was free" if use.capped else ""
    granted = f"{human_size(use.granted)}/s granted" if use.granted else "no limit at this hour"
    order = f"{plural(use.inversions, 'request')} started before a better one that did not fit"
    return f"bandwidth: {granted}; {human_size(use.read)} read{share}; {order}{capped}"


def sum_line(pages: PageCounts) -> str:
    return f"{thousands(pages.known)} = " + " + ".join(f"{state} {thousands(count)}" for state, count in pages.parts())


def account(pages: PageCounts, now: float) -> Iterator[str]:
    """`now` is wall time."""
    yield f"  known {sum_line(pages)}"
    if pages.why.waiting:
        yield "  waiting:"
    for word, span in pages.why.waiting.items():
        yield f"    {thousands(span.pages):>12}  {word:<28} {_until(word, span, now)}  {sentence(word)}"
    for state, counts in (("done", pages.why.done), ("excluded", pages.why.excluded)):
        if counts:
            yield f"  {state}:"
        for word, count in counts.items():
            yield f"    {thousands(count):>12}  {word:<20} {sentence(word)}"


def part_lines(parts: PartStatistics) -> Iterator[str]:
    """Statistics of parts of the desk, which no other line shows."""
    if parts:
        yield "  parts:"
    for name, numbers in parts.items():
        yield f"    {name}: " + ", ".join(f"{word} {number:,}" for word, number in numbers.items())


def _until(word: str, span: Waiting, now: float) -> str:
    if span.first_due is None or span.last_due is None:
        return "for good" if word.startswith("site: ") else "until: not known"
    if span.last_due <= now:
        return "due now"
    if stamp(span.first_due) == stamp(span.last_due):
        return f"until {stamp(span.last_due)}"
    first = "now" if span.first_due <= now else stamp(span.first_due)
    return f"from {first} to {stamp(span.last_due)}"


def sentence(word: str) -> str:
    """The sentence of an outcome, of a reason of exclusion, or of a reason why a site waits ("site: …")."""
    if word.startswith("site: "):
        return Aside[word.removeprefix("site: ").upper()].sentence
    if word.upper() in Outcome.__members__:
        return Outcome[word.upper()].sentence
    return Reason[word.upper()].sentence


def stamp(wall: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall))
