"""orders.jsonl: what was ordered while no crawl ran (`gossamer add`, `again`, `steer`). The next run carries it out.

The file is replaced as a whole, under the collection's lock: it is never torn, and no desk reads it meanwhile. The run
removes it once the effects of all its orders are committed. After a kill in between, the next run carries them out
once more, which changes nothing: a page that is known stays known, and one that is open stays open.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.base import disk
from gossamer.base.errors import GossamerError
from gossamer.collection import manifest

ORDERS: Final = "orders.jsonl"
PER_LINE: Final = 4_000


class Orders(NamedTuple):
    """What waits for the next run."""

    add: tuple[str, ...] = ()
    """URLs of seeds."""
    again: tuple[int, ...] = ()
    """Numbers of pages that are to be requested once more."""
    steer: tuple[tuple[str, ...], ...] = ()
    """Orders that stay (`steering.py`): key, who gave it, name, target and value of each."""


def waiting(shard: Path) -> Orders:
    add: list[str] = []
    again: list[int] = []
    steer: list[tuple[str, ...]] = []
    for number, raw in enumerate(_raw(shard).splitlines(keepends=True), 1):
        line = manifest.decode(raw)
        if line is None:
            cure = "Remove the file, and give the orders again: gossamer add, again, steer"
            raise GossamerError(f"{shard / ORDERS} is damaged in line {number}", cure)
        add += line.get("add", ())
        again += line.get("again", ())
        steer += [tuple(map(str, order)) for order in line.get("steer", ())]
    return Orders(tuple(add), tuple(again), tuple(steer))


def leave(shard: Path, key: str, items: Sequence[object]) -> None:
    """Adds orders to those that wait; `key` is "add", "again" or "steer". Returns when it would survive a power cut.
    The caller holds the lock."""
    disk.write_atomic(shard / ORDERS, _raw(shard), *_lines(key, items))


def _lines(key: str, items: Sequence[object]) -> list[bytes]:
    pieces = (items[i : i + PER_LINE] for i in range(0, len(items), PER_LINE))
    return [manifest.encode({key: list(piece)}) for piece in pieces]


def replace(shard: Path, orders: Orders) -> None:
    """Puts these orders in place of all that wait. The caller holds the lock."""
    lines = [line for key, items in orders._asdict().items() for line in _lines(key, items)]
    disk.write_atomic(shard / ORDERS, *lines)


def carried_out(shard: Path) -> None:
    """The effects of all orders that waited are committed."""
    disk.remove(shard / ORDERS)
    disk.sync_directory(shard)


def _raw(shard: Path) -> bytes:
    path = shard / ORDERS
    if not path.exists():
        return b""
    with disk.naming("read", path):
        return path.read_bytes()
