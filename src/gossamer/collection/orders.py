"""orders.jsonl: what `gossamer add` and `gossamer again` asked for while no crawl ran. The next run carries it out.

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


def waiting(shard: Path) -> Orders:
    add: list[str] = []
    again: list[int] = []
    for number, raw in enumerate(_raw(shard).splitlines(keepends=True), 1):
        line = manifest.decode(raw)
        if line is None:
            cure = "Remove the file, and give the orders again: gossamer add, gossamer again"
            raise GossamerError(f"{shard / ORDERS} is damaged in line {number}", cure)
        add += line.get("add", ())
        again += line.get("again", ())
    return Orders(tuple(add), tuple(again))


def leave(shard: Path, key: str, items: Sequence[str | int]) -> None:
    """Adds an order to those that wait; `key` is "add" or "again". Returns when it would survive a power cut. The
    caller holds the lock."""
    disk.write_atomic(shard / ORDERS, _raw(shard), *_lines(key, items))


def _lines(key: str, items: Sequence[str | int]) -> list[bytes]:
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
