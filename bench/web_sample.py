"""Ticks of a generated crawl, as skewed as a real one: the input of the disk benchmarks.

Each site has its own size, sections and style of URLs; a page links to the menu of its site, the list of its section,
its neighbours, favourites of its site, and a few other sites: 75 links, most of them already known. Sites are visited
in turn, as by the site queue. URLs are canonical, of 35 to 120 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.base.model import NONE, VISIT, LinkFlag, LinkKind, Outcome, PageFlag, Tag, Texts, VisitFlag
from gossamer.collection.journal.effects import ORIGIN, PAGE, Effects

PER_TICK: Final = 20
SITE_SIZES: Final = (300, 1.1)
"""Median number of known pages of a site, and sigma of its logarithm."""
MENU, LIST, NEAR, FAVOURITES, ABROAD = 26, 20, 26, 18, 4
"""Links of a page by kind, with repeats: 75 are distinct."""

_SYLLABLES: Final = [c + v + e for c in "bcdfglmnprstv" for v in "aeiou" for e in ("", "n", "r", "s", "l")]
_STYLES: Final = (
    "/{section}/{slug}.html",
    "/{section}/{year}/{month:02d}/{slug}",
    "/{section}/{slug}-{n}/",
    "/index.php?id={n}&cat={section}",
    "/{section}/{sub}/{slug}.php",
    "/view?page={n}",
)


@dataclass(frozen=True, slots=True)
class Site:
    name: str
    first: int
    """Number of its first page in the whole Web (not in the collection)."""
    size: int
    style: str
    words: list[str]
    secure: bool
    etags: int
    """0: no validators; 1: ETag and Last-Modified; 2: Last-Modified only."""

    def url(self, local: int) -> bytes:
        base = f"http{'s' if self.secure else ''}://{self.name}"
        if local == 0:
            return (base + "/").encode()
        w, k = self.words, len(self.words)
        slug = "-".join(w[(local * p) % k] for p in (7, 11, 13)[: 1 + local % 3])
        path = self.style.format(
            section=w[local % 12 % k],
            sub=w[local % 31 % k],
            slug=f"{slug}{'-' if local % 5 else ''}{local}",
            year=2004 + local % 20,
            month=1 + local % 12,
            n=1000 + local,
        )
        return (base + path).encode()


def _word(rng: np.random.Generator, syllables: int) -> str:
    return "".join(_SYLLABLES[i] for i in rng.integers(0, len(_SYLLABLES), syllables))


def make_sites(pages: int, rng: np.random.Generator) -> list[Site]:
    sites: list[Site] = []
    first = 0
    while first < pages:
        size = int(np.clip(rng.lognormal(np.log(SITE_SIZES[0]), SITE_SIZES[1]), 30, 25_000))
        host = ("www." if rng.random() < 0.6 else "") + _word(rng, int(rng.integers(2, 5))) + ".example"
        words = [_word(rng, int(rng.integers(1, 4))) for _ in range(60)]
        style = _STYLES[int(rng.integers(len(_STYLES)))]
        sites.append(Site(host, first, size, style, words, bool(rng.random() < 0.6), int(rng.integers(3))))
        first += size
    return sites


def _links(site: Site, local: int, sites: list[Site], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Numbers of the pages that a page links to, distinct, in the order of the page."""
    menu = np.arange(MENU) * 3 % site.size
    section = (local % 12 + 12 * (1 + np.arange(LIST))) % site.size
    near = (local + rng.integers(-30, 60, NEAR)) % site.size
    favourites = (site.size * rng.random(FAVOURITES) ** 3).astype(np.int64)
    abroad = [s.first + (int(s.size * rng.random() ** 6)) for s in (sites[i] for i in _others(len(sites), rng))]
    found = np.concatenate([menu, section, near, favourites]) + site.first
    found = np.concatenate([found, np.array(abroad, np.int64)])
    _, at = np.unique(found, return_index=True)
    kept: npt.NDArray[np.int64] = found[np.sort(at)]
    return kept


def _others(n: int, rng: np.random.Generator) -> list[int]:
    return list((n * rng.random(ABROAD) ** 2).astype(int))


class Crawl:
    """The numbers of the known pages, and the pages that wait at each site."""

    def __init__(self, visits: int, seed: int = 1, known_per_visit: int = 10) -> None:
        self.rng = np.random.default_rng(seed)
        self.sites = make_sites(visits * known_per_visit, self.rng)
        total = self.sites[-1].first + self.sites[-1].size
        self.number = np.full(total, NONE, np.int64)
        self.site_of = np.repeat(np.arange(len(self.sites)), [s.size for s in self.sites])
        self.site_number = np.full(len(self.sites), NONE, np.int64)
        self.waiting: list[list[int]] = [[] for _ in self.sites]
        self.pages = self.known_sites = self.done = self.archive = 0
        self.visits = visits

    def ticks(self) -> Iterator[Effects]:
        tick, wall = 1, 1_700_000_000.0
        yield self._tick(tick, wall, [], [np.array([s.first for s in self.sites])])
        turn = 0
        while self.done < self.visits:
            tick, wall = tick + 1, wall + PER_TICK / 500
            chosen: list[int] = []
            tried = 0
            while len(chosen) < PER_TICK and tried < len(self.sites):
                if queue := self.waiting[turn % len(self.sites)]:
                    chosen.append(queue.pop(0))
                turn, tried = turn + 1, tried + 1
            if not chosen:
                return
            links = []
            for page in chosen:
                site = self.sites[self.site_of[page]]
                links.append(_links(site, page - site.first, self.sites, self.rng))
            yield self._tick(tick, wall, chosen, links)

    def _tick(self, tick: int, wall: float, chosen: list[int], links: list[npt.NDArray[np.int64]]) -> Effects:
        effects = Effects(tick, wall, wall - 1.6e9, self.known_sites, self.known_sites, self.pages)
        every = np.concatenate(links)
        sources = np.repeat(np.array(chosen or [0]), [len(x) for x in links])
        unknown = np.flatnonzero(self.number[every] == NONE)
        _, at = np.unique(every[unknown], return_index=True)
        fresh = unknown[np.sort(at)]
        self._learn(effects, every[fresh], self.number[sources[fresh]] if chosen else np.full(len(fresh), NONE))
        if chosen:
            effects.visits, effects.visit_texts = self._visits(wall, chosen, [len(x) for x in links])
            effects.link_targets = self.number[every].astype("<u4")
            flags = np.where(self.rng.random(len(every)) < 0.02, int(LinkFlag.NOFOLLOW) << 4, 0)
            effects.link_kinds = (int(LinkKind.ANCHOR) | flags).astype("u1")
            self._anchor(effects, every)
        return effects

    def _anchor(self, effects: Effects, targets: npt.NDArray[np.int64]) -> None:
        """The text of a link. It mostly follows from the target: words of its site; a tenth have none."""
        texts = []
        for page in targets.tolist():
            words = self.sites[self.site_of[page]].words
            texts.append(b"" if page % 10 == 0 else " ".join(words[page * k % len(words)] for k in (3, 5, 7)).encode())
        effects.anchors = Texts.join(texts, "<u2")
        effects.link_tags = np.full(len(texts), int(Tag.A), "u1")
        effects.link_positions = (np.arange(len(texts)) % 75).astype("<u2")

    def _learn(self, effects: Effects, pages: npt.NDArray[np.int64], sources: npt.NDArray[np.int64]) -> None:
        self.number[pages] = self.pages + np.arange(len(pages))
        self.pages += len(pages)
        names: list[bytes] = []
        urls: list[bytes] = []
        records = np.zeros(len(pages), PAGE)
        for page in pages.tolist():
            at = int(self.site_of[page])
            site = self.sites[at]
            if self.site_number[at] == NONE:
                self.site_number[at] = self.known_sites
                self.known_sites += 1
                names.append(site.name.encode())
            urls.append(site.url(page - site.first))
            self.waiting[at].append(page)
        at_site = self.site_number[self.site_of[pages]]
        records["fingerprint"] = self.rng.integers(0, 2**63, len(pages), dtype=np.uint64) * np.uint64(2)
        records["site"] = records["origin"] = at_site
        records["source"] = sources
        records["depth"] = 1 + self.rng.geometric(0.4, len(pages)).clip(0, 10)
        records["flags"] = np.where(np.char.find(np.array(urls, "S200"), b"?") >= 0, int(PageFlag.DYNAMIC), 0)
        effects.pages, effects.urls = records, Texts.join(urls, "<u2")
        effects.sites = Texts.join(names, "<u2")
        origins = np.zeros(len(names), ORIGIN)
        origins["site"] = effects.first_site + np.arange(len(names))
        origins["port"] = 443
        origins["secure"] = 1
        effects.origins = origins

    def _visits(self, wall: float, chosen: list[int], links: list[int]) -> tuple[npt.NDArray[np.void], bytes]:
        rng, n = self.rng, len(chosen)
        v = np.zeros(n, VISIT)
        sites = [self.sites[self.site_of[p]] for p in chosen]
        speed = np.array([1 + s.first % 97 for s in sites]) * 20_000.0
        v["number"] = self.done + np.arange(n)
        v["page"] = self.number[chosen]
        v["site"] = v["origin"] = self.site_number[self.site_of[chosen]]
        ok = rng.random(n) < 0.85
        v["outcome"] = np.where(ok, int(Outcome.OK), rng.choice([int(Outcome.NOT_FOUND), int(Outcome.REDIRECT)], n))
        v["status"] = np.where(ok, 200, np.where(v["outcome"] == int(Outcome.NOT_FOUND), 404, 301))
        v["flags"] = int(VisitFlag.STORED) | np.where(rng.random(n) < 0.7, int(VisitFlag.REUSED), 0)
        v["first"] = np.round(rng.lognormal(-2, 0.8, n), 6)
        v["connect"] = np.where(v["flags"] & int(VisitFlag.REUSED), 0, np.round(v["first"] * rng.random(n), 6))
        v["length"] = rng.lognormal(9.8, 0.9, n)
        v["received"] = v["length"] / 4 + 400
        v["sent"] = 180 + rng.integers(0, 60, n)
        v["text_length"] = v["length"] * 0.3 * rng.random(n)
        v["start"] = np.round(wall - 1.6e9 - rng.random(n), 9)
        v["end"] = np.round(v["start"] + v["first"] + v["received"] / speed, 9)
        v["time"] = np.round(wall - rng.random(n) * 0.02, 6)
        v["digest"] = rng.integers(1, 2**63, n, dtype=np.uint64)
        v["sketch"] = rng.integers(1, 2**63, n, dtype=np.uint64)
        v["payload"] = rng.integers(0, 256, (n, 20))
        v["duplicate_of"] = NONE
        v["links"] = links
        v["retry_after"] = v["delay"] = -1
        v["warc_file"] = rng.integers(0, 2, n)
        v["warc_offset"] = self.archive + np.cumsum(v["received"])
        v["warc_end"] = v["warc_offset"] + v["received"] + 300
        v["counted"][:, 0] = rng.poisson(8, n)
        v["counted"][:, 7] = rng.poisson(5, n)
        v["counted"][:, 3] = rng.poisson(0.3, n)
        v["out_degree"] = v["links"] + v["counted"].sum(axis=1)
        self.archive += int(v["received"].sum())
        self.done += n
        return v, self._texts(v, sites)

    def _texts(self, v: npt.NDArray[np.void], sites: list[Site]) -> bytes:
        parts: list[bytes] = []
        for i, site in enumerate(sites):
            r = int(v["digest"][i]) & 0xFFFFFFFF
            title = (
                f"{' '.join(site.words[(r >> 3 * k) % 60] for k in range(3 + r % 4)).capitalize()} | {site.words[0]}"
            )
            etag = f'"{r & 0xFFFFFF:x}-{r >> 8:x}"' if site.etags == 1 else ""
            modified = f"Tue, {1 + r % 28:02d} Mar {2010 + r % 14} {r % 24:02d}:{r % 60:02d}:{r // 60 % 60:02d} GMT"
            about = f"{title}: {' '.join(site.words[:9])}" if r % 2 else ""
            texts = (
                "text/html",
                "utf-8",
                etag,
                modified if site.etags else "",
                "",
                title,
                f"203.{site.first % 113}.{site.first % 251}.{site.size % 250}",
                "",
                "",
                "",
                ("en", "de", "es")[site.first % 3],
                about,
                "",
            )
            coded = [t.encode() for t in texts]
            v["texts"][i] = [len(t) for t in coded]
            parts += coded
        return b"".join(parts)
