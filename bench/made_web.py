"""A made-up Web, as large as one likes, whose results cost next to nothing to make: what `bench.scale` feeds a desk.

A page is a site and its place there. Its URL (about 65 bytes) and its fingerprint follow from these two numbers by
compiled arithmetic, so nothing is kept but how many pages of each site are known. Sizes of sites follow a power law
(thesis 8.3), up to `largest`. A page has 75 links: so many to pages that nobody knows yet, the others mostly to its own
site, its first pages before all, and a fifth to pages of other sites. Seeds are the home pages of all sites.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.compiled import inlined, njit
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Ask, Outcome, State, Tag, Texts, VisitFlag
from gossamer.collection.journal.effects import SITE_EVENT, SiteEvent
from gossamer.desk.columns import Columns
from gossamer.robots import Rules
from gossamer.web.addresses import pack
from gossamer.web.message import LINK

Array = npt.NDArray[Any]

LINKS: Final = 75
_VOCABULARY: Final = 60
"""Words that the URLs of a site are made of."""
_LONGEST: Final = 160
"""Bytes of a URL at most."""
_ROBOTS: Final = b"User-agent: *\nDisallow: /cgi-bin/\nDisallow: /search\nDisallow: /*/print$\nAllow: /search/about\n"
_ANCHORS: Final = [f"{'The ' * (i % 3 == 0)}text of link {i}".encode() if i % 10 else b"" for i in range(400)]
"""Texts of links: 18 bytes in the mean, a tenth have none."""
_SEEN: Final = b"image\tpng\tsite.example\t8\nout_of_scope\t\telsewhere.example\t4\nout_of_scope\t\tother.example\t1\n"
_SYLLABLES: Final = [c + v + e for c in "bcdfglmnprstv" for v in "aeiou" for e in ("", "n", "r", "s", "l")]


class MadeWeb:
    def __init__(self, pages: int, largest: int, seed: int, half: bool = False, sites: int = 0) -> None:
        """Room for `pages` and a quarter more; with `half`, one site has half of all; `sites`: so many, all alike."""
        self._rng = np.random.default_rng(1)
        total = pages * 5 // 4
        self._sizes = np.full(sites, total // sites, np.int64) if sites else _sizes(total, largest)
        if half:
            self._sizes[0] = self._sizes[1:].sum()
        words = [self._word(n) for n in self._rng.integers(1, 5, 1000)]
        self.hosts = [f"web.{words[i * 7 % 997]}-{words[i % 991]}{i}.example" for i in range(len(self._sizes))]
        self.seeds = [f"https://{host}/" for host in self.hosts]
        self._names = _texts([host.encode() for host in self.hosts])
        self._words = _texts([word.encode() for word in words])
        self._homes = np.array([urls.fingerprint(s, seed) for s in self.seeds], np.uint64)
        self._origins = np.array([urls.fingerprint(urls.origin(s), seed) for s in self.seeds], np.uint64)
        self._known = np.ones(len(self._sizes), np.int64)
        self._ends = np.cumsum(self._sizes)
        self._number = 0

    def _word(self, syllables: int) -> str:
        return "".join(_SYLLABLES[i] for i in self._rng.integers(0, len(_SYLLABLES), syllables))

    def robots(self, sites: Array, origins: Array, now: float) -> list[bytes]:
        """Results of asking for robots.txt, of origin i at site i."""
        visits = self._visits(sites, origins, np.full(len(sites), NONE, np.uint32), now)
        visits["ask"], visits["digest"], visits["flags"], visits["out_degree"] = Ask.ROBOTS, 0, 0, 0
        rules = Rules.parse(_ROBOTS, "Gossamer").compiled()
        texts = [rules if name == "rules" else b"" for name in VISIT_TEXTS]
        visits["texts"] = [len(t) for t in texts]
        return [visits[i : i + 1].tobytes() + b"".join(texts) for i in range(len(visits))]

    def names(self, sites: Array, wall: float) -> Array:
        """Events: every site has an address of its own."""
        events = np.zeros(len(sites), SITE_EVENT)
        events["site"], events["event"], events["time"], events["until"] = sites, SiteEvent.RESOLVED, wall, wall + 1e6
        events["address"] = [list(pack(f"20.{s >> 16 & 255}.{s >> 8 & 255}.{s & 255}")) for s in sites.tolist()]
        return events

    def results(self, columns: Columns, count: int, new: int, now: float) -> list[bytes]:
        """RESULT frames without their heads: visits of `count` random pages, each with `new` links to unknown ones."""
        drawn = np.unique(self._rng.integers(0, columns.page.count, 4 * count))
        pages = self._rng.permutation(drawn[columns.page.state[drawn] == State.PENDING])[:count].astype(np.uint32)
        origins = columns.page.origin[pages]
        visits = self._visits(columns.origin.site[origins], origins, pages, now)
        texts = self._visit_texts(visits)
        n = len(pages) * LINKS
        fingerprint, origin, lengths = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n, np.uint16)
        flags, buffer = np.zeros(n, np.uint8), np.empty(n * _LONGEST, np.uint8)
        noise = self._rng.integers(0, 2**63, n, dtype=np.uint64)
        ends = _make_links(
            visits["site"].copy(),
            new,
            noise,
            self._known,
            self._sizes,
            self._ends,
            self._homes,
            self._origins,
            *self._names,
            *self._words,
            fingerprint,
            origin,
            flags,
            lengths,
            buffer,
        )
        records = np.zeros(n, LINK)
        records["fingerprint"], records["origin"] = fingerprint, origin
        records["flags"], records["length"] = flags, lengths
        records["tag"], records["position"] = Tag.A, np.arange(n) % LINKS
        anchors = [_ANCHORS[i] for i in (noise % np.uint64(len(_ANCHORS))).tolist()]
        records["anchor"] = [len(text) for text in anchors]
        visits["seen"] = len(_SEEN)
        raw, bodies, before = buffer[: ends[-1]].tobytes(), [], 0
        for i, end in enumerate(ends.tolist()):
            of = slice(i * LINKS, (i + 1) * LINKS)
            parts = [visits[i : i + 1].tobytes(), texts[i], records[of].tobytes(), raw[before:end], *anchors[of], _SEEN]
            bodies.append(b"".join(parts))
            before = end
        return bodies

    def _visits(self, sites: Array, origins: Array, pages: Array, now: float) -> Array:
        rng, n = self._rng, len(sites)
        v = np.zeros(n, VISIT)
        v["number"], v["page"], v["origin"], v["site"] = self._number + np.arange(n), pages, origins, sites
        v["outcome"], v["status"], v["flags"] = Outcome.OK, 200, VisitFlag.STORED
        v["start"], v["first"], v["end"] = now - 0.4, np.round(rng.random(n) / 5, 6), now
        v["length"] = rng.lognormal(9.8, 0.9, n)
        v["received"], v["text_length"], v["sent"] = v["length"] // 4 + 400, v["length"] // 3, 220
        v["digest"] = rng.integers(1, 2**64, n, dtype=np.uint64)
        v["sketch"] = rng.integers(1, 2**64, n, dtype=np.uint64)
        v["payload"] = rng.integers(0, 256, (n, 20))
        v["links"], v["out_degree"] = LINKS * (pages != NONE), LINKS + 13
        v["counted"][:, 0], v["counted"][:, 7] = rng.poisson(8, n), rng.poisson(5, n)
        v["retry_after"] = v["delay"] = -1
        v["warc_offset"] = self._number * 6_000 + np.cumsum(v["received"])
        v["warc_end"] = v["warc_offset"] + v["received"]
        self._number += n
        return v

    def _visit_texts(self, visits: Array) -> list[bytes]:
        found = []
        for i, r in enumerate((visits["digest"] >> np.uint64(32)).tolist()):
            modified = f"Tue, {1 + r % 28:02d} Mar {2010 + r % 14} {r % 24:02d}:{r % 60:02d}:{r // 60 % 60:02d} GMT"
            title = f"Page {r % 1000} of a site"
            about = f"What page {r % 5000} is about, in a sentence of some length, as half of all pages have one"
            texts = [
                "text/html",
                "utf-8",
                f'"{r:x}"',
                modified,
                "",
                title,
                "20.1.2.3",
                "",
                "",
                "",
                "en",
                about * (r % 2),
                "",
            ]
            visits["texts"][i] = [len(t) for t in texts]
            found.append("".join(texts).encode())
        return found


def _sizes(total: int, largest: int) -> Array:
    """Pages of each site: a power law cut off at `largest`, about 150 in the mean."""
    falling = np.arange(1, max(20, total // 150) + 1) ** -0.8
    scale = float(total)
    found = np.clip(falling * scale, 2, largest)
    while found.sum() > total:
        scale *= 0.9
        found = np.clip(falling * scale, 2, largest)
    return np.array(found, np.int64)


def _texts(items: list[bytes]) -> tuple[Array, Array]:
    joined = Texts.join(items)
    return np.frombuffer(joined.buffer, np.uint8).copy(), joined.offsets()


@njit
def _make_links(
    sites: Array,
    new: int,
    noise: Array,
    known: Array,
    sizes: Array,
    ends: Array,
    homes: Array,
    origins: Array,
    names: Array,
    names_at: Array,
    words: Array,
    words_at: Array,
    fingerprint: Array,
    origin: Array,
    flags: Array,
    lengths: Array,
    buffer: Array,
) -> Array:
    """Fills the links of all visits; returns where the texts of each visit end."""
    at = 0
    found = np.empty(len(sites), np.int64)
    for v in range(len(sites)):
        first = v * LINKS
        for i in range(LINKS):
            link = first + i
            fresh = i < new
            site, place = _target(sites[v], fresh, _mix(noise[link]), known, sizes, ends)
            fingerprint[link] = homes[site] if place == 0 else _mix(np.uint64((site << 32) | place))
            for before in range(first, link):
                if not fresh and fingerprint[before] == fingerprint[link]:  # links are distinct: another one
                    site, place = _target(NONE, False, _mix(noise[link] + np.uint64(1)), known, sizes, ends)
                    fingerprint[link] = homes[site] if place == 0 else _mix(np.uint64((site << 32) | place))
                    break
            origin[link] = origins[site]
            end = _write_url(site, place, names, names_at, words, words_at, buffer, at)
            flags[link] = 2 if place % 5 == 4 else 0
            lengths[link] = end - at
            at = end
        found[v] = at
    return found


@inlined
def _mix(x: np.uint64) -> np.uint64:
    """A random-looking number for each number (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit
def _target(own: int, fresh: bool, noise: np.uint64, known: Array, sizes: Array, ends: Array) -> tuple[int, int]:
    """Site and place of the page that a link leads to. Four of five stay at the site, as far as it goes."""
    site = own if own != NONE and noise % np.uint64(5) else _any_site(noise, ends)
    if not fresh:
        return site, int(known[site] * (float(noise & np.uint64(0xFFFFFF)) / 2**24) ** 3)
    for _ in range(100):
        if known[site] < sizes[site]:
            break
        noise = _mix(noise + np.uint64(1))
        site = _any_site(noise, ends)
    known[site] += 1
    return site, known[site] - 1


@njit
def _any_site(noise: np.uint64, ends: Array) -> int:
    """Large ones more often."""
    found: int = np.searchsorted(ends, np.int64((noise >> np.uint64(20)) % np.uint64(ends[-1])), "right")  # type: ignore
    return found


@njit
def _write_url(
    site: int, place: int, names: Array, names_at: Array, words: Array, words_at: Array, out: Array, at: int
) -> int:
    at = _write(b"https://", out, at)
    at = _copy(names, names_at, site, out, at)
    at = _write(b"/", out, at)
    if place == 0:
        return at
    several = len(words_at) - _VOCABULARY
    own = site * 31 % several
    at = _copy(words, words_at, own + place % 12, out, at)
    at = _write(b"/", out, at)
    if place % 5 == 4:
        at = _write(b"view.php?id=", out, at)
        return _number(1000 + place, out, at)
    for k in range(1 + place % 3):
        at = _copy(words, words_at, own + place * (7 + 4 * k) % _VOCABULARY, out, at)
        at = _write(b"-", out, at)
    at = _number(place, out, at)
    return _write(b".html", out, at)


@njit
def _write(text: bytes, out: Array, at: int) -> int:
    for i in range(len(text)):
        out[at + i] = text[i]
    return at + len(text)


@njit
def _copy(texts: Array, texts_at: Array, which: int, out: Array, at: int) -> int:
    start: int = texts_at[which]
    end: int = texts_at[which + 1]
    out[at : at + end - start] = texts[start:end]
    return at + end - start


@njit
def _number(value: int, out: Array, at: int) -> int:
    digits = 1
    while value >= 10**digits:
        digits += 1
    for i in range(digits):
        out[at + digits - 1 - i] = 48 + value % 10
        value //= 10
    return at + digits
