"""The query of a link in the charset of its page, as browsers encode it (WHATWG URL, 1.3 and 4.4).

On a page in windows-1251, `/s?q=тест` asks for `%F2%E5%F1%F2`. All else in a URL is UTF-8. A character that the charset
lacks becomes the escaped `&#1234;`. Redirects and sitemaps, which have no page, are UTF-8.

Python's codecs take the place of the standard's: `_lacks` has the difference that matters. (gbk is gb18030 here, as in
`gatherer/charset.py`: rare characters take four bytes that a browser would write as `&#1234;`.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

UTF_8: Final = ("", "utf-8", "utf-16-le", "utf-16-be", "replacement")
"""Codecs of pages whose links are in UTF-8. UTF-16 cannot be in a URL."""
_FOREIGN: Final = re.compile("[^\\x00-\\x7f\\ud800-\\udfff]+")
"""Characters to encode. Half a surrogate pair is none: no URL with one has a canonical form."""
_KEPT: Final = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")
"""Bytes that a query may have. The others are percent-encoded."""
_OCTETS: Final = [chr(octet) if octet in _KEPT else f"%{octet:02X}" for octet in range(256)]
_removed: Final = re.compile("[\\t\\n\\r]").sub
_lacks: Final[Mapping[str, Callable[[bytes], bool]]] = {
    "euc_jp": lambda octets: octets[0] == 0x8F,
    "big5hkscs": lambda octets: octets[0] < 0xA1,
}
"""Characters, given by their bytes, that Python's codec has and the standard's encoder has not."""


def encoded(url: str, charset: str) -> str:
    """The reference with its query encoded in this codec; the reference itself if that changes nothing."""
    if url.isascii() or "?" not in url or charset in UTF_8:
        return url
    head, mark, tail = url.partition("?")
    if "#" in head:
        return url
    query, number, fragment = tail.partition("#")
    return head + mark + _FOREIGN.sub(lambda found: _bytes(found[0], charset), _removed("", query)) + number + fragment


def _bytes(text: str, charset: str) -> str:
    if charset not in _lacks:
        try:
            return "".join([_OCTETS[octet] for octet in text.encode(charset)])
        except UnicodeEncodeError:
            pass
    return "".join([_character(character, charset) for character in text])


def _character(character: str, charset: str) -> str:
    try:
        octets = character.encode(charset)
    except UnicodeEncodeError:
        octets = b""
    if not octets or (charset in _lacks and _lacks[charset](octets)):
        return f"%26%23{ord(character)}%3B"
    return "".join([_OCTETS[octet] for octet in octets])
