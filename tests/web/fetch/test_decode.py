"""Decoding by Content-Encoding, with a bound."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.fetch.decode import CHUNK, PIECE, decode, salvaged

HTML = b"<html><p>Caf\xc3\xa9 and more text</p></html>\n" * 500
LIMIT = 4_000_000


def _raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(6, zlib.DEFLATED, -15)
    return stream.compress(data) + stream.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "x-deflate": _raw_deflate,
    "br": lambda data: brotli.compress(data, quality=4),
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", ENCODERS)
@given(data=st.binary(max_size=5000), repeats=st.sampled_from([1, 3, 200]))
@settings(max_examples=30, deadline=None)
def test_bodies_in_every_encoding_are_decoded(name: str, data: bytes, repeats: int) -> None:
    body = data * repeats
    assert decode(ENCODERS[name](body), name, LIMIT)[:2] == (body, True)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_piece_size_does_not_change_the_output(name: str) -> None:
    for size in (CHUNK - 1, CHUNK, 4 * CHUNK - 1, 4 * CHUNK, 4 * CHUNK + 1, 1_000_003):
        body = (HTML * 80)[:size]
        assert decode(ENCODERS[name](body), name, LIMIT)[:2] == (body, True)


@given(st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd"]), min_size=1, max_size=3), st.binary(max_size=2000))
@settings(max_examples=60, deadline=None)
def test_up_to_three_encodings_are_decoded_in_reverse_order(names: list[str], body: bytes) -> None:
    coded = body
    for name in names:
        coded = ENCODERS[name](coded)
    assert decode(coded, ", ".join(names), LIMIT)[:2] == (body, True)


def test_a_fourth_encoding_is_refused() -> None:
    coded = HTML
    for _ in range(4):
        coded = gzip.compress(coded)
    assert not decode(coded, "gzip,gzip,gzip,gzip", LIMIT).ok


@pytest.mark.parametrize("header", ["", "identity", "none", " Identity , "])
def test_without_an_encoding_the_body_is_returned_as_it_is(header: str) -> None:
    assert decode(HTML, header, 10) == (HTML, True, True)


def test_names_of_encodings_ignore_case() -> None:
    assert decode(gzip.compress(HTML), " GZip ", LIMIT) == (HTML, True, True)


@pytest.mark.parametrize("header", ["gzip", "deflate", "br", "zstd", "utf-8", "gzip, br", "a,b,c,d"])
def test_a_false_header_of_plain_text_is_ignored(header: str) -> None:
    assert decode(HTML, header, LIMIT) == (HTML, True, False)


@pytest.mark.parametrize("header", ["gzip", "deflate", "br", "zstd", "compress", "gzip, gzip, gzip, gzip"])
def test_a_false_header_of_binary_data_is_an_error(header: str) -> None:
    assert not decode(bytes(range(256)) * 3, header, LIMIT).ok


@pytest.mark.parametrize("name", ENCODERS)
def test_an_empty_body_is_empty_whatever_its_header_says(name: str) -> None:
    assert decode(b"", name, LIMIT)[:2] == (b"", True)


@pytest.mark.parametrize("name", ENCODERS)
@given(share=st.floats(0.01, 0.99))
@settings(max_examples=25, deadline=None)
def test_a_body_that_ends_too_early_is_decoded_as_far_as_it_goes(name: str, share: float) -> None:
    noise = zlib.compress(HTML)  # data that compresses badly, so that a part of it comes out early
    body = noise * 20
    coded = ENCODERS[name](body)
    data, ok, common = decode(coded[: max(20, int(len(coded) * share))], name, LIMIT)
    assert ok
    assert body.startswith(data)
    assert not common


def test_half_of_a_gzip_body_gives_about_half_of_the_text() -> None:
    body = b"".join(b"%d %d\n" % (i, i * i % 977) for i in range(40_000))
    coded = gzip.compress(body)
    data, ok, _ = decode(coded[: len(coded) // 2], "gzip", LIMIT)
    assert ok
    assert len(data) > len(body) // 3
    assert body.startswith(data)


def test_all_members_of_a_gzip_body_are_decoded_and_garbage_after_them_is_ignored() -> None:
    one = gzip.compress(HTML)
    assert decode(one + one + one, "gzip", LIMIT) == (HTML * 3, True, False)
    assert decode(one + b"\0\0garbage", "gzip", LIMIT) == (HTML, True, False)


def test_only_one_whole_gzip_or_zlib_stream_is_common_to_all_readers() -> None:
    common = {name for name, encode in ENCODERS.items() if decode(encode(HTML), name, LIMIT).common}
    assert common == {"gzip", "deflate"}
    assert not decode(gzip.compress(gzip.compress(HTML)), "gzip, gzip", LIMIT).common


def test_a_corrupt_body_is_an_error() -> None:
    coded = bytearray(gzip.compress(HTML))
    coded[40] ^= 0xFF
    assert not decode(bytes(coded), "gzip", LIMIT).ok


LINES = b"".join(b"%d %x\n" % (i, i * i * i) for i in range(60_000))


@pytest.mark.parametrize("name", sorted(ENCODERS.keys() - {"x-deflate"}))
def test_the_part_before_the_damage_is_salvaged(name: str) -> None:
    coded = bytearray(ENCODERS[name](LINES))
    half = len(coded) // 2
    coded[half : half + 40] = b"\xff" * 40
    found = salvaged(bytes(coded), name, LIMIT)
    common = next(i for i, (a, b) in enumerate(zip(found + b"?", LINES, strict=False)) if a != b)
    assert len(LINES) // 4 < common < len(LINES)
    assert salvaged(ENCODERS[name](LINES), name, LIMIT) == LINES
    assert salvaged(ENCODERS[name](LINES), name, 100_001) == LINES[:100_001]


@given(st.binary(max_size=300), st.sampled_from([*ENCODERS, "", "gzip, gzip", "x"]))
@settings(deadline=None)
def test_salvaging_never_fails(body: bytes, name: str) -> None:
    assert len(salvaged(body, name, 1_000)) <= 1_000
    if name in ENCODERS:
        assert len(salvaged(ENCODERS[name](HTML[:300])[:60] + body, name, 1_000)) <= 1_000


def test_many_members_are_salvaged_one_after_the_other() -> None:
    one = gzip.compress(b"ab")
    assert salvaged(one * 5_000 + b"\x1f\x8b" + b"\xff" * 2 * PIECE, "gzip", LIMIT) == b"ab" * 5_000


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("limit", [0, 1, 1000, 100_000])
def test_output_ends_at_the_limit(name: str, limit: int) -> None:
    exact = bytes(limit)
    assert decode(ENCODERS[name](exact), name, limit)[:2] == (exact, True)
    data, ok, _ = decode(ENCODERS[name](bytes(limit + 1)), name, limit)
    assert not ok
    assert len(data) <= limit


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_a_bomb_costs_what_its_bound_costs(name: str) -> None:
    bomb = ENCODERS[name](bytes(60_000_000))
    tracemalloc.start()
    try:
        data, ok, _ = decode(bomb, name, 1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not ok
    assert len(data) == 1_000_000
    assert peak < 4_000_000


def test_a_bomb_in_layers_is_bounded_at_each_layer() -> None:
    bomb = gzip.compress(gzip.compress(gzip.compress(bytes(50_000_000))))
    assert not decode(bomb, "gzip, gzip, gzip", 1_000_000).ok


@given(st.binary(max_size=400), st.sampled_from([*ENCODERS, "gzip, br", "nonsense"]))
@settings(max_examples=200, deadline=None)
def test_no_input_makes_decoding_fail(body: bytes, header: str) -> None:
    data, _, _ = decode(body, header, 1000)
    assert len(data) <= max(1000, len(body))
