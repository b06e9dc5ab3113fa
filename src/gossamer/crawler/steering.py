"""Brings a crawl in line with the orders in force (`collection/steering.py`), and gives new ones: in the loop.

An order goes through the journal, like all else: a tick with it is appended and applied, and acknowledged once that is
committed. What follows from it is volatile, and follows from the orders in force alone, after a start as after an
order.

What an order says stands in the place of a setting, or of an option of the run. Some of that is built into the run when
it begins: then the order holds from the next run on, and the answer says so. An option of the run (`--pages`, `--time`)
that was given after the order goes before it.

Invariants, each a test of the same name: an order survives a kill; what is undone is as if it had not been ordered;
no order makes a wait shorter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from gossamer.base.clock import Clock
from gossamer.base.ending import Ending
from gossamer.base.errors import UsageError
from gossamer.base.model import Texts
from gossamer.base.units import Duration
from gossamer.collection.journal.order import Order
from gossamer.collection.orders import waiting
from gossamer.collection.steering import UNDO, Given, read
from gossamer.collection.store import Store
from gossamer.config.settings import Settings
from gossamer.crawler.apply import apply
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.desk.desk import Desk
from gossamer.desk.orders import Orders
from gossamer.harvester.bandwidth.schedule import Hours
from gossamer.harvester.bandwidth.speeds import ServerSpeeds

Said = dict[str, Any]
NOW: Final = "now"
NEXT_RUN: Final = "from the next run on"
NO_MORE: Final = "no more"


def take_in(store: Store, desk: Desk, clock: Clock) -> Settings:
    """Before anything is built from the settings: takes in the orders that were left for this run, and puts what is
    ordered in the place of settings. Returns the settings without orders."""
    in_force, texts = desk[Orders].in_force, list[bytes]()
    for key, who, name, target, value in waiting(store.shard).steer:
        if in_force.number_of(key) is None:
            texts.append(Order(in_force.last + 1 + len(texts), key, who, name, target, value).encode())
    if texts:
        effects = desk.effects(clock.wall(), clock.monotonic())
        effects.orders = Texts.join(texts, "<u2")
        store.append(effects)
        apply(desk, effects)
    given = desk.settings
    desk.settings = in_force.settings(given)
    desk[ServerSpeeds].hours = Hours.of(desk.settings.harvester)
    return given


class Steering:
    """The orders of a crawl that runs. Used by its loop alone."""

    def __init__(self, crawl: Crawl, given: Settings) -> None:
        """`given`: the settings of the run, without orders."""
        self._crawl, self._given = crawl, given
        self._part = crawl.desk[Orders]
        self._options, self._before = crawl.bounds, self._part.in_force.last
        """Of the run; and the number of the last order before it."""
        self._connections = crawl.desk.settings.harvester.connections
        """What the run began with: its workers have no room for more."""
        self.turn()

    def turn(self) -> None:
        """Once per turn of the loop: follows the orders, if they have changed, or a site that they name is new."""
        if self._part.changed:
            self._part.changed = False
            self._follow()

    def give(self, said: Said) -> Said:
        """Gives an order: its number, and from when on it holds. UsageError if that makes no sense."""
        name = str(said["name"])
        target, value = read(name, [str(word) for word in said["words"]], self._crawl.desk.scope)
        if name == "weight" and (policy := self._given.manager.policy) != "value":
            raise UsageError(f"weights do not count: manager.policy is {policy!r}", 'They count with policy = "value".')
        in_force, key = self._part.in_force, str(said["key"])
        if (number := in_force.number_of(key)) is not None:
            holds = NO_MORE if in_force.given(number) is None else NOW
            return {"number": number, "holds": holds, "words": "it was given before, under the same key"}
        if (same := in_force.of(name, target)) is not None and same.order.value == value:
            return {"number": same.order.number, "holds": NOW, "words": "it is in force already"}
        undone = in_force.given(int(value)) if name == UNDO else None
        if name == UNDO and undone is None:
            raise UsageError(f"order {value} is not in force", "The list of orders says which are: gossamer steer DIR")
        order = Order(in_force.last + 1, key, str(said["who"]), name, target, value)
        effects = self._crawl.effects()
        effects.orders = Texts.join([order.encode()], "<u2")
        self._crawl.commit(effects)
        if name == "stop":
            self._crawl.stop = self._crawl.stop or Ending.STOPPED
        self.turn()
        holds, words = self._holds(order if undone is None else undone.order)
        return {"number": order.number, "holds": holds, "words": words}

    def _holds(self, order: Order) -> tuple[str, str]:
        """From when on an order holds, and why not sooner."""
        if order.name == "workers":
            return NEXT_RUN, "workers are started when a run begins"
        if order.name == "bandwidth" and self._crawl.harvest.bandwidth_use() is None:
            return NEXT_RUN, "this run began without a limit of bandwidth, so its workers do not count bytes"
        if order.name == "connections" and int(order.value) > self._connections:
            return NEXT_RUN, f"this run began with {self._connections}, and goes up to these"
        return NOW, ""

    def _follow(self) -> None:
        crawl, part = self._crawl, self._part
        desk, in_force = crawl.desk, part.in_force
        desk.settings = in_force.settings(self._given)
        if crawl.harvest.bandwidth_use() is not None:
            desk[ServerSpeeds].hours = Hours.of(desk.settings.harvester)
        crawl.bounds = self._bounds()
        spaced = {site: float(Duration.parse(value)) for site, value in part.sites("slow").items()}
        crawl.harvest.space(spaced)
        crawl.planner.follow_orders(part.sites("prefer"))

    def _bounds(self) -> Bounds:
        """The options of the run, with what is ordered instead."""
        options, in_force = self._options, self._part.in_force
        pages, seconds = in_force.of("pages"), in_force.of("time")
        connections = "0" if in_force.of("pause") else in_force.value_of("connections")
        return replace(
            options,
            pages=int(pages.order.value) if pages and self._prevails(pages, options.pages) else options.pages,
            seconds=Duration.parse(seconds.order.value)
            if seconds and self._prevails(seconds, options.seconds)
            else options.seconds,
            connections=None if connections is None else int(connections),
        )

    def _prevails(self, given: Given, option: float | None) -> bool:
        return option is None or given.order.number > self._before
