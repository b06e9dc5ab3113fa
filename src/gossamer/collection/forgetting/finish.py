"""Finishes a forgetting that was killed."""

from __future__ import annotations

from pathlib import Path

from gossamer.collection.forgetting.tombstones import read


def finish(shard: Path) -> int:
    """Finishes what was begun, and returns how much that was. Each start calls it before it reads anything else, and so
    does whatever rewrites files. The caller holds the lock."""
    if not read(shard).unfinished:
        return 0
    from gossamer.collection.forgetting.carry_out import carry_out  # pyarrow takes a third of a second

    return len(carry_out(shard))
