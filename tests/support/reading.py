"""The contents of a collection, read independently of the crawl: tables by pyarrow, archives by warcio and fastwarc.

`Found` is the state that recovery would restore, from segments and journal alone (no image), applied to its own desk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator

from gossamer import config
from gossamer.base.arrays import Records
from gossamer.base.model import NONE, Ask, LinkFlag, LinkKind, Outcome, State
from gossamer.base.outcomes import NO_OUTCOME
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import archive_files, archive_name, shard_folder
from gossamer.collection.recovery import recover
from gossamer.config import Settings
from gossamer.crawler.apply import apply
from gossamer.crawler.parts import new_desk
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places
from gossamer.urls.names import bare


def table(folder: Path, name: str) -> pa.Table:
    """All segments of a table, read as any program would."""
    paths = sorted((shard_folder(folder) / name).glob("*.parquet"))
    return pa.concat_tables([pq.read_table(path) for path in paths], promote_options="permissive")


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table(folder, name).to_pylist()
    return found


class Archived(NamedTuple):
    """A response or revisit record, as both readers read it."""

    file: str
    offset: int
    uri: str
    """The URL as requested: with `www.` if the site is requested so."""
    status: int
    body: bytes
    """For a revisit record: the value of the response that it refers to."""
    repeated: bool = False

    @property
    def page(self) -> str:
        return bare(self.uri)


def archived(folder: Path) -> Iterator[Archived]:
    """All responses of all files, read to the end; asserts that both readers agree, that all digests are right, and
    that the first occurrence of every repeated body is there."""
    bodies: dict[str, bytes] = {}
    repeats: list[tuple[Archived, str]] = []
    for number, path in archive_files(shard_folder(folder)).items():
        by_warcio = list(_by_warcio(path, archive_name(number)))
        assert [(r.uri, r.offset, r.body) for r, _, _ in by_warcio] == _by_fastwarc(path)
        for record, name, first in by_warcio:
            if record.repeated:
                repeats.append((record, first))
            else:
                bodies[name] = record.body
                yield record
    for record, first in repeats:
        assert record.body == b""
        yield record._replace(body=bodies[first])


def _by_warcio(path: Path, name: str) -> Iterator[tuple[Archived, str, str]]:
    """The record, its id, and the id of the first occurrence if it is a repeat."""
    with path.open("rb") as stream:
        records = ArchiveIterator(stream, check_digests="raise")
        for record in records:
            body = record.content_stream().read()
            if record.rec_type in ("response", "revisit"):
                head, status = record.rec_headers, int(record.http_headers.get_statuscode())
                repeated = record.rec_type == "revisit"
                made = Archived(name, records.get_record_offset(), head["WARC-Target-URI"], status, body, repeated)
                yield made, head["WARC-Record-ID"], head.get_header("WARC-Refers-To") or ""
        assert stream.tell() == path.stat().st_size


def _by_fastwarc(path: Path) -> list[tuple[str, int, bytes]]:
    found = []
    for record in FastIterator(str(path), parse_http=True, auto_decode="all"):
        body = record.reader.read()
        if record.record_type in (WarcRecordType.response, WarcRecordType.revisit):
            found.append((record.headers["WARC-Target-URI"], record.stream_pos, body))
    assert all(r.verify_block_digest() for r in FastIterator(str(path), parse_http=False))
    return found


def committed(folder: Path) -> list[Effects]:
    """The effects of every record ever committed, in order, without non-essential sections. Only reads."""
    return [e.essential() for e in replace(recover(shard_folder(folder)), image=None).effects()]


@dataclass
class Found:
    """The committed contents of the collection in `folder`."""

    folder: Path

    @cached_property
    def effects(self) -> list[Effects]:
        return committed(self.folder)

    @cached_property
    def urls(self) -> list[str]:
        return [url.decode() for e in self.effects for url in e.urls.split()]

    @cached_property
    def visits(self) -> Records:
        return np.concatenate([e.visits for e in self.effects])

    @cached_property
    def settings(self) -> Settings:
        return config.load(self.folder / "crawl.toml")

    @cached_property
    def desk(self) -> Desk:
        desk = new_desk(self.settings, recover(shard_folder(self.folder)).meta.seed)
        for effects in self.effects:
            apply(desk, effects)
        return desk

    @cached_property
    def states(self) -> dict[str, tuple[State, Outcome | None]]:
        page, count = self.desk.columns.page, len(self.urls)
        outcomes = [None if o == NO_OUTCOME else Outcome(o) for o in page.outcome[:count].tolist()]
        return dict(zip(self.urls, zip(map(State, page.state[:count].tolist()), outcomes, strict=True), strict=True))

    @cached_property
    def digests(self) -> dict[str, int]:
        """Digests by URL, of the pages that have one."""
        asked = self.visits[(self.visits["ask"] == Ask.PAGE) & (self.visits["digest"] != 0)]
        return {self.urls[v["page"]]: int(v["digest"]) for v in asked}

    @cached_property
    def twins(self) -> dict[str, str]:
        """For each page, the alphabetically first page of its site with the same digest."""
        groups: dict[int, list[str]] = defaultdict(list)
        for url, digest in self.digests.items():
            groups[digest].append(url)
        return {url: min(group) for group in groups.values() for url in group}

    @cached_property
    def links(self) -> set[tuple[str, str, LinkKind]]:
        """Source, target and kind of the links that may be followed (others are stored only if their target is known,
        which depends on the order). Which of several twins is read for its links depends on the order too, so the first
        twin stands for all."""
        found = set()
        for e in self.effects:
            sources = np.repeat(e.visits["page"], e.visits["links"]).tolist()
            for source, target, kind in zip(sources, e.link_targets.tolist(), e.link_kinds.tolist(), strict=True):
                url = self.urls[source]
                if kind >> 4 & LinkFlag.NOFOLLOW:
                    continue
                found.add((self.twins.get(url, url), self.urls[target], LinkKind(kind & 15)))
        return found

    @cached_property
    def titles(self) -> list[str]:
        """The title of each visit."""
        texts = (e.texts().all() for e in self.effects)
        return [of_visit["title"].decode() for of_tick in texts for of_visit in of_tick]

    def url_of(self, number: int) -> str:
        """The URL that a visit requested (for a robots.txt: one that was not redirected)."""
        visit = self.visits[number]
        if visit["page"] != NONE:
            return self.urls[int(visit["page"])]
        if visit["ask"] != Ask.ROBOTS:
            return bare(self.titles[number].partition(" ")[0])
        origin = self.desk[Places].origin_text(int(visit["origin"]))
        return origin.removesuffix(":443" if origin.startswith("https:") else ":80") + "/robots.txt"

    def kept(self) -> dict[tuple[str, int], str]:
        """The URL of every visit that has an archive record, by archive file and offset."""
        stored = np.flatnonzero(self.visits["warc_end"] != 0).tolist()
        files, offsets = self.visits["warc_file"].tolist(), self.visits["warc_offset"].tolist()
        return {(archive_name(files[n]), offsets[n]): self.url_of(n) for n in stored}
