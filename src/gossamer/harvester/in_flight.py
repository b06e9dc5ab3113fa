"""Requests that were handed out and not answered yet: one table, by the number of the assignment.

A request is also marked where something other than this table must know of it without asking:

- in the site queue (place FLIGHT), which allows one request per site, in kernels
- in `page.flags` (ASSIGNED), which plans read in another thread
- in the pool (`web/pool/workers.py`), which gives the requests of a worker that died back
- in admission (`bandwidth/admission.py`), by site, with the speed that was predicted

Every assignment ends in a visit; a request that was not made has the outcome RETURNED. So every entry is removed.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

from gossamer.base.model import Ask


class Flight(NamedTuple):
    """A request that is in flight."""

    ask: Ask
    page: int
    """NONE for an errand."""
    site: int
    origin: int
    url: bytes
    """As it was requested."""
    canonical: bytes
    """As the page is known; of an errand, the same as `url`."""
    errand: Any = None
    """What the errand needs to know when the answer comes."""


class InFlight:
    """All requests in flight."""

    def __init__(self) -> None:
        self._flights: dict[int, Flight] = {}
        self._errands: set[int] = set()
        """Numbers of the requests that are not for pages; there are few."""
        self.last = 0
        """Number of the last assignment."""

    def add(self, flight: Flight) -> int:
        """Adds a request, and returns the number of its assignment."""
        self.last += 1
        self._flights[self.last] = flight
        if flight.ask is not Ask.PAGE:
            self._errands.add(self.last)
        return self.last

    def get(self, number: int) -> Flight | None:
        return self._flights.get(number)

    def asked(self, ask: Ask, answered: Container[int]) -> list[Flight]:
        """Requests of one kind that are still in flight, without the numbers in `answered`."""
        flights = [self._flights[number] for number in self._errands if number not in answered]
        return [flight for flight in flights if flight.ask is ask]

    def end(self, numbers: Sequence[int]) -> None:
        """Removes requests that were answered."""
        for number in numbers:
            self._flights.pop(number, None)
        self._errands.difference_update(numbers)

    def __len__(self) -> int:
        return len(self._flights)
