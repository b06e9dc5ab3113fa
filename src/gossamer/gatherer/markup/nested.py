"""Links inside of links: their texts repeat one another, and reading each of them costs their product.

A link ends where the next one begins, except in a table cell, an <object> and the like, and in SVG: there links nest,
500 deep, and the text of each is read through all elements inside of it. 490 nested links with 50,000 elements in the
innermost, a page of 200 KB, took 0.75 s. The first `MOST_NESTED` links inside of others have texts, further ones none.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from selectolax.lexbor import LexborNode

from gossamer.gatherer.markup.tags import Marks, key_of

MOST_NESTED: Final = 50
"""Links inside of other links whose texts are read."""
FEW: Final = 2_000_000
"""Elements that the texts of all links pass through. With no more than these, it does not matter how links nest."""
_NEAR: Final = 20
"""Ancestors among which an outer link is looked for: of 1,000 open elements, at most 50 are links further apart."""
_THREE: Final = np.uint32(0xFFFFFF)
_ANCHOR: Final = key_of("a\0")
_CELLS: Final = (key_of("td\0"), key_of("th\0"))
_MARKERS: Final = tuple(map(key_of, ("appl", "obje", "marq", "temp", "capt")))
"""First letters of the elements besides cells in which a link may begin although another one is open."""


def may_nest(tags: Marks) -> bool:
    """Whether links may be nested so that their texts are costly to read. Nearly all pages have too few tags."""
    count = len(tags.places)
    if count * count <= FEW:
        return False
    deepest = int(np.count_nonzero(tags.keys & np.uint32(0xFFFF) == _ANCHOR))
    if not (tags.may_have("svg") or tags.may_have("math")):
        within = sum(int(np.count_nonzero(tags.keys & _THREE == cell)) for cell in _CELLS)
        within += sum(int(np.count_nonzero(tags.keys == marker)) for marker in _MARKERS)
        deepest = min(deepest, within)
    return deepest * count > FEW


def is_nested(link: LexborNode) -> bool:
    """Whether a link is inside of another one that is near."""
    outer = link.parent
    for _ in range(_NEAR):
        if outer is None:
            return False
        if outer.tag == "a":
            return True
        outer = outer.parent
    return False
