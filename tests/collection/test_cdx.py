"""The CDXJ index: keys equal those of the `surt` package, offsets those of warcio, lines those of pywb."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ada_url import normalize_url
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from gossamer.base.errors import StorageError
from gossamer.collection import cdx
from tests.support.archiving import LONG, TEXT, Shard, encoded, exchange
from tests.support.needed import needed
from tests.support.server import PAGE
from tests.support.timing import COMMAND

PIECES = st.one_of(
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x17F), max_size=4),
    st.sampled_from(
        [
            "/",
            "//",
            "/../",
            "/./",
            "..",
            "%2F",
            "%25",
            "%2e",
            "%41",
            "%c3%a9",
            "%FF",
            "%20",
            "%0a",
            "%3F",
            "%23",
            "%26",
            "&",
            "=",
            "a=b",
            "b&a",
            "?",
            "+",
            "sid=",
            "PHPSESSID=0123456789abcdef0123456789ABCDEF",
            "&cfid=1&cftoken=2",
            "jsessionid=0123456789abcdef0123456789abcdef",
            "ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx",
            "(a(4hqa0555fwsecu455xqckv45))/",
            "(4hqa0555fwsecu455xqckv45)/",
            "x.ASPX",
            "Index.html",
        ]
    ),
)
HOSTS = st.sampled_from(
    [
        "example.com",
        "www.example.com",
        "www2.example.co.uk",
        "WWW.com",
        "wwwx.test",
        "www.www.x",
        "127.0.0.1",
        "[::1]",
        "xn--bcher-kva.example",
        "under_score.test",
        "dot.test.",
    ]
)
PORTS = st.sampled_from(["", "", ":80", ":443", ":8080"])
URLS = st.builds(
    lambda scheme, host, port, path, query: f"{scheme}://{host}{port}/{''.join(path)}{query}",
    st.sampled_from(["http", "https"]),
    HOSTS,
    PORTS,
    st.lists(PIECES, max_size=5),
    st.one_of(st.just(""), st.lists(PIECES, max_size=6).map(lambda parts: "?" + "".join(parts))),
)


HAS_PYWB = needed("pywb", importlib.util.find_spec("pywb") is not None, "make test")
"""pywb, and the package `surt` that comes with it."""


@HAS_PYWB
@given(URLS)
@settings(max_examples=1500, deadline=None)
def test_surt_equals_the_common_package(url: str) -> None:
    surt = importlib.import_module("surt")
    href = normalize_url(url).partition("#")[0]
    assert cdx.surt(href) == surt.surt(href)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.com/", "com,example)/"),
        ("https://www.example.com/A/b.html", "com,example)/a/b.html"),
        ("http://www3.example.co.uk:8080/a/?q=2&b", "uk,co,example:8080)/a?b&q=2"),
        ("http://127.0.0.1/robots.txt", "1,0,0,127)/robots.txt"),
        ("http://e.test/%7Euser/%C3%A9?X=%2B1", "test,e)/~user/%c3%a9?x=+1"),
        ("http://e.test/x?sid=0123456789abcdef0123456789abcdef", "test,e)/x"),
        ("not a url", "not a url"),
    ],
)
def test_keys_are_reversed_hosts_and_normalized_paths(url: str, key: str) -> None:
    assert cdx.surt(url) == key


def sample(folder: Path) -> Shard:
    """Responses of many kinds, redirects, repeats, texts, with request and conversion records between them."""
    shard = Shard(folder)
    first, second = shard.archives
    html = (b"Content-Type", b"Text/HTML; charset=utf-8")
    shard.publish(first.write(exchange(LONG, html, url=b"http://www.one.test/A?b=1&a=2"), TEXT))
    first.write(exchange(gzip.compress(LONG), html, (b"Content-Encoding", b"gzip"), url=b"http://one.test/gzip"))
    brotli = (b"Content-Encoding", b"br")
    first.write(exchange(encoded("br", PAGE + PAGE), brotli, url=b"https://two.test:8443/br"), TEXT)
    second.write(exchange(LONG, html, url=b"http://two.test/again"))
    second.write(exchange(os.urandom(290_000), (b"content-type", b"image/png"), url=b"http://two.test/big"))
    second.write(exchange(b"", url=b'http://two.test/"quoted"\\'))
    second.write(exchange(b"User-agent: *", (b"Content-Type", b"text/plain"), url=b"http://two.test/robots.txt"))
    return shard


def whole(shard: Shard) -> bytes:
    return b"".join(sorted(line for path in shard.paths for line in cdx.lines(path, 0, path.stat().st_size)))


def test_the_index_has_a_sorted_line_for_each_response_and_revisit(tmp_path: Path) -> None:
    shard = sample(tmp_path / "shard")
    made = whole(shard).splitlines()
    assert made == sorted(made)
    fields = {line.split(b" ", 1)[0].decode(): json.loads(line.split(b" ", 2)[2]) for line in made}
    assert {key: (each["mime"], each["status"]) for key, each in fields.items()} == {
        "test,one)/a?a=2&b=1": ("text/html", "200"),
        "test,one)/gzip": ("text/html", "200"),
        "test,two:8443)/br": ("unk", "200"),
        "test,two)/again": ("warc/revisit", "200"),
        "test,two)/big": ("image/png", "200"),
        'test,two)/"quoted"\\': ("unk", "200"),
        "test,two)/robots.txt": ("text/plain", "200"),
    }
    assert fields["test,two)/again"]["digest"] == fields["test,one)/a?a=2&b=1"]["digest"]
    assert {line.split(b" ")[1] for line in made} == {b"20231114221320"}


def test_offsets_and_digests_equal_those_of_warcio(tmp_path: Path) -> None:
    shard = sample(tmp_path / "shard")
    seen = set()
    for path in shard.paths:
        with path.open("rb") as stream:
            iterator = ArchiveIterator(stream)
            for record in iterator:
                if record.rec_type in ("response", "revisit"):
                    record.raw_stream.read()
                    offset, length = iterator.get_record_offset(), iterator.get_record_length()
                    digest = record.rec_headers["WARC-Payload-Digest"].removeprefix("sha1:")
                    seen.add((record.rec_headers["WARC-Target-URI"], path.name, str(offset), str(length), digest))
    found = [json.loads(line.split(b" ", 2)[2]) for line in whole(shard).splitlines()]
    assert {tuple(e[name] for name in ("url", "filename", "offset", "length", "digest")) for e in found} == seen


@HAS_PYWB
def test_pywb_makes_the_same_index_of_the_same_files(tmp_path: Path) -> None:
    """Except for the status of a revisit, which pywb leaves out, and for conversions, which we leave out."""
    shard = sample(tmp_path / "shard")
    code = "import sys; from pywb.indexer.cdxindexer import main; main(sys.argv[1:])"
    command = [sys.executable, "-W", "ignore", "-c", code, "-j", "-s", *map(str, shard.paths)]
    theirs = subprocess.run(command, capture_output=True, check=True, timeout=COMMAND).stdout.splitlines()
    expected = {}
    for line in theirs:
        key, when, rest = line.split(b" ", 2)
        fields = json.loads(rest)
        if "status" in fields or fields["mime"] == "warc/revisit":
            expected[key, when] = fields | {"mime": fields["mime"].lower()}
    ours = {}
    for line in whole(shard).splitlines():
        key, when, rest = line.split(b" ", 2)
        ours[key, when] = json.loads(rest)
        if ours[key, when]["mime"] == "warc/revisit":
            del ours[key, when]["status"]
    assert ours == expected


def test_the_lines_of_parts_equal_those_of_the_whole_file(tmp_path: Path) -> None:
    shard = sample(tmp_path / "shard")
    assert len(shard.paths) > 1
    for path in shard.paths:
        size = path.stat().st_size
        starts = [offset for offset, _, _ in cdx.members(path, 0, size)]
        everything = cdx.lines(path, 0, size)
        assert len(everything) == 3 if path is shard.paths[0] else 4
        for cut in [*starts, size]:
            assert cdx.lines(path, 0, cut) + cdx.lines(path, cut, size) == everything


@pytest.mark.parametrize(("feed", "read", "piece"), [(1, 1, 1 << 17), (7, 64, 50), (300, 1000, 1), (1 << 14, 100, 9)])
def test_members_do_not_depend_on_the_sizes_of_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, feed: int, read: int, piece: int
) -> None:
    path = tmp_path / "a.gz"
    contents = [b"", b"x", PAGE, bytes(3000), os.urandom(2000), LONG]
    path.write_bytes(b"".join(gzip.compress(each) for each in contents))
    expected = list(cdx.members(path, 0, path.stat().st_size))
    assert [content for _, _, content in expected] == contents
    assert sum(size for _, size, _ in expected) == path.stat().st_size
    monkeypatch.setattr(cdx, "_FEED", feed)
    monkeypatch.setattr(cdx, "_READ", read)
    monkeypatch.setattr(cdx, "_PIECE", piece)
    assert list(cdx.members(path, 0, path.stat().st_size)) == expected


def test_only_the_beginning_of_an_endless_record_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(50_000_000), 1) + gzip.compress(PAGE))
    huge, page = cdx.members(path, 0, path.stat().st_size)
    assert cdx.HEADS <= len(huge[2]) < cdx.HEADS + cdx._PIECE
    assert page == (huge[1], path.stat().st_size - huge[1], PAGE)


@pytest.mark.parametrize("how", ["cut", "changed", "no member"])
def test_a_damaged_file_is_an_error_with_file_and_offset(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.gz"
    member = gzip.compress(LONG)
    damaged = {"cut": member[:-3], "changed": member[:-6] + b"?" + member[-5:], "no member": LONG}[how]
    path.write_bytes(member + damaged)
    with pytest.raises(StorageError, match=rf"a\.gz.* record at {len(member)} is damaged"):
        list(cdx.members(path, 0, path.stat().st_size))
    assert len(list(cdx.members(path, 0, len(member)))) == 1
