"""How fast `gossamer verify` reads an archive: `python -m bench.verify [--megabytes N]` (bound: 100 MB/s on 2 cores).

Makes a whole collection: pages of 25 KB, two in three sent as gzip, archived, journalled and sealed as by a crawl.
Tests use `make` too, with few and small pages.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer.base import disk
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Ask, Counted, Outcome, Reason, State, Tag, Texts, VisitFlag
from gossamer.collection import layout, manifest, sealing
from gossamer.collection.blocks import BlockFile
from gossamer.collection.journal import journal
from gossamer.collection.journal.effects import ORIGIN, PAGE, VERDICT, Effects
from gossamer.collection.journal.records import Mark
from gossamer.collection.layout import URL_FILE
from gossamer.collection.runs import begin_run
from gossamer.collection.tables import seal
from gossamer.config import Settings, dump
from gossamer.web.archive.archive import Archive, Exchange, Place, warcinfo
from gossamer.web.archive.bodies import Payloads
from gossamer.web.fetch.decode import Decoded
from gossamer.web.fetch.response import read_head

BOUND: Final = 100.0
MOST_TEXTS: Final = 100
"""Number of different texts; pages also differ in their number."""
START: Final = 1_700_000_000.0
_WORDS: Final = ("river", "stone", "paper", "winter", "garden", "letter", "window", "market", "bridge", "silver")


@dataclass(frozen=True, slots=True)
class Made:
    """The contents of a generated collection."""

    folder: Path
    urls: list[str]
    asked: dict[str, str]
    """URL of each visited page, and the form in which it was requested."""
    bodies: dict[str, str]
    repeats: set[str]
    """URLs whose body is in a revisit record."""

    @property
    def shard(self) -> Path:
        return layout.shard_folder(self.folder)


@dataclass(slots=True)
class Maker:
    """Visits pages in the order of discovery; each finds two pages, and links to them and to one known page."""

    folder: Path
    words: int = 30
    sites: int = 3
    text: bool = False
    plain: int = 3
    """One in this many pages is not compressed."""
    repeat: int = 5
    """One in this many pages repeats the body of the last such page; 0: none."""
    told: list[str] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    depths: list[int] = field(default_factory=list)
    tick: int = 0
    visited: int = 0
    made: Made = field(init=False)
    payloads: Payloads = field(default_factory=Payloads)

    def __post_init__(self) -> None:
        self.made = Made(self.folder, [], {}, {}, set())

    def make(self, visits: int, per_segment: int, per_tick: int = 10, unsealed: int = 0) -> Made:
        """`unsealed`: number of last visits that are only in the journal."""
        shard = layout.shard_folder(self.folder)
        layout.make_folders(shard)
        disk.write_atomic(self.folder / layout.SETTINGS, dump(Settings()).encode())
        begin_run(shard, Settings(), START)
        manifest.Manifest.create(shard, manifest.Meta(layout.FORMAT, 0, 7, START))
        lines, blocks = manifest.Manifest.open(shard), BlockFile(shard / URL_FILE)
        opened, appender = journal.begin(shard, 0, 1, Mark(0, 0)), disk.Appender(shard / layout.archive_name(0))
        appender.append(warcinfo("000000.warc.gz", "bench", {}))
        archive = Archive(0, appender, 300_000, self.payloads)
        since = 0
        for effects in self._ticks(visits, per_tick, archive):
            opened.append(effects)
            blocks.append(effects.urls.split())
            since += len(effects.visits)
            rotate = visits - self.visited >= unsealed and (since >= per_segment or visits - self.visited == unsealed)
            lengths = {layout.archive_name(0): appender.length, URL_FILE: blocks.length}
            snapshot = opened.snapshot(lengths, [appender.sync, blocks.appender.sync], rotate=rotate)
            opened.commit(snapshot)
            self.payloads.publish_visits(effects.visits)
            if snapshot.closed is not None:
                since = 0
                sealing.finish(shard, lines, seal.seal(shard, snapshot.closed))
        for one in (opened, lines, blocks, archive, self.payloads):
            one.close()
        return self.made

    def _ticks(self, visits: int, per_tick: int, archive: Archive) -> Iterator[Effects]:
        yield self.first()
        while self.visited < visits:
            yield self.visits(min(per_tick, visits - self.visited, len(self.made.urls) - self.visited), archive)

    def _effects(self, sites: int, origins: int) -> Effects:
        self.tick += 1
        return Effects(self.tick, START + self.tick, float(self.tick), sites, origins, len(self.made.urls))

    def first(self) -> Effects:
        """Adds sites, their origins and start pages."""
        effects = self._effects(0, 0)
        names = [f"site{i}.example" for i in range(self.sites)]
        effects.sites = Texts.join([name.encode() for name in names], "<u2")
        effects.sites_www = np.array([i == 0 for i in range(self.sites)], np.uint8)
        effects.origins = np.array([(i, 80, 0) for i in range(self.sites)], ORIGIN)
        self._know(effects, [(i, f"http://{name}/", NONE, 0) for i, name in enumerate(names)])
        return effects

    def _know(self, effects: Effects, found: list[tuple[int, str, int, int]]) -> None:
        """Site, URL, source and depth of new pages."""
        pages = np.zeros(len(found), PAGE)
        for record, (site, url, source, depth) in zip(pages, found, strict=True):
            print_of = int.from_bytes(hashlib.sha1(url.encode()).digest()[:8], "little")
            record["fingerprint"], record["site"], record["origin"] = print_of, site, site
            record["source"], record["depth"], record["kind"] = source, depth, 6 if source == NONE else 0
        effects.pages = pages
        effects.urls = Texts.join([url.encode() for _, url, _, _ in found], "<u2")
        self.made.urls.extend([url for _, url, _, _ in found])
        self.depths += [depth for _, _, _, depth in found]

    def visits(self, count: int, archive: Archive) -> Effects:
        effects = self._effects(self.sites, self.sites)
        first, found, links = len(self.made.urls), list[tuple[int, str, int, int]](), list[int]()
        records, texts, seen, anchors = list[Any](), list[bytes](), list[bytes](), list[bytes]()
        if self.visited == 0:
            for site in range(self.sites):
                url = f"http://site{site}.example/robots.txt"
                self._visit(records, texts, seen, archive, NONE, site, url, "User-agent: *\nAllow: /\n", Outcome.OK)
        for page in range(self.visited, self.visited + count):
            url = self.made.urls[page]
            site = int(url.split("site")[1].split(".")[0])
            new = [first + len(found) + i for i in range(2)]
            found += [(site, f"http://site{site}.example/p{n}", page, self.depths[page] + 1) for n in new]
            links += [*new, page // 2]
            anchors += [b"page %d" % new[0], b"", b"back"]
            failed = page % 11 == 10
            outcome = Outcome.SERVER_ERROR if failed else Outcome.OK
            self._visit(records, texts, seen, archive, page, site, url, self._body(page), outcome, 3)
        self.visited += count
        effects.visits = np.concatenate(records)
        effects.visit_texts, effects.seen = b"".join(texts), b"".join(seen)
        effects.link_targets, effects.link_kinds = np.array(links, "<u4"), np.zeros(len(links), "u1")
        effects.link_tags = np.full(len(links), Tag.A, "u1")
        effects.link_positions = np.arange(len(links), dtype="<u2") % 3
        effects.anchors = Texts.join(anchors, "<u2")
        self._know(effects, found)
        effects.verdicts = np.array([(first, State.EXCLUDED, Reason.ROBOTS, 1)], VERDICT)
        return effects

    def _body(self, page: int) -> str:
        if self.repeat and page % self.repeat == 0 and page:
            return f"<title>Same</title><p>{' '.join(_WORDS * 8)}</p>"
        if len(self.told) < MOST_TEXTS:
            self.told.append(" ".join(self.rng.choice(_WORDS) + str(self.rng.randrange(99)) for _ in range(self.words)))
        told = self.told[page % len(self.told)]
        return f"<title>Page {page}</title><body><p>Page {page} says:</p><p>{told}</p>"

    def _visit(
        self,
        records: list[Any],
        texts: list[bytes],
        seen: list[bytes],
        archive: Archive,
        page: int,
        site: int,
        url: str,
        body: str,
        outcome: Outcome,
        links: int = 0,
    ) -> None:
        asked = url.replace("://", "://www.") if site == 0 else url
        place, length = self._archive(archive, page, asked, body, outcome)
        visit = np.zeros(1, VISIT)
        values = {
            "number": len(records) + 1,
            "page": page,
            "origin": site,
            "site": site,
            "outcome": outcome,
            "ask": Ask.ROBOTS if page == NONE else Ask.PAGE,
            "status": 500 if outcome == Outcome.SERVER_ERROR else 200,
            "flags": VisitFlag.STORED
            | (VisitFlag.REPEATED if place.repeated else 0)
            | (VisitFlag.TEXT if place.text else 0),
            "time": START + self.tick,
            "start": self.tick,
            "first": 0.1,
            "end": self.tick + 0.2,
            "received": length,
            "sent": 200,
            "length": len(body),
            "text_length": len(body),
            "duplicate_of": NONE,
            "out_degree": links,
            "links": links,
            "retry_after": -1,
            "delay": -1,
            "warc_offset": place.offset,
            "warc_end": place.end,
            "digest": page + 1,
            "sketch": page + 1,
        }
        for name, value in values.items():
            visit[name] = value
        visit["payload"] = np.frombuffer(place.payload, np.uint8)
        said = {"mime": "text/html", "title": f"Page {page}", "charset": "utf-8", "language": "en"}
        own = [said.get(name, "").encode() if page != NONE else b"" for name in VISIT_TEXTS]
        visit["texts"] = [len(text) for text in own]
        lines = b"image\tpng\texample\t2\n" if page != NONE else b""
        visit["seen"] = len(lines)
        visit["counted"][0, Counted.IMAGE] = 2 if lines else 0
        records.append(visit)
        texts += own
        seen.append(lines)
        if page != NONE:
            self.made.asked[url], self.made.bodies[url] = asked, body
            if place.repeated:
                self.made.repeats.add(url)

    def _archive(self, archive: Archive, page: int, asked: str, body: str, outcome: Outcome) -> tuple[Place, int]:
        raw = body.encode()
        packed = page % self.plain != 0
        sent = gzip.compress(raw, 6, mtime=0) if packed else raw
        status = b"HTTP/1.1 500 Oops\r\n" if outcome == Outcome.SERVER_ERROR else b"HTTP/1.1 200 OK\r\n"
        lines = [status, b"Content-Type: text/html; charset=utf-8\r\n"]
        if packed:
            lines.append(b"Content-Encoding: gzip\r\n")
        exchange = Exchange(
            asked.encode(),
            "127.0.0.1",
            START + self.tick,
            b"GET / HTTP/1.1\r\n\r\n",
            read_head([*lines, b"\r\n"]),
            sent,
            Decoded(raw, True, True),
        )
        return archive.write(exchange, f"text of {asked}".encode() if self.text else None), len(sent)


def measure(megabytes: int, folder: Path) -> Iterator[tuple[str, float]]:
    """Measures the command as a whole, its start and its processes included."""
    pages = megabytes * 132
    made = Maker(folder, words=3_000, repeat=0).make(pages, pages // 4, 50)
    size = sum(path.stat().st_size for path in (made.shard / layout.ARCHIVE).iterdir()) / 1e6
    yield "MB of archive", size
    before = _processor()
    spent = _verify(folder)
    used = _processor() - before
    before = _processor()
    tables = _verify(folder, "--quick")
    used_for_tables = _processor() - before
    yield "seconds", spent
    yield "of these for start and tables", tables
    yield "MB per second of archive", size / (spent - tables)
    yield "MB per second of CPU time", size / (used - used_for_tables)


def _verify(folder: Path, *options: str) -> float:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    start = time.perf_counter()
    command = [sys.executable, "-m", "gossamer", "verify", str(folder), "--json", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


def _processor() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    with tempfile.TemporaryDirectory() as folder:
        found = dict(measure(parser.parse_args().megabytes, Path(folder)))
    print(json.dumps({name: round(value, 2) for name, value in found.items()}, indent=2))
    if found["MB per second of archive"] < BOUND:
        raise SystemExit(f"slower than {BOUND:.0f} MB/s")


if __name__ == "__main__":
    main()
