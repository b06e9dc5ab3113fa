"""The bounds on the figures of the comparison: `python -m bench.beside.bound` fails if one is missed.

What was not measured has no figure, and is listed. The bounds on growth hold for the cost of a whole page, which is
that of (b) at the smallest size: only the desk's share grows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.beside.results import RESULTS, load, middle
from bench.bounds import Figure, judge

A_PAGE: Final = {"b": 1.5, "c10": 2.2, "c1": 3.5}
"""ms of CPU."""
OF_THE_DESK: Final = 0.15
TWO_WORKERS: Final = 1.1
GROWTH: Final = 1.2
PAUSE, LONGEST_PAUSE = 50.0, 200.0
"""ms between two polls of the loop, with the most connections: the 99.9th percentile, and the maximum."""
FLAT: Final = 1.1
"""Memory in the last third of the time, relative to the third before."""
NAMES: Final = {"b": "real pages", "c10": "TLS, ten pages per connection", "c1": "TLS, one page per connection"}


def figures(found: dict[str, Any]) -> Iterator[Figure]:
    for web, bound in A_PAGE.items():
        if (ms := middle(found, web, "gossamer", "ms")) is not None:
            other = middle(found, web, "scrapy", "ms")
            aside = f"Scrapy takes {other / ms:.1f} times as much" if other else ""
            yield Figure(f"CPU per page: {NAMES[web]}", ms, "ms", bound, aside=aside)
    page = middle(found, "b", "gossamer", "ms")
    if (desk := middle(found, "b", "gossamer", "first_ms")) is not None:
        yield Figure("the desk's share of it", desk, "ms", OF_THE_DESK)
    growth = found["growth"]
    for point in growth.get("workers", [])[1:]:
        yield Figure("CPU per page with two workers, relative to one", point["ratio"], "", TWO_WORKERS)
    for name in ("known", "sites"):
        if name in growth and page is not None:
            first, last = growth[name][0], growth[name][-1]
            title = f"a page at {last[name]:,} {name}, relative to {first[name]:,}"
            yield Figure(title, whole(first, last, page), "", GROWTH)
    if growth.get("connections"):
        most = growth["connections"][-1]
        name = f"{most['connections']:,} connections"
        yield Figure(f"{name}: pause of the loop, p99.9", most["pause_p99.9"], "ms", PAUSE)
        yield Figure(f"{name}: longest pause", most["pause_longest"], "ms", LONGEST_PAUSE)
        yield Figure(f"{name}: memory, last third to middle third", most["memory"][2] / most["memory"][1], "", FLAT)


def whole(first: dict[str, Any], last: dict[str, Any], page: float) -> float:
    """Cost of a page at the largest size relative to the smallest, given `page` ms at the smallest."""
    grown: float = last["us"] + last.get("queue_us", 0.0) - first["us"] - first.get("queue_us", 0.0)
    return (1000 * page + grown) / (1000 * page)


def main(path: Path) -> None:
    found = load(path)
    missing = [w for w in A_PAGE if middle(found, w, "gossamer", "ms") is None]
    missing += [g for g in ("known", "sites", "workers", "connections") if g not in found["growth"]]
    if missing:
        print(f"not measured: {', '.join(missing)}")
    judge(figures(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
