"""Forgetting: nothing of a page or a site is left, everything else stays, and a kill at any time loses neither."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.verify import Made, Maker
from gossamer.base.clock import RealClock
from gossamer.base.errors import GossamerError, LockedError, UsageError
from gossamer.base.model import NONE, VISIT, Outcome, VisitFlag
from gossamer.collection import lock, orders, watches
from gossamer.collection.blocks import BLOCK, offsets_until, texts_of
from gossamer.collection.forgetting import blanks, tombstones
from gossamer.collection.forgetting.finish import finish
from gossamer.collection.forgetting.tables import Gone, changed, touched
from gossamer.collection.forgetting.tombstones import INVALID, Names, Tombstone
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import TABLES, archive_files, archive_name
from gossamer.collection.recovery import recover
from gossamer.collection.tables import seal
from gossamer.config import Settings
from gossamer.crawler.open import open_collection
from gossamer.read import compact
from gossamer.read import forget as read_forget
from gossamer.read.audit.outside import FOLDER as OUTSIDE
from gossamer.read.forget import forget, listed, plan, unfinished
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import verify
from gossamer.web.archive.archive import Archive, Copy, Exchange
from gossamer.web.fetch.decode import Decoded
from gossamer.web.fetch.response import read_head
from tests.support import archiving
from tests.support.effects_samples import small_effects
from tests.support.powercut import Disk, Loss, read_recordings

REASON: Final = "the owner asked for it"


def made_in(folder: Path, **more: Any) -> Made:
    """A collection of 60 visits in four segments. Every fifth page repeats one body."""
    return Maker(folder, text=True, **more).make(60, 15)


def gone(folder: Path, *targets: str) -> list[Tombstone]:
    return forget(folder, plan(folder, targets, REASON)).tombstones


# --- what is in the files -----------------------------------------------------------------------------------


def unpacked(path: Path) -> Iterator[bytes]:
    """The bytes of a file, and what is compressed in it."""
    raw = path.read_bytes()
    yield raw
    if path.suffix == ".gz":
        members = [gzip.decompress(raw[a:b]) for a, b in pairwise([*starts(raw), len(raw)])]
        yield from members
        for member in members:
            body = member.rpartition(b"\r\n\r\n")[0].partition(b"\r\n\r\n")[2].partition(b"\r\n\r\n")[2]
            if body.startswith(b"\x1f\x8b"):
                yield gzip.decompress(body)
    elif path.suffix == ".parquet":
        yield repr(pq.read_table(path).to_pylist()).encode()
    elif path.suffix == ".blocks":
        for a, b in pairwise(offsets_until(path, None, len(raw)).tolist()):
            assert b - a > BLOCK.size
            yield b"\n".join(texts_of(raw[a:b]))
    elif path.suffix == ".log":
        yield raw


def starts(raw: bytes) -> Iterator[int]:
    """Where the gzip members of an archive file start."""
    at = 0
    while at < len(raw):
        yield at
        stream = zlib.decompressobj(wbits=31)
        stream.decompress(raw[at:])
        at = len(raw) - len(stream.unused_data)


def holding(folder: Path, *words: str) -> list[str]:
    """The files below a folder in which one of the words is."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if any(word.encode() in raw for raw in unpacked(path) for word in words):
            found.append(path.relative_to(folder).as_posix())
    return found


def rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for name in TABLES:
        files = find(folder).table(name)
        found[name] = [row for f in files for row in seal.read_file(f.path, f.checksum).to_pylist()]
    return found


def replayed(folder: Path) -> list[bytes]:
    return [e.encode() for e in replace(recover(folder / "shard-000"), image=None).effects()]


TRIED: Final = 9
"""One in so many writes is tried as the last before a power cut, besides all renames."""
PAGE: Final = 31
URL: Final = "http://site1.example/p31"


def words_of(made: Made, page: int) -> tuple[str, ...]:
    """What only this page has: its title, and words of its text."""
    return f"Page {page} says", f"Page {page}<", f"'Page {page}'"


def test_the_page_of_these_tests_is_as_they_need_it(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    assert made.urls[PAGE] == URL
    assert URL not in made.repeats
    for word in (*words_of(made, PAGE), "/p31"):
        assert len(holding(tmp_path, word)) > 0, word


def test_nothing_of_a_forgotten_page_is_left_in_any_file(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    (done,) = gone(tmp_path, URL)
    assert (done.pages, done.visits, done.records) == (1, 1, 3)
    assert holding(tmp_path, *words_of(made, PAGE), f"text of {URL}") == []
    assert holding(tmp_path, '/p31"', "/p31'", "/p31\n", "/p31\r", "/p31 ") == []
    assert verify(tmp_path).findings == []
    (page,) = [row for row in rows(tmp_path)["pages"] if row["page"] == PAGE]
    assert (page["url"], page["state"], page["reason"]) == (f"http://{INVALID}/{PAGE}", "excluded", "forgotten")


def test_nothing_of_a_forgotten_site_is_left_in_any_file(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(60, 15)
    pages = [page for page, url in enumerate(made.urls) if url.startswith("http://site1.example/")]
    (done,) = gone(tmp_path, "site1.example")
    assert done.pages == len(pages)
    assert holding(tmp_path, "site1.example") == []
    assert holding(tmp_path, *[word for page in pages for word in words_of(made, page)]) == []
    assert verify(tmp_path).findings == []


def test_all_rows_of_other_pages_stay(tmp_path: Path) -> None:
    made_in(tmp_path)
    before, files = rows(tmp_path), {p: p.read_bytes() for p in (tmp_path / "shard-000").rglob("*.parquet")}
    gone(tmp_path, URL)
    after = rows(tmp_path)
    ends = {"links": ("source", "target"), "anchors": ("source", "target"), "verdicts": ("page",)}
    for name, columns in ends.items():
        assert after[name] == [r for r in before[name] if PAGE not in [r[c] for c in columns]], name
    assert after["counts"] == before["counts"]
    for name in ("origins", "events"):
        assert after[name] == before[name]
    for name in ("pages", "visits"):
        assert len(after[name]) == len(before[name])
        linking = {r["source"] for r in before["links"] if r["target"] == PAGE}
        for old, new in zip(before[name], after[name], strict=True):
            if old["page"] != PAGE:
                links = {"links": new["links"]} if name == "visits" and old["page"] in linking else {}
                assert new == {**old, **links}
    left = {p: p.read_bytes() for p in (tmp_path / "shard-000").rglob("*.parquet")}
    untouched = [p for p in files if p in left]
    assert len(untouched) > len(files) // 2
    assert all(left[p] == files[p] for p in untouched)


def test_the_rest_of_the_archive_is_bit_for_bit_the_same(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    path = made.shard / archive_name(0)
    before = path.read_bytes()
    (visit,) = [row for row in rows(tmp_path)["visits"] if row["page"] == PAGE]
    gone(tmp_path, URL)
    after = path.read_bytes()
    differs = np.flatnonzero(np.frombuffer(before, "u1") != np.frombuffer(after, "u1"))
    assert len(before) == len(after)
    assert visit["warc_offset"] - 1_000 < differs.min() < visit["warc_offset"] < differs.max() < visit["warc_end"]
    kinds = [record.kind for record in archiving.records(path)]
    assert kinds.count("metadata") == 1


def bare(record: archiving.Record, field: str = "WARC-Target-URI") -> str:
    return record.warc.get(field, "").replace("://www.", "://")


def archive_of(made: Made) -> list[archiving.Record]:
    return [record for path in archive_files(made.shard).values() for record in archiving.records(path)]


def shared(made: Made) -> tuple[str, list[str]]:
    """The page whose body most others repeat, and these."""
    repeats = [r for r in archive_of(made) if r.kind == "revisit"]
    original = Counter(bare(r, "WARC-Refers-To-Target-URI") for r in repeats).most_common(1)[0][0]
    return original, sorted(bare(r) for r in repeats if bare(r, "WARC-Refers-To-Target-URI") == original)


def test_bodies_that_others_repeat_stay_readable(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    first, others = shared(made)
    assert len(others) > 1
    (planned,) = plan(tmp_path, [first], REASON)
    assert set(others) <= set(planned.same)
    before = {row["page"]: row for row in rows(tmp_path)["visits"] if row["ask"] == "page"}
    gone(tmp_path, first)
    assert verify(tmp_path).findings == []
    assert holding(tmp_path, f"URI: {made.asked[first]}\r", f'"{first}"', f"'{first}'") == []
    read = archive_of(made)
    responses = {r.warc["WARC-Record-ID"]: r for r in read if r.kind == "response"}
    seen = set()
    for record in read:
        url = bare(record)
        if url in others and record.kind in ("response", "revisit"):
            body = record if record.kind == "response" else responses[record.warc["WARC-Refers-To"]]
            assert body.body.decode() == made.bodies[url]
            seen.add(url)
    assert seen == set(others)
    assert any(r.kind == "conversion" and bare(r) in others for r in read)
    for row in rows(tmp_path)["visits"]:
        if row["ask"] == "page" and row["outcome"] != "forgotten":
            moved = ("warc_file", "warc_offset", "warc_end", "flags", "links")
            old = before[row["page"]]
            assert {k: v for k, v in row.items() if k not in moved} == {k: v for k, v in old.items() if k not in moved}


def test_what_is_forgotten_later_may_share_its_body_too(tmp_path: Path) -> None:
    made = Maker(tmp_path, repeat=3).make(30, 10)
    same = [url for page, url in enumerate(made.urls) if page and page % 3 == 0 and url in made.bodies]
    for some in (same[:1], same[1:5], same[5:-1]):
        gone(tmp_path, *some)
    last = [r for r in archive_of(made) if r.kind == "response"]
    asked = made.asked[same[-1]]
    assert [r.body.decode() for r in last if r.warc["WARC-Target-URI"] == asked] == [made.bodies[same[-1]]]
    gone(tmp_path, same[-1])
    assert verify(tmp_path).findings == []
    assert holding(tmp_path, "<title>Same") == []


def test_effects_are_those_of_the_tables(tmp_path: Path) -> None:
    made_in(tmp_path)
    gone(tmp_path, URL, "site2.example")
    again = replayed(tmp_path)
    assert compact.compact(tmp_path).segments == 1
    assert replayed(tmp_path) == again
    assert verify(tmp_path).findings == []


def test_a_segment_with_visits_alone_is_looked_at(tmp_path: Path) -> None:
    """Digests of pages have 64 bits, which are more than a signed number has."""
    what = Gone(np.array([False, True]), np.zeros(1, np.bool_), Names([]), 7, 0)
    for page, digest, touches in ((1, 2**64 - 1, True), (0, 2**64 - 1, False), (1, None, False)):
        digests = pa.array([digest], pa.uint64())
        table = pa.table({"page": [page], "site": [0], "flags": pa.array([32], pa.uint16()), "digest": digests})
        entry = seal.write_file(tmp_path / "visits.parquet", table)
        line = {"files": {"visits/../visits.parquet": entry}}
        (tmp_path / "visits").mkdir(exist_ok=True)
        assert touched(tmp_path, line, what) == touches


@given(st.integers(0, 999), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_forgetting_twice_is_as_forgetting_once(seed: int, ticks: int) -> None:
    rng, pages = random.Random(seed), 0
    for tick in range(1, ticks + 1):
        effects = small_effects(rng, tick, pages, page=rng.randrange(20))
        pages += len(effects.pages)
        mask = np.array([rng.random() < 0.4 for _ in range(40)])
        what = Gone(mask, np.array([rng.random() < 0.3 for _ in range(10)]), Names([]), 7, 0)
        once = changed(effects, what)
        assert changed(once, what).encode() == once.encode()
        assert not (mask & np.isin(np.arange(40), once.link_targets)).any()
        assert len(once.visits) == len(effects.visits)
        for name in ("time", "start", "end", "received", "sent", "site", "retry_after", "warc_end", "page"):
            assert once.visits[name].tobytes() == effects.visits[name].tobytes()


@given(st.integers(150, 300_000), st.integers(0, 99), st.integers(0, 1 << 40))
@settings(max_examples=60, deadline=None)
def test_a_blank_has_any_length(size: int, number: int, offset: int) -> None:
    made = blanks.blank(size, number, offset, 1_700_000_000.0)
    assert len(made) == size
    if size >= 300:
        record = gzip.decompress(made)
        assert blanks.is_blank(record)
        head, _, block = record.partition(b"\r\n\r\n")
        assert int(head.rpartition(b": ")[2]) == len(block) - 4
        assert made == blanks.blank(size, number, offset, 1_700_000_000.0)


@pytest.mark.parametrize("size", [65_000 + i for i in range(0, 1_200, 7)] + [300, 1_000_000])
def test_blanks_around_the_size_of_a_block(size: int) -> None:
    made = blanks.blank(size, 0, 0, 0.0)
    assert len(made) == size
    assert blanks.is_blank(gzip.decompress(made))


NAMED: Final = [
    (b"http://a.example/x", True),
    (b"http://www.a.example/x", True),
    (b"see http://a.example/x, or", True),
    (b"http://a.example/x?y", False),
    (b"http://a.example/xy", False),
    (b"https://a.example/x", False),
    (b"http://b.example/", True),
    (b"https://www.b.example:8080/deep?q=1", True),
    (b"b.example", True),
    (b"sub.b.example", False),
    (b"http://bb.example/", False),
    (b"http://b.example.org/", False),
    (b"", False),
]


@pytest.mark.parametrize(("text", "named"), NAMED)
def test_names_are_found_as_a_whole(text: bytes, named: bool) -> None:
    page = Tombstone(0.0, "", False, 0, None, name="http://a.example/x")
    site = Tombstone(0.0, "", True, 0, None, name="b.example")
    names = Names([page, site])
    assert (names.scrub(text) != text, names.named(text)) == (named, named)
    if named:
        assert b"b.example" not in names.scrub(text)
        assert b"a.example/x" not in names.scrub(text)


# --- at any time --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_forgetting_is_finished_by_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries prefixes of the writes, with unsynced data kept, dropped, torn or mixed."""
    root, tape, left = (tmp_path / name for name in ("root", "tape", "left"))
    made = Maker(root / "crawl", repeat=3).make(30, 10)
    first, _ = shared(made)
    before, whole = replayed(root / "crawl"), (made.shard / archive_name(0)).read_bytes()
    model = Disk(root)
    tape.mkdir()
    monkeypatch.setenv("GOSSAMER_RECORD", str(tape))
    gone(root / "crawl", first, "site2.example")
    monkeypatch.delenv("GOSSAMER_RECORD")
    after = replayed(root / "crawl")
    operations = [o for o in read_recordings(tape, root) if "/lock" not in o.path and "/image" not in o.path]
    assert len(operations) > 60
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    rng, unfinished, finished = random.Random(1), 0, 0
    named = [number for number, o in enumerate(operations) if o.kind == "rename"]
    tried = {*range(0, len(operations), TRIED), *named, *(number - 1 for number in named), len(operations) - 1}
    for number, operation in enumerate(operations):
        model.apply(operation)
        if number not in tried:
            continue
        shutil.rmtree(left, ignore_errors=True)
        model.leave(left, list(Loss)[number % 4], rng)
        shard = left / "crawl" / made.shard.name
        waits, begun = bool(tombstones.read(shard).unfinished), bool(tombstones.read(shard))
        if not begun:
            assert replayed(left / "crawl") == before
            assert (shard / archive_name(0)).read_bytes() == whole
            continue
        unfinished, finished = unfinished + waits, finished + (not waits)
        finish(shard)
        assert tombstones.read(shard).unfinished == []
        assert replayed(left / "crawl") == after
        assert holding(left, "site2.example", f"{first}\r") == []
    assert [f for f in verify(left / "crawl").findings if not f.file.startswith("image/")] == []
    assert (unfinished > 10, finished > 0) == (True, True)


def test_an_unfinished_forgetting_is_a_finding(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    (planned,) = plan(tmp_path, [URL], REASON)
    tombstones.write(made.shard, [planned.tombstone])
    assert [f.file for f in verify(tmp_path).findings] == [tombstones.FORGOTTEN]
    assert [t.finished for t in forget(tmp_path, []).tombstones] == [True]
    assert verify(tmp_path).findings == []


def test_content_that_should_be_gone_is_a_finding(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    path = made.shard / archive_name(0)
    before = path.read_bytes()
    gone(tmp_path, URL)
    path.write_bytes(before)
    found = verify(tmp_path).findings
    assert [f.wrong for f in found] == ["what was forgotten is still here"]


def test_a_tombstone_of_a_known_page_is_a_finding(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    known = rows(tmp_path)["pages"][4]["fingerprint"]
    tombstones.write(made.shard, [Tombstone(1.0, REASON, False, known, 4)])
    assert [f.place for f in verify(tmp_path).findings] == ["page 4"]


def test_a_damaged_segment_changes_nothing(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    path = sorted((made.shard / "links").iterdir())[1]
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    (planned,) = plan(tmp_path, ["http://site1.example/p61"], REASON)
    path.write_bytes(raw)
    with pytest.raises(GossamerError, match="is damaged"):
        forget(tmp_path, [planned])
    assert listed(tmp_path).tombstones == ()
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    assert verify(tmp_path).findings == []


def test_what_uses_the_collection_is_named_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that answers no orders, such as `gossamer compact`."""
    monkeypatch.setattr(read_forget, "PATIENCE", 0.0)
    made = made_in(tmp_path)
    planned = plan(tmp_path, [URL], REASON)
    held = lock.take(made.shard)
    try:
        with pytest.raises(LockedError) as told:
            forget(tmp_path, planned)
        assert "gossamer stop" in told.value.cure
    finally:
        held.release()


def test_what_is_not_known_is_kept_out(tmp_path: Path) -> None:
    made_in(tmp_path)
    (page, site) = plan(tmp_path, ["http://nobody.example/x", "other.example"], REASON)
    assert (page.tombstone.number, site.tombstone.number) == (None, None)
    forget(tmp_path, [page, site])
    forgotten = listed(tmp_path)
    assert forgotten.tombstone("http://nobody.example/x") is not None
    assert forgotten.tombstone("http://nobody.example/y") is None
    assert forgotten.tombstone("http://other.example/any") is not None
    assert holding(tmp_path, "nobody.example", "other.example") == []


def test_targets_and_reasons_are_checked(tmp_path: Path) -> None:
    made_in(tmp_path)
    for target in ("http://", "site1.example/p1", "ftp://x/"):
        with pytest.raises(UsageError):
            plan(tmp_path, [target], REASON)
    with pytest.raises(UsageError, match="names what"):
        plan(tmp_path, ["site1.example"], "asked by site1.example")
    with pytest.raises(UsageError, match="longer"):
        plan(tmp_path, ["site1.example"], "x" * 2_000)


def test_files_beside_the_tables_are_cleaned(tmp_path: Path) -> None:
    made = made_in(tmp_path)
    for name in ("merged/old/pages", "damaged", "graph", "scores"):
        (made.shard / name).mkdir(parents=True)
        (made.shard / name / "x").write_text(URL)
    (made.shard / "plans.bin").write_text("x")
    (made.shard / "pages" / "000000000001.parquet.tmp").write_text(URL)
    orders.leave(made.shard, "add", [URL, "http://site0.example/kept"])
    orders.leave(made.shard, "again", [3])
    watches.add(tmp_path, watches.Watch(0, URL))
    watches.add(tmp_path, watches.Watch(0, "site0.example"))
    gone(tmp_path, URL)
    assert holding(tmp_path, f'{URL}"', f"{URL}\n") == []
    assert orders.waiting(made.shard) == orders.Orders(("http://site0.example/kept",), (3,))
    assert [w.target for w in watches.read(tmp_path).watches] == ["site0.example"]
    assert not (made.shard / "plans.bin").exists()


def test_what_an_audit_has_fetched_of_other_sites_is_forgotten_too(tmp_path: Path) -> None:
    made_in(tmp_path)
    inner = made_in(tmp_path / OUTSIDE)
    assert len(holding(tmp_path / OUTSIDE, *words_of(inner, PAGE))) > 0
    (planned,) = plan(tmp_path, [URL], REASON)
    assert planned.outside is not None
    assert planned.outside.tombstone.pages == 1
    assert planned.as_json()["external"]["pages"] == 1
    forget(tmp_path, [planned])
    assert holding(tmp_path, *words_of(inner, PAGE), '/p31"', "/p31'", "/p31\n") == []
    assert [len(listed(each).tombstones) for each in (tmp_path, tmp_path / OUTSIDE)] == [1, 1]
    assert verify(tmp_path / OUTSIDE).findings == []
    assert not unfinished(tmp_path)
    tombstones.write(inner.shard, [replace(listed(tmp_path / OUTSIDE).tombstones[0], name=URL)])
    assert unfinished(tmp_path)
    forget(tmp_path, [])
    assert not unfinished(tmp_path)


def test_a_crawl_of_other_sites_begins_with_the_tombstones(tmp_path: Path) -> None:
    made_in(tmp_path)
    gone(tmp_path, "http://nobody.example/x", "nobody.test")
    store, desk, _ = open_collection(tmp_path / OUTSIDE, Settings(), RealClock(), beside=tmp_path)
    try:
        assert desk.forgotten.tombstone("http://nobody.example/x") is not None
        assert desk.forgotten.has_site("nobody.test")
        assert desk.forgotten.tombstone("http://nobody.example/y") is None
        assert [t.number for t in desk.forgotten.tombstones] == [None, None]
    finally:
        store.close()


def test_a_crawl_that_was_killed_is_stopped_first(tmp_path: Path) -> None:
    made = Maker(tmp_path, text=True).make(60, 15, unsealed=10)
    assert holding(made.shard / "journal", f"Page {59}")
    gone(tmp_path, made.urls[59])
    assert holding(tmp_path, *words_of(made, 59), f"text of {made.urls[59]}") == []
    assert verify(tmp_path).findings == []


class Unchanging(Maker):
    """Each page that repeats a body is asked again at once: it has not changed (304)."""

    def visits(self, count: int, archive: Archive) -> Effects:
        effects = Maker.visits(self, count, archive)
        repeats = effects.visits[(effects.visits["flags"] & VisitFlag.REPEATED) != 0]
        again = np.zeros(len(repeats), VISIT)
        for name in ("page", "site", "origin", "ask", "time", "start", "end", "payload"):
            again[name] = repeats[name]
        again["outcome"], again["status"], again["flags"] = Outcome.NOT_MODIFIED, 304, VisitFlag.REPEATED
        again["duplicate_of"], again["retry_after"], again["delay"] = NONE, -1, -1
        head = read_head([b"HTTP/1.1 304 Not Modified\r\n", b"\r\n"])
        for number, (new, old) in enumerate(zip(again, repeats, strict=True)):
            asked = self.made.asked[self.made.urls[int(old["page"])]].encode()
            exchange = Exchange(
                asked, "127.0.0.1", float(old["time"]), b"GET / HTTP/1.1\r\n\r\n", head, b"", Decoded(b"", True, True)
            )
            place = archive.write(exchange, None, Copy(old["payload"].tobytes(), 0, int(old["warc_offset"])))
            new["number"] = 1_000 + number
            new["warc_offset"], new["warc_end"] = place.offset, place.end
        effects.visits = np.concatenate([effects.visits, again])
        return effects


def replays_of_304(made: Made) -> list[tuple[str, bytes]]:
    """The URL of each line of a 304 in the index, and the record that is replayed."""
    found = []
    for path in sorted((made.shard / "cdx").iterdir()):
        for line in path.read_text().splitlines():
            said = json.loads(line.split(" ", 2)[2])
            if "revisit" in said:
                archive = made.shard / "warc" / said["filename"]
                at = int(said["offset"])
                record = gzip.decompress(archive.read_bytes()[at : at + int(said["length"])])
                found.append((said["url"], record))
    return found


def test_a_304_names_the_copy_wherever_it_is_moved(tmp_path: Path) -> None:
    made = Unchanging(tmp_path, repeat=3).make(30, 10)
    assert verify(tmp_path).findings == []
    same = [url for page, url in enumerate(made.urls) if page and page % 3 == 0 and url in made.bodies]
    before = replays_of_304(made)
    assert len(before) == len(made.repeats) > 4
    for forgotten in (same[0], same[1], same[2]):
        gone(tmp_path, forgotten)
        assert verify(tmp_path).findings == []
        assert holding(tmp_path, f'"{made.asked[forgotten]}"', f"URI: {made.asked[forgotten]}\r") == []
        left = replays_of_304(made)
        assert {url for url, _ in left} == {url for url, _ in before} - {
            made.asked[url] for url in same[: same.index(forgotten) + 1]
        }
        for url, record in left:
            assert not blanks.is_blank(record)
            assert f"WARC-Target-URI: {url}\r\n".encode() in record
            assert b"\r\n\r\nHTTP/1.1 304" not in record
