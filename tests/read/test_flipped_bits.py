"""A bit that changed on disk never changes an answer in silence: every reader gives the same answer, or an error."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_hexdigest

from bench.verify import Maker
from gossamer import config
from gossamer.base.errors import GossamerError
from gossamer.collection import checked, manifest
from gossamer.collection.checked import Checked
from gossamer.collection.image import ImageDamagedError
from gossamer.collection.journal import records
from gossamer.collection.journal.records import RECORD, Kind
from gossamer.collection.last_bodies import last_bodies
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.runs import write_status
from gossamer.laboratory.collection_graph import collected, known_urls
from gossamer.manager.history import History
from gossamer.manager.scores.compute import compute
from gossamer.observe.crawl_status import read_crawl_status
from gossamer.read import compact
from gossamer.read.explain import collection
from gossamer.read.explain.page import explain_page
from gossamer.read.explain.site import explain_site
from gossamer.read.export import jsonl, wacz
from gossamer.read.sql.columns import VIEWS
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import repaired, verify
from tests.observe.test_statistics import WHOLE
from tests.read.explain.test_explain import ROOT, past, without_holder, world_in

UNREAD: Final = ("lock", "crawl.toml", "clock.json", "desk.sock")
"""Files that have no checksum: the user writes the settings, and the others say nothing about pages."""


def of_sql(folder: Path, fresh: bool = False) -> Any:
    opened = Database(find(folder, fresh), config.load(folder / SETTINGS))
    return {name: list(opened.query(f"from {name} order by all").rows) for name in VIEWS}


def of_explain(folder: Path) -> Any:
    """At the same time of the day."""
    answers = [
        explain_page(folder, ROOT),
        explain_page(folder, ROOT + "nowhere"),
        explain_site(folder, "a.example"),
    ]
    return json.dumps(answers, default=str, sort_keys=True)


def of_status(folder: Path) -> Any:
    return read_crawl_status(folder).to_json()


def of_jsonl(folder: Path) -> Any:
    to = folder.with_suffix(".jsonl")
    jsonl.export(folder, to, links=True, force=True, everything=True, fresh=True)
    return to.read_bytes()


def of_wacz(folder: Path) -> Any:
    """What is packed; the head of a gzip member may differ, its contents may not."""
    to = folder.with_suffix(".wacz")
    wacz.export(folder, to, force=True, fresh=True)
    with zipfile.ZipFile(to) as package:
        return [inflated(package.read(n)) for n in package.namelist() if not n.startswith("datapackage")]


def inflated(raw: bytes) -> bytes:
    found = b""
    while raw.startswith(b"\x1f\x8b"):
        stream = zlib.decompressobj(wbits=31)
        found += stream.decompress(raw)
        raw = stream.unused_data
    return found + raw


def of_graph(folder: Path) -> Any:
    found = collected(folder, known=True)
    arrays = found.graph.links.offsets, found.graph.links.targets, found.graph.site, found.graph.size, found.graph.start
    return [array.tolist() for array in arrays], known_urls(folder, found.page)


READERS: Final[dict[str, Callable[[Path], Any]]] = {
    "sql": of_sql,
    "sql --fresh": lambda folder: of_sql(folder, fresh=True),
    "explain": of_explain,
    "status": of_status,
    "export --jsonl": of_jsonl,
    "export --wacz": of_wacz,
    "graph": of_graph,
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A segment and an image of a stopped run, with scores, plans and statistics, and the journal of a killed run."""
    folder = tmp_path_factory.mktemp("bits") / "crawl"
    world = world_in(folder)
    world.run([ROOT], pages=4)
    compute(shard_folder(folder), {"pagerank": 1.0}, "completed", True)
    world.run([ROOT], turns=30, clean=False, commit=True)
    write_status(shard_folder(folder), WHOLE)
    history = History()
    history.add(past(1, pages=np.array([0, 1, 2], np.uint32)))
    history.write(shard_folder(folder))
    return without_holder(folder)


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "time", SimpleNamespace(time=lambda: 2e9))


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two segments, an archive with its index, and visits that only the journal contains."""
    return Maker(tmp_path_factory.mktemp("bits") / "made", words=10, text=True).make(30, 15, unsealed=5).folder


def flippable(folder: Path) -> dict[str, list[Path]]:
    """The files that readers use, by kind."""
    kinds: dict[str, list[Path]] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in UNREAD and p.stat().st_size):
        kinds.setdefault(path.parent.name if path.suffix in (".parquet", ".log") else path.name, []).append(path)
    return kinds


def last_bit(path: Path) -> int:
    """The number of bits that matter. Of a journal: those before its last mark, since a mark that cannot be read was
    never written, as after a power cut."""
    if path.suffix == ".log":
        marks = [r for r in records.read(path) if r.kind is Kind.MARK]
        return 8 * (marks[-1].end - len(marks[-1].body) - RECORD.size)
    return 8 * path.stat().st_size


class Flipped:
    """A file with one bit flipped, until it is put back."""

    def __init__(self, path: Path, bit: int) -> None:
        self._path, self._bit = path, bit

    def __enter__(self) -> None:
        self._raw = self._path.read_bytes()
        raw = bytearray(self._raw)
        raw[self._bit // 8] ^= 1 << self._bit % 8
        self._path.write_bytes(raw)

    def __exit__(self, *_: object) -> None:
        self._path.write_bytes(self._raw)


def same_or_error(folder: Path, name: str, before: Any) -> None:
    after = answer(folder, name)
    assert after.cure if isinstance(after, GossamerError) else after == before


def answer(folder: Path, name: str) -> Any:
    try:
        return READERS[name](folder)
    except GossamerError as error:
        return error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fixture", "names"),
    [
        ("crawled", ("sql", "sql --fresh", "explain", "status", "graph")),
        ("archived", ("sql --fresh", "export --jsonl", "export --wacz", "graph")),
    ],
)
def test_every_reader_gives_the_same_answer_or_an_error(
    request: pytest.FixtureRequest, fixture: str, names: tuple[str, ...]
) -> None:
    folder: Path = request.getfixturevalue(fixture)
    before = {name: READERS[name](folder) for name in names}
    kinds = flippable(folder)

    @settings(max_examples=40, deadline=None)
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from(sorted(kinds)))
        path = data.draw(st.sampled_from(kinds[kind]))
        bit = data.draw(st.integers(0, last_bit(path) - 1))
        name = data.draw(st.sampled_from(names))
        with Flipped(path, bit):
            same_or_error(folder, name, before[name])

    ask()
    assert {name: READERS[name](folder) for name in names} == before


def test_every_damaged_table_is_noticed(archived: Path, tmp_path: Path) -> None:
    """A bit in the middle of each file that the manifest names: at least one of the answers is an error."""
    sources = find(archived)
    for name, files in sources.tables.items():
        for file in files:
            with Flipped(file.path, 4 * file.bytes), pytest.raises(GossamerError, match=file.path.name) as told:
                of_wacz(archived) if name == "cdx" else list(
                    Database(find(archived), config.load(archived / SETTINGS)).query(f"from {name}").rows
                )
            assert "verify" in told.value.cure
            assert "--unchecked" in told.value.cure


def test_unchecked_reads_the_file_as_it_is(archived: Path) -> None:
    file = next(f for f in find(archived).table("visits"))
    query = "select count(*) from visits"  # reads the end of the file alone
    before = list(Database(find(archived), config.load(archived / SETTINGS)).query(query).rows)
    with Flipped(file.path, file.bytes):
        opened = Database(find(archived, unchecked=True), config.load(archived / SETTINGS))
        assert list(opened.query(query).rows) == before
        with pytest.raises(GossamerError, match="checksum"):
            Database(find(archived), config.load(archived / SETTINGS)).query(query)


def test_a_changed_file_is_compared_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if its size and its time of modification are as before. A large file is compared once by all readers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path, compared = tmp_path / "shard" / "x", list[Path]()
    path.parent.mkdir()
    path.write_bytes(bytes(checked.SMALL))
    size, checksum = path.stat().st_size, xxh3_64_hexdigest(path.read_bytes())
    was = checked.compare_any

    def noted(path: Path, sums: Sequence[tuple[int, str]]) -> None:
        compared.append(path)
        was(path, sums)

    monkeypatch.setattr(checked, "compare_any", noted)
    for _ in range(3):
        Checked(path.parent).require(path, size, checksum)
    assert compared == [path]
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"\1")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(GossamerError, match="damaged"):
        Checked(path.parent).require(path, size, checksum)
    Checked(path.parent, unchecked=True).require(path, size, checksum)


def test_a_list_that_others_may_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path, compared = tmp_path / "shard" / "x", list[Path]()
    path.parent.mkdir()
    path.write_bytes(bytes(checked.SMALL))
    for mode, times in ((0o700, 1), (0o770, 2), (0o707, 2)):
        compared.clear()
        for _ in range(2):
            Checked(path.parent).require_by(path, f"mode {mode}", lambda: compared.append(path))
            (tmp_path / "cache" / "gossamer" / "checked").chmod(mode)
        assert len(compared) == times, oct(mode)


@given(st.binary(max_size=300))
def test_no_damaged_list_hides_a_damaged_file(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    folder = tmp_path_factory.mktemp("list")
    path = folder / "shard" / "x"
    path.parent.mkdir()
    path.write_bytes(bytes(checked.SMALL))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(folder))
        Checked(path.parent).require_by(path, "x", lambda: None)
        (listed,) = (folder / "gossamer" / "checked").iterdir()
        listed.write_bytes(raw)
        compared = list[Path]()
        Checked(path.parent).require_by(path, "x", lambda: compared.append(path))
        assert compared


def test_a_damaged_image_is_an_error_and_a_missing_one_is_not(crawled: Path) -> None:
    shard = shard_folder(crawled)
    line = manifest.read(shard).image
    assert line is not None
    for path in sorted((shard / str(line["image"])).iterdir()):
        if path.name == "page.state" or path.name == "meta.json":
            with Flipped(path, 3), pytest.raises(ImageDamagedError) as told:
                of_sql(crawled)
            assert "Remove the folder" in told.value.cure
    described = shard / str(line["image"]) / "meta.json"
    raw = described.read_bytes()
    described.unlink()
    with pytest.raises(ImageDamagedError, match=r"meta\.json cannot be read"):
        of_sql(crawled)
    described.write_bytes(raw)
    moved = (shard / str(line["image"])).rename(crawled.parent / "moved")
    assert of_sql(crawled)["pages"]
    moved.rename(shard / str(line["image"]))


def test_a_damaged_last_line_of_the_manifest_is_damage_for_readers(crawled: Path) -> None:
    """A crawl may ignore it, as the trace of a power cut; a reader would leave out the newest image or segment."""
    path = shard_folder(crawled) / "manifest.jsonl"
    raw = path.read_bytes()
    last = len(raw.splitlines(keepends=True)[-1])
    for at in (last // 2, 2, 1):
        with Flipped(path, 8 * (len(raw) - at)), pytest.raises(GossamerError, match="damaged in its last line"):
            find(crawled)
    path.write_bytes(raw[: len(raw) - last // 2])
    torn = find(crawled)
    path.write_bytes(raw)
    assert torn.contents.segments == find(crawled).contents.segments


def of_bodies(folder: Path) -> None:
    """What a resumed crawl reads besides."""
    last_bodies(shard_folder(folder), 1_000)


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_verify_repair_and_compact_end_with_a_report_or_an_error(
    crawled: Path, archived: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bits, cuts and removed files: no traceback."""
    source = data.draw(st.sampled_from([crawled, archived]))
    folder = copied(source, tmp_path_factory.mktemp("damaged") / "copy")
    kinds = flippable(folder)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(kinds[data.draw(st.sampled_from(sorted(kinds)))]))
        if not path.exists() or not path.stat().st_size:
            continue
        at = data.draw(st.integers(0, 8 * path.stat().st_size - 1))
        how = data.draw(st.sampled_from(["flip", "cut", "remove", "zero"]))
        raw = bytearray(path.read_bytes())
        if how == "flip":
            raw[at // 8] ^= 1 << at % 8
        elif how == "cut":
            del raw[at // 8 :]
        elif how == "zero":
            raw[at // 8 : at // 8 + 512] = bytes(len(raw[at // 8 : at // 8 + 512]))
        path.write_bytes(raw)
        if how == "remove":
            path.unlink()
    for command in (repaired, lambda folder: verify(folder), compact.compact, of_graph, of_status, of_bodies):
        with suppress(GossamerError):
            command(folder)
    shutil.rmtree(folder)
