"""Decodes bytes to text. It tries in order: byte order mark, HTTP header, meta element, XML declaration, a late meta
element, ISO-2022-JP by its escape sequences, UTF-8, detection.

Labels have the meaning of the WHATWG Encoding standard: ISO-8859-1 means windows-1252, and a page with a label that
browsers no longer support becomes a single U+FFFD. Nothing else is refused. An unknown label is ignored, and invalid
bytes become U+FFFD, because a page with a few wrong letters still has its links. A UTF-16 label counts only if the body
has zero bytes, as all markup in UTF-16 has.

Meta elements are found as the HTML standard does before it parses (13.2.3.2): comments, end tags and declarations are
skipped, an element counts with its own attributes only, `content` only beside `http-equiv=content-type`, and the search
goes on behind a label that is not known. A meta element behind the first `_PRESCAN` bytes is one that browsers meet
while they parse, and begin again: there, texts of scripts, styles and titles are skipped as well.

Bytes that mean nothing cost no more than others. Python's own decoders call a function for each of them, in all
charsets but UTF-8 and those of East Asia: 0.1 µs, and 5 s for a sitemap of 50 MB. So tables have U+FFFD where a
charset has nothing, and surrogates without their partner are replaced by numpy.

Invariants: `a_cut_text_in_utf_8_is_still_utf_8`, wherever it is cut, unless nothing but its last byte says so;
`a_body_in_utf_8_is_its_text_encoded`; `bytes_that_mean_nothing_are_read_as_python_reads_them`, whole and in pieces.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import cchardet
import numpy as np

REPLACEMENT: Final = "replacement"
"""Stands for encodings that browsers no longer support."""
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
"""Stands for bytes that mean nothing."""
_TABLE: Final = """
utf-8: unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8
cp866: 866 cp866 csibm866 ibm866
iso8859-2: csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso8859-3: csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso8859-4: csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso8859-5: csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso8859-6: arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i
  iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso8859-7: csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7
  iso_8859-7:1987 sun_eu_greek
iso8859-8: csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8
  iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical
iso8859-10: csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso8859-13: iso-8859-13 iso8859-13 iso885913
iso8859-14: iso-8859-14 iso8859-14 iso885914
iso8859-15: csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9
iso8859-16: iso-8859-16
koi8-r: cskoi8r koi koi8 koi8-r koi8_r
koi8-u: koi8-ru koi8-u
mac-roman: csmacintosh mac macintosh x-mac-roman
cp874: dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874
cp1250: cp1250 windows-1250 x-cp1250
cp1251: cp1251 windows-1251 x-cp1251
cp1252: ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1
  iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined
cp1253: cp1253 windows-1253 x-cp1253
cp1254: cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5
  windows-1254 x-cp1254
cp1255: cp1255 windows-1255 x-cp1255
cp1256: cp1256 windows-1256 x-cp1256
cp1257: cp1257 windows-1257 x-cp1257
cp1258: cp1258 windows-1258 x-cp1258
mac-cyrillic: x-mac-cyrillic x-mac-ukrainian
gb18030: chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030
big5hkscs: big5 big5-hkscs cn-big5 csbig5 x-x-big5
euc_jp: cseucpkdfmtjapanese euc-jp x-euc-jp
iso2022_jp: csiso2022jp iso-2022-jp
cp932: csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis
cp949: cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949
replacement: csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement
utf-16-be: unicodefffe utf-16be
utf-16-le: csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le
"""
_ROWS = (row.partition(": ") for row in re.split(r"\n(?! )", _TABLE.strip()))
LABELS: Final = {label: name for name, _, labels in _ROWS for label in labels.split()}
"""The 228 labels of the WHATWG Encoding standard (4.2), mapped to Python codecs. Three encodings are replaced: gbk by
gb18030, which contains it; x-user-defined by windows-1252, which is its meaning in a meta element; ISO-8859-8-I by
ISO-8859-8, which has the same letters."""

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_UNMARKED: Final = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
"""First bytes of markup in UTF-16 without a byte order mark."""
_ATTRIBUTE: Final = rb"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTES: Final = re.compile(
    rb"""([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+))?+)?+"""
)
_REST: Final = rb"(?:[\s/]++|" + _ATTRIBUTE + rb")*+"
_META: Final = rb"<meta(?=[\s/])(?P<meta>" + _REST + rb")>"
_RAW: Final = rb"<(script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>])(?s:.*?)(?:</\2|\Z)"
_SKIPPED: Final = rb"<(?:!--(?:-?>|(?s:.*?)(?:-->|\Z))|[!?/][^>]*+|[a-z][^\s/>]*+" + _REST + rb")"
_EARLY: Final = re.compile(_META + rb"|" + _SKIPPED, re.IGNORECASE)
_LATE: Final = re.compile(_META + rb"|" + _RAW + rb"|" + _SKIPPED, re.IGNORECASE)
"""Meta elements, and what is skipped between them."""
_CONTENT: Final = re.compile(rb"""charset\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s;"'][^\s;]*+))""", re.IGNORECASE)
_XML: Final = re.compile(rb"""<\?xml\s[^>]*?encoding[\0- ]*+=[\0- ]*+(["'])([^"'>]*+)\1""")
_SOMEWHERE: Final = re.compile(rb"<meta[\s/][^<>]*?charset", re.IGNORECASE)
_ESCAPES: Final = (b"\x1b$B", b"\x1b$@")
"""Each begins Japanese text in ISO-2022-JP."""
_PRESCAN: Final = 2_048
_DETECT: Final = 100_000
"""Bytes of a body that are searched for a declaration (`_PRESCAN`), or for a late one and for detection (`_DETECT`)."""
_LONGEST: Final = 64
"""Maximum characters of a label."""

# fmt: off
_MEANT: Final = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
    "utf-16": "utf-16-le",
}
_SINGLE: Final = {f"iso8859-{n}" for n in range(2, 17)} | {f"cp125{n}" for n in range(9)}
_KNOWN: Final = _SINGLE | {
    "utf-8", "utf-16-le", "utf-16-be", "gb18030", "cp932", "cp949", "big5hkscs", "euc_jp", "iso2022_jp", "cp866",
    "cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "johab",
}
"""Codecs for text on the Web. Python has others, which a page must not be able to choose."""
# fmt: on
_TABLED: Final = _SINGLE | {"cp866", "cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"}
_UNITS: Final = {"utf-16-le": 1, "utf-16-be": 0}
"""Codecs of two bytes, and which of the two is the higher."""


def decode(body: bytes, declared: str) -> tuple[str, str]:
    """The text without byte order mark, and the name of its charset. `declared`: the charset of the header, or ""."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return decoded(body[len(mark) :], name), name
    if body[:2] in _UNMARKED and b"\0" in body[2:4]:
        name = _UNMARKED[body[:2]]
        return decoded(body, name), name
    name = codec(declared)
    if not name or (name.startswith("utf-16") and b"\0" not in body[:_PRESCAN]):
        name = _declared(body)
    if name == REPLACEMENT:
        return _REPLACED if body else "", name
    if name:
        return decoded(body, name), name
    if (text := _iso_2022_jp(body)) is not None:
        return text, "iso2022_jp"
    try:
        return body.decode(), "utf-8"
    except UnicodeDecodeError as error:
        if _is_cut(body, error):
            return body.decode(errors="replace"), "utf-8"
    name = codec(cchardet.detect(body[:_DETECT])["encoding"] or "")
    if name in ("", REPLACEMENT) or (name == "utf-8" and body.decode(errors="ignore").isascii()):
        name = "cp1252"
    return decoded(body, name), name


def decoded(body: bytes, name: str) -> str:
    """The text of a body in the codec `name`; bytes that mean nothing become U+FFFD."""
    if table := _table(name):
        return codecs.charmap_decode(body, "strict", table)[0]
    if name in _UNITS:
        return _utf_16(body, name)
    return body.decode(name, "replace")


def in_pieces(body: bytes, name: str, size: int) -> Iterator[str]:
    """The same, in pieces of about `size` bytes, so that no more is in memory than is needed."""
    if name not in _UNITS and not _table(name):
        decoder = codecs.getincrementaldecoder(name)("replace")
        for at in range(0, len(body), size):
            yield decoder.decode(body[at : at + size], at + size >= len(body))
        return
    at, size = 0, size & ~1
    while at < len(body):
        end = at + size
        if name in _UNITS and end < len(body) and body[end - 2 + _UNITS[name]] & 0xFC == 0xD8:
            end += 2  # the first half of a pair
        yield decoded(body[at:end], name)
        at = end


@lru_cache(maxsize=64)
def _table(name: str) -> str:
    """The character of each byte in a codec with one byte per character; "" for others."""
    return bytes(range(256)).decode(name, "replace") if name in _TABLED else ""


def _utf_16(body: bytes, name: str) -> str:
    try:
        return body.decode(name)
    except UnicodeDecodeError:
        pass
    units = np.frombuffer(body, ">u2" if _UNITS[name] == 0 else "<u2", len(body) // 2).astype("<u2")
    kind = units & 0xFC00
    first, second = kind == 0xD800, kind == 0xDC00
    cut = len(body) % 2 == 1 and not first[-1:].any()
    pairs = first[:-1] & second[1:]
    first[:-1] ^= pairs
    second[1:] ^= pairs
    units[first | second] = ord(_REPLACED)
    return units.tobytes().decode("utf-16-le") + (_REPLACED if cut else "")


def in_utf_8(text: str, charset: str, body: bytes) -> bytes:
    """The text in UTF-8. `charset`, `body`: what `decode` made it of, which mostly is this already."""
    if charset != "utf-8" or _REPLACED in text:
        return text.encode(errors="replace")
    return body.removeprefix(codecs.BOM_UTF8)


def _is_cut(body: bytes, error: UnicodeDecodeError) -> bool:
    """Whether a body is UTF-8 but for its last character, which the download limit has cut. A single last byte counts
    only if there is UTF-8 before it: behind ASCII it is a letter of another charset."""
    if error.reason != "unexpected end of data":
        return False
    return len(body) - error.start > 1 or not body[: error.start].isascii()


def _iso_2022_jp(body: bytes) -> str | None:
    """The text of a body in ISO-2022-JP; None if it is in another charset. All its bytes are ASCII, so that it would
    pass for UTF-8: only escape sequences that make sense up to the end tell it."""
    if not body.isascii() or b"\x1b" not in body or not any(escape in body for escape in _ESCAPES):
        return None
    try:
        return body.decode("iso2022_jp")
    except UnicodeDecodeError as error:
        return body.decode("iso2022_jp", "replace") if error.start > len(body) - 4 else None


def codec(label: str) -> str:
    """The codec for a label; "" if there is none."""
    return _codec(label) if len(label) <= _LONGEST else ""  # bounds the memory of the cache


@lru_cache(maxsize=1024)
def _codec(label: str) -> str:
    label = label.strip("\t\n\f\r ").lower()
    if label in LABELS:
        return LABELS[label]
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return ""
    name = _MEANT.get(name, name)
    return name if name in _KNOWN else ""


def _declared(body: bytes) -> str:
    """The codec that the body itself declares, or "". What can be read as ASCII is never in UTF-16."""
    early = b"charset" in body[:_PRESCAN].lower()  # most pages without a declaration do not have the word
    name = (_from_meta(body, _EARLY, _PRESCAN) if early else "") or _from_xml(body)
    if not name and _SOMEWHERE.search(body, 0, _DETECT):
        name = _from_meta(body, _LATE, _DETECT)
    return "utf-8" if name.startswith("utf-16") else name


def _from_meta(body: bytes, tags: re.Pattern[bytes], most: int) -> str:
    """The codec of the first meta element that declares a known one, or ""."""
    for tag in tags.finditer(body, 0, most):
        if tag["meta"] and (name := _of_meta(tag["meta"])):
            return name
    return ""


def _of_meta(attributes: bytes) -> str:
    found = dict[bytes, bytes]()
    for name, *values in _ATTRIBUTES.findall(attributes):
        found.setdefault(name.lower(), values[0] or values[1] or values[2])
    label = found.get(b"charset")
    if label is None and found.get(b"http-equiv", b"").strip().lower() == b"content-type":
        content = _CONTENT.search(found.get(b"content", b""))
        label = next(filter(None, content.groups()), b"") if content else b""
    return codec((label or b"").decode("latin-1"))


def _from_xml(body: bytes) -> str:
    """The codec that an XML declaration names, or "": the body is XHTML."""
    found = _XML.match(body, 0, _PRESCAN) if body.startswith(b"<?xml") else None
    return codec(found[2].decode("latin-1")) if found else ""


def charset_of(content_type: str) -> str:
    """The charset that a Content-Type header declares, or ""."""
    _, found, value = content_type.partition(";")[2].lower().partition("charset=")
    return value.partition(";")[0].strip().strip("\"'") if found else ""
