"""The scores that an older collection gave to pages: historical PageRank (thesis 4.3.2), for a crawl of the same sites.

`manager.history` names the older collection. When the crawl begins, a process of its own,

    python -m gossamer.manager.older SHARD FOLDER SEED

reads the URLs of its pages and their stored PageRank, and writes the file

    older.scores     a line of JSON; fingerprints of the URLs, by the seed of this collection, ascending: 8 bytes each;
                     their PageRank: 4 bytes each

which is mapped, not loaded. The older collection is not needed any more then. A page that becomes known is looked up by
its fingerprint. One that the older collection did not know has the PageRank of the page where it was found, divided by
the links of that page; one that was found on no page has 0.

Invariants, each a test of the same name:

- A page has its old score.
- A page that was not known has the share of its parent.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import xxhash

from gossamer import urls
from gossamer.base import disk
from gossamer.base.arrays import F32, U64, Records
from gossamer.base.errors import GossamerError, StorageError, UsageError
from gossamer.base.model import NONE
from gossamer.base.process import Process
from gossamer.collection import manifest
from gossamer.collection.layout import is_collection, shard_folder
from gossamer.config.settings import ManagerSettings
from gossamer.manager.scores.stored import newest_scores, stored_table
from gossamer.manager.strategies import LIVE

FILE: Final = "older.scores"
_HEAD: Final = 4096
"""Bytes of the line of JSON, filled up with spaces: what follows can be mapped."""
_CURE: Final = "Compute them first: gossamer rank DIR."


def wanted(manager: ManagerSettings) -> bool:
    """Whether the policy uses the scores of an older collection."""
    return manager.policy in LIVE and LIVE[manager.policy].given == "history"


def check(manager: ManagerSettings, shard: Path, form: int) -> None:
    """Checks, before a crawl begins, that it has the older collection that its settings want, in the same `form` of
    URLs, or has taken over its scores. UsageError says what is missing."""
    policies = ", ".join(name for name, each in LIVE.items() if each.given == "history")
    if not wanted(manager):
        if manager.history:
            raise UsageError(
                f"manager.history is set, but manager.policy {manager.policy} does not use it",
                f"Set manager.policy to {policies}, or leave manager.history out.",
            )
        return
    if not manager.history:
        raise UsageError(
            f"manager.policy {manager.policy} needs an older collection of the same sites",
            "Name its folder: --set manager.history=DIR.",
        )
    if (shard / FILE).exists():
        return
    folder = Path(manager.history)
    if not is_collection(folder):
        what = "is not a collection" if folder.exists() else "does not exist"
        raise UsageError(f"manager.history: {folder} {what}", "Name the folder of an older crawl.")
    if folder.resolve() == shard.parent.resolve():
        raise UsageError(f"manager.history: {folder} is this collection itself", "Name the folder of an older crawl.")
    theirs = manifest.read(shard_folder(folder)).meta.url_form
    if theirs != form:
        raise UsageError(
            f"manager.history: the URLs of {folder} have form {theirs}, those of this collection form {form}: few "
            "pages would be found again",
            f"Crawl into a new folder with --set seeder.url_form={theirs}.",
        )
    if newest_scores(shard_folder(folder)) is None:
        raise UsageError(
            f"manager.history: {folder} has no link scores", f"Compute them first: gossamer rank {folder}."
        )


def provide(shard: Path, manager: ManagerSettings, seed: int, form: int, lock: int) -> None:
    """Makes the file, if the settings want it and it is not there."""
    check(manager, shard, form)
    if not wanted(manager) or (shard / FILE).exists():
        return
    process = Process("gossamer.manager.older", [str(shard), manager.history, str(seed)], b"", lock)
    process.wait()
    if process.failure:
        raise GossamerError(
            f"manager.history: {manager.history} cannot be read: {process.failure}", "Verify it: gossamer verify."
        )


class Older:
    """The file, mapped."""

    def __init__(self, shard: Path) -> None:
        self._keys, self._ranks = _mapped(shard / FILE)

    def ranks(self, fingerprints: U64) -> F32:
        """The old scores; NaN for pages that the older collection did not know."""
        if not len(self._keys):
            return np.full(len(fingerprints), np.nan, np.float32)
        at = np.minimum(np.searchsorted(self._keys, fingerprints), len(self._keys) - 1)
        return np.where(self._keys[at] == fingerprints, self._ranks[at], np.float32(np.nan)).astype(np.float32)

    def scores(self, new: Records, visits: Records, known: F32) -> F32:
        """The scores of pages that become known in a tick with these visits; `known` are those of all known pages."""
        found = self.ranks(new["fingerprint"])
        missing = np.flatnonzero(np.isnan(found))
        if len(missing):
            found[missing] = _shares(new["source"][missing], visits, known)
        return found


def _shares(sources: Records, visits: Records, known: F32) -> F32:
    """What each of these pages passes on through one of its links; 0 where none of the visits is of it."""
    order = np.argsort(visits["page"], kind="stable")
    pages = visits["page"][order]
    if not len(pages):
        return np.zeros(len(sources), np.float32)
    at = np.minimum(np.searchsorted(pages, sources), len(pages) - 1)
    there = (pages[at] == sources) & (sources != NONE)
    links = np.maximum(visits["links"][order[at]], 1)
    return np.where(there, known[np.where(there, sources, 0)] / links, 0.0).astype(np.float32)


def _mapped(path: Path) -> tuple[U64, F32]:
    damaged = StorageError(f"{path} is damaged", "Remove it while manager.history is there: it is made again.")
    with disk.naming("read", path), path.open("rb") as file:
        head = file.read(_HEAD)
    try:
        said = json.loads(head)
        count, checksum = int(said["pages"]), str(said["checksum"])
    except (ValueError, KeyError, TypeError) as error:
        raise damaged from error
    if path.stat().st_size != _HEAD + 12 * count:
        raise damaged
    if not count:
        return np.zeros(0, np.uint64), np.zeros(0, np.float32)
    raw = np.memmap(path, np.uint8, "r", _HEAD)
    if xxhash.xxh3_64_hexdigest(raw.data) != checksum:
        raise damaged
    return raw[: 8 * count].view("<u8"), raw[8 * count :].view("<f4")


def make(shard: Path, older: Path, seed: int) -> int:
    """Writes the file; returns the number of its pages."""
    newest = newest_scores(shard_folder(older))
    table = stored_table(shard_folder(older), newest.number, ["pagerank"]) if newest else {}
    if not table:
        raise GossamerError(f"{older} has no link scores, or they are damaged", _CURE)
    ranks = table["pagerank"].astype("<f4")
    keys = np.fromiter((urls.fingerprint(url, seed) for url in _urls(older, len(ranks))), "<u8")
    order = np.argsort(keys, kind="stable")
    parts = [keys[order].tobytes(), ranks[: len(keys)][order].tobytes()]
    state = xxhash.xxh3_64(parts[0])
    state.update(parts[1])
    head = {"pages": len(keys), "checksum": state.hexdigest()}
    disk.write_atomic(shard / FILE, json.dumps(head).encode().ljust(_HEAD - 1) + b"\n", *parts)
    return len(keys)


def _urls(older: Path, most: int) -> Iterator[str]:
    """The URLs of its pages, in the order of their numbers."""
    from gossamer.manager.scores.graph import read_table  # it needs pyarrow, and the desk does not

    shard, left = shard_folder(older), most
    for _, line in sorted(manifest.read(shard).segments.items()):
        table = read_table(shard, "pages", line, ("url",))
        if table is not None:
            for batch in table.slice(0, left).to_batches():
                left -= len(batch)
                yield from batch.column(0).to_pylist()


def main(arguments: list[str]) -> int:
    try:
        print(make(Path(arguments[0]), Path(arguments[1]), int(arguments[2])))
    except GossamerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
