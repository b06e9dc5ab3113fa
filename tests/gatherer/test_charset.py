"""Tests of charset sniffing: the cases in which a page declares its charset in an odd place, or not at all."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.gatherer.charset import _KNOWN, _TABLED, _UNITS, decode, decoded, in_pieces, in_utf_8
from tests.support.timing import grows_less

RUSSIAN = "Съешь же ещё этих мягких французских булок".encode("cp1251")
JAPANESE = "日本語のテキストです。" * 3


@pytest.mark.parametrize(
    "head",
    [
        b"<meta charset=windows-1251>",
        b"<META/CHARSET = 'windows-1251' />",
        b'<meta charset=" windows-1251 ">',
        b"<meta charset=no-such-charset><meta charset=windows-1251>",
        b"<!-- <meta charset=utf-8> --><meta charset=windows-1251>",
        b"<!--><meta charset=windows-1251>-->",
        b"<!---><meta charset=windows-1251>",
        b"<!-- a -- > <meta charset=utf-8> --><meta charset=windows-1251>",
        b"<p title='<meta charset=utf-8>'><meta charset=windows-1251>",
        b'<p a=b"c><meta charset=windows-1251>',
        b"</p title=x><meta charset=windows-1251>",
        b"<?php echo ?><!doctype html><meta charset=windows-1251>",
        b"<metadata charset=utf-8><meta charset=windows-1251>",
        b"<meta name=description content='text/html; charset=utf-8'><meta charset=windows-1251>",
        b"<meta content='text/html; charset=windows-1251' http-equiv=Content-Type>",
        b"<meta http-equiv='content-type' content='text/html; charset = \"windows-1251\"'>",
        b"<meta http-equiv=content-type content='charset charset=windows-1251;x'>",
        b"<meta charset=windows-1251 charset=utf-8>",
        b"<?xml version='1.0' encoding='windows-1251'?><html>",
        b'<?xml version="1.0" encoding = "windows-1251" standalone="no"?><html>',
        b"<?xml version='1.0' encoding='koi8-r'?><html><meta charset=windows-1251>",
        b"<?xml version='1.0' encoding='koi8-r'?>" + b"<p>" * 900 + b"<meta charset=utf-8>",
        b"<title>" + b"x" * 3_000 + b"</title><meta charset=windows-1251>",
        b"<!--" + b"x" * 3_000 + b"<meta charset=utf-8>--><meta charset=windows-1251>",
        b"<p>" + b"x" * 3_000 + b"<script>'<meta charset=utf-8>'</script><META CHARSET=windows-1251>",
        b"<p>" + b"x" * (2_048 - 3 - 18) + b"<meta charset=windows-1251>",
        b"<p>" + b"x" * (2_048 - 3 - 25) + b"<meta charset=windows-1251>",
        b"<p>" + b"x" * 90_000 + b"<meta http-equiv=content-type content='text/html;charset=windows-1251'>",
    ],
)
def test_the_declaration_that_browsers_take_is_taken(head: bytes) -> None:
    text, charset = decode(head + RUSSIAN, "")
    expected = "koi8-r" if b"koi8" in head and b"windows" not in head else "cp1251"
    assert charset == expected
    assert expected == "koi8-r" or text.endswith("булок")


@pytest.mark.parametrize(
    "head",
    [
        b"<!-- <meta charset=koi8-r>",
        b"<meta name=keywords content='charset=koi8-r'>",
        b"<p title='<meta charset=koi8-r>'>",
        b" <?xml version='1.0' encoding='koi8-r'?>",
        b"<?xml version='1.0'?><p encoding='koi8-r'>",
        b"<p>" + b"x" * 3_000 + b"<script>'<meta charset=koi8-r>'</script>",
        b"<p>" + b"x" * 3_000 + b"<textarea><meta charset=koi8-r>",
        b"<meta charset=utf-16>",
        b"<?xml version='1.0' encoding='utf-16'?>",
    ],
)
def test_what_is_no_declaration_is_ignored(head: bytes) -> None:
    assert decode(head + "grün".encode(), "")[1] == "utf-8"


def test_a_header_comes_before_what_the_page_declares() -> None:
    assert decode(b"<meta charset=utf-8>" + RUSSIAN, "windows-1251")[1] == "cp1251"
    assert decode(b"<?xml version='1.0' encoding='utf-8'?>" + RUSSIAN, "windows-1251")[1] == "cp1251"


@pytest.mark.parametrize("lost", range(4))
def test_iso_2022_jp_is_recognised_by_its_escape_sequences(lost: int) -> None:
    """All its bytes are ASCII. The download limit may cut it anywhere."""
    body = b"<title>x</title>" + JAPANESE.encode("iso2022_jp")
    text, charset = decode(body[: len(body) - lost], "")
    assert charset == "iso2022_jp"
    assert JAPANESE[:-4] in text


@pytest.mark.parametrize("body", [b"\x1b$B is no Japanese", b"\x1b[1m terminal", "\x1b$B grün".encode()])
def test_other_escape_sequences_are_no_iso_2022_jp(body: bytes) -> None:
    assert decode(body, "")[1] == "utf-8"


@given(st.text(), st.integers(0, 3))
def test_a_cut_text_in_utf_8_is_still_utf_8(text: str, lost: int) -> None:
    body = f"ü{text}".encode(errors="replace")
    assert decode(body[: max(2, len(body) - lost)], "")[1] == "utf-8"
    assert decode("only one sign: €".encode()[:-1], "")[1] == "utf-8"


@given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode), st.sampled_from(["", "utf-8", "windows-1252"]))
def test_a_body_in_utf_8_is_its_text_encoded(body: bytes, declared: str) -> None:
    for each in (body, b"\xef\xbb\xbf" + body, "\ufffd".encode() + body):
        text, charset = decode(each, declared)
        assert in_utf_8(text, charset, each) == text.encode(errors="replace")


@pytest.mark.parametrize("last", [b"\x93", b"\x80", b"\xff", b"\xc0", b"\xe9", b"\xf0", b"\xe9.", b"\xe2\x41"])
def test_a_last_byte_that_is_no_cut_utf_8_is_of_another_charset(last: bytes) -> None:
    text, charset = decode(b"said \x22plain words\x22 and then " + last, "")
    assert charset != "utf-8"
    assert "\ufffd" not in text


@pytest.mark.parametrize(
    "piece", [b"<!--", b"<meta ", b"<meta a='", b"<script>", b"<a b=", b"<a\tb/", b"</", b"charset="]
)
def test_sniffing_does_not_take_quadratic_time(piece: bytes) -> None:
    def work(size: int) -> Callable[[], object]:
        return partial(decode, b"charset \xff" + piece * (size // len(piece)), "")

    assert grows_less(work, (6_000, 96_000), than=120)


@given(
    st.sampled_from(sorted(_KNOWN - {"iso8859-12"})),
    st.one_of(st.binary(max_size=40), st.lists(st.sampled_from([b"\xd8", b"\xdc", b"\0", b"a"])).map(b"".join)),
    st.integers(2, 8),
)
def test_bytes_that_mean_nothing_are_read_as_python_reads_them(name: str, body: bytes, size: int) -> None:
    expected = body.decode(name, "replace")
    assert decoded(body, name) == expected
    if name in _TABLED or name in _UNITS or name == "utf-8":  # those of East Asia are Python's own, also in pieces
        assert "".join(in_pieces(body, name, size)) == expected


@pytest.mark.parametrize(("name", "nothing"), [("cp874", b"\xff"), ("cp1252", b"\x81"), ("utf-16-le", b"\0\xd8")])
def test_bytes_that_mean_nothing_call_no_function_each(name: str, nothing: bytes) -> None:
    """Python looks up what handles an error once, and then calls it for every byte: 5 s for 50 MB."""
    handled = codecs.lookup_error("replace")
    calls = 0

    def counted(error: UnicodeError) -> tuple[str | bytes, int]:
        nonlocal calls
        calls += 1
        return handled(error)

    codecs.register_error("replace", counted)
    try:
        assert decoded(1_000 * nothing, name) == 1_000 * "\N{REPLACEMENT CHARACTER}"
    finally:
        codecs.register_error("replace", handled)
    assert calls < 256, "at most once for each byte of the table"
