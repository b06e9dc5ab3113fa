"""Robots rules: python -m bench.robots [sites, default 10^5]

Memory for the rules of generated sites with realistic files (`made_robots`), each parsed as a worker does and stored as
the desk does; the same after all have changed; and the cost of a verdict for a usual URL, for the worst rules that we
could think of, and for the worst files. All times are CPU times.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import psutil

from bench.bounds import Figure, judge
from bench.made_robots import made
from gossamer.crawler.parts import LAYOUT
from gossamer.desk.rulebook import RuleBook
from gossamer.robots import Rules
from gossamer.robots.match import verdicts
from gossamer.robots.parse import LIMIT

A_SITE: Final = 300.0
"""Bound, in bytes."""
A_RULE: Final = 50.0
"""Bound, in µs, for a URL of 2,000 bytes."""
CHANGES: Final = 1
"""How often the rules of each site change."""
HOST: Final = "https://example.org/"
GROUP: Final = b"User-agent: *\n"
WORST: Final = {
    "many stars": (b"Disallow: /" + b"*a" * 900 + b"$", "a" * 1979 + "b"),
    "a long part, never found": (b"Disallow: /*" + b"a" * 990 + b"b", "a" * 1980),
    "a long part, escaped": (b"Disallow: /*" + b"%2F" * 650 + b"b", "?" + "/" * 1979),
    "many parts, the last never found": (b"Disallow: /" + b"*ab" * 600 + b"*c", "ab" * 990),
    "two long parts": (b"Disallow: /*" + b"a" * 700 + b"*" + b"a" * 640 + b"b", "a" * 1980),
}
"""A rule, and a URL that is hard for it."""


def files_of(rules: bytes) -> bytes:
    """A file with as many lines of this kind as are read; %d is replaced by numbers."""
    lines, size = [GROUP], 0
    while size < LIMIT - 2 * len(rules):
        lines.append(rules % len(lines))
        size += len(lines[-1])
    return b"".join(lines)


def microseconds(compiled: bytes, url: str, at_once: int = 50) -> float:
    """CPU time of a verdict, in a tick of `count`; the best of several runs, as the machine may have other load."""
    texts = np.frombuffer(url.encode() * at_once, np.uint8)
    offsets = np.arange(at_once + 1, dtype=np.int64) * len(url)
    rules, best = np.frombuffer(compiled, np.uint8), float("inf")
    verdicts(rules, texts, offsets)
    for _ in range(10):
        start = time.process_time()
        verdicts(rules, texts, offsets)
        best = min(best, time.process_time() - start)
    return best / at_once * 1e6


def parsed(dice: random.Random, sites: int, file: Path) -> Path:
    """The rules that workers would send, in a file: the memory for parsing is not the desk's."""
    with file.open("wb") as out:
        for _ in range(sites):
            compiled = Rules.parse(made(dice) or b"", "Gossamer").compiled()
            out.write(len(compiled).to_bytes(4, "little") + compiled)
    return file


def read(file: Path) -> Iterator[bytes]:
    with file.open("rb") as source:
        while size := source.read(4):
            yield source.read(int.from_bytes(size, "little"))


def memory(sites: int, folder: Path) -> list[Figure]:
    dice, process = random.Random(1), psutil.Process()
    book = RuleBook(sites, 1, folder)
    starts, ends = np.zeros(sites, np.uint32), np.zeros(sites, np.uint32)
    book.pack(starts[:1], ends[:1])  # compile before measuring
    made_up = [parsed(dice, sites, folder / str(turn)) for turn in range(1 + CHANGES)]
    before, figures = process.memory_info().rss, list[Figure]()
    for turn, file in enumerate(made_up):
        for site, compiled in enumerate(read(file)):
            starts[site], ends[site] = book.place(compiled)
            if book.wasteful:
                starts[:], ends[:] = book.pack(starts, ends)
        columns = sum(np.dtype(kind).itemsize for kind in LAYOUT["origin"].values())
        accounted = columns + book.in_memory / sites
        grown = columns + (process.memory_info().rss - before - starts.nbytes - ends.nbytes) / sites
        when = f"after {turn} change of each" if turn else "of realistic files"
        aside = f"on disk {book.on_disk / sites:,.0f}"
        figures.append(Figure(f"memory, accounted, {when}", accounted, "bytes per site", A_SITE, aside=aside))
        figures.append(Figure(f"memory, growth of the process, {when}", grown, "bytes per site", A_SITE))
    return figures


def main(sites: int) -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("GOSSAMER_BENCH")) as folder:
        figures = memory(sites, Path(folder))
    for name, (rule, path) in WORST.items():
        cost = microseconds(Rules.parse(GROUP + rule, "x").compiled(), HOST + path)
        figures.append(Figure(f"worst rule: {name}", cost, "µs", A_RULE))
    usual = b"Disallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\nDisallow: /*?s=\nDisallow: /search\n"
    cost = microseconds(Rules.parse(GROUP + usual, "x").compiled(), HOST + "2026/11/some-page-of-a-blog/", 1000)
    print(f"{'a usual URL, four rules':<44}{cost:>10.3f} µs")
    for name, rule, path in (
        ("paths", b"Disallow: /catalogue/item/%06d\n", "catalogue/item/x"),
        ("wildcards", b"Disallow: /*item%06d\n", "catalogue/item/x" * 4),
        ("long parts", b"Disallow: /*" + b"a" * 990 + b"b%d\n", "a" * 1980),
    ):
        compiled = Rules.parse(files_of(rule), "x").compiled()
        cost = microseconds(compiled, HOST + path, 3)
        print(f"{f'a file of 500 KiB: {name}':<44}{cost:>10,.0f} µs")
    judge(figures)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000)
