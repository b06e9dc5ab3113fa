"""Orders that stay: what a user has told a crawl while it ran, such as to pause, or to leave a site alone.

`KINDS` is the table of all of them: the command line, the desk's socket, the HTTP API and the dashboard are made from
it. An order is a text of the journal (`Effects.orders`). The desk holds what is in force (`desk/orders.py`), and brings
the crawl in line with it (`crawler/steering.py`). Orders to do something once, to add a page or to ask for it again,
are others (`collection/orders.py`): they leave pages in a state, and nothing that could be undone.

In force is, of each kind and target, the last order that was neither undone nor ended. So what is undone gives way to
what was ordered before it.

Invariants, each a test of the same name: an order is in force until it is undone, ended or replaced.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from gossamer import urls
from gossamer.base.errors import UsageError
from gossamer.base.units import Duration, Speed
from gossamer.collection.journal.order import Order
from gossamer.config import override
from gossamer.config.accepted import SCORES, check
from gossamer.config.settings import Settings
from gossamer.rank.names import LINK_SCORES
from gossamer.urls import Scope

LONGEST: Final = 255
"""Characters of each text of an order."""
KEPT: Final = 16
"""Orders of one kind and target that can come back when later ones are undone."""
KEYS: Final = 1_000
"""Orders that are recognised when they come again."""


class Given(NamedTuple):
    """An order, and the wall time when it was given."""

    order: Order
    time: float


# --- the table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Argument:
    """What an order says besides its name."""

    name: str
    sentence: str
    read: Callable[[str, Scope], str]
    """The text as orders hold it. ValueError says what is accepted."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the table."""

    name: str
    sentence: str
    target: Argument | None = None
    value: Argument | None = None
    setting: str = ""
    """The setting in whose place its value stands."""
    ends: tuple[str, ...] = ()
    """Kinds whose orders, to the same target, it ends. It does not stay itself."""
    once: bool = False
    """It does not stay."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return tuple(each for each in (self.target, self.value) if each is not None)

    @property
    def usage(self) -> str:
        return " ".join((self.name, *(each.name.upper() for each in self.arguments)))


def _site(text: str, scope: Scope) -> str:
    found = scope.canonical(f"http://{text}/")
    if found is None or not text or set("/@?#: ") & set(text):
        raise ValueError(f"{text!r} is not the name of a site: write it like example.org")
    return urls.host(found)


def _count(text: str, _: Scope) -> str:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) == 0:
        raise ValueError(f"{text!r} is not accepted: write a whole number from 1 on")
    return str(int(text))


def _time(text: str, _: Scope) -> str:
    found = Duration.parse(text)
    if found <= 0:
        raise ValueError(f"{text!r} is not accepted: write a time longer than 0, for example 1min30s")
    return str(found)


def _speed(text: str, _: Scope) -> str:
    return str(Speed.parse(text))


def _own_score(text: str, _: Scope) -> str:
    if text in LINK_SCORES:
        raise ValueError(f"{text} is computed with its weight: change manager.weights in crawl.toml, and resume")
    if text not in SCORES:
        raise ValueError(f"{text!r} is no score: one of {', '.join(s for s in SCORES if s not in LINK_SCORES)}")
    return text


def _weight(text: str, _: Scope) -> str:
    try:
        check("manager.weights", {"completed": float(text), "depth": 1.0})
    except ValueError as error:
        raise ValueError(f"{text!r} is not accepted: write a number from 0 to 1000") from error
    return repr(float(text))


_SITE: Final = Argument("site", "Name of a site, like example.org; it need not be known yet.", _site)
_TIME: Final = Argument("time", "A time, like 1min30s.", _time)
_COUNT: Final = Argument("count", "A whole number.", _count)
OF_SITES: Final = ("block", "slow", "prefer")
# fmt: off
_ROWS: Final = (
    Kind("pause", "Request nothing, until `go`."),
    Kind("go", "Go on after `pause`.", ends=("pause",)),
    Kind("stop", "End the run cleanly.", once=True),
    Kind("pages", "End each run when it has stored so many pages.", value=_COUNT),
    Kind("time", "End each run after this time.", value=_TIME),
    Kind("connections", "Have at most so many requests under way.", value=_COUNT, setting="harvester.connections"),
    Kind("bandwidth", "Use at most this bandwidth, at all hours; 0: no limit.",
         value=Argument("speed", "Bytes per second, like 2MB/s.", _speed), setting="harvester.bandwidth"),
    Kind("workers", "Have so many worker processes.", value=_COUNT, setting="harvester.workers"),
    Kind("weight", "Give a score this weight in the value of pages.",
         target=Argument("score", "opic, completed, depth, static, pending or boost.", _own_score),
         value=Argument("weight", "A number; 0: it does not count.", _weight)),
    Kind("block", "Request nothing from a site.", target=_SITE),
    Kind("slow", "Let at least this time pass between two requests to a site.", target=_SITE, value=_TIME),
    Kind("prefer", "Plan pages of a site before all others.", target=_SITE),
    Kind("free", "End all orders about a site.", target=_SITE, ends=OF_SITES),
    Kind("undo", "Undo an order: what was in force before it holds again.",
         value=Argument("number", "Number of the order.", _count), once=True),
)
# fmt: on
KINDS: Final = {kind.name: kind for kind in _ROWS}
UNDO: Final = "undo"


def read(name: str, words: Sequence[str], scope: Scope) -> tuple[str, str]:
    """Target and value of an order, checked. UsageError says what is accepted."""
    kind = KINDS.get(name)
    if kind is None:
        raise UsageError(f"{name!r} is no order", f"Orders: {', '.join(KINDS)}.")
    if len(words) != len(kind.arguments):
        raise UsageError(
            f"{name}: {' and '.join(a.name for a in kind.arguments) or 'nothing'} expected",
            f"Write it like: {kind.usage}",
        )
    found = []
    for argument, word in zip(kind.arguments, words, strict=True):
        try:
            text = argument.read(word.strip(), scope)
        except ValueError as error:
            raise UsageError(f"{name}: {error}", f"Write it like: {kind.usage}") from error
        if len(text) > LONGEST:
            raise UsageError(f"{name}: {argument.name} is too long", f"At most {LONGEST} characters.")
        found.append(text)
    target = found.pop(0) if kind.target is not None else ""
    return target, found[0] if found else ""


# --- what is in force -------------------------------------------------------------------------------------------------


@dataclass
class InForce:
    """The orders that stay, and their numbers. It changes by `take` alone."""

    last: int = 0
    """Number of the last order."""
    _slots: dict[tuple[str, str], list[Given]] = field(default_factory=dict)
    """By kind and target: the last one is in force."""
    _keys: dict[str, int] = field(default_factory=dict)

    def take(self, order: Order, wall: float) -> None:
        """An order was given."""
        kind = KINDS.get(order.name)
        self.last = max(self.last, order.number)
        self._keys[order.key] = order.number
        while len(self._keys) > KEYS:
            del self._keys[next(iter(self._keys))]
        if kind is None:  # of a newer version
            return
        if order.name == UNDO:
            self._undo(int(order.value))
        for name in kind.ends:
            self._slots.pop((name, order.target), None)
        if not (kind.ends or kind.once):
            slot = self._slots.setdefault((order.name, order.target), [])
            slot.append(Given(order, wall))
            del slot[:-KEPT]

    def _undo(self, number: int) -> None:
        for key, slot in list(self._slots.items()):
            left = [given for given in slot if given.order.number != number]
            if left:
                self._slots[key] = left
            else:
                del self._slots[key]

    def number_of(self, key: str) -> int | None:
        """Number of the order that was given under this key."""
        return self._keys.get(key)

    def given(self, number: int) -> Given | None:
        """The order of this number, if it can be undone."""
        return next((given for slot in self._slots.values() for given in slot if given.order.number == number), None)

    def all(self) -> list[Given]:
        """What is in force, in the order in which it was given."""
        return sorted((slot[-1] for slot in self._slots.values()), key=lambda given: given.order.number)

    def of(self, name: str, target: str = "") -> Given | None:
        """The order of this kind to this target."""
        slot = self._slots.get((name, target))
        return slot[-1] if slot else None

    def about(self, site: str) -> list[Given]:
        """The orders that concern a site, those to the whole crawl too that keep it from being requested."""
        return [each for each in self.all() if each.order.name == "pause" or each.order.target == site]

    def value_of(self, name: str) -> str | None:
        found = self.of(name)
        return None if found is None else found.order.value

    def targets(self, name: str) -> dict[str, str]:
        """The targets of a kind, with the value of each."""
        return {given.order.target: given.order.value for given in self.all() if given.order.name == name}

    def settings(self, given: Settings) -> Settings:
        """The settings with what was ordered in their place."""
        changes = [
            f"{KINDS[each.order.name].setting}={each.order.value}"
            for each in self.all()
            if KINDS[each.order.name].setting
        ]
        if self.of("bandwidth") is not None:
            changes.append("harvester.bandwidth_by_hour={}")
        weights = given.manager.weights | {name: float(value) for name, value in self.targets("weight").items()}
        found = override(given, changes)
        return replace(found, manager=replace(found.manager, weights=weights)) if any(weights.values()) else found

    def to_json(self) -> dict[str, Any]:
        slots = [[[*given.order, given.time] for given in slot] for slot in self._slots.values()]
        return {"last": self.last, "slots": slots, "keys": self._keys}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> InForce:
        """Of an image of an earlier version: nothing."""
        slots = [[Given(Order(*row[:-1]), float(row[-1])) for row in slot] for slot in json.get("slots", ())]
        by = {(slot[0].order.name, slot[0].order.target): slot for slot in slots}
        return cls(int(json.get("last", 0)), by, dict(json.get("keys", {})))


def told(given: Iterable[Given]) -> dict[str, str]:
    """Orders in words: by what was ordered, who gave it and when."""
    return {str(each.order): f"(order {each.order.number}, {each.order.who}, {since(each.time)})" for each in given}


def since(wall: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall))
