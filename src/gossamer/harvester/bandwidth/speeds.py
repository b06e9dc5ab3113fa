"""Predicted speeds of addresses: B(address, hour, working day or holiday), 48 numbers per address (003, corrected).

The speed of a visit is M = bytes / seconds from the start of the request to its end: latency counts. Nodes are at full
hours of local time. A prediction interpolates between two nodes; a measurement at minute t moves each node of its kind
of day,

    B(h) += alpha(t - 60 h) (M - B(h))        alpha(y) = K exp(-y^2 / SIGMA^2), y wrapped at midnight

Ours, where 003 is silent: the first visit of an address sets all 48 nodes, as nothing is known about other hours. An
address without a visit is predicted like a *similar* one, in the same /24 (or /48) or the former address of its site;
without that, like `EVERYONE`, a row that learns from all visits. A transfer that we throttled ourselves is a lower
bound of the server's speed.

Invariants, each a property test of the same name: a node stays between its old value and the measurement; a throttled
transfer never lowers a node; predictions are continuous over the day and wrap at midnight; an address that answers at
one speed is predicted at that speed; only nodes of the same kind of day move.

Cost: 192 bytes per requested address, and about 0.2 µs per visit. Plain means would be enough to predict the next hour;
the 48 nodes are for crawls of days.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F32, F64, U32, Array
from gossamer.base.compiled import allocating, i64, njit
from gossamer.base.model import NONE, Ask, VisitFlag, Visits
from gossamer.collection.image import Image, Parts
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Desk, Part
from gossamer.desk.places import Places
from gossamer.desk.table import reserve
from gossamer.harvester.bandwidth.schedule import Hours, Moment
from gossamer.harvester.bandwidth.shown import SHOWN

K: Final = 0.3
SIGMA: Final = 120.0
"""Width of the weights, in minutes."""
HOURS: Final = 24
NODES: Final = 2 * HOURS
EVERYONE: Final = 0
"""The row of all addresses together; the row of an address is its number plus one."""
_EVERYONE: Final = i64(EVERYONE)
GUESS: Final = 50_000.0
"""Bytes per second, until something is measured."""
_DAY: Final = 1440.0
_NONE: Final = np.uint32(NONE)
_FURTHER: Final = 8
"""Most steps from an address to a similar one, and on to the next."""
_HELD, _ROBOTS = int(VisitFlag.HELD), int(Ask.ROBOTS)


class Speeds:
    """The speeds of all addresses."""

    def __init__(self, addresses: int) -> None:
        """`addresses` is the greatest number of addresses."""
        self.rows: F32 = reserve((addresses + 1) * NODES, "<f4")[0].reshape(addresses + 1, NODES)
        self._like: U32 = reserve(addresses + 1, "<u4")[0]
        """By row: the row of a similar address; 0: none."""
        self._networks: dict[bytes, int] = {}
        """Row of the last new address by network."""

    def met(self, address: int, packed: bytes) -> None:
        """A new address gets this number: forgets the speeds of the former address with the number."""
        row, network = address + 1, _network(packed)
        if self.rows[row, 0]:
            self.rows[row] = 0.0
        self._like[row] = self._networks.get(network, 0) if self._networks.get(network, 0) != row else 0
        self._networks[network] = row

    def moved(self, before: int, address: int) -> None:
        """A site has a new address: it is predicted like the old one."""
        if NONE not in (before, address) and before != address and not self._like[address + 1]:
            self._like[address + 1] = before + 1

    def learn_visits(self, addresses: U32, visits: Visits, at: Moment) -> None:
        """Learns from all visits with bytes except robots.txt: it is so short that its time is latency, and it comes
        first."""
        learn_visits(self.rows, addresses, visits, at.minute, int(at.holiday))

    def predict(self, addresses: U32, at: Moment) -> F64:
        """Predicted bytes per second of a request to each of these addresses."""
        out = np.empty(len(addresses))
        predict(self.rows, self._like, addresses, at.minute, int(at.holiday), out)
        return out


def _network(packed: bytes) -> bytes:
    """The network of an address: /24 of IPv4 (in its IPv6 form), /48 of IPv6."""
    return packed[:15] if packed[:12] == bytes(10) + b"\xff\xff" else packed[:6]


@allocating
def learn(rows: F32, addresses: U32, received: Array, seconds: F64, held: Array, minute: float, day: int) -> None:
    """Learns from measurements, one per address. If an address is NONE, only the row `EVERYONE` learns."""
    alpha = np.empty(HOURS)
    for hour in range(HOURS):
        y = abs(minute - 60.0 * hour)
        y = min(y, _DAY - y)
        alpha[hour] = K * np.exp(-(y * y) / (SIGMA * SIGMA))
    for i in range(len(addresses)):
        if received[i] > 0 and seconds[i] > 0:
            measured = received[i] / seconds[i]
            _learn_row(rows, _EVERYONE, measured, held[i], alpha, day)
            if addresses[i] != _NONE:
                _learn_row(rows, i64(addresses[i]) + 1, measured, held[i], alpha, day)


@allocating
def learn_visits(rows: F32, addresses: U32, visits: Visits, minute: float, day: int) -> None:
    n = len(visits)
    received, seconds, held = np.zeros(n, np.uint32), np.empty(n), np.empty(n, np.bool_)
    for i in range(n):
        visit = visits[i]
        if visit.ask != _ROBOTS:
            received[i] = visit.received
        seconds[i], held[i] = visit.end - visit.start, visit.flags & _HELD != 0
    learn(rows, addresses, received, seconds, held, minute, day)


@njit
def _learn_row(rows: F32, row: int, measured: float, held: bool, alpha: F64, day: int) -> None:
    if rows[row, 0] == 0:
        rows[row, :] = measured
        return
    for hour in range(HOURS):
        before = rows[row, day * HOURS + hour]
        if not (held and measured < before):
            rows[row, day * HOURS + hour] = before + alpha[hour] * (measured - before)


@njit
def predict(rows: F32, like: U32, addresses: U32, minute: float, day: int, out: F64) -> None:
    first = int(minute // 60) % HOURS
    share = (minute - 60.0 * first) / 60.0
    for i in range(len(addresses)):
        row = int(addresses[i]) + 1 if addresses[i] != _NONE else EVERYONE
        for _ in range(_FURTHER):
            if rows[row, 0] != 0 or row == EVERYONE:
                break
            row = like[row]
        if rows[row, 0] == 0:
            row = EVERYONE
        if rows[row, 0] == 0:
            out[i] = GUESS
        else:
            a, b = rows[row, day * HOURS + first], rows[row, day * HOURS + (first + 1) % HOURS]
            out[i] = a + share * (b - a)


class ServerSpeeds(Part):
    """How fast each address answers, by the hour, and what hour it is."""

    name = "speeds"
    needs = ("speeds",)
    shown = SHOWN

    def __init__(self, desk: Desk) -> None:
        self._places = desk[Places]
        self.hours = Hours.of(desk.settings.harvester)
        self.speeds = Speeds(self._places.max_addresses)

    def arrays(self) -> dict[str, Array | Parts]:
        return {"speeds": self.speeds.rows[: len(self._places.packed) + 1].reshape(-1)}

    def load(self, image: Image) -> None:
        for number, packed in enumerate(self._places.packed):
            self.speeds.met(number, packed)
        values = image.array("speeds")
        self.speeds.rows.reshape(-1)[: len(values)] = values


def learn_speeds(desk: Desk, applied: Applied) -> None:
    part = desk[ServerSpeeds]
    addresses = desk.columns.site.address[applied.visits["site"]]
    part.speeds.learn_visits(addresses, applied.visits, part.hours.at(applied.effects.wall))
