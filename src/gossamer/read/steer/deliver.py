"""Delivers orders: by the socket to a crawl that runs, or else into a file of the collection, for its next run.

An order is acknowledged once it would survive a power cut: the crawl has committed it, or the file is synced. If the
crawl ends in between, all of it is delivered once more, which changes nothing about what was carried out before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from gossamer.base.errors import GossamerError, LockedError, UsageError
from gossamer.collection import lock, orders
from gossamer.collection.layout import shard_folder
from gossamer.observe.socket import ENDING, ask

PIECE: Final = 1_000
"""URLs or pages that the desk takes in one turn of its loop."""
PIECE_BYTES: Final = 1 << 20
ANSWERS: Final = 60.0
"""Seconds that the desk may take to answer."""
PATIENCE: Final = 60.0
"""Seconds for which a crawl may be starting or stopping."""
POLL: Final = 0.2

T = TypeVar("T")
Progress = Callable[[float], None]
"""Called with the part that is delivered, from 0 to 1."""


class Delivered(NamedTuple):
    """How an order arrived."""

    running: bool
    """A crawl has carried it out; False: the next run will."""
    carried: dict[str, int]
    """What came of it, in pages (`crawler/orders.py`); empty if no crawl runs."""


def deliver(folder: Path, key: str, items: Sequence[Any], progress: Progress = lambda part: None) -> Delivered:
    """Delivers an order; `key` is "add" (URLs) or "again" (numbers of pages)."""
    shard = shard_folder(folder)
    carried = hand_over(shard, lambda: to_desk(shard, key, items, progress), lambda: orders.leave(shard, key, items))
    return Delivered(carried is not None, carried or {})


def hand_over(shard: Path, give: Callable[[], T | None], leave: Callable[[], None]) -> T | None:
    """What the crawl that runs has made of it; None if none runs: then it is left for the next run. `give` returns None
    if no crawl runs, or it ends."""
    until = time.monotonic() + PATIENCE
    while True:
        answer = give()
        if answer is not None:
            return answer
        try:
            held = lock.take(shard)
        except LockedError as error:
            if time.monotonic() > until:
                raise GossamerError(
                    f"{error.message}, and does not answer: it may be starting or stopping, or its folder cannot hold"
                    " a socket",
                    f"Try again later, or stop it first: gossamer stop {shard.parent}",
                ) from error
            time.sleep(POLL)
            continue
        try:
            leave()
        finally:
            held.release()
        return None


def to_desk(
    shard: Path, key: str, items: Sequence[Any], progress: Progress = lambda part: None
) -> dict[str, int] | None:
    """What the running crawl has made of it; None if no crawl runs, or it ends."""
    total: dict[str, int] = {}
    for end, piece in _pieces(items):
        answer = asked(shard, {key: piece})
        if answer is None:
            return None
        total = {name: total.get(name, 0) + count for name, count in answer.items()}
        progress(end / len(items))
    return None if asked(shard, {"commit": True}) is None else total


def _pieces(items: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Pieces that a question can hold, each with the number of items up to its end."""
    piece: list[Any] = []
    size = 0
    for number, item in enumerate(items, 1):
        piece.append(item)
        size += len(str(item)) + 4
        if len(piece) == PIECE or size > PIECE_BYTES or number == len(items):
            yield number, piece
            piece, size = [], 0


def asked(shard: Path, question: dict[str, Any]) -> dict[str, Any] | None:
    """The answer of the crawl that runs; None if none runs, or it ends. An error if it refuses."""
    answer = ask(shard, question, ANSWERS)
    if answer is None or answer.get("error") == ENDING:
        return None
    if "refused" in answer:
        raise UsageError(str(answer["refused"]), str(answer["cure"]))
    if "error" in answer:
        cure = "Is the crawl of this version of Gossamer? If not, stop and resume it."
        raise GossamerError(f"the crawl refuses the order: {answer['error']}", cure)
    return answer
