"""forgotten.jsonl: what was forgotten, when and why, and what is being forgotten. The file is replaced as a whole.

A tombstone has the fingerprint of a URL or of the name of a site, made with the seed of the collection. So a link, a
seed or a sitemap that names it again is recognized, while nobody can read the name from the file. Whoever has the
collection can still test whether a URL that they know was forgotten.

While it is carried out, a line also has the name, and the places in the archive that are to be blanked: `carry_out`
removes both in the end. So does an order that waits for the end of a crawl (`crawler/forgetting.py`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer import urls
from gossamer.base import disk
from gossamer.base.arrays import U64, Bools
from gossamer.base.errors import GossamerError
from gossamer.collection import manifest

FORGOTTEN: Final = "forgotten.jsonl"
INVALID: Final = "forgotten.invalid"
"""Host of the URLs that stand in place of forgotten ones. No such name can exist (RFC 6761)."""

Span = tuple[int, int, int]
"""Number of an archive file, start and end in it."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A page or a site that was forgotten, or is being forgotten."""

    time: float
    reason: str
    site: bool
    """A whole site, not a page."""
    fingerprint: int
    number: int | None
    """Number of the page or the site; None: it was not known."""
    pages: int = 0
    visits: int = 0
    records: int = 0
    bytes: int = 0
    """What was removed: pages, their visits, and records and bytes of the archive."""
    name: str = ""
    """The URL, or the name of the site, until it is carried out; then it is empty."""
    blank: tuple[Span, ...] = ()
    """Places in the archive that no visit owns any more, until it is carried out."""
    waits: bool = False
    """A crawl ran when it was ordered, and has kept it out since: nothing is removed before that crawl has stopped."""

    @property
    def finished(self) -> bool:
        return not self.name

    def told(self) -> str:
        """The sentence for users."""
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.time))
        if self.waits:
            kept = "it is not requested any more, and what was fetched goes when the crawl has stopped"
            return f"It was ordered on {day} to be forgotten ({kept}): {self.reason}"
        return f"It was forgotten on {day}: {self.reason}"


@dataclass(slots=True, eq=False)
class Forgotten:
    """All tombstones of a collection. Nothing that they name becomes a page or a site again.

    The desk and its stages share one, which takes the orders that come while the crawl runs."""

    tombstones: tuple[Tombstone, ...] = ()
    seed: int = 0
    pages: U64 = field(default_factory=lambda: np.zeros(0, np.uint64))
    """Fingerprints of URLs, ascending."""
    sites: frozenset[int] = frozenset()
    """Fingerprints of names of sites."""

    @staticmethod
    def of(tombstones: Sequence[Tombstone], seed: int) -> Forgotten:
        pages = np.array(sorted(t.fingerprint for t in tombstones if not t.site), np.uint64)
        return Forgotten(tuple(tombstones), seed, pages, frozenset(t.fingerprint for t in tombstones if t.site))

    def take(self, tombstones: Sequence[Tombstone], seed: int) -> None:
        """Has these tombstones from now on."""
        made = Forgotten.of(tombstones, seed)
        self.tombstones, self.seed, self.pages, self.sites = made.tombstones, seed, made.pages, made.sites

    def __bool__(self) -> bool:
        return bool(self.tombstones)

    def has(self, order: Tombstone) -> bool:
        """Whether the same page or site was forgotten, or is to be."""
        return any((each.site, each.fingerprint) == (order.site, order.fingerprint) for each in self.tombstones)

    def has_pages(self, fingerprints: U64) -> Bools:
        """Which of these are fingerprints of forgotten URLs."""
        found: Bools = np.isin(fingerprints, self.pages)
        return found

    def has_site(self, name: str) -> bool:
        """Whether the site of this name was forgotten."""
        return bool(self.sites) and urls.fingerprint(name, self.seed) in self.sites

    def of_site(self, name: str) -> Tombstone | None:
        """The tombstone of a site."""
        key = urls.fingerprint(name, self.seed) if self.sites else None
        return next((t for t in self.tombstones if t.site and t.fingerprint == key), None)

    def tombstone(self, url: str) -> Tombstone | None:
        """The tombstone of a canonical URL, or of its site; None: it was not forgotten."""
        if not self.tombstones:
            return None
        key = urls.fingerprint(url, self.seed)
        page = next((t for t in self.tombstones if not t.site and t.fingerprint == key), None)
        return page or self.of_site(urls.host(url))

    @property
    def unfinished(self) -> list[Tombstone]:
        """Tombstones of orders that were begun and not finished."""
        return [each for each in self.tombstones if not each.finished and not each.waits]

    @property
    def waiting(self) -> list[Tombstone]:
        """Tombstones of orders that wait until no crawl runs."""
        return [each for each in self.tombstones if each.waits]

    @property
    def settled(self) -> Forgotten:
        """Without those that wait."""
        return Forgotten.of([each for each in self.tombstones if not each.waits], self.seed)


def read(shard: Path) -> Forgotten:
    """The tombstones; none if there is no file."""
    path = shard / FORGOTTEN
    if not path.exists():
        return Forgotten()
    with disk.naming("read", path):
        raw = path.read_bytes()
    seed, found = manifest.read(shard).meta.seed, list[Tombstone]()
    for number, line in enumerate(raw.splitlines(keepends=True), 1):
        said = manifest.decode(line)
        if said is None:
            cure = "Restore it from a backup: without it, what was forgotten may be requested again."
            raise GossamerError(f"{path} is damaged in line {number}", cure)
        found.append(tombstone_of(said))
    return Forgotten.of(found, seed)


def write(shard: Path, tombstones: Iterable[Tombstone]) -> None:
    """Replaces all tombstones. Durable when it returns."""
    disk.write_atomic(shard / FORGOTTEN, *(manifest.encode(line_of(each)) for each in tombstones))


def share(shard: Path, beside: Path) -> None:
    """Adds the tombstones of another collection, if it has the same seed: what is forgotten there is kept out here."""
    here, there = read(shard), read(beside)
    known = {(each.site, each.fingerprint) for each in here.tombstones}
    new = [
        Tombstone(each.time, each.reason, each.site, each.fingerprint, None)
        for each in there.tombstones
        if (each.site, each.fingerprint) not in known
    ]
    if new and manifest.read(shard).meta.seed == manifest.read(beside).meta.seed:
        write(shard, [*here.tombstones, *new])


def line_of(tombstone: Tombstone) -> dict[str, Any]:
    """A tombstone as it is written."""
    line = asdict(tombstone) | {"fingerprint": f"{tombstone.fingerprint:016x}", "waits": tombstone.waits or None}
    return {name: value for name, value in line.items() if value not in ("", (), None)}


def tombstone_of(line: dict[str, Any]) -> Tombstone:
    """A tombstone from what was written."""
    known = {name: value for name, value in line.items() if name in Tombstone.__dataclass_fields__}
    found = Tombstone(**{"number": None, **known, "fingerprint": int(line["fingerprint"], 16)})
    return replace(found, blank=tuple((int(f), int(a), int(b)) for f, a, b in found.blank))


# --- what stands in place of names ----------------------------------------------------------------------------------


def page_text(number: int) -> bytes:
    """The URL that a forgotten page has."""
    return b"http://%s/%d" % (INVALID.encode(), number)


def page_fingerprint(number: int, seed: int) -> int:
    """The fingerprint that a forgotten page has: no URL that anybody can write has it."""
    return urls.fingerprint(f"forgotten:{number}", seed)


def site_text(number: int) -> bytes:
    """The name that a forgotten site has."""
    return b"%d.%s" % (number, INVALID.encode())


class Names:
    """Finds the names of what is being forgotten in texts, and puts the names above in their place.

    The URL of a page is found as a whole, with `www.` or without it. Of a site, all URLs are found, and its bare name.
    """

    def __init__(self, tombstones: Iterable[Tombstone]) -> None:
        named = [each for each in tombstones if each.name]
        sites = [re.escape(each.name) for each in named if each.site]
        pages = [each.name.partition("://") for each in named if not each.site]
        self.hint = "|".join([*sites, *(re.escape(rest) for _, _, rest in pages)])
        """A regular expression, also of RE2, that is in every text that names one of them, and in few others. Empty if
        nothing is to be found."""
        whole = [rf"{scheme}://(?:www\.)?{re.escape(rest)}{_NO_MORE_PATH}" for scheme, _, rest in pages]
        whole += [rf"{_NO_HOST}(?:[a-z]+://)?(?:www\.)?{name}(?:[:/?][^\s\"'<>]*|{_NO_MORE_HOST})" for name in sites]
        self._search = re.compile("|".join(whole).encode())

    def named(self, text: bytes) -> bool:
        """Whether the text names one of them."""
        return bool(self.hint) and self._search.search(text) is not None

    def scrub(self, text: bytes) -> bytes:
        return self._search.sub(b"http://%s/" % INVALID.encode(), text) if text and self.hint else text


_NO_HOST: Final = r"(?<![\w.-])"
_NO_MORE_HOST: Final = r"(?![\w-]|\.\w)"
_NO_MORE_PATH: Final = r"(?=[\s\"'<>),;#]|$)"
