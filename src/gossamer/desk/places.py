"""Places: sites with their names and addresses, and origins. They are numbered in the order in which they became known.

A site is requested by its name with `www.` or without it, whichever answers. A *host alias switch* changes that: a site
may switch `MOST_SWITCHES` times, since more would be a redirect loop.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.errors import UsageError
from gossamer.base.model import NONE, Texts
from gossamer.collection.image import Image, Parts
from gossamer.collection.journal.effects import Effects
from gossamer.desk.desk import Declared, Desk, Part, fingerprints
from gossamer.web.addresses import unpack

Array = npt.NDArray[Any]

ADDRESSES_PER_SITE: Final = 4
"""Addresses that are remembered, per site of `collection.max_sites`; sites change their addresses."""
MOST_SWITCHES: Final = 2
_IPV4: Final = 0xFFFF
"""The bits above the last 32 bits of a folded IPv4 address."""
T = TypeVar("T")


class Places(Part):
    """Names, addresses and origins of all sites."""

    name = "places"
    columns: ClassVar[Declared] = {
        "site": {
            "name_failures": "u1",  # lookups in a row without an address
            "resolved": "<f8",  # wall: until when the address is valid; 0: none
            "port": "<u2",  # port to use instead of the origin's
            "address": "<u4",  # number of its address, NONE without
            "www": "u1",  # requested with `www.` before its name
            "respelled": "u1",  # host alias switches
            "home": "<u8",  # the last address of its name, folded; 0: none yet
            "moves": "u1",  # how often that address has changed
            "moved": "<f8",  # wall: before this time, another change does not open duplicates again
        },
        "origin": {"site": "<u4", "port": "<u2", "secure": "u1"},
    }
    needs = ("names", "name_lengths", "addresses")

    def __init__(self, desk: Desk) -> None:
        self._columns, self._seed, self._scope = desk.columns, desk.seed, desk.scope
        self.names: list[str] = []
        """Names of the sites, by number."""
        self.max_addresses = ADDRESSES_PER_SITE * desk.settings.collection.max_sites
        self.numbers: dict[bytes, int] = {}
        """Maps a packed address to its number."""
        self.packed: list[bytes] = []
        """Packed addresses, by number."""
        self._unused: deque[int] = deque()
        self.recycled: list[int] = []
        """Address numbers that were given to another address since the harvester last checked. Volatile."""

    def arrays(self) -> dict[str, Array | Parts]:
        names = Texts.join([name.encode() for name in self.names])
        return {
            "names": np.frombuffer(names.buffer, np.uint8),
            "name_lengths": names.lengths,
            "addresses": np.frombuffer(b"".join(self.packed), np.uint8),
        }

    def load(self, image: Image) -> None:
        names = Texts(image.array("name_lengths"), image.array("names").tobytes()).split()
        self.names = [name.decode() for name in names]
        packed = image.array("addresses").tobytes()
        for i in range(0, len(packed), 16):
            self.address_number(packed[i : i + 16])

    def add(self, effects: Effects) -> None:
        """Adds the new sites and origins of a tick."""
        names, sites = [name.decode() for name in effects.sites.split()], self._columns.site
        first = sites.count
        check_room("sites", "max_sites", first + len(names), sites.limit)
        sites.count += len(names)
        sites.address[first : sites.count] = NONE
        if len(effects.sites_www):
            sites.www[first : sites.count] = effects.sites_www
        self.names += names
        numbers = np.arange(first, len(self.names), dtype=np.uint32)
        self._columns.hosts.add(fingerprints(names, self._seed), numbers)
        origins = self._columns.origin
        first = origins.count
        origins.count += len(effects.origins)
        for name in ("site", "port", "secure"):
            getattr(origins, name)[first : origins.count] = effects.origins[name]
        texts = [self.origin_text(origin) for origin in range(first, origins.count)]
        numbers = np.arange(first, origins.count, dtype=np.uint32)
        self._columns.origins.add(fingerprints(texts, self._seed), numbers)

    # --- names ----------------------------------------------------------------------------------------------------

    def site(self, name: str) -> int:
        """The number of the site with this name; NONE if it is not known."""
        return int(self._columns.hosts.find(fingerprints([name], self._seed))[0])

    def origin_text(self, origin: int) -> str:
        """scheme://host:port, as `urls.origin` writes it."""
        origins = self._columns.origin
        scheme = "https" if origins.secure[origin] else "http"
        return f"{scheme}://{self.names[int(origins.site[origin])]}:{int(origins.port[origin])}"

    def host(self, site: int) -> str:
        """The name by which a site is requested."""
        return f"www.{self.names[site]}" if self._columns.site.www[site] else self.names[site]

    def asked_as(self, site: int, url: str) -> str:
        """A URL of the site in the form that is requested."""
        return urls.spelled(url, True) if self._columns.site.www[site] else url

    def may_switch(self, site: int) -> bool:
        """Whether the site was tried by one name only, and the settings treat both names as one site."""
        bare = f"http://{self.names[site]}/"
        return not self._columns.site.respelled[site] and self._scope.canonical(urls.spelled(bare, True), None) == bare

    def may_switch_back(self, site: int) -> bool:
        """Whether the site was requested once, by its first name, and its other name does not exist."""
        return bool(self._columns.site.respelled[site] == 1 and self._columns.site.asked[site] == 1)

    # --- addresses ------------------------------------------------------------------------------------------------

    def address(self, site: int) -> str:
        """The address of a site, in text form."""
        return unpack(self.packed[int(self._columns.site.address[site])])

    def address_number(self, packed: bytes) -> tuple[int, bool]:
        """The number of an address, and whether the number is new."""
        number = self.numbers.get(packed)
        if number is not None:
            return number, False
        number = len(self.packed)
        if number < self.max_addresses:
            self.packed.append(packed)
        else:
            number = self._recycle()
            del self.numbers[self.packed[number]]
            self.packed[number] = packed
        self.numbers[packed] = number
        return number, True

    def _recycle(self) -> int:
        """The number of an address that no site uses any more; numbers are reused as late as possible."""
        used = self._columns.site.address[: self._columns.site.count]
        while True:
            if not self._unused:
                self._unused.extend(np.setdiff1d(np.arange(self.max_addresses), used).tolist())
            number = self._unused.popleft()
            if not (used == number).any():
                self.recycled.append(number)
                return number

    def has_moved(self, site: int, addresses: list[bytes], wall: float) -> bool:
        """Whether the last address of a site is not among the current addresses of its name.

        A site that moves often is believed less and less: names of large hosts have other addresses for every
        resolver."""
        home, sites = int(self._columns.site.home[site]), self._columns.site
        same_kind = [each for each in map(folded, addresses) if (each >> 32 == _IPV4) == (home >> 32 == _IPV4)]
        return home != 0 and len(same_kind) > 0 and home not in same_kind and wall >= sites.moved[site]


def check_room(what: str, setting: str, count: int, limit: int) -> None:
    """Raises UsageError if the collection does not fit into a limit of the settings."""
    if count > limit:
        raise UsageError(
            f"the collection has more {what} than collection.{setting} = {limit} allows",
            f"Set collection.{setting} to at least what it was before.",
        )


def number_in(new: list[T], each: T, first: int, limit: int) -> int:
    """Adds a site or an origin to those that a tick makes known, and returns its number: they are numbered from `first`
    on. NONE: there is no room."""
    if first + len(new) >= limit:
        return NONE
    new.append(each)
    return first + len(new) - 1


def folded(packed: bytes) -> int:
    """An address in 64 bits."""
    return int.from_bytes(packed[:8]) ^ int.from_bytes(packed[8:])
