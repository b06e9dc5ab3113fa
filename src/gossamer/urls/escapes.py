"""Percent-encodings in one spelling (RFC 3986, 6.2.2): hex digits in capitals, and unreserved characters as they are.

`%7eu` and `%7Eu` are `~u`, `%3a` is `%3A`. An escape right behind an unfinished one stays as it is: `%%37%45` is the
bytes of `%7E`, and must not become `~` when it is read again.

Invariants, each a test of the same name: uniform is idempotent; uniform keeps the bytes.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Final

_HEX: Final = "[0-9A-Fa-f]"
_UNIFORM: Final = "[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|[46]0|5[B-E]|7[B-DF]"
"""Capital digits of bytes that are no unreserved characters."""
_ODD: Final = f"%(?!{_UNIFORM}){_HEX}{{2}}"
_changed: Final = re.compile(rf"{_ODD}(?<!%%..)(?<!%{_HEX}%..)(?:{_ODD})*+").sub
"""Finds runs of escapes that change. It begins with the sign itself, because `re` searches for a first character fast,
and looks back after the first escape of a run."""


def uniform(url: str) -> str:
    """The URL, or a part of it, with its percent-encodings in one spelling. If nothing changes, it costs
    0.2 µs and 0.03 µs for each escape; an escape that changes costs 0.15 µs."""
    return _changed(_spelled, url)


def _spelled(escapes: re.Match[str]) -> str:
    digits = escapes[0][1:]
    return _SPELLED[digits] if len(digits) == 2 else "".join([_SPELLED[each] for each in digits.split("%")])


_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SPELLED: Final = {
    high + low: chr(octet) if (octet := int(high + low, 16)) in _PLAIN else f"%{octet:02X}"
    for high, low in product("0123456789abcdefABCDEF", repeat=2)
}
"""What the digits of an escape become, in capitals or not."""
