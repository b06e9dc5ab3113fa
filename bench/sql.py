"""Duration of `gossamer sql` as a whole process, over 10^6 visits: `python -m bench.sql [--visits N]` (bound: 1 s).

Visits are journalled and sealed as by a crawl, 100,000 per segment; a crawl could resume from there (`bench.answers`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base import disk
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Outcome, Texts, VisitFlag
from gossamer.collection import layout, manifest, sealing
from gossamer.collection.blocks import BlockFile
from gossamer.collection.journal import journal
from gossamer.collection.journal.effects import ORIGIN, PAGE, Effects
from gossamer.collection.journal.records import Mark
from gossamer.collection.layout import URL_FILE
from gossamer.collection.tables import seal
from gossamer.config import Settings, dump
from gossamer.urls import fingerprint

BOUND: Final = 1.0
SEED: Final = 1
START: Final = 1_700_000_000.0
PER_TICK: Final = 5_000
SITES: Final = 1_000
QUERIES: Final = {
    "outcomes": "select outcome, count(*) from visits group by 1",
    "states": "select state, count(*) from pages group by 1",
    "titles": "select title, count(*) from visits group by 1 order by 2 desc limit 10",
    "in-links": "select target, count(*) from links group by 1 order by 2 desc limit 10",
}


def ticks(visits: int, found: int = 2, links: int = 10) -> Iterator[Effects]:
    """Effects of visits, each of which finds so many pages and has so many links; titles and outcomes vary."""
    rng = np.random.default_rng(1)
    first = Effects(1, START, 1.0, pages=np.zeros(PER_TICK, PAGE), origins=np.zeros(SITES, ORIGIN))
    first.sites = Texts.join([b"site%d.example" % i for i in range(SITES)], "<u2")
    first.origins["site"] = np.arange(SITES)
    first.urls, first.sites_www = _urls(0, PER_TICK), np.zeros(SITES, np.uint8)
    first.pages["fingerprint"] = _fingerprints(first.urls)
    first.pages["site"] = first.pages["origin"] = np.arange(PER_TICK) % SITES
    yield first
    known = PER_TICK
    for tick in range(2, 2 + visits // PER_TICK):
        page = np.arange((tick - 2) * PER_TICK, (tick - 1) * PER_TICK)
        e = Effects(tick, START + tick, float(tick), SITES, SITES, known, visits=np.zeros(PER_TICK, VISIT))
        e.visits["page"], e.visits["site"], e.visits["time"] = page, page % SITES, START + tick
        e.visits["outcome"] = rng.choice([0, 1, 2, 3, 5, 10], PER_TICK, p=[0.7, 0.08, 0.08, 0.1, 0.02, 0.02])
        e.visits["links"], e.visits["duplicate_of"], e.visits["number"] = links, NONE, page
        e.visits["flags"] = np.where(e.visits["outcome"] == Outcome.OK, VisitFlag.STORED, 0)
        e.visits["warc_offset"], e.visits["warc_end"] = 9_000 * page, 9_000 * (page + 1)
        e.visits["received"], e.visits["length"] = rng.integers(500, 90_000, (2, PER_TICK))
        e.visits["digest"], e.visits["sketch"] = rng.integers(1, 1 << 62, (2, PER_TICK))
        e.visits["payload"] = rng.integers(0, 256, (PER_TICK, 20))
        titles = [b"Title of page %d of the site" % (n % 5000) for n in page.tolist()]
        e.visits["texts"][:, VISIT_TEXTS.index("title")] = [len(t) for t in titles]
        e.visit_texts = b"".join(titles)
        e.pages = np.zeros(found * PER_TICK, PAGE)
        e.pages["site"] = e.pages["origin"] = np.arange(known, known + len(e.pages)) % SITES
        e.pages["source"] = np.repeat(page, found)
        e.urls = _urls(known, len(e.pages))
        e.pages["fingerprint"] = _fingerprints(e.urls)
        known += len(e.pages)
        e.link_targets = rng.integers(0, known, links * PER_TICK).astype("<u4")
        e.link_kinds = np.zeros(links * PER_TICK, "u1")
        yield e


def _urls(first: int, count: int) -> Texts:
    numbers = range(first, first + count)
    return Texts.join([b"http://site%d.example/section/page-%d" % (i % SITES, i) for i in numbers], "<u2")


def _fingerprints(texts: Texts) -> list[int]:
    return [fingerprint(url.decode(), SEED) for url in texts.split()]


def make(folder: Path, visits: int, per_segment: int = 100_000, found: int = 2, links: int = 10) -> None:
    shard = layout.shard_folder(folder)
    layout.make_folders(shard)
    disk.write_atomic(folder / layout.SETTINGS, dump(Settings()).encode())
    manifest.Manifest.create(shard, manifest.Meta(layout.FORMAT, 0, SEED, 0.0))
    opened, lines = journal.begin(shard, 0, 1, Mark(0, 0)), manifest.Manifest.open(shard)
    blocks = BlockFile(shard / URL_FILE)
    reached = 0
    for effects in ticks(visits, found, links):
        opened.append(effects)
        blocks.append(effects.urls.split())
        reached += len(effects.visits)
        if opened.visits >= per_segment or reached == visits:
            snapshot = opened.snapshot({URL_FILE: blocks.length}, [blocks.appender.sync], rotate=True)
            opened.commit(snapshot)
            assert snapshot.closed is not None
            sealing.finish(shard, lines, seal.seal(shard, snapshot.closed))
    for each in (opened, lines, blocks):
        each.close()


def times(folder: Path, runs: int = 3) -> Iterator[tuple[str, float]]:
    """Seconds of the whole process, the best of several runs."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for name, query in QUERIES.items():
        spent = []
        for _ in range(runs):
            start = time.perf_counter()
            command = [sys.executable, "-m", "gossamer", "sql", str(folder), query, "--json"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            spent.append(time.perf_counter() - start)
        yield name, min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), parser.parse_args().visits)
        found = dict(times(Path(folder)))
    print(json.dumps({f"{name}, s": round(seconds, 3) for name, seconds in found.items()}, indent=2))
    if found["outcomes"] > BOUND:
        raise SystemExit(f"slower than {BOUND:.0f} s")


if __name__ == "__main__":
    main()
