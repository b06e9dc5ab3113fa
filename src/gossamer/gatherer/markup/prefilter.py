"""Fast pre-check: a page with few significant tags cannot exceed the parser limits, so the exact check is skipped.

It counts tags and ignores their order: whatever follows a < counts as a tag, even in a comment or a script. The result
therefore holds for every nesting, including SVG, and is never more permissive than the exact checks (`fast`, `limits`).
On larger pages, properly closed elements are removed first, level by level from the inside: only the remaining elements
can all be open at once.

Cost: 20 ns per tag; 0.2 to 0.5 µs per tag on a page with more than a thousand elements.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from gossamer.base.arrays import U32
from gossamer.gatherer.markup.fast import FORMATTING, USUAL_TAG
from gossamer.gatherer.markup.tags import PAIR, Marks, beginning_like, key_of, marks

ALIKE: Final = 3
"""How many identical formatting elements the parser re-creates (the "Noah's Ark" rule of the HTML standard)."""
_FLAT: Final = ("a", "p", "br", "hr", "img", "td", "th", "tr", "wbr")
"""The most frequent elements that never nest."""
_FLAT_ANYWHERE: Final = ("p", "br", "hr", "img")
"""Elements that do not nest in SVG and MathML either: they close it."""
_LONGEST: Final = 256
"""Maximum bytes of a usual start tag of a formatting element."""
_USUAL: Final = re.compile(USUAL_TAG)
_LEAF: Final = re.compile(rf"<(?=([a-z][a-z0-9-]*+)[\s>]){USUAL_TAG[1:]}[^<]*+</\1>")
"""A leaf element: closed before the next tag, so it is never on the stack together with later elements, and its end tag
walks up no other element."""
_LEVELS: Final = 8
_GONE: Final = "\"'"
"""Replaces a removed element. No usual tag can contain it."""
_ROOTS: Final = [key_of(name) for name in ("html", "body")]
_CDATA, _OPTION = key_of("![cd"), key_of("opti")
_FORMATTING: Final = beginning_like(FORMATTING)
_WALKING: Final = beginning_like(FORMATTING | {"a"})


class _Flat:
    """A set of elements that never nest, and how to find them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._keys, self._masks = np.ones(1 << 16, np.uint32), np.zeros(1 << 16, np.uint32)
        for name in names:  # no two of them begin with the same two letters
            key = key_of(f"{name}\0")
            self._keys[key & PAIR], self._masks[key & PAIR] = key, (1 << 8 * (len(name) + 1)) - 1
        self.tag = re.compile(rf"</?+(?=(?:{'|'.join(sorted(set(names) - {'a'}))})[\s/>]){USUAL_TAG[1:]}")
        """Matches their tags, except <a>, whose end tags count."""

    def count(self, keys: U32, pairs: U32) -> int:
        """How many keys are names of the set. `pairs`: the first two bytes of each key."""
        return int(np.count_nonzero(keys & self._masks[pairs] == self._keys[pairs]))


_IN_HTML, _ANYWHERE = _Flat(_FLAT), _Flat(_FLAT_ANYWHERE)


def count_roots(found: Marks) -> int:
    """Number of start tags that may be <html> or <body>."""
    return sum(int(np.count_nonzero((found.keys == root) & ~found.are_ends)) for root in _ROOTS)


def has_few(text: str, found: Marks, deepest: int, most_left: int, most_walked: int, most_options: int) -> bool:
    """Whether the page stays within these limits, in whatever order its tags are: open elements, formatting elements
    left open, open elements that the end tags of formatting elements walk up (summed up), and options."""
    options = len(found.places) > most_options and int(np.count_nonzero(found.keys == _OPTION)) > most_options
    if options or (found.keys == _CDATA).any():
        return False
    flat = _ANYWHERE if found.may_have("svg") or found.may_have("math") else _IN_HTML
    for level in range(_LEVELS + 1):
        pairs = found.keys & PAIR
        are_starts = ((pairs & np.uint32(0xFF)) - np.uint32(ord("a")) < 26) & ~found.are_ends
        starts = pairs[are_starts]
        deep = len(starts) - flat.count(found.keys[are_starts], starts)
        walking = int(np.count_nonzero(_WALKING[pairs[found.are_ends]]))
        if deep + level <= min(deepest, most_walked // max(1, walking)):
            places = found.places[are_starts][_FORMATTING[starts]]
            return len(places) <= most_left or _are_alike(found.raw, places.tolist(), most_left // ALIKE)
        if level == 1:
            text = flat.tag.sub(_GONE, text)
        text, closed = _LEAF.subn(_GONE, text)
        if level > 1 and closed < deep // _LEVELS:
            return False
        found = marks(text)
    return False


def _are_alike(raw: bytes, places: list[int], most: int) -> bool:
    """Whether these tags have at most `most` spellings, all of them usual."""
    spelt = set()
    for place in places:
        end = raw.find(b">", place, place + _LONGEST)
        if end < 0:
            return False
        spelt.add(raw[place : end + 1])
    return len(spelt) <= most and all(_USUAL.fullmatch(tag.decode(errors="replace")) for tag in spelt)
