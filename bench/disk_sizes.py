"""Disk space of a crawl, and the speed of reading a URL: `python -m bench.disk_sizes [--visits N] [--texts N]`

Makes the ticks of a crawl (see `web_sample`), journals and seals them, and prints bytes per known URL (pages table and
block file), per link, per link text, and per visit without the archive; then the time to read a URL at random (aim
20 µs). A missed bound ends it with a nonzero exit code.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.bounds import Figure, judge
from bench.web_sample import Crawl
from gossamer.collection import layout, manifest
from gossamer.collection.blocks import BlockFile
from gossamer.collection.journal import journal
from gossamer.collection.journal.records import Mark
from gossamer.collection.tables import seal

BOUNDS: Final = {"bytes per known URL": 60.0, "bytes per link": 5.0, "bytes per visit": 300.0}
"""Aims: 45, 2 and 200. A link is counted without its text."""


def sizes(visits: int, folder: Path) -> dict[str, Any]:
    shard = layout.shard_folder(folder)
    layout.make_folders(shard)
    manifest.Manifest.create(shard, manifest.Meta(layout.FORMAT, 0, 1, 0.0))
    opened = journal.begin(shard, 0, 1, Mark(0, 0))
    blocks = BlockFile(shard / "urls" / "pages.blocks")
    spent = 0.0
    for effects in Crawl(visits).ticks():
        start = time.perf_counter()
        opened.append(effects)
        blocks.append(effects.urls.split())
        spent += time.perf_counter() - start
    journal_bytes = opened.bytes
    opened.commit(opened.snapshot({}, [blocks.appender.sync], rotate=True))
    opened.close()
    start = time.perf_counter()
    line = seal.seal(shard, 1)
    sealing = time.perf_counter() - start
    start = time.perf_counter()
    ticks = sum(1 for _ in seal.effects_of(line, shard, 0))
    table = {name.partition("/")[0]: said for name, said in line["files"].items()}
    pages, visited, links = (table[name]["rows"] for name in ("pages", "visits", "links"))
    return {
        "visits": visited,
        "pages": pages,
        "links": links,
        "ticks": ticks,
        "bytes per known URL": (table["pages"]["bytes"] + blocks.length) / pages,
        "of these in the pages table": table["pages"]["bytes"] / pages,
        "of these in the block file": blocks.length / pages,
        "bytes per link": table["links"]["bytes"] / links,
        "bytes per link text": table["anchors"]["bytes"] / table["anchors"]["rows"],
        "bytes per visit": (table["visits"]["bytes"] + table["ticks"]["bytes"]) / visited,
        "journal bytes per visit, until sealed": journal_bytes / visited,
        "journal and URL text, µs per visit": spent / visited * 1e6,
        "sealing, µs per visit": sealing / visited * 1e6,
        "effects from the segment, µs per visit": (time.perf_counter() - start) / visited * 1e6,
    }


def access(texts: int, folder: Path) -> dict[str, Any]:
    urls = [url for effects in Crawl(3_000, seed=2).ticks() for url in effects.urls.split()]
    path = folder / "texts.blocks"
    file = BlockFile(path)
    while file.count < texts:
        file.append(urls)
    known = file.offsets()
    file.close()
    start = time.perf_counter()
    BlockFile(path).close()
    search = time.perf_counter() - start
    start = time.perf_counter()
    again = BlockFile(path, known)
    opening = time.perf_counter() - start
    numbers = np.random.default_rng(3).integers(0, again.count - 64, 20_000).tolist()
    start, cpu = time.perf_counter(), time.process_time()
    for number in numbers:
        again.read(number)
    single, cpu = time.perf_counter() - start, time.process_time() - cpu
    again.close()
    return {
        "texts": texts,
        "open without offsets, s": search,
        "open with offsets, s": opening,
        "one random text, µs": single / len(numbers) * 1e6,
        "CPU of it, µs": cpu / len(numbers) * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = sizes(given.visits, Path(folder)) | access(given.texts, Path(folder))
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:40} {value:>14,.4g}" if isinstance(value, float) else f"{name:40} {value:>14,}")
    bounded = (Figure(name, figures[name], "", bound) for name, bound in BOUNDS.items())
    judge(bounded, sys.stderr if given.json else None)


if __name__ == "__main__":
    main()
