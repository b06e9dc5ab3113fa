"""Which links of a page are emphasized: inside of a heading or of bold text, or around one (thesis 7.2.1, weighted
link rank).

Two ways lead to the same answer. The fast way reads the order of the tags in the text with numpy; it holds if the tags
of these elements are balanced, and if every <a> of the text is in the tree. Comments and scripts with tags in them, and
markup with errors, need the tree itself.

Invariant: `both_ways_to_find_emphasis_agree` where elements are properly nested. Cost for 75 links: 0.02 ms; 0.08 ms in
the tree.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.base.arrays import U8
from gossamer.base.model import LinkFlag
from gossamer.gatherer.markup.tags import PAIR, Marks, key_of

HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
BOLD: Final = ("strong", "b")
MOST_STEPS: Final = 20_000
"""Elements that are looked at in the tree; what is inside of further ones is not emphasized."""

_HEADING, _BOLD = int(LinkFlag.HEADING), int(LinkFlag.BOLD)
_FLAG_OF: Final = {**dict.fromkeys(HEADINGS, _HEADING), **dict.fromkeys(BOLD, _BOLD)}
_STRONG: Final = key_of("stro")
_ST: Final = np.uint8(ord("s"))
_ORDER: Final = bytes.maketrans(b"abhimnst", b"aAhHbBbB")
_OTHERS: Final = bytes(octet for octet in range(256) if octet not in b"abhimnst")
"""How letters become those that the patterns read: the next letter stands for the end tag."""
_PAIRS: Final = tuple((pair, bytes(set(b"aAhHbB") - set(pair))) for pair in (b"aA", b"hH", b"bB"))
"""The tags of an element, and those of the others."""
_EMPHASIZED: Final = tuple(
    (mark, re.compile(pattern), flag)
    for mark, pattern, flag in (
        (b"h", rb"h[^H]*?a[^H]*+H", _HEADING),
        (b"b", rb"b[^B]*?a[^B]*+B", _BOLD),
        (b"h", rb"a[^Ah]*+h", _HEADING),
        (b"b", rb"a[^Ab]*+b", _BOLD),
    )
)
"""An element with links, or a link with an element; the letter without which there is none."""


def _letters() -> U8:
    """A letter for each start tag that matters, by the first two bytes of its name."""
    table = np.zeros(1 << 16, np.uint8)
    for name, letter in {"a\0": "a", "b\0": "m", "st": "s", **dict.fromkeys(HEADINGS, "h")}.items():
        table[ord(name[0]) + 256 * ord(name[1])] = ord(letter)
    return table


_LETTERS: Final = _letters()


def emphasized(tree: LexborHTMLParser, links: list[LexborNode], tags: Marks) -> list[int] | None:
    """The flags HEADING and BOLD of `links`, all <a> of the tree; None if nothing on the page is emphasized."""
    letters = _LETTERS.take(tags.keys & PAIR)
    letters[(letters == _ST) & (tags.keys != _STRONG)] = 0  # <style>, not <strong>
    letters += tags.are_ends
    order = letters.tobytes().translate(_ORDER, _OTHERS)
    if b"h" not in order and b"b" not in order:
        return None
    if order.count(b"a") == len(links) and _is_orderly(order):
        return _from_order(order)
    return _from_tree(tree, links)


def _is_orderly(order: bytes) -> bool:
    """Whether each element ends before the next one of its kind begins."""
    return all(order.translate(None, others) == pair * order.count(pair[:1]) for pair, others in _PAIRS)


def _from_order(order: bytes) -> list[int]:
    """The flags from the order of the tags: small letters for start tags, large ones for end tags."""
    flags = [0] * order.count(b"a")
    for mark, pattern, flag in _EMPHASIZED:
        first, at = 0, 0
        for found in pattern.finditer(order) if mark in order else ():
            start, end = found.span()
            first, at = first + order.count(b"a", at, start), start
            for place in range(first, first + order.count(b"a", start, end)):
                flags[place] |= flag
    return flags


def _from_tree(tree: LexborHTMLParser, links: list[LexborNode]) -> list[int]:
    places = {link.mem_id: place for place, link in enumerate(links)}
    flags, left = [0] * len(links), MOST_STEPS
    for name, flag in _FLAG_OF.items():
        for element in tree.tags(name):
            for inner in element.traverse():
                left -= 1
                if inner.tag == "a" and (place := places.get(inner.mem_id)) is not None:
                    flags[place] |= flag
                if left < 0:
                    return flags
            outer = element.parent
            while outer is not None and left >= 0:
                left -= 1
                if outer.tag == "a" and (place := places.get(outer.mem_id)) is not None:
                    flags[place] |= flag
                outer = outer.parent
    return flags
