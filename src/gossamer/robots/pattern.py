"""What it means that a rule's path matches a URL: RFC 9309, 2.2.2 and 2.2.3, in plain Python.

`robots.match` is the same for many URLs at once; `kernel_agrees_with_python` holds them together.

Both sides are compared octet by octet, as *tokens*: an octet stands for itself, whether written raw or as %XX, but for
reserved characters (RFC 3986, 2.2) and "%", where the escaped one is another token: `octet + ESCAPED`. Two exceptions,
at which an escaped token of the rule equals the raw one of the URL, and which the URL's own escapes obey too:
"*" and "$", since %2A and %24 are how a rule names them (2.2.3); and ":", "/", "?", "@" in the query of the URL,
where they separate nothing (2.2.2, first example).

Cost: linear in practice, at worst length of rule x length of URL: after a mismatch only the last "*" is tried again.
A file can hold half a megabyte of such rules, so there are at most `STEPS` for a URL; a URL that needs more is taken
for forbidden.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ESCAPED: Final = 256
STEPS: Final = 1_000_000
RESERVED: Final = b":/?#[]@!$&'()*+,;=%"
LOOSE: Final = b"*$"
LOOSE_IN_QUERY: Final = b":/?@"

_UNRESERVED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_HEX: Final = b"0123456789ABCDEFabcdef"
_STAR, _DOLLAR, _PERCENT, _QUESTION = b"*$%?"


def normalised(path: bytes) -> bytes:
    """A rule's path, escapes in one spelling: unreserved octets raw, all that is not of RFC 3986 as %XX."""
    out = bytearray()
    for token in tokens(path):
        octet = token % ESCAPED
        if token == octet and (octet in _UNRESERVED or octet in RESERVED):
            out.append(octet)
        else:
            out += b"%%%02X" % octet
    return bytes(out)


def tokens(text: bytes) -> list[int]:
    found, at = list[int](), 0
    while at < len(text):
        octet = text[at]
        if octet == _PERCENT and len(text) > at + 2 and text[at + 1] in _HEX and text[at + 2] in _HEX:
            octet = int(text[at + 1 : at + 3], 16)
            found.append(octet + ESCAPED if octet in RESERVED else octet)
            at += 3
        else:
            found.append(octet)
            at += 1
    return found


def allows(rules: Iterable[tuple[bool, bytes]], path: bytes) -> bool:
    """What the first rule (Allow?, path in normal form) that matches says; `path` is a URL's, with the query."""
    given, left = tokens(path), STEPS
    for allow, rule in rules:
        hit, left = _matches(tokens(rule), given, left)
        if left < 0:
            return False
        if hit:
            return allow
    return True


def _matches(wanted: list[int], given: list[int], left: int) -> tuple[bool, int]:
    """Whether a rule matches a beginning of the path, with "$" at its end all of it; and how many steps are left."""
    to_end = wanted[-1:] == [_DOLLAR]
    if to_end:
        wanted = wanted[:-1]
    query = given.index(_QUESTION) if _QUESTION in given else len(given)
    i, at, star, mark = 0, 0, -1, 0
    while left >= 0:
        left -= 1
        if i == len(wanted):
            if not to_end or at == len(given):
                return True, left
        elif wanted[i] == _STAR:
            i += 1
            star, mark = i, at
            continue
        elif at < len(given) and _equal(wanted[i], given[at], at > query):
            i, at = i + 1, at + 1
            continue
        if star < 0 or mark >= len(given):
            return False, left
        mark += 1
        i, at = star, mark
    return False, left


def _equal(wanted: int, given: int, in_query: bool) -> bool:
    octet = given % ESCAPED
    if octet in LOOSE or (in_query and octet in LOOSE_IN_QUERY):
        return wanted % ESCAPED == octet
    return wanted == given
