"""What link scores cost beside a crawl: `python -m bench.rank [most visits, default 10^6]`

A collection of 75 links a visit and ten known pages a visit is made through real segments of 100,000 visits; then the
scores are computed as the crawl would have them computed, by the process of `gossamer.scores`, at 10^5 visits and at
every tenfold. Cold: all rows are made, and no ranks of before are there. Warm: one more segment, with the others at
hand. The schedule spends at most a twentieth of the crawl's processor time (`gossamer.scorer`); the last column says
how many visits that means between two computations, at 1.15 ms a visit. Bound: 5 %, so it must not be absurd.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.collection import journal, layout, manifest, seal
from gossamer.collection.effects import PAGE, Effects
from gossamer.collection.records import Mark
from gossamer.model import NONE, VISIT, Texts
from gossamer.scorer import SHARE

SEGMENT: Final = 100_000
TICK: Final = 2_000
NEW, MENU, NEAR, FAVOURITES, ABROAD = 10, 26, 20, 15, 4
SITE: Final = 300
"""Pages of a site: neighbours by number."""
A_VISIT: Final = 1.15e-3
"""Seconds of processor time of a visit."""


def links_of(first: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Of `TICK` pages from `first` on, fetched in the order of discovery: a row each."""
    page = np.arange(first, first + TICK)[:, None]
    known, home = first * NEW + 1, page // SITE * SITE
    new = known + (page - first) * NEW + np.arange(NEW)
    menu = home + np.arange(MENU)
    near = page + rng.integers(-30, 60, (TICK, NEAR))
    favourites = home + (SITE * rng.random((TICK, FAVOURITES)) ** 3).astype(np.int64)
    abroad = (known * rng.random((TICK, ABROAD)) ** 3).astype(np.int64)
    old = np.clip(np.concatenate([menu, near, favourites, abroad], 1), 0, max(known - 1, 0))
    return np.concatenate([new, old], 1)


def ticks(first: int, rng: np.random.Generator) -> Iterator[Effects]:
    for at in range(first, first + SEGMENT, TICK):
        links = links_of(at, rng)
        begin = at * NEW + 1 if at else 0
        pages = np.zeros((at + TICK) * NEW + 1 - begin, PAGE)
        pages["site"] = np.arange(begin, begin + len(pages)) // SITE
        visits = np.zeros(TICK, VISIT)
        visits["page"], visits["duplicate_of"], visits["links"] = np.arange(at, at + TICK), NONE, links.shape[1]
        visits["site"] = visits["page"] // SITE
        urls = Texts(np.zeros(len(pages), "<u2"), b"")
        yield Effects(
            1 + at // TICK, 1.0, 1.0, 0, 0, begin, pages=pages, urls=urls, visits=visits,
            link_targets=links.reshape(-1).astype("<u4"), link_kinds=np.zeros(links.size, "u1"),
        )  # fmt: skip


class Collection:
    def __init__(self, folder: Path) -> None:
        self.shard = layout.shard_folder(folder)
        layout.make_folders(self.shard)
        manifest.Manifest.create(self.shard, manifest.Meta(layout.FORMAT, 0, 1, 1.0))
        self.rng, self.segments = np.random.default_rng(1), 0

    def seal(self) -> None:
        self.segments += 1
        before = (self.segments - 1) * SEGMENT // TICK
        opened = journal.begin(self.shard, 0, self.segments, Mark(before, before))
        for effects in ticks((self.segments - 1) * SEGMENT, self.rng):
            opened.append(effects)
        opened.commit(opened.snapshot({}, [], rotate=True))
        opened.close()
        file = manifest.Manifest.open(self.shard)
        seal.finish(self.shard, file, seal.seal(self.shard, self.segments))
        file.close()

    def compute(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "gossamer.scores", str(self.shard), json.dumps({"pagerank": 1.0})]
        said: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        return said

    def bytes_in(self, name: str) -> int:
        return sum(p.stat().st_size for p in (self.shard / name).iterdir())


def row(name: str, collection: Collection, said: dict[str, Any]) -> None:
    between = said["cpu"] / SHARE / A_VISIT
    visits = collection.segments * SEGMENT
    print(
        f"{visits:>10,} visits {name:<5} {said['pages']:>11,} pages {said['links']:>12,} links "
        f"{said['iterations']:>3} iterations {said['cpu']:6.1f} s of processor, {said['memory'] / 1e6:6.0f} MB; "
        f"rows {collection.bytes_in('graph') / said['links']:.2f} B a link, "
        f"scores {collection.bytes_in('scores') / said['pages']:.1f} B a page; every {between:,.0f} visits",
        flush=True,
    )


def main(most: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        collection = Collection(Path(folder))
        collection.seal()
        collection.compute()  # compiles the kernels
        shutil.rmtree(collection.shard / "graph")
        shutil.rmtree(collection.shard / "scores")
        target = SEGMENT
        while target <= most:
            while collection.segments * SEGMENT < target:
                collection.seal()
            row("cold", collection, collection.compute())
            collection.seal()
            row("warm", collection, collection.compute())
            target *= 10


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
