"""Merges segments of a crawl that runs: a short-lived process, started by `collection/merging.py`:

    python -m gossamer.read.compact.background SHARD

Segments have tiers: one of a journal file has tier 0, and ten neighbours of a tier make one of the next. So there are
at most nine of each tier, and each row is written again once for each tier: six times in a year of five-minute
segments. Segments that are as large as `MOST` stay as they are.

No merged segment is partly in the newest image, unless that was made at the same time: recovery would have to read
all of it for the rest.

Invariant, a property test of the same name: however many segments there are, few are left when nothing is to be merged.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import GossamerError
from gossamer.collection import manifest
from gossamer.collection.layout import MERGED, folders_of_segments
from gossamer.collection.manifest import Line
from gossamer.collection.merging import FANOUT
from gossamer.read.compact import first_of, groups, merge

MOST: Final = {"visits": 300_000, "links": 10_000_000, "anchors": 10_000_000, "pages": 3_000_000}
"""Maximum number of rows of a merged table: memory beside a crawl is scarce."""


def tier(line: Line) -> int:
    """How many times its rows were merged, about: by the number of journal files in it."""
    return int(math.log(int(line["segment"]) - first_of(line) + 1, FANOUT) + 1e-9)


def choose(lines: Sequence[Line], record: int) -> list[Line]:
    """The segments to merge next; empty if there are none. `record`: the last one of the newest image."""
    ordered = sorted(lines, key=lambda line: int(line["segment"]))
    for side in (
        [line for line in ordered if line["last_record"] <= record],
        [line for line in ordered if line["last_record"] > record],
    ):
        tiers = [tier(line) for line in side]
        for level in range(max(tiers, default=-1) + 1):
            run: list[Line] = []
            count = 0
            for line, of in zip(side, tiers, strict=True):
                run, count = ([*run, line], count + (of == level)) if of <= level else ([], 0)
                if count == FANOUT:
                    if found := next(groups(run, MOST, _before(ordered, run[0])), None):
                        return found
                    run, count = [], 0
    return []


def _before(ordered: Sequence[Line], first: Line) -> dict[str, int]:
    """The lengths of the archive before a segment."""
    earlier = [line["lengths"] for line in ordered if line["segment"] < first["segment"]]
    return {name: length for lengths in earlier for name, length in lengths.items()}


def main(shard: Path) -> int:
    """Merges what is to be merged next, and prints the result; returns the exit code."""
    os.nice(10)
    try:
        print(merged(shard))
    except GossamerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def merged(shard: Path) -> str:
    """The parts and the merged segment as JSON; empty if nothing is to be merged."""
    contents = manifest.read(shard)
    parts = choose(list(contents.segments.values()), contents.image["record"] if contents.image else 0)
    if not parts:
        return ""
    out = shard / MERGED / "new"
    for name in folders_of_segments(shard):
        disk.make_directory(out / name)
    return json.dumps({"parts": [line["segment"] for line in parts], "line": merge(shard, parts, out)})


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
