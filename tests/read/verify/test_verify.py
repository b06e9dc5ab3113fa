"""Verify: a sound collection passes, and each kind of damage is found, with its place and what it means."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from bench.verify import Made, Maker
from gossamer.base.errors import UsageError
from gossamer.collection import image, manifest, watches
from gossamer.collection.layout import MANIFEST, URL_FILE, archive_name, journal_files, shard_folder
from gossamer.collection.manifest import Line
from gossamer.collection.tables import seal
from gossamer.read.sql.sources import find
from gossamer.read.verify import verify as verifying
from gossamer.read.verify.archive import says
from gossamer.read.verify.faults import VerifyReport
from gossamer.read.verify.verify import verify
from tests.support.paths import DATA

OLD: Final = DATA / "format-1.tar.gz"
ARCHIVE: Final = archive_name(0)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three segments, and ten visits in the journal; with revisit and conversion records."""
    return Maker(tmp_path_factory.mktemp("sound"), text=True).make(70, 20, unsealed=10)


@pytest.fixture
def made(sound: Made, tmp_path: Path) -> Made:
    """A copy to be damaged."""
    folder = tmp_path / "crawl"
    shutil.copytree(sound.folder, folder)
    return Made(folder, sound.urls, sound.asked, sound.bodies, sound.repeats)


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 0xFF
    path.write_bytes(raw)


def text_of(report: VerifyReport) -> str:
    return "\n".join(map(str, report.findings))


def test_a_sound_collection_passes_and_everything_is_checked(sound: Made) -> None:
    report = verify(sound.folder)
    assert text_of(report) == ""
    assert report.good
    assert report.checked["segment files"] == sum(map(len, find(sound.folder).tables.values()))
    assert report.checked["URLs"] == len(sound.urls)
    assert report.checked["revisits"] == len(sound.repeats) > 0
    assert report.checked["archive bytes"] == (sound.shard / ARCHIVE).stat().st_size
    assert report.checked["index lines"] > len(sound.asked) / 2
    assert report.checked["journal records"] > 0


def test_a_collection_of_format_1_passes(tmp_path: Path) -> None:
    with tarfile.open(OLD) as packed:
        packed.extractall(tmp_path, filter="data")
    report = verify(tmp_path / "format-1")
    assert text_of(report) == ""
    assert any("no CDXJ index" in note for note in report.notes)


@pytest.mark.slow
def test_checking_in_other_processes_finds_the_same(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "PIECE", 10_000)
    monkeypatch.setattr(verifying, "ALONE", 0)
    assert text_of(verify(made.folder)) == ""
    flip(made.shard / ARCHIVE, (made.shard / ARCHIVE).stat().st_size // 2)
    assert ARCHIVE in text_of(verify(made.folder))


@pytest.mark.slow
@pytest.mark.parametrize("table", ["pages", "visits", "links", "sites", "anchors", "counts", "cdx", "verdicts"])
def test_a_changed_byte_of_a_segment_file_is_found(made: Made, table: str) -> None:
    file = find(made.folder).table(table)[1]
    flip(file.path, file.bytes // 2)
    report = verify(made.folder)
    assert [f.file for f in report.findings] == [f"{table}/{file.path.name}"]
    assert "checksum" in report.findings[0].wrong


def test_a_missing_or_shortened_file_is_found(made: Made) -> None:
    first, second = find(made.folder).table("visits")[:2]
    first.path.unlink()
    second.path.write_bytes(second.path.read_bytes()[:-1])
    report = verify(made.folder)
    assert [f.file for f in report.findings] == [f"visits/{f.path.name}" for f in (first, second)]


def test_a_damaged_line_of_the_manifest_is_named(made: Made) -> None:
    path = made.shard / MANIFEST
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"bytes":', b'"bytez":', 1)
    path.write_bytes(b"".join(lines))
    report = verify(made.folder)
    assert (report.findings[0].file, report.findings[0].place) == (MANIFEST, "line 3")
    assert any("records" in f.wrong and "in no segment" in f.wrong for f in report.findings)


def test_a_torn_last_line_of_the_manifest_is_not_a_fault(made: Made) -> None:
    with (made.shard / MANIFEST).open("ab") as file:
        file.write(b'{"segment":99,"fil')
    assert verify(made.folder).good


@pytest.mark.parametrize("damage", [lambda raw: b"x" + raw[1:], lambda raw: raw[:40] + b"9" + raw[41:], lambda _: b""])
def test_a_damaged_first_line_of_the_manifest_is_reported_and_the_rest_checked(
    made: Made, damage: Callable[[bytes], bytes]
) -> None:
    lines = (made.shard / MANIFEST).read_bytes().splitlines(keepends=True)
    (made.shard / MANIFEST).write_bytes(damage(lines[0]) + b"".join(lines[1:] if damage(lines[0]) else []))
    report = verify(made.folder)
    assert (report.findings[0].file, report.findings[0].place) == (MANIFEST, "line 1")
    assert "is damaged" in report.findings[0].wrong
    if damage(lines[0]):
        assert len(report.findings) == 1
        assert report.checked["archive records"] > 0


def test_a_missing_or_damaged_list_of_runs_is_reported(made: Made) -> None:
    path = made.shard / "runs.jsonl"
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b'"anchors":true', b'"anchors":null'))
    assert path.read_bytes() != raw
    report = verify(made.folder, quick=True)
    assert [(f.file, f.place) for f in report.findings] == [("runs.jsonl", "line 1")]
    path.unlink()
    assert "runs.jsonl: is missing" in text_of(verify(made.folder, quick=True))


def test_without_settings_those_of_the_last_run_are_used(made: Made) -> None:
    (made.folder / "crawl.toml").unlink()
    report = verify(made.folder)
    assert [f.file for f in report.findings] == ["crawl.toml"]
    assert report.checked["archive records"] > 0
    (made.folder / "crawl.toml").write_text("[nosuch]\n")
    assert "cannot be used" in text_of(verify(made.folder, quick=True))


def test_stray_files_in_the_archive_folder_are_noted(made: Made) -> None:
    (made.shard / "warc" / "holiday.jpg").write_bytes(b"x")
    (made.shard / "warc" / "000077.warc.gz").write_bytes(b"x")
    report = verify(made.folder, quick=True)
    assert report.good
    assert any("not of this collection" in n.lower() and "warc/holiday.jpg" in n for n in report.notes)
    assert any("removed by the next start" in n and "warc/000077.warc.gz" in n for n in report.notes)


def test_a_damaged_journal_record_is_found(made: Made) -> None:
    path = list(journal_files(made.shard).values())[-1]
    flip(path, 300)
    report = verify(made.folder)
    assert report.findings[0].file == f"journal/{path.name}"
    assert "damaged" in report.findings[0].wrong


def test_a_lost_segment_is_a_gap(made: Made) -> None:
    rewrite(made, lambda line: None if line["segment"] == 2 else line)
    assert re.search(r"records \d+ to \d+ of the journal are in no segment", text_of(verify(made.folder)))


def test_a_damaged_block_of_urls_is_found_with_its_offset(made: Made) -> None:
    flip(made.shard / URL_FILE, 100)
    finding = verify(made.folder).findings[0]
    assert finding.file == URL_FILE
    assert "block at byte 16 is damaged" in finding.wrong


def test_blocks_with_other_urls_are_found(made: Made, tmp_path: Path) -> None:
    other = Maker(tmp_path / "other", sites=4).make(70, 200)
    shutil.copy(other.shard / URL_FILE, made.shard / URL_FILE)
    report = verify(made.folder, quick=True)
    assert any(f.file == URL_FILE for f in report.findings)


@pytest.mark.slow
def test_an_image_that_does_not_add_up_is_found(made: Made) -> None:
    import numpy as np

    def write(counts: list[int]) -> None:
        arrays = {"counts": np.array(counts), "page.state": np.array([0, 0, 2], np.uint8)}
        lines = manifest.Manifest.open(made.shard)
        image.finish(made.shard, lines, image.write(made.shard, 1, 1, arrays, {"pages": 3}))
        lines.close()

    write([2, 0, 1, 0])
    assert verify(made.folder, quick=True).good
    write([1, 1, 0, 0, 0, 1, 0, 0])  # the desk may count more finely within a state
    assert verify(made.folder, quick=True).good
    write([2, 0, 2, 0])
    report = verify(made.folder, quick=True)
    assert "add up to 4" in text_of(report)
    assert report.checked["invariants"] > 30, "an image is a cache: the rest is still checked"
    write([1, 0, 2, 0])
    assert "pages by state" in text_of(verify(made.folder, quick=True))
    folder = made.shard / str((manifest.read(made.shard).image or {})["image"])
    flip(folder / "counts", 3)
    assert "damaged" in text_of(verify(made.folder, quick=True))
    shutil.rmtree(folder)
    assert "is missing: the next start takes longer" in text_of(verify(made.folder, quick=True))
    assert "Remove" not in text_of(verify(made.folder, quick=True))


def test_a_status_file_that_does_not_add_up_is_found(made: Made) -> None:
    said = {"known": 10, "pending": 3, "waiting": 1, "done": 4, "excluded": 1}
    (made.shard / "standing.json").write_text(json.dumps(said))
    assert "add up to 9" in text_of(verify(made.folder, quick=True))


# --- the archive ----------------------------------------------------------------------------------------------------


def members(path: Path) -> list[tuple[int, int]]:
    """Start and end of each gzip member."""
    from gossamer.collection import cdx

    return [(at, at + size) for at, size, _ in cdx.members(path, 0, path.stat().st_size)]


def replaced(made: Made, number: int, change: Callable[[bytes], bytes]) -> int:
    """Changes record `number` of the archive and keeps its length, so that all others stay where they are."""
    path = made.shard / ARCHIVE
    start, end = members(path)[number]
    raw = path.read_bytes()
    record = change(gzip.decompress(raw[start:end]))
    packed = min((gzip.compress(record, level, mtime=0) for level in (9, 6)), key=len)
    room = end - start - len(packed)
    assert room >= 12, "the record must become smaller"
    head = packed[:3] + b"\x04" + packed[4:10] + (room - 2).to_bytes(2, "little") + bytes(room - 2)
    path.write_bytes(raw[:start] + head + packed[10:] + raw[end:])
    return start


def responses(made: Made) -> list[int]:
    """Numbers of the response records of pages."""
    path = made.shard / ARCHIVE
    raw = path.read_bytes()
    kinds = [gzip.decompress(raw[a:b])[:60] for a, b in members(path)]
    return [i for i, head in enumerate(kinds) if b"WARC-Type: response" in head]


def test_a_changed_byte_of_the_archive_is_found_and_the_rest_still_checked(made: Made) -> None:
    path = made.shard / ARCHIVE
    chosen = [members(path)[responses(made)[i]] for i in (5, 20)]
    for start, end in chosen:
        flip(path, (start + end) // 2)
    report = verify(made.folder)
    places = {f.place for f in report.findings if f.file == ARCHIVE}
    assert {f"byte {start}" for start, _ in chosen} <= places


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        (rb"river", b"viper", "block does not match its digest"),
        (rb"WARC-Target-URI: http://\S+", b"WARC-Target-URI: http://x/", "but its visit requested"),
        (rb"WARC-Type: response", b"WARC-Type: resource", "no response or revisit record starts"),
        (
            rb"Content-Length: \d+\r\n\r\nHTTP",
            b"Content-Length: 7\r\n\r\nHTTP",
            "length of the record is not the stated one",
        ),
    ],
)
def test_a_record_that_does_not_match_its_visit_is_found(made: Made, old: bytes, new: bytes, wrong: str) -> None:
    plain = [n for n in responses(made)[3:] if b"river" in record_of(made, n)]
    at = replaced(made, plain[2], lambda record: shortened(re.sub(old, new, record, count=1)))
    found = [f for f in verify(made.folder).findings if f.place == f"byte {at}"]
    assert any(wrong in f.wrong for f in found), found


def record_of(made: Made, number: int) -> bytes:
    start, end = members(made.shard / ARCHIVE)[number]
    return gzip.decompress((made.shard / ARCHIVE).read_bytes()[start:end])


def shortened(record: bytes) -> bytes:
    """The record without its address, to which nothing refers: this makes room for the padding."""
    return re.sub(rb"WARC-IP-Address: \S+\r\n", b"", record)


def test_a_payload_that_differs_from_that_of_the_visit_is_found(made: Made) -> None:
    def change(table: pa.Table) -> pa.Table:
        return with_column(table, "payload", pa.array([bytes(19) + b"x"] * len(table), pa.binary(20)))

    change_table(made, "visits", 1, change)
    assert "digest of another body" in text_of(verify(made.folder))


def test_a_record_without_a_visit_is_found(made: Made) -> None:
    """The visit says that it archived nothing, so its records belong to no visit."""

    def forget(table: pa.Table) -> pa.Table:
        at = 10
        ends = table.column("warc_end").to_pylist()
        table = with_column(table, "warc_end", pa.array([0 if i == at else e for i, e in enumerate(ends)], pa.uint64()))
        files = table.column("warc_file").combine_chunks().dictionary_decode().to_pylist()
        return with_column(table, "warc_file", pa.array([None if i == at else f for i, f in enumerate(files)]))

    change_table(made, "visits", 1, forget)
    assert "no visit refers to this response record" in text_of(verify(made.folder))


def test_a_visit_that_refers_to_a_place_without_a_record_is_found(made: Made) -> None:
    def move(table: pa.Table) -> pa.Table:
        return with_column(table, "warc_offset", pc.add(table.column("warc_offset"), pa.scalar(1, pa.uint64())))

    change_table(made, "visits", 1, move)
    assert "no response or revisit record starts" in text_of(verify(made.folder))


def test_an_archive_that_is_missing_or_too_short_is_found(made: Made) -> None:
    path = made.shard / ARCHIVE
    path.write_bytes(path.read_bytes()[:-10])
    assert "the end is missing" in text_of(verify(made.folder, quick=True))
    path.unlink()
    assert "their bodies are lost" in text_of(verify(made.folder))


def test_a_shortened_archive_is_checked_up_to_its_end(made: Made) -> None:
    """The most frequent damage: it once ended the whole check."""
    path = made.shard / ARCHIVE
    whole_length = path.stat().st_size
    cut = members(path)[-6][0] + 10
    flip(path, sum(members(path)[responses(made)[5]]) // 2)
    path.write_bytes(path.read_bytes()[:cut])
    report = verify(made.folder)
    assert f"has {cut} bytes, but {whole_length} were committed" in report.findings[0].wrong
    assert any("damaged" in f.wrong and f.place for f in report.findings), "the rest is still checked"
    assert not any(f.file.startswith("cdx") for f in report.findings)
    assert any("index of 000000.warc.gz was not compared" in note for note in report.notes)


def test_a_missing_archive_is_not_a_reason_to_remove_the_index(made: Made) -> None:
    (made.shard / ARCHIVE).unlink()
    report = verify(made.folder)
    assert [(f.file, f.cure) for f in report.findings] == [(ARCHIVE, "Restore the file from a backup.")]


def test_faults_that_are_not_shown_are_counted(made: Made) -> None:
    file = find(made.folder).table("cdx")[0]
    lines = file.path.read_bytes().splitlines(keepends=True)
    others = [line.replace(b'"length": "', b'"length": "9') for line in lines for _ in range(9)]
    others = sorted({line.replace(b'"offset": "', b'"offset": "%d' % i) for i, line in enumerate(others)})
    file.path.write_bytes(b"".join(sorted([*lines, *others])))
    sign(made, f"cdx/{file.path.name}")
    report = verify(made.folder)
    assert report.wrong == len(others) > 20
    assert report.findings[-1].wrong == f"and {len(others) - 20} more of this kind"


@pytest.mark.parametrize("table", ["links", "visits", "cdx", "ticks"])
def test_the_archive_is_checked_even_if_a_table_is_damaged(made: Made, table: str) -> None:
    file = find(made.folder).table(table)[1]
    file.path.unlink()
    all_records = members(made.shard / ARCHIVE)
    chosen = [all_records[responses(made)[i]] for i in (5, 20)]
    for start, end in chosen:
        flip(made.shard / ARCHIVE, (start + end) // 2)
    report = verify(made.folder)
    assert {f"byte {start}" for start, _ in chosen} <= {f.place for f in report.findings}
    assert report.checked["archive records"] >= len(all_records) - 4
    assert any(f"Checks that need {table} were skipped" in note for note in report.notes)
    assert report.checked["invariants"] > 10, "checks that do not need the table are run"


def test_a_revisit_record_without_its_original_is_found(made: Made) -> None:
    path, raw = made.shard / ARCHIVE, (made.shard / ARCHIVE).read_bytes()
    number = next(
        i for i, (a, b) in enumerate(members(path)) if b"WARC-Type: revisit" in gzip.decompress(raw[a:b])[:60]
    )

    def elsewhere(record: bytes) -> bytes:
        nobody = b"WARC-Refers-To: <urn:uuid:00000000-0000-0000-0000-000000000000>"
        return shortened(re.sub(rb"WARC-Refers-To: \S+", nobody, record))

    at = replaced(made, number, elsewhere)
    found = [f for f in verify(made.folder).findings if f.place == f"byte {at}"]
    assert any("refers to a record that does not exist" in f.wrong for f in found)


def test_missing_and_wrong_lines_of_the_index_are_found(made: Made) -> None:
    file = find(made.folder).table("cdx")[0]
    lines = file.path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"status": "', b'"status": "9')
    del lines[4]
    file.path.write_bytes(b"".join(lines))
    sign(made, f"cdx/{file.path.name}")
    report = verify(made.folder)
    wrong = text_of(report)
    assert "no record of 000000.warc.gz has this line" in wrong
    assert "is not in the index" in wrong
    assert any(f.place == "line 2" for f in report.findings)


# --- invariants of the tables ---------------------------------------------------------------------------------------


def rewrite(made: Made, change: Callable[[Line], Line | None]) -> None:
    path = made.shard / MANIFEST
    lines = [manifest.decode(raw) for raw in path.read_bytes().splitlines(keepends=True)]
    changed = [line if line is None or "segment" not in line else change(line) for line in lines]
    path.write_bytes(b"".join(manifest.encode(line) for line in changed if line is not None))


def sign(made: Made, name: str, said: dict[str, Any] | None = None) -> None:
    """Makes the manifest accept the changed file."""
    import xxhash

    raw = (made.shard / name).read_bytes()
    new = said or {"rows": raw.count(b"\n"), "bytes": len(raw), "checksum": xxhash.xxh3_64_hexdigest(raw)}

    def change(line: Line) -> Line:
        return {**line, "files": {path: new if path == name else old for path, old in line["files"].items()}}

    rewrite(made, change)


def change_table(made: Made, table: str, number: int, change: Callable[[pa.Table], pa.Table]) -> None:
    file = find(made.folder).table(table)[number]
    changed = change(seal.read_file(file.path, file.checksum))
    sign(made, f"{table}/{file.path.name}", dict(seal.write_file(file.path, changed)))


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def shifted(name: str, by: int) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        column = table.column(name)
        return with_column(table, name, pc.add(column, pa.scalar(by, column.type)))

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "change", "wrong"),
    [
        ("pages", shifted("page", 1), "some are missing or occur twice"),
        ("pages", shifted("site", 50), "refer to site"),
        ("pages", shifted("fingerprint", 1), ""),
        ("visits", shifted("page", 5_000), "refer to page 50"),
        ("visits", shifted("links", 1), "but its visits say"),
        ("visits", shifted("received", 1), "add up to"),
        ("visits", lambda t: t.slice(1), "rows here, but the table ticks says"),
        ("links", lambda t: t.slice(1), "but its visits say"),
        ("links", shifted("target", 9_000), "refer to the target"),
        ("sites", shifted("ok", 1), "visits add up to"),
        ("anchors", lambda t: pa.concat_tables([t] * 4), "link texts, but only"),
        ("counts", shifted("site", 40), "refer to site 4"),
        ("counts", shifted("number", -2), "but its visits counted"),
        ("counts", shifted("number", -999), "less than one"),
        ("visits", shifted("counted_image", 1), "but its visits counted"),
        ("verdicts", shifted("page", 7_000), "refer to page 70"),
        ("ticks", shifted("tick", 1), "ticks"),
        ("ticks", shifted("first_page", 1), "were known"),
    ],
)
def test_rows_that_contradict_each_other_are_found(
    made: Made, table: str, change: Callable[[pa.Table], pa.Table], wrong: str
) -> None:
    change_table(made, table, 1, change)
    report = verify(made.folder, quick=True)
    if wrong:
        assert wrong in text_of(report)
        assert not report.good
    else:
        assert report.good, "no other row depends on it"


# --- the rest -------------------------------------------------------------------------------------------------------


def test_data_that_a_running_crawl_has_not_committed_is_not_checked(made: Made) -> None:
    with (made.shard / ARCHIVE).open("ab") as file:
        file.write(b"half a record of a worker")
    with (made.shard / URL_FILE).open("ab") as file:
        file.write(b"half a block")
    with list(journal_files(made.shard).values())[-1].open("ab") as file:
        file.write(b"half a journal record")
    (made.shard / "visits" / "000000000077.parquet").write_bytes(b"half a segment")
    assert text_of(verify(made.folder)) == ""


def test_nothing_is_written_into_the_collection(made: Made) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(made.folder.rglob("*"))}

    before = state()
    verify(made.folder)
    assert state() == before


def test_a_folder_that_is_not_a_collection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a collection"):
        verify(tmp_path)
    assert not shard_folder(tmp_path).exists()


def test_faults_in_json_have_place_and_cure(made: Made) -> None:
    flip(find(made.folder).table("visits")[0].path, 50)
    said = json.loads(json.dumps(verify(made.folder).as_json()))
    assert (said["good"], said["wrong"]) == (False, 1)
    assert set(said["findings"][0]) == {"file", "place", "wrong", "cure"}
    assert all(said["findings"][0][key] for key in ("file", "wrong", "cure"))


def test_digests_are_read_as_the_library_writes_them() -> None:
    for i in range(50):
        sha1 = hashlib.sha1(bytes([i])).digest()
        field = b"sha1:" + base64.b32encode(sha1)
        assert says(field, sha1)
        assert not says(field, hashlib.sha1(b"other").digest())
        assert not any(says(other, sha1) for other in (b"", field[:-1], field.lower(), b"sha1:" + sha1.hex().encode()))
        assert not says(field[:-1] + b"-", sha1)


def test_a_damaged_file_of_watches_is_named(made: Made) -> None:
    watches.add(made.folder, watches.Watch(0, "a.example"))
    report = verify(made.folder)
    assert (report.good, report.checked["watches"]) == (True, 1)
    flip(made.folder / watches.FILE, 30)
    assert "../watches.jsonl: is damaged" in text_of(verify(made.folder))
