"""The account of all known pages in lines for people: what `status` and the end of a crawl both say, in the same words.

The lines below "waiting", "done" and "excluded" add up to them (`figures.parts_of`). Light to import: `status` does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gossamer.base.outcomes import Aside, Outcome, Reason
from gossamer.base.units import human_size, plural, thousands

_PARTS: Final = ("pending", "waiting", "done", "excluded")


def bandwidth_line(b: Mapping[str, Any]) -> str:
    """What a run used of the bandwidth granted to it, from its first request on."""
    share = "" if b["share"] is None else f", {b['share']:.1%} of what was granted"
    capped = f", {plural(b['capped'], 'request')} capped to what was free" if b["capped"] else ""
    now = f"{human_size(b['granted'])}/s granted" if b["granted"] else "no limit at this hour"
    order = f"{plural(b['inversions'], 'request')} started before a better one that did not fit"
    return f"bandwidth: {now}; {human_size(b['read'])} read{share}; {order}{capped}"


def account(f: Mapping[str, Any], now: float) -> Iterator[str]:
    yield f"  known {thousands(f['known'])} = " + " + ".join(f"{part} {thousands(f[part])}" for part in _PARTS)
    yield from _whys(f.get("why", {}), now)


def _whys(whys: Mapping[str, Any], now: float) -> Iterator[str]:
    waiting = whys.get("waiting", {})
    if waiting:
        yield "  waiting:"
    for word, span in waiting.items():
        yield f"    {thousands(span['pages']):>12}  {word:<28} {_until(word, span, now)}  {sentence(word)}"
    for part in ("done", "excluded"):
        if whys.get(part):
            yield f"  {part}:"
        for word, count in whys.get(part, {}).items():
            yield f"    {thousands(count):>12}  {word:<20} {sentence(word)}"


def _until(word: str, span: Mapping[str, Any], now: float) -> str:
    first, last = span["first_due"], span["last_due"]
    if first is None:
        return "for good" if word.startswith("site: ") else "until: not known"
    if last <= now:
        return "due now"
    first = "now" if first <= now else stamp(first)
    return f"from {first} to {stamp(last)}"


def sentence(word: str) -> str:
    """Of an outcome, of a reason, or of why a site is set aside ("site: …")."""
    if word.startswith("site: "):
        return Aside[word.removeprefix("site: ").upper()].sentence
    if word.upper() in Outcome.__members__:
        return Outcome[word.upper()].sentence
    return Reason[word.upper()].sentence


def stamp(wall: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall))
