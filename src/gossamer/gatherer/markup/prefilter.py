"""A first look at the markup of a page: has it too few tags that matter for any parser to have trouble with it?

Tags are counted, and nothing is made of their order: whatever follows a < may be one, in a comment or a script too. So
this holds for every page, nested as it may be, SVG included, and is never more than the closer looks (`plain`,
`bounds`) would allow. Of larger pages the elements that end in their place are taken out first, level by level, the
innermost first: those left may all be open at once.

Cost: 20 ns a tag; of a page with more than a thousand elements 0.2 to 0.5 µs.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from gossamer.gatherer.markup.fast import FORMATTING, USUAL_TAG
from gossamer.gatherer.markup.tags import PAIR, Keys, Marks, beginning_like, key_of, marks

ALIKE: Final = 3
"""Formatting elements of the same spelling of which the parser makes another anew."""
_FLAT: Final = ("a", "p", "br", "hr", "img", "td", "th", "tr", "wbr")
"""Of the elements that are never deep those that pages have many of."""
_FLAT_ANYWHERE: Final = ("p", "br", "hr", "img")
"""And those that are not in SVG and MathML either: they end it."""
_LONGEST: Final = 256
"""Bytes of a usual start tag of a formatting element."""
_USUAL: Final = re.compile(USUAL_TAG)
_LEAF: Final = re.compile(rf"<(?=([a-z][a-z0-9-]*+)[\s>]){USUAL_TAG[1:]}[^<]*+</\1>")
"""An element that ends before another begins: it is never open with one that follows it, and its end tag looks no
further than at it."""
_LEVELS: Final = 8
_GONE: Final = "\"'"
"""Stands for what was taken out: no usual tag can have it."""
_ROOTS: Final = [key_of(name) for name in ("html", "body")]
_CDATA, _OPTION = key_of("![cd"), key_of("opti")
_FORMATTING: Final = beginning_like(FORMATTING)
_WALKING: Final = beginning_like(FORMATTING | {"a"})


class _Flat:
    """Elements that never are in one another, and how to find them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._keys, self._masks = np.ones(1 << 16, np.uint32), np.zeros(1 << 16, np.uint32)
        for name in names:  # no two of them begin with the same two letters
            key = key_of(f"{name}\0")
            self._keys[key & PAIR], self._masks[key & PAIR] = key, (1 << 8 * (len(name) + 1)) - 1
        self.tag = re.compile(rf"</?+(?=(?:{'|'.join(sorted(set(names) - {'a'}))})[\s/>]){USUAL_TAG[1:]}")
        """But for <a>: its end tags count."""

    def count(self, keys: Keys, pairs: Keys) -> int:
        """How many of these are some of them; `pairs` are the first two bytes of each key."""
        return int(np.count_nonzero(keys & self._masks[pairs] == self._keys[pairs]))


_IN_HTML, _ANYWHERE = _Flat(_FLAT), _Flat(_FLAT_ANYWHERE)


def count_roots(found: Marks) -> int:
    """Start tags that may be those of <html> and <body>."""
    return sum(int(np.count_nonzero((found.keys == root) & ~found.are_ends)) for root in _ROOTS)


def has_few(text: str, found: Marks, deepest: int, most_left: int, most_walked: int, most_options: int) -> bool:
    """At most so many open elements, formatting elements left open, open elements above which formatting elements end,
    summed up, and options, in whatever order the tags are."""
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
    """Whether these tags have few spellings, all of them usual."""
    spelt = set()
    for place in places:
        end = raw.find(b">", place, place + _LONGEST)
        if end < 0:
            return False
        spelt.add(raw[place : end + 1])
    return len(spelt) <= most and all(_USUAL.fullmatch(tag.decode(errors="replace")) for tag in spelt)
