"""Exports are read back with other tools: WACZ with zipfile and warcio, by its specification; JSON lines are compared
with the pages."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from bench.verify import Made, Maker
from gossamer.base.errors import StorageError, UsageError
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Ask, VisitFlag
from gossamer.cli import app
from gossamer.collection.cdx import members
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import archive_files
from gossamer.read.export import jsonl, wacz
from gossamer.read.sql.sources import Sources, find
from gossamer.read.verify.verify import verify
from gossamer.web.archive.archive import Archive
from tests.support.paths import DATA

OLD: Final = DATA / "format-1.tar.gz"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Maker(tmp_path_factory.mktemp("made")).make(60, 20)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(OLD) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "format-1"


def entries(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
        assert all(info.compress_type == zipfile.ZIP_STORED for info in package.infolist())
        return {info.filename: package.read(info) for info in package.infolist()}


def stored(made: Made) -> set[str]:
    """Pages that were fetched successfully: one in eleven fails."""
    return {url for n, url in enumerate(made.urls) if url in made.asked and n % 11 != 10}


def test_a_wacz_file_follows_its_specification(made: Made, tmp_path: Path) -> None:
    to = tmp_path / "crawl.wacz"
    wacz.export(made.folder, to, title="A crawl")
    found = entries(to)
    described = json.loads(found["datapackage.json"])
    assert (described["profile"], described["wacz_version"], described["title"]) == ("data-package", "1.1.1", "A crawl")
    own = {"datapackage.json", "datapackage-digest.json"}
    assert {one["path"] for one in described["resources"]} == set(found) - own
    for one in described["resources"]:
        body = found[one["path"]]
        assert one["hash"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
        assert (one["bytes"], one["name"]) == (len(body), one["path"].rpartition("/")[2])
    digest = json.loads(found["datapackage-digest.json"])
    assert digest == {
        "path": "datapackage.json",
        "hash": f"sha256:{hashlib.sha256(found['datapackage.json']).hexdigest()}",
    }
    for path in archive_files(made.shard).values():
        assert found[f"archive/{path.name}"] == path.read_bytes()


def test_every_line_of_the_index_points_to_its_record(made: Made, tmp_path: Path) -> None:
    to = tmp_path / "crawl.wacz"
    wacz.export(made.folder, to)
    check_index(entries(to), len(made.asked))


def check_index(found: dict[str, bytes], least: int) -> None:
    lines = found["indexes/index.cdxj"].splitlines(keepends=True)
    assert lines == sorted(lines)
    assert len(set(lines)) == len(lines) >= least
    for line in lines:
        _, moment, rest = line.split(b" ", 2)
        said = json.loads(rest)
        start, size = int(said["offset"]), int(said["length"])
        member = found[f"archive/{said['filename']}"][start : start + size]
        (record,) = ArchiveIterator(io.BytesIO(member))
        assert record.rec_type in ("response", "revisit")
        assert record.rec_headers["WARC-Target-URI"] == said["url"]
        assert record.rec_headers["WARC-Date"][:19].translate(str.maketrans("", "", "-:T")) == moment.decode()


def test_pages_are_listed_as_they_are_in_the_archive(made: Made, tmp_path: Path) -> None:
    to = tmp_path / "crawl.wacz"
    wacz.export(made.folder, to)
    found = entries(to)
    head, *pages = [json.loads(line) for line in found["pages/pages.jsonl"].splitlines()]
    assert head["format"] == "json-pages-1.0"
    assert {page["url"] for page in pages} == {made.asked[url] for url in stored(made)}
    assert any("//www." in page["url"] for page in pages), "as it was requested"
    each = (line.split(b" ", 2) for line in found["indexes/index.cdxj"].splitlines())
    indexed = {(json.loads(rest)["url"], moment) for _, moment, rest in each}
    for page in pages:
        digits = "".join(c for c in page["ts"] if c.isdigit())
        assert (page["url"], digits.encode()) in indexed
        assert page["title"].startswith("Page ")


def test_pages_have_their_archived_texts_and_the_list_says_so(made: Made, tmp_path: Path) -> None:
    with_texts = Maker(tmp_path / "crawl", text=True, repeat=0).make(20, 20)
    for each, has in ((with_texts, True), (made, False)):
        wacz.export(each.folder, tmp_path / "crawl.wacz", force=True)
        head, *pages = map(json.loads, entries(tmp_path / "crawl.wacz")["pages/pages.jsonl"].splitlines())
        assert head["hasText"] is has
        assert [page.get("text") for page in pages] == [f"text of {page['url']}" if has else None for page in pages]


def test_archive_files_in_which_nothing_was_stored_are_left_out(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = archive_files(made.shard).values()
    _, length, _ = next(members(first, 0, first.stat().st_size))
    empty = first.with_name("000009.warc.gz")
    empty.write_bytes(first.read_bytes()[:length])  # a worker that got no page writes no more than this
    lengths = find(made.folder).archive_lengths() | {f"warc/{empty.name}": length}
    monkeypatch.setattr(Sources, "archive_lengths", lambda _: lengths)
    wacz.export(made.folder, tmp_path / "crawl.wacz")
    empty.unlink()
    found = entries(tmp_path / "crawl.wacz")
    assert f"archive/{first.name}" in found
    assert f"archive/{empty.name}" not in found
    assert len(json.loads(found["datapackage.json"])["resources"]) == 3


def test_a_collection_without_an_index_gets_one(old: Path, tmp_path: Path) -> None:
    assert find(old).table("cdx") == []
    to = tmp_path / "old.wacz"
    wacz.export(old, to)
    check_index(entries(to), 30)
    assert not list(old.rglob("*.cdxj"))


def test_entries_beyond_four_gigabytes_have_64_bit_sizes(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All entries are treated as large: the same records, in the format of large entries."""
    to = tmp_path / "crawl.wacz"
    monkeypatch.setattr(wacz, "_LARGE", 0)
    wacz.export(made.folder, to)
    assert to.read_bytes()[4:6] == (45).to_bytes(2, "little"), "version needed: 4.5"
    check_index(entries(to), len(made.asked))


def test_only_sealed_data_is_exported(tmp_path: Path) -> None:
    made = Maker(tmp_path / "crawl").make(40, 10, unsealed=10)
    to = tmp_path / "crawl.wacz"
    wacz.export(made.folder, to)
    found = entries(to)
    (name, body) = next((n, b) for n, b in found.items() if n.startswith("archive/"))
    whole = (made.shard / "warc" / name.rpartition("/")[2]).read_bytes()
    assert whole.startswith(body)
    assert len(body) < len(whole)
    check_index(found, 20)


def test_a_pipe_or_device_is_not_replaced_by_a_file(made: Made, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for force in (False, True):
        with pytest.raises(UsageError, match="is not a file"):
            jsonl.export(made.folder, pipe, force=force)
    assert pipe.is_fifo()


def test_an_existing_file_is_not_overwritten_without_force(made: Made, tmp_path: Path) -> None:
    to = tmp_path / "there.wacz"
    to.write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists already"):
        wacz.export(made.folder, to)
    with pytest.raises(UsageError, match="exists already"):
        jsonl.export(made.folder, to)
    assert to.read_bytes() == b"mine"
    wacz.export(made.folder, to, force=True)
    assert zipfile.is_zipfile(to)


def test_a_failed_export_leaves_no_file(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise RuntimeError("in the middle")

    monkeypatch.setattr(wacz, "_pages", fail)
    with pytest.raises(RuntimeError):
        wacz.export(made.folder, tmp_path / "half.wacz")
    with pytest.raises(UsageError):
        jsonl.export(made.folder, tmp_path / "half.jsonl", where="no such column = 1")
    assert list(tmp_path.iterdir()) == []


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_each_stored_page_is_a_json_object_with_its_text(made: Made, tmp_path: Path) -> None:
    to = tmp_path / "pages.jsonl"
    assert jsonl.export(made.folder, to) == (len(stored(made)), 0, False)
    found = {one["url"]: one for one in lines(to)}
    assert set(found) == stored(made)
    for url, one in found.items():
        words = made.bodies[url].rpartition("<p>")[2].removesuffix("</p>")
        assert words in one["text"], url
        assert "<p>" not in one["text"]
        assert (one["status"], one["mime"], one["charset"], one["language"]) == (200, "text/html", "utf-8", "en")
        assert one["digest"].startswith("sha1:")
        assert one["time"].endswith("Z")
        assert "links" not in one
    assert made.repeats & set(found), "a revisit record has the text of the record that it refers to"


def test_the_text_of_a_conversion_record_is_exported_unchanged(tmp_path: Path) -> None:
    made = Maker(tmp_path / "crawl", text=True, repeat=0).make(20, 20)
    jsonl.export(made.folder, tmp_path / "pages.jsonl")
    assert all(one["text"] == f"text of {made.asked[one['url']]}" for one in lines(tmp_path / "pages.jsonl"))


def test_links_and_a_selection_of_pages_are_exported_on_request(made: Made, tmp_path: Path) -> None:
    to = tmp_path / "pages.jsonl"
    jsonl.export(made.folder, to, where="url like '%site1.example%' and depth < 2", links=True)
    found = lines(to)
    assert found
    for one in found:
        number = made.urls.index(one["url"])
        assert "site1.example" in one["url"]
        assert made.urls[number // 2] in one["links"]
        assert len(one["links"]) == 3 - (number == 0)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_the_name_of_the_file_determines_its_compression(made: Made, tmp_path: Path, ending: str) -> None:
    to, plain = tmp_path / f"pages{ending}", tmp_path / "plain"
    jsonl.export(made.folder, to)
    jsonl.export(made.folder, plain)
    raw = to.read_bytes()
    if ending.endswith("gz"):
        raw = gzip.decompress(raw)
    elif ending.endswith("zst"):
        raw = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw)).read()
    assert raw == plain.read_bytes()


def test_a_collection_of_format_1_is_exported_as_json_lines(old: Path, tmp_path: Path) -> None:
    to = tmp_path / "old.jsonl"
    assert jsonl.export(old, to).pages > 20
    assert all(one["text"] and one["url"] for one in lines(to))


def test_noindex_and_noarchive_pages_are_left_out_of_json_lines_but_not_of_wacz(tmp_path: Path) -> None:
    made = Shy(tmp_path / "crawl").make(40, 10)
    to = tmp_path / "pages.jsonl"
    shy = {url for n, url in enumerate(made.urls) if n in SHY}
    exported = jsonl.export(made.folder, to)
    assert (exported.pages, exported.private) == (len(stored(made) - shy), len(stored(made) & shy))
    assert {one["url"] for one in lines(to)} == stored(made) - shy
    jsonl.export(made.folder, to, where="depth = 0 or depth > 0", force=True)
    assert {one["url"] for one in lines(to)} == stored(made) - shy
    jsonl.export(made.folder, to, force=True, everything=True)
    assert {one["url"] for one in lines(to)} == stored(made) > shy
    wacz.export(made.folder, tmp_path / "crawl.wacz")
    _, *pages = entries(tmp_path / "crawl.wacz")["pages/pages.jsonl"].splitlines()
    assert len(pages) == len(stored(made))


SHY: Final = {3: VisitFlag.NOINDEX, 5: VisitFlag.NOARCHIVE, 6: VisitFlag.NOINDEX | VisitFlag.NOARCHIVE}


class Shy(Maker):
    def visits(self, count: int, archive: Archive) -> Effects:
        effects = Maker.visits(self, count, archive)
        for visit in effects.visits:
            visit["flags"] |= SHY.get(int(visit["page"]), VisitFlag.NOFOLLOW)
        return effects


class Changed(Maker):
    """Page 3 is fetched again at the end, then says noindex, and is not stored."""

    def _ticks(self, visits: int, per_tick: int, archive: Archive) -> Iterator[Effects]:
        yield from Maker._ticks(self, visits, per_tick, archive)
        effects = self._effects(self.sites, self.sites)
        effects.visits = np.zeros(1, VISIT)
        site = int(self.made.urls[3].split("site")[1].split(".")[0])
        said = {
            "page": 3,
            "site": site,
            "origin": site,
            "status": 200,
            "flags": VisitFlag.NOINDEX,
            "number": 999,
            "duplicate_of": NONE,
            "retry_after": -1,
            "delay": -1,
        }
        for name, value in said.items():
            effects.visits[name] = value
        yield effects


def test_an_older_copy_of_a_page_that_now_says_noindex_is_left_out(tmp_path: Path) -> None:
    made = Changed(tmp_path / "crawl").make(20, 10)
    to = tmp_path / "pages.jsonl"
    assert jsonl.export(made.folder, to).private == 1
    assert {one["url"] for one in lines(to)} == stored(made) - {made.urls[3]}
    assert jsonl.export(made.folder, to, force=True, everything=True).pages == len(stored(made))
    assert verify(made.folder).findings == []


WISHES: Final = "license: /terms\ncontent-signal: search=yes, ai-train=no"


class Wishing(Maker):
    """The robots.txt of site 1 is read again at the end, and then says how its content may be used."""

    def _ticks(self, visits: int, per_tick: int, archive: Archive) -> Iterator[Effects]:
        yield from Maker._ticks(self, visits, per_tick, archive)
        effects = self._effects(self.sites, self.sites)
        effects.visits = np.zeros(1, VISIT)
        said = {
            "page": NONE,
            "site": 1,
            "origin": 1,
            "ask": Ask.ROBOTS,
            "status": 200,
            "number": 999,
            "duplicate_of": NONE,
            "retry_after": -1,
            "delay": -1,
            "texts": [len(WISHES) if name == "preferences" else 0 for name in VISIT_TEXTS],
        }
        for name, value in said.items():
            effects.visits[name] = value
        effects.visit_texts = WISHES.encode()
        yield effects


def test_the_preferences_of_robots_txt_are_exported_with_its_pages(tmp_path: Path) -> None:
    made = Wishing(tmp_path / "crawl").make(20, 10)
    to = tmp_path / "pages.jsonl"
    jsonl.export(made.folder, to)
    found = {one["url"]: one["site_preferences"] for one in lines(to)}
    assert found == {url: WISHES if "site1.example" in url else None for url in stored(made)}
    assert set(found.values()) == {WISHES, None}
    assert all(one["preferences"] is None for one in lines(to))


@pytest.fixture
def unsealed(tmp_path: Path) -> Made:
    """A collection after a kill: everything is in the journal."""
    return Maker(tmp_path / "made").make(20, 1000, unsealed=99)


def test_an_empty_export_is_refused_and_fresh_reads_the_journal(unsealed: Made, tmp_path: Path) -> None:
    to = tmp_path / "pages.jsonl"
    for export in (lambda: jsonl.export(unsealed.folder, to), lambda: wacz.export(unsealed.folder, to)):
        with pytest.raises(UsageError, match="nothing is sealed yet") as refused:
            export()
        assert "--fresh" in refused.value.cure
        assert not to.exists()
    assert jsonl.export(unsealed.folder, to, fresh=True) == (len(stored(unsealed)), 0, False)
    wacz.export(unsealed.folder, tmp_path / "crawl.wacz", fresh=True)
    found = entries(tmp_path / "crawl.wacz")
    assert len(found["pages/pages.jsonl"].splitlines()) == 1 + len(stored(unsealed))
    assert found["indexes/index.cdxj"].count(b"\n") >= len(stored(unsealed))


def test_an_export_reports_unsealed_data_that_it_left_out(tmp_path: Path) -> None:
    made = Maker(tmp_path / "made").make(40, 20, unsealed=10)
    assert jsonl.export(made.folder, tmp_path / "some.jsonl").unsealed
    assert not jsonl.export(made.folder, tmp_path / "all.jsonl", fresh=True).unsealed


def test_both_exports_report_a_missing_archive_file_alike(unsealed: Made, tmp_path: Path) -> None:
    (path,) = archive_files(unsealed.shard).values()
    path.unlink()
    said = set()
    for export in (jsonl.export, wacz.export):
        with pytest.raises(StorageError, match="is missing") as missing:
            export(unsealed.folder, tmp_path / "to", fresh=True)
        said.add((missing.value.message, missing.value.cure))
    assert len(said) == 1


def test_a_name_that_promises_another_kind_of_file_is_noted(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"--jsonl": ("x.md", "x.jsonl", "x.jsonl.gz", "x.ndjson.zst", "x.gz"), "--wacz": ("x.zip", "x.wacz")}
    noted = set()
    for option, files in names.items():
        for name in files:
            app.main(["export", str(made.folder), option, str(tmp_path / name)], standalone_mode=False)
            if "whatever its name says" in capsys.readouterr().err:
                noted.add(name)
    assert noted == {"x.md", "x.gz", "x.zip"}
