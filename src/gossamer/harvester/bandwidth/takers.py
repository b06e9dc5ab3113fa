"""Addresses that only take: what an address gives for the bytes that it takes, and the share of those that give little.

A server may send what is no page: framing without end, answers that break off, bodies of another type. Within a
bandwidth each such byte is a byte of a page less. So each address has a *yield*: the part of its bytes that was of use.
An address whose yield is below `LEAST` is a *taker*. Takers get what others leave: while bandwidth is scarce and others
want it (`Bandwidth`), all takers together get at most `SHARE` of the limit, in bytes that they took, however many
they are. Those that have to wait are asked later, and do not stand in the way of the search for a request that fits.

Of use is the body of an answer, with `ENVELOPE` bytes around it; after a failure, nothing is. An address gets back what
it has lost by what it gives: `MEMORY` bytes count, the older ones less and less.

Invariants, each a test of the same name: an address that gives what it takes is no taker; a taker is one no more after
it has given enough; takers together take no more than their share while others wait; without others takers wait for
nobody.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.model import NONE, Outcome, Visits
from gossamer.desk.table import reserve

F32 = npt.NDArray[np.float32]
Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

LEAST: Final = 0.5
SHARE: Final = 0.05
"""Part of the limit that takers get while others wait."""
ENVELOPE: Final = 8_192.0
"""Bytes around a body that are no waste: head, handshake, framing."""
DOUBT: Final = 32_768.0
"""Bytes that an address is believed to have given before it was asked: less than that of waste makes no taker."""
MEMORY: Final = 2_000_000.0
CHARGE: Final = 131_072.0
"""Bytes that a request to a taker counts for until its answer is there."""
AGAIN: Final = 1.0
LONGEST: Final = 60.0
"""Seconds until a taker that has to wait is looked at again, at least and at most."""
_FAILED: Final = np.isin(
    np.arange(256),
    [
        int(outcome)
        for outcome in (
            Outcome.CONNECT_FAILED,
            Outcome.TIMED_OUT,
            Outcome.TOO_SLOW,
            Outcome.BROKEN_OFF,
            Outcome.TLS_FAILED,
            Outcome.PROTOCOL_ERROR,
            Outcome.BAD_ENCODING,
            Outcome.RETURNED,
        )
    ],
)


def waste(visits: Visits) -> Array:
    """Bytes of each visit that were of no use."""
    received = visits["received"].astype(np.float64)
    used = np.where(_FAILED[visits["outcome"]], 0.0, visits["length"] + ENVELOPE)
    return np.maximum(0.0, received - used)


class Takers:
    """What each address has taken and wasted lately, and what all takers owe."""

    def __init__(self, addresses: int) -> None:
        """`addresses` is the greatest number of addresses."""
        self._took: F32 = reserve(addresses, "<f4")[0]
        self._wasted: F32 = reserve(addresses, "<f4")[0]
        self._charged = set[int]()
        """Sites of takers that are asked now."""
        self._owed = 0.0
        """Bytes that takers have taken beyond their share."""
        self._at = -np.inf

    def learn(self, addresses: Array, visits: Visits) -> None:
        """Learns from visits; `addresses`: of their sites."""
        known = addresses != NONE
        rows, wasted = addresses[known], waste(visits)[known]
        took = visits["received"][known].astype(np.float32)
        np.add.at(self._took, rows, took)
        np.add.at(self._wasted, rows, wasted.astype(np.float32))
        rows = np.unique(rows)
        old = np.minimum(1.0, MEMORY / np.maximum(self._took[rows], 1.0)).astype(np.float32)
        self._took[rows] *= old
        self._wasted[rows] *= old

    def are(self, addresses: Array) -> Bools:
        """Whether each address is a taker."""
        found = np.zeros(len(addresses), np.bool_)
        known = addresses != NONE
        rows = addresses[known]
        found[known] = self._wasted[rows] > (1 - LEAST) * (self._took[rows] + DOUBT)
        return found

    def wait(self, now: float, limit: int) -> float:
        """Seconds until a taker may be asked while others wait; 0: now. `limit`: bytes per second of the crawl."""
        rate = SHARE * limit
        if now > self._at:
            self._owed = max(0.0, self._owed - rate * (now - self._at)) if np.isfinite(self._at) else self._owed
            self._at = now
        return min(LONGEST, max(AGAIN, self._owed / rate)) if self._owed > 0 else 0.0

    def ask(self, site: int) -> None:
        """A taker is asked: its request is charged for until it ends."""
        self._charged.add(site)
        self._owed += CHARGE

    def end(self, sites: list[int], received: list[int] | None = None) -> None:
        """Requests have ended; `received`: what came for each, None if they were not made."""
        if not self._charged:
            return
        for site, came in zip(sites, received or [0] * len(sites), strict=True):
            if site in self._charged:
                self._charged.discard(site)
                self._owed = max(0.0, self._owed + came - CHARGE)
