"""Revisit records for bodies archived before, and conversion records for cleaned texts."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from gossamer.base.disk import Appender
from gossamer.collection import cdx
from gossamer.web.archive.archive import Archive, Copy, warcinfo
from gossamer.web.archive.bodies import LEAST, Payloads
from gossamer.web.fetch.response import read_head
from tests.support.archiving import LONG, STORED, TEXT, Shard, encoded, exchange, records


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    return Shard(tmp_path / "shard-000")


def test_a_repeat_is_a_revisit_record_that_names_the_original(shard: Shard) -> None:
    first = shard.archives[0].write(exchange(LONG, (b"Content-Type", b"text/html"), url=b"http://one.test/"))
    shard.publish(first)
    second = shard.archives[1].write(exchange(LONG, (b"X-Other", b"1"), url=b"http://two.test/"))
    assert (first.repeated, second.repeated) == (False, True)
    assert first.payload == second.payload == hashlib.sha1(LONG).digest()
    _, original, _, revisit = shard.records()
    assert (original.kind, revisit.kind, revisit.body, revisit.offset) == ("response", "revisit", b"", second.offset)
    assert revisit.warc["WARC-Target-URI"] == "http://two.test/"
    assert revisit.warc["WARC-Refers-To"] == original.warc["WARC-Record-ID"]
    assert revisit.warc["WARC-Refers-To-Target-URI"] == "http://one.test/"
    assert revisit.warc["WARC-Refers-To-Date"] == original.warc["WARC-Date"]
    assert revisit.warc["WARC-Payload-Digest"] == original.warc["WARC-Payload-Digest"]
    assert revisit.warc["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert revisit.warc["WARC-Truncated"] == "length"
    assert second.end == shard.paths[1].stat().st_size
    with shard.paths[1].open("rb") as stream:
        stream.seek(second.offset)
        record = next(iter(ArchiveIterator(stream)))
        http = dict(record.http_headers.headers)
    assert http == {"X-Other": "1", "Content-Length": str(len(LONG))}
    assert int(revisit.warc["Content-Length"]) == len(b"HTTP/1.1 200 OK\r\nX-Other: 1\r\n\r\n") + len(
        b"Content-Length: %d\r\n" % len(LONG)
    )


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd", "gzip, br"])
def test_a_repeat_in_any_encoding_is_read_to_its_end(shard: Shard, name: str) -> None:
    page = LONG + bytes(hashlib.sha512(LONG).hexdigest(), "ascii") * 9
    body = encoded(name, page)
    made = exchange(body, (b"Content-Encoding", name.encode()), (b"Content-Length", b"%d" % len(body)))
    kept = body if made.decoded.common else page
    first = shard.archives[0].write(made)
    shard.publish(first)
    assert first.payload == hashlib.sha1(kept).digest()
    assert shard.archives[0].write(made).repeated == (len(kept) >= LEAST)
    assert next(each.body for each in shard.records() if each.kind == "response") == page


def test_a_body_is_stored_again_until_its_first_record_is_published(shard: Shard) -> None:
    places = [shard.archives[0].write(exchange(LONG)) for _ in range(3)]
    shard.publish(places[2])
    assert shard.archives[1].write(exchange(LONG)).repeated
    assert [each.kind for each in shard.records()][1::2] == ["response"] * 3 + ["revisit"]


def test_a_short_body_and_an_empty_one_are_stored(shard: Shard) -> None:
    for body in (bytes(LEAST - 1), b""):
        first = shard.archives[0].write(exchange(body))
        shard.publish(first)
        assert not shard.archives[0].write(exchange(body)).repeated
        assert first.payload == (hashlib.sha1(body).digest() if body else bytes(20))
    exact = shard.archives[0].write(exchange(bytes(LEAST)))
    shard.publish(exact)
    assert shard.archives[0].write(exchange(bytes(LEAST))).repeated


def test_a_long_url_of_the_original_does_not_hide_it(shard: Shard) -> None:
    parts = [base64.urlsafe_b64encode(hashlib.sha512(b"%d" % i).digest()) for i in range(20)]
    url = b"http://one.test/" + b"".join(parts)
    shard.publish(shard.archives[0].write(exchange(LONG, url=url)))
    assert shard.archives[1].write(exchange(LONG)).repeated
    assert shard.records()[-1].warc["WARC-Refers-To-Target-URI"] == url.decode()


STRANGE = ["nowhere", "inside", "behind", "warcinfo", "request", "revisit", "another", "no file", "torn"]


@pytest.mark.parametrize("how", STRANGE)
def test_anything_wrong_with_the_original_has_the_body_stored_in_full(shard: Shard, how: str) -> None:
    other = shard.archives[0].write(exchange(LONG + b"!"))
    first = shard.archives[0].write(exchange(LONG))
    offset, number = first.offset, 0
    if how == "revisit":
        shard.publish(first)
        offset = shard.archives[0].write(exchange(LONG)).offset
        shard.payloads.close()
        for archive in shard.archives:
            archive._payloads = shard.payloads = Payloads()
    elif how == "torn":
        with shard.paths[0].open("r+b") as stream:
            stream.truncate(first.offset + 100)
    else:
        places = {
            "nowhere": 2**48 - 1,
            "inside": offset + 7,
            "behind": first.end,
            "warcinfo": 0,
            "request": other.end,
            "another": other.offset,
        }
        offset = places.get(how, offset)
        number = {"no file": 7, "warcinfo": 1}.get(how, 0)
    shard.publish(first, number, offset)
    assert shard.payloads.find(first.payload) == (number, offset)
    assert not shard.archives[1].write(exchange(LONG)).repeated
    assert [each.kind for each in records(shard.paths[1])] == ["request", "response"]
    assert records(shard.paths[1])[1].body == LONG


def test_without_a_table_every_body_is_stored(tmp_path: Path) -> None:
    archive = Archive(1, Appender(tmp_path / "a.warc.gz"), STORED)
    assert [archive.write(exchange(LONG)).repeated for _ in range(2)] == [False, False]


@pytest.mark.parametrize("markup", [False, True])
def test_the_cleaned_text_is_a_conversion_of_its_response(tmp_path: Path, markup: bool) -> None:
    path = tmp_path / "a.warc.gz"
    file = Appender(path)
    file.append(warcinfo(path.name, "Gossamer/0", {}))
    archive = Archive(1, file, STORED, markup=markup)
    place = archive.write(exchange(LONG), TEXT)
    bare = archive.write(exchange(LONG))
    nothing = archive.write(exchange(LONG), b"")
    _, response, conversion, *rest = records(path)
    assert (conversion.kind, conversion.body, conversion.offset) == ("conversion", TEXT, place.text)
    assert conversion.warc["WARC-Refers-To"] == response.warc["WARC-Record-ID"]
    assert conversion.warc["WARC-Target-URI"] == "http://site.test/x"
    kind = "text/html" if markup else "text/plain"
    assert conversion.warc["Content-Type"] == f"{kind}; charset=utf-8"
    assert (response.offset, rest[0].offset) == (place.offset, place.end)
    assert (bare.text, nothing.text > nothing.offset) == (0, True)
    assert [each.kind for each in rest] == ["request", "response", "request", "response", "conversion"]
    assert nothing.end == path.stat().st_size


def test_a_repeat_has_no_text_record(shard: Shard) -> None:
    shard.publish(shard.archives[0].write(exchange(LONG), TEXT))
    place = shard.archives[0].write(exchange(LONG), TEXT)
    assert (place.repeated, place.text) == (True, 0)
    assert [each.kind for each in shard.records()] == ["request", "response", "conversion", "request", "revisit"]


def test_warcio_check_finds_no_fault_in_revisits_and_conversions(shard: Shard) -> None:
    for name in ("", "gzip", "br"):
        body = encoded(name, LONG + bytes(hashlib.sha512(LONG).hexdigest(), "ascii") * 9)
        made = exchange(body, *([(b"Content-Encoding", name.encode())] if name else []))
        shard.publish(shard.archives[0].write(made, TEXT))
        shard.archives[1].write(made, TEXT)
    assert {each.kind for each in shard.records()} == {"request", "response", "revisit", "conversion"}
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", *map(str, shard.paths)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "digest pass" in ran.stdout
    assert "fail" not in ran.stdout.lower()


VISITS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.booleans(), st.sampled_from(["", "gzip", "br"])))


@given(VISITS)
@settings(max_examples=40, deadline=None)
def test_every_repeat_leads_to_its_body(
    tmp_path_factory: pytest.TempPathFactory, visits: list[tuple[int, int, bool, str]]
) -> None:
    """Any sequence of bodies, files, encodings, and of publishing or not."""
    shard = Shard(tmp_path_factory.mktemp("shard"))
    bodies = [hashlib.sha512(b"%d" % i).hexdigest().encode() * (1 + i) for i in range(5)]
    came, published = list[bytes](), set[bytes]()
    for which, number, publish, name in visits:
        coded = encoded(name, bodies[which])
        made = exchange(coded, *([(b"Content-Encoding", name.encode())] if name else []))
        place = shard.archives[number].write(made)
        kept = coded if made.decoded.common else bodies[which]
        assert place.payload == hashlib.sha1(kept).digest()
        assert place.repeated == (place.payload in published)
        if publish and len(kept) >= LEAST and not place.repeated:
            shard.publish(place, number)
            published.add(place.payload)
        came.append(place.payload)
    found = [each for each in shard.records() if each.kind != "request"]
    by_id = {each.warc["WARC-Record-ID"]: each for each in found if each.kind == "response"}
    digests = {f"sha1:{base64.b32encode(payload).decode()}" for payload in came}
    assert len(found) == len(visits)
    assert {each.warc["WARC-Payload-Digest"] for each in found} == digests
    for each in found:
        original = by_id[each.warc.get("WARC-Refers-To", each.warc["WARC-Record-ID"])]
        assert original.warc["WARC-Payload-Digest"] == each.warc["WARC-Payload-Digest"]
    shard.payloads.close()


UNMODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
NOT_MODIFIED = read_head([b"HTTP/1.1 304 Not Modified\r\n", b'ETag: "1"\r\n', b"Content-Length: 700\r\n", b"\r\n"])


def test_that_a_page_has_not_changed_refers_to_its_copy(shard: Shard) -> None:
    """Also if the copy is itself a repeat: then to the record that has the body. WARC 1.1, 6.7.3."""
    first = shard.archives[0].write(exchange(LONG, url=b"http://one.test/a"))
    shard.publish(first)
    repeat = shard.archives[1].write(exchange(LONG, url=b"http://one.test/b"))
    assert repeat.repeated
    empty = replace(exchange(b"", url=b"http://one.test/b"), head=NOT_MODIFIED)
    for place, number in ((first, 0), (repeat, 1)):
        made = shard.archives[0].write(empty, copy=Copy(place.payload, number, place.offset))
        assert made.repeated
        assert made.payload == first.payload
        last = [each for each in shard.records() if each.warc.get("WARC-Profile") == UNMODIFIED][-1]
        assert last.kind == "revisit"
        original = next(each for each in shard.records() if each.kind == "response")
        assert last.warc["WARC-Refers-To"] == original.warc["WARC-Record-ID"]
        assert last.warc["WARC-Refers-To-Target-URI"] == "http://one.test/a"
        assert last.warc["WARC-Refers-To-Date"] == original.warc["WARC-Date"]
        assert last.warc["WARC-Payload-Digest"] == original.warc["WARC-Payload-Digest"]
        path = shard.paths[0]
        line = cdx.lines(path, last.offset, path.stat().st_size)[-1]
        copy = next(each for each in cdx.lines(shard.paths[number], place.offset, place.end) if each)
        theirs, ours = (json.loads(text.split(b" ", 2)[2]) for text in (copy, line))
        assert ours == theirs | {"url": "http://one.test/b", "revisit": path.name}


def test_that_a_page_has_not_changed_is_archived_even_if_its_copy_is_lost(shard: Shard) -> None:
    first = shard.archives[0].write(exchange(LONG))
    empty = replace(exchange(b""), head=NOT_MODIFIED)
    for copy in (Copy(first.payload, 7, 100), Copy(bytes(19) + b"x", 0, first.offset)):
        assert shard.archives[1].write(empty, copy=copy).repeated
        last = [each for each in shard.records() if each.warc.get("WARC-Profile") == UNMODIFIED][-1]
        assert "WARC-Refers-To" not in last.warc
        assert cdx.lines(shard.paths[1], last.offset, shard.paths[1].stat().st_size) == []


def test_a_copy_that_is_damaged_is_not_in_the_index_again(shard: Shard) -> None:
    first = shard.archives[0].write(exchange(LONG))
    with shard.paths[0].open("r+b") as file:
        file.truncate(first.end - 20)
    empty = replace(exchange(b""), head=NOT_MODIFIED)
    made = shard.archives[1].write(empty, copy=Copy(first.payload, 0, first.offset))
    assert cdx.lines(shard.paths[1], made.offset, made.end) == []
