"""Damaged files of every kind: each reader of a collection gives the answer that it gave before, or an error."""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

from bench.verify import START, Maker
from fuzz.target import Target
from gossamer import config
from gossamer.base.clock import RealClock
from gossamer.base.errors import GossamerError
from gossamer.collection import image, manifest
from gossamer.collection.journal import records
from gossamer.collection.journal.records import RECORD, Kind
from gossamer.collection.last_bodies import last_bodies
from gossamer.collection.layout import SETTINGS, journal_files, shard_folder
from gossamer.collection.runs import write_status
from gossamer.config.settings import Settings
from gossamer.crawler import imager
from gossamer.crawler.open import open_collection
from gossamer.laboratory.collection_graph import collected, known_urls
from gossamer.observe.crawl_status import read_crawl_status
from gossamer.observe.statistics import Statistics
from gossamer.read import compact
from gossamer.read.explain import collection
from gossamer.read.explain.page import explain_page
from gossamer.read.explain.site import explain_site
from gossamer.read.export import jsonl, wacz
from gossamer.read.sql.columns import VIEWS
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import repaired, verify

_DAMAGE: Final = struct.Struct("<BHIH")  # how, which file, where, how much
_FREE: Final = (SETTINGS, "lock", "clock.json")
"""Files that have no checksum: the user writes the settings. With these damaged, only a traceback is a fault. What is
wrong in the settings is told with the values that are right, in place of a cure."""
_SETTINGS: Final = '[harvester]\ncontact = "fuzz@example.org"\nwait = "15s"\n[manager]\npolicy = "completed-pagerank"\n'
_PAGE: Final = "http://site1.example/"


def _sql(folder: Path, fresh: bool = False) -> Any:
    opened = Database(find(folder, fresh), config.load(folder / SETTINGS))
    try:
        return [sorted(map(repr, opened.query(f"from {name}").rows)) for name in VIEWS]
    finally:
        opened.close()


def _explain(folder: Path) -> Any:
    answers: list[Any] = [explain_page(folder, _PAGE), explain_page(folder, f"{_PAGE}p8"), explain_site(folder, _PAGE)]
    return json.dumps(answers, default=str, sort_keys=True)


def _jsonl(folder: Path) -> Any:
    to = folder.with_suffix(".jsonl")
    jsonl.export(folder, to, links=True, force=True, everything=True, fresh=True)
    return to.read_bytes()


def _graph(folder: Path) -> Any:
    found = collected(folder, known=True)
    arrays = found.graph.links.offsets, found.graph.links.targets, found.graph.site, found.graph.size
    return [array.tolist() for array in arrays], known_urls(folder, found.page)


def _opened(folder: Path) -> Any:
    """The state of a desk that is started on it, and the URLs of all pages."""
    store, desk, _ = open_collection(folder, config.load(folder / SETTINGS), RealClock())
    try:
        page = desk.columns.page
        urls = store.urls(list(range(page.count)))
        return urls, {name: column.tolist() for name, column in page.used().items()}
    finally:
        store.close()


def _quiet(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """A command whose answer is what damage there is: any is right, but a traceback."""

    def ignored(folder: Path) -> None:
        read(folder)

    return ignored


_READERS: Final[tuple[Callable[[Path], Any], ...]] = (
    _sql,
    lambda folder: _sql(folder, fresh=True),
    _explain,
    lambda folder: read_crawl_status(folder).to_json(),
    _jsonl,
    _graph,
    _opened,
    _quiet(lambda folder: last_bodies(shard_folder(folder), 1_000)),
    _quiet(lambda folder: wacz.export(folder, folder.with_suffix(".wacz"), force=True, fresh=True)),
    _quiet(verify),
    _quiet(repaired),
    _quiet(compact.compact),
)


class DamagedTarget(Target):
    """damaged files of a collection: the first byte chooses the reader, the rest is a list of damages."""

    name = "damaged"
    parts = ("read", "collection", "crawler/open.py", "laboratory/collection_graph.py", "observe/image_view.py")
    words = tuple(_DAMAGE.pack(how, 7 * how, 40 * how, 9 * how) for how in range(12))
    longest = 1 << 9
    seconds = 8.0
    megabytes = 400

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        self._root = Path(tempfile.mkdtemp(prefix="fuzz-damaged-", dir=memory if memory.is_dir() else None))
        self._folder = Maker(self._root / "crawl", words=5, text=True).make(24, 9, per_tick=3, unsealed=6).folder
        shard = shard_folder(self._folder)
        lines, made = manifest.Manifest.open(shard), imager.make(shard, Settings())
        assert made is not None
        image.finish(shard, lines, made)
        lines.close()
        write_status(shard, Statistics().to_json())
        (self._folder / SETTINGS).write_text(_SETTINGS)
        self._files = self._all()
        self._kinds = self._by_kind()
        (self._journal,) = journal_files(shard).values()
        marks = [record for record in records.read(self._journal) if record.kind is Kind.MARK]
        self._marks = [mark.end - len(mark.body) - RECORD.size for mark in marks]
        self._answers: dict[int, list[Any]] = {}

    def _possible(self, number: int) -> list[Any]:
        """The answer, and those of the moments before each mark of the journal: a mark that cannot be read was never
        written, as after a power cut."""
        if number not in self._answers:
            self._answers[number] = found = []
            for end in (None, *self._marks):
                self._journal.write_bytes(self._files[self._journal][:end])
                found.append(self._answer(_READERS[number]))
                self._restore()
        return self._answers[number]

    def _all(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in sorted(self._folder.rglob("*")) if path.is_file()}

    def _by_kind(self) -> list[list[Path]]:
        """The files that have contents, those of an image or a table together: there are more of them than others."""
        kinds: dict[str, list[Path]] = {}
        for path in (path for path, raw in self._files.items() if raw):
            kinds.setdefault(path.parent.name if path.parent.parent.name != "crawl" else path.name, []).append(path)
        return list(kinds.values())

    def close(self) -> None:
        shutil.rmtree(self._root)

    def seeds(self) -> list[bytes]:
        dice = Random(1)
        damages = [_DAMAGE.pack(i % 5, i, dice.randrange(1 << 20), dice.randrange(600)) for i in range(40)]
        return [bytes([i]) + damage for i, damage in enumerate(damages)]

    def check(self, data: bytes) -> None:
        number = (data[0] if data else 0) % len(_READERS)
        self._damage(data[1:])
        try:
            changed = {path for path, raw in self._files.items() if not path.exists() or path.read_bytes() != raw}
            before, after = self._files[self._journal], self._journal.read_bytes() if self._journal.exists() else b""
            answer = self._answer(_READERS[number])
        except GossamerError as error:
            if not error.cure and not error.message.startswith(str(self._folder / SETTINGS)):
                raise AssertionError("an error without a cure") from error
            return
        finally:
            self._restore()
        if answer is not None and not any(path.name in _FREE for path in changed):
            torn = before[self._marks[-1] :] != after[self._marks[-1] :]
            assert answer in self._possible(number)[: None if torn else 1], "another answer, and no error"

    def _answer(self, read: Callable[[Path], Any]) -> Any:
        """What is read at a fixed time of the day."""
        with patch.object(collection, "time", SimpleNamespace(time=lambda: START + 1e6)):
            return read(self._folder)

    def _restore(self) -> None:
        for path in set(self._folder.rglob("*")) - set(self._files):
            if path.is_file() or path.is_symlink():
                path.unlink()
        for path, raw in self._files.items():
            if not path.exists() or path.read_bytes() != raw:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(raw)

    def _damage(self, damages: bytes) -> None:
        for at in range(0, len(damages) - _DAMAGE.size + 1, _DAMAGE.size):
            how, which, where, much = _DAMAGE.unpack_from(damages, at)
            kind = self._kinds[which % len(self._kinds)]
            path = kind[which // len(self._kinds) % len(kind)]
            if how % 5 == 4:
                path.unlink(missing_ok=True)
                continue
            raw = bytearray(path.read_bytes() if path.exists() else b"")
            place = where % (len(raw) + 1)
            end = min(len(raw), place + 1 + much % 600)
            if how % 5 == 0:
                del raw[place:]
            elif how % 5 == 1 and place < len(raw):
                raw[place] ^= 1 << much % 8
            elif how % 5 == 2:
                raw[place:end] = bytes(end - place)
            else:
                raw[place:end] = Random(much).randbytes(end - place)
            path.write_bytes(raw)
