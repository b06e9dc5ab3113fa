"""Orders that stay (`collection/steering.py`), given from another process, and what was given so far."""

from __future__ import annotations

import getpass
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gossamer import config
from gossamer.base.errors import UsageError
from gossamer.collection import orders
from gossamer.collection.journal.order import Order
from gossamer.collection.layout import SETTINGS, require_collection, shard_folder
from gossamer.collection.runs import settings_of_last_run
from gossamer.collection.steering import KINDS, InForce, read
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.steer.deliver import asked, hand_over
from gossamer.urls import Scope

WAITS = "when the next run begins"


class Ordered(NamedTuple):
    """What became of an order."""

    number: int | None
    """None: it waits for the next run."""
    holds: str
    """From when on: `now`, `from the next run on`, or `when the next run begins`."""
    words: str
    """Why not now, if so."""


class Row(NamedTuple):
    """An order that was given."""

    number: int
    """0: it waits for the next run."""
    time: float
    who: str
    name: str
    target: str
    value: str
    in_force: bool


def order(folder: Path, name: str, words: Sequence[str], via: str, key: str = "") -> Ordered:
    """Gives an order to the crawl that runs, or leaves it for the next run. `via`: how it is given, in words; `key`:
    what comes again under the same key is not carried out again."""
    require_collection(folder)
    scope = Scope.of(settings_of_last_run(folder).seeder)
    target, value = read(name, words, scope)
    who, key = f"{user()} by {via}", key or secrets.token_hex(8)
    shard = shard_folder(folder)

    def to_desk() -> dict[str, Any] | None:
        said = asked(shard, {"order": {"key": key, "who": who, "name": name, "words": list(words)}})
        return None if said is None or asked(shard, {"commit": True}) is None else said

    def leave() -> None:
        if KINDS[name].once and name == "stop":
            raise UsageError(f"no crawl runs in {folder}", "There is nothing to stop.")
        orders.leave(shard, "steer", [[key, who, name, target, value]])

    answer = hand_over(shard, to_desk, leave)
    if answer is None:
        return Ordered(None, WAITS, "no crawl runs")
    return Ordered(int(answer["number"]), str(answer["holds"]), str(answer["words"]))


def user() -> str:
    """The name of this user."""
    try:
        return getpass.getuser().encode("ascii", "replace").decode()
    except (KeyError, OSError):
        return "somebody"


def ordered(database: Database) -> list[Row]:
    """All orders that were given, the oldest first."""
    found = database.run(
        "select number, epoch(time), who, name, target, value from main.orders order by number", (), ("orders",)
    )
    in_force = InForce()
    rows = [
        (Order(number, "", who, name, target or "", value or ""), time)
        for number, time, who, name, target, value in found
    ]
    for each, time in rows:
        in_force.take(each, time)
    holds = {given.order.number for given in in_force.all()}
    return [
        Row(each.number, time, each.who, each.name, each.target, each.value, each.number in holds)
        for each, time in rows
    ]


def orders_of(folder: Path) -> list[Row]:
    """The same of a collection, also while its crawl runs: what is committed."""
    return ordered(Database(find(folder, fresh=True), config.load(folder / SETTINGS)))


def waiting_of(folder: Path) -> list[Row]:
    """The orders that wait for the next run."""
    left = orders.waiting(shard_folder(folder)).steer
    return [Row(0, 0.0, who, name, target, value, False) for _, who, name, target, value in left]
