"""Orders of the user to a crawl: URLs to add, pages to request again, pages and sites to forget (`forgetting.py`), and
orders that stay (`steering.py`). They go through the journal, like all else.

A crawl that runs takes them from its socket, one piece per turn of the loop. What was left for it while it did not run
(`collection/orders.py`) it carries out at its start.

Invariants, each a test of the same name: an acknowledged order survives a kill; an order given twice is as one given
once; robots.txt is never overruled.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array
from gossamer.base.errors import UsageError
from gossamer.base.model import NONE, Reason, State, VerdictFlag
from gossamer.collection.forgetting.tombstones import tombstone_of
from gossamer.collection.journal.effects import Verdict
from gossamer.collection.orders import Orders, carried_out, waiting
from gossamer.crawler.forgetting import keep_out
from gossamer.crawler.loop import Crawl
from gossamer.crawler.steering import Steering
from gossamer.observe.socket import ENDING
from gossamer.seeder.seeds import Seeds, read_seeds

Said = dict[str, Any]
PATIENCE: Final = 50.0
"""Seconds that a client waits for its order, at most: the loop may be stopping."""
_DONE, _EXCLUDED, _WAITING, _ROBOTS = int(State.DONE), int(State.EXCLUDED), int(State.WAITING), int(Reason.ROBOTS)


class Carried(NamedTuple):
    """What came of an order, in pages."""

    new: int = 0
    opened: int = 0
    """Pages that were done, waiting or excluded, and are requested again."""
    open: int = 0
    """Pages that were pending already."""
    forbidden: int = 0
    """Pages that robots.txt forbids."""
    excluded: int = 0
    """Pages that are excluded for another reason."""
    full: int = 0
    """Not taken: the site or the collection is full."""
    unusable: int = 0
    """No URLs of pages, or not known by this number."""
    forgotten: int = 0
    """Not taken: the page or its site was forgotten."""

    def __add__(self, other: Carried) -> Carried:  # type: ignore[override]
        return Carried(*map(sum, zip(self, other, strict=True)))


def add(crawl: Crawl, seeds: Seeds) -> Carried:
    """Plants seeds. Those that are known are requested again. All of them go before other pages of their sites."""
    desk = crawl.desk
    texts = [(desk.scope.canonical(url, None) or url).encode() for url in seeds.urls]
    keys = np.array([urls.fingerprint(text, desk.seed) for text in texts], np.uint64)
    pages = desk.columns.known.find(keys)
    pages = np.unique(pages[pages != NONE])
    shut = pages[desk.columns.page.state[pages] == _EXCLUDED]
    planted = crawl.plant(list(seeds.urls))
    freed = int((desk.columns.page.state[shut] != _EXCLUDED).sum())
    asked = again(crawl, pages)
    found = desk.columns.known.find(keys)
    crawl.planner.want(found[found != NONE].tolist())
    return asked._replace(
        new=planted.new,
        opened=asked.opened + freed,
        open=asked.open - freed,
        full=len(planted.full),
        unusable=len(seeds.complaints),
        forgotten=len(planted.forgotten),
    )


def again(crawl: Crawl, numbers: Sequence[int] | Array) -> Carried:
    """Opens pages that are done, unless robots.txt forbids them, and those that wait for their next try. When a site
    may be requested is as before: its back-off holds, and the Retry-After that it sent."""
    columns = crawl.desk.columns.page
    given = np.unique(np.asarray(numbers, np.int64))
    pages = given[(given >= 0) & (given < columns.count)]
    state, reason = columns.state[pages], columns.reason[pages]
    done, shut, waits = state == _DONE, state == _EXCLUDED, state == _WAITING
    ends, tried = pages[done & (reason == 0)].tolist(), pages[waits].tolist()
    crawl.judge_again([Verdict(page, State.PENDING, Reason.NONE, VerdictFlag.AGAIN) for page in ends])
    crawl.judge_again([verdict for page in tried for verdict in _without_its_wait(page)])
    by_robots = (shut & (reason == _ROBOTS)) | (done & (reason != 0))
    return Carried(
        opened=len(ends) + len(tried),
        open=int((~done & ~shut & ~waits).sum()),
        forbidden=int(by_robots.sum()),
        excluded=int((shut & ~by_robots).sum()),
        unusable=len(given) - len(pages),
    )


def _without_its_wait(page: int) -> tuple[Verdict, Verdict]:
    """Makes a page pending that waits for its next try. Of two verdicts of a tick, the one that opens counts."""
    return Verdict(page, State.EXCLUDED, Reason.REJECTED, 0), Verdict(page, State.PENDING, Reason.NONE, 0)


def carry_out(crawl: Crawl) -> tuple[Orders, Carried]:
    """Carries out what was left for this run, before its first request; returns when that is committed."""
    shard = crawl.store.shard
    left = waiting(shard)
    if left == Orders():
        return left, Carried()
    seeds = read_seeds(left.add, (), crawl.desk.settings.seeder)
    carried = add(crawl, seeds) + again(crawl, left.again)
    crawl.store.commit()
    carried_out(shard)
    return left, carried


@dataclass(slots=True)
class _Order:
    carry_out: Callable[[], Said] | None
    """None: the order is to commit."""
    answer: Said = field(default_factory=lambda: {"error": ENDING})
    answered: threading.Event = field(default_factory=threading.Event)

    def end(self, answer: Said | None = None) -> None:
        """Without an answer: the crawl ends before it is carried out."""
        self.answer = self.answer if answer is None else answer
        self.answered.set()


class Inbox:
    """Orders that come in by the socket, from its thread, and are carried out in the loop, which calls `turn`."""

    def __init__(self, crawl: Crawl, steering: Steering) -> None:
        self._crawl, self._steering = crawl, steering
        self._orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        self._uncommitted: list[tuple[int, _Order]] = []
        """Orders that wait for a commit, by its number."""
        self._closed = False

    def ask(self, question: Said) -> Said:
        """Called by the thread of the socket: the answer, once the loop has carried out the order."""
        order = _Order(self._understood(question))
        self._orders.put(order)
        self._crawl.bell.ring()
        if not self._closed:
            order.answered.wait(PATIENCE)
        return order.answer

    def _understood(self, question: Said) -> Callable[[], Said] | None:
        """What the loop has to do. All that may be wrong with a question is found here, not in the loop, but for what
        `Steering.give` refuses."""
        crawl = self._crawl
        if "add" in question:
            seeds = read_seeds([str(url) for url in question["add"]], (), crawl.desk.settings.seeder)
            return lambda: add(crawl, seeds)._asdict()
        if "again" in question:
            pages = np.array(question["again"], np.int64)
            return lambda: again(crawl, pages)._asdict()
        if "forget" in question:
            tombstones = [tombstone_of(line) for line in question["forget"]]
            return lambda: keep_out(crawl, tombstones)._asdict()
        return partial(self._steer, dict(question["order"])) if "order" in question else None

    def _steer(self, said: Said) -> Said:
        try:
            return self._steering.give(said)
        except UsageError as error:
            return {"refused": error.message, "cure": error.cure}

    def turn(self) -> None:
        """Carries out one order, and tells those who wait for a commit that it has ended."""
        self._steering.turn()
        for commit, order in self._uncommitted:
            if self._crawl.store.commits >= commit:
                order.end({"committed": True})
        self._uncommitted = [each for each in self._uncommitted if not each[1].answered.is_set()]
        if self._orders.empty():
            return
        order = self._orders.get()
        if order.carry_out is None:
            self._uncommitted.append((self._crawl.store.commit_soon(), order))
        else:
            order.end(order.carry_out())
        self._crawl.bell.ring()

    def close(self) -> None:
        """Carries out nothing more, and answers those who wait."""
        self._closed = True
        while not self._orders.empty():
            self._orders.get().end()
        for _, order in self._uncommitted:
            order.end()
