"""Where page views wait, by client, until all lines of the logs are read: in memory, then in files.

Views and tallies go to one of 256 buckets by the number of their address, so that a bucket has all of a client. What
is held in memory beyond `LIMIT` goes to files of a temporary folder. Afterwards the buckets are read one by one: what
is in memory then is one bucket, the 256th part of the views (for 10^9 views, 170 MB).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

import numpy as np

from gossamer.base.arrays import Records
from gossamer.laboratory.sessions.judge import HIT, TALLY

BUCKETS: Final = 256
LIMIT: Final = 32 << 20
"""Bytes in memory before they are written."""
_KINDS: Final = {"hits": HIT, "tallies": TALLY}


class Spool:
    """Records by bucket."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit, self._held = limit, 0
        self._parts: dict[str, list[Records]] = {kind: [] for kind in _KINDS}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, hits: Records, tallies: Records) -> None:
        for kind, records in (("hits", hits), ("tallies", tallies)):
            self._parts[kind].append(records)
            self._held += records.nbytes
        if self._held > self._limit:
            self._write()

    def buckets(self) -> Iterator[tuple[Records, Records]]:
        """The views and tallies of each bucket that has any, in the order in which they were added."""
        held = {
            kind: _sorted(parts, dtype)
            for (kind, dtype), parts in zip(_KINDS.items(), self._parts.values(), strict=True)
        }
        for bucket in range(BUCKETS):
            hits, tallies = (
                np.concatenate(
                    [self._written(kind, bucket), held[kind][0][held[kind][1][bucket] : held[kind][1][bucket + 1]]]
                )
                for kind in _KINDS
            )
            if len(hits) or len(tallies):
                yield hits, tallies

    def _write(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gossamer-sessions-")
        for kind, dtype in _KINDS.items():
            records, ends = _sorted(self._parts[kind], dtype)
            for bucket in range(BUCKETS):
                if ends[bucket + 1] > ends[bucket]:
                    with self._file(kind, bucket).open("ab") as file:
                        records[ends[bucket] : ends[bucket + 1]].tofile(file)
            self._parts[kind] = []
        self._held = 0

    def _written(self, kind: str, bucket: int) -> Records:
        if self._folder is None or not self._file(kind, bucket).exists():
            return np.zeros(0, _KINDS[kind])
        return np.fromfile(self._file(kind, bucket), _KINDS[kind])

    def _file(self, kind: str, bucket: int) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / f"{kind}-{bucket}"


def _sorted(parts: list[Records], dtype: np.dtype[np.void]) -> tuple[Records, list[int]]:
    """The records by bucket, each bucket in the order of before, and where each bucket begins."""
    records = np.concatenate(parts) if parts else np.zeros(0, dtype)
    bucket = (records["address"] >> np.uint64(56)).astype(np.uint8)
    order = np.argsort(bucket, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=BUCKETS))])
    return records[order], ends.tolist()
