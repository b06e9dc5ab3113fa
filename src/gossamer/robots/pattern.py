"""Matches the path of a rule with a URL (RFC 9309, 2.2.2 and 2.2.3), in plain Python.

`robots.match` does the same for many URLs at once; the test `kernel_agrees_with_python` compares the two.

Both sides are compared octet by octet, as *tokens*. An octet is the same token whether written raw or as %XX, except
for reserved characters (RFC 3986, 2.2) and "%": their escaped form is another token, `octet + ESCAPED`. In two cases an
escaped token of the rule equals the raw one of the URL, and an escaped token of the URL equals its raw form: "*" and
"$", because a rule can only name them as %2A and %24 (2.2.3); and ":", "/", "?", "@" in the query of the URL, where
they are not separators (2.2.2, first example).

A rule with an unfinished escape (`/*%`, `/a%2`) matches what it says: it is compared *as text*, character by character,
with the normal form of the URL, so that `/*%` matches every URL with an escape.

Matching is greedy and exact: the part before the first "*" must be at the beginning, each part between two stars is
matched at its first occurrence after the previous part, and with "$" the last part must be at the end. Cost: the bytes
of the file once, and for each search its positions times the words of 64 tokens of the part (`robots.match` compares
64 tokens at once). The worst rule takes less than 50 µs for a URL of 2,000 bytes (`bench/robots.py`). A file can hold
half a megabyte of such rules: a URL that needs more than `STEPS` steps is treated as forbidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

ESCAPED: Final = 256
STEPS: Final = 1_000_000
TEXT_PERCENT: Final = 1
"""Stands for "%" in compiled rules that are compared as text: no escape begins with it."""
RESERVED: Final = b":/?#[]@!$&'()*+,;=%"
LOOSE: Final = b"*$"
LOOSE_IN_QUERY: Final = b":/?@"
UNRESERVED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_HEX: Final = b"0123456789ABCDEFabcdef"
_PERCENT, _QUESTION = b"%?"
_WRITTEN: Final = [bytes([octet]) if octet in UNRESERVED else b"%%%02X" % octet for octet in range(256)]
_AS_IT_IS: Final = re.compile(rb"[%s]*" % re.escape(UNRESERVED + RESERVED.replace(b"%", b""))).fullmatch
_OTHER: Final = re.compile(rb"%%([0-9A-Fa-f]{2})|[^%s]" % re.escape(UNRESERVED + RESERVED))
_UNFINISHED: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class Rule(NamedTuple):
    """A rule of robots.txt."""

    allow: bool
    path: bytes
    """In normal form."""
    as_text: bool = False
    """Whether it is compared as text, because it has an unfinished escape."""


def rule(allow: bool, path: bytes) -> Rule:
    """A rule with its path as written."""
    return Rule(allow, normalised(path), _UNFINISHED.search(path) is not None)


def normalised(path: bytes) -> bytes:
    """The path of a rule in normal form: unreserved octets raw, octets that RFC 3986 does not allow as %XX."""
    if _AS_IT_IS(path):
        return path
    return _OTHER.sub(lambda found: _WRITTEN[int(found[1], 16) if found[1] else found[0][0]], path)


def tokens(text: bytes) -> list[int]:
    """The tokens of a path."""
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


def allows(rules: Iterable[Rule], path: bytes) -> bool:
    """Whether rules allow a path: the first rule that matches decides."""
    return judged(rules, path)[0]


def judged(rules: Iterable[Rule], path: bytes) -> tuple[bool, Rule | None]:
    """Whether rules allow a path, and the rule that decides; None if no rule matches, or it takes too many steps.

    `path`: path and query of a URL.
    """
    given, text, left = tokens(path), list[int](), STEPS
    query = given.index(_QUESTION) if _QUESTION in given else len(given)
    for each in rules:
        if each.as_text:
            text = text or list(normalised(path))
            hit, steps = _matches(each.path, text, len(text), list)
        else:
            hit, steps = _matches(each.path, given, query, tokens)
        left -= 1 + steps
        if left < 0:
            return False, None
        if hit:
            return each.allow, each
    return True, None


def is_plain(path: bytes) -> bool:
    """Whether the path of a rule is a plain prefix: each octet is a token, and there is no wildcard."""
    return b"*" not in path and b"%" not in path and not path.endswith(b"$")


def _matches(path: bytes, given: list[int], query: int, read: Callable[[bytes], list[int]]) -> tuple[bool, int]:
    """Whether a rule matches the beginning of the path (all of it if the rule ends with "$"), and its search steps.

    `query`: the position of the first "?" of the path. `read`: how to read the path of the rule.
    """
    to_end = path.endswith(b"$")
    head, *parts = map(read, path.removesuffix(b"$").split(b"*"))
    at, steps, size = len(head), 0, len(given)
    if not _stands(head, given, 0, query):
        return False, 0
    if not parts:
        return not to_end or at == size, 0
    last = parts.pop() if to_end else []
    for part in filter(None, parts):
        if len(part) > size - at:
            return False, steps
        found = next((i for i in range(at, size - len(part) + 1) if _stands(part, given, i, query)), -1)
        end = size if found < 0 else found + len(part)
        steps += (end - at) * words(len(part))
        if found < 0:
            return False, steps
        at = end
    return size - len(last) >= at and _stands(last, given, size - len(last), query), steps


def words(count: int) -> int:
    """The number of 64-bit words for so many tokens."""
    return (count + 63) >> 6


def _stands(part: list[int], given: list[int], at: int, query: int) -> bool:
    """Whether the part occurs at position `at` of the path."""
    if len(part) > len(given) - at:
        return False
    return all(_equal(wanted, given[i], i > query) for i, wanted in enumerate(part, at))


def _equal(wanted: int, given: int, in_query: bool) -> bool:
    octet = given % ESCAPED
    if octet in LOOSE or (in_query and octet in LOOSE_IN_QUERY):
        return wanted % ESCAPED == octet
    return wanted == given
