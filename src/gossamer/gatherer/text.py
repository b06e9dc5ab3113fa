"""The text of a page: one string for digest, sketch and language, and cleaned lines for the archive if asked for.

Invariant: `cleaned_text_has_the_characters_of_the_digest`: except for white space and the title in front they are the
same. Cost for 25 KB: the string 0.02 ms, the lines 0.6 ms (`bench/gather.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from html import escape
from typing import Final

import numpy as np
from selectolax.lexbor import LexborHTMLParser, LexborNode

_WHITE: Final = b" \t\n\v\f\r"
"""A space, and five octets in a row."""
_SHORT: Final = 100_000
"""Bytes of a short text."""
# fmt: off
_LINES: Final = frozenset({
    "address", "article", "aside", "blockquote", "br", "caption", "center", "dd", "details", "dialog", "dir", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
    "hgroup", "hr", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup", "option", "p", "plaintext",
    "pre", "search", "section", "select", "summary", "table", "tbody", "textarea", "tfoot", "thead", "tr", "ul", "xmp",
})
"""Elements that begin and end on their own line."""
_CELLS: Final = frozenset({"td", "th", "button", "input"})
"""Elements that are separated from their neighbours by a space."""
_AS_WRITTEN: Final = frozenset({"pre", "textarea", "listing", "xmp", "plaintext"})
_VOID: Final = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
})
# fmt: on
_MARK: Final = "\0"
"""Prefix of inserted marks. No text of a parsed page contains it."""
_BREAK: Final = _MARK + "\n"
_KEPT: Final = re.compile(_MARK + r"(/?[a-z0-9-]+);")


def visible_text(tree: LexborHTMLParser, drop: Iterable[str]) -> str:
    """The text of a page, with a space between elements. Removes the elements `drop` from the tree."""
    if names := list(drop):
        tree.strip_tags(names)
    return tree.body.text(separator=" ") if tree.body else ""


def without_white(text: str, whole: bytes) -> tuple[bytes, int]:
    """The text without white space, and its length in characters. Splitting at white space costs five times more.

    `translate` looks at each byte, and a processor cannot guess where the next space is: numpy takes half the time, and
    nine bytes for each byte of a short text."""
    if len(whole) > _SHORT:
        cleaned = whole.translate(None, _WHITE)
    else:
        octets = np.frombuffer(whole, np.uint8)
        kept = (octets - np.uint8(ord("\t")) > ord("\r") - ord("\t")) & (octets != ord(" "))
        cleaned = octets.take(kept.nonzero()[0]).tobytes()
    return cleaned, len(text) - (len(whole) - len(cleaned))


def page_lines(tree: LexborHTMLParser, keep: Collection[str], title: str) -> bytes:
    """Title and text, one line per block: plain text, or HTML if tags are kept. Inserts marks into the tree."""
    body = tree.body
    if body is None:
        return _joined([title], bool(keep))
    marked, done = _LINES.union(_CELLS, keep), set[int]()
    for node in [inner for inner in body.traverse() if inner.tag in marked]:
        _mark(node, node.tag or "", keep)
        if node.tag in _AS_WRITTEN and node.mem_id not in done:
            done |= _mark_lines_as_written(node)
    return _joined([title, *body.text().split(_BREAK)], bool(keep))


def plain_lines(text: str, keep: Collection[str]) -> bytes:
    """The lines of a page that is plain text."""
    return _joined(text.replace(_MARK, "").split("\n"), bool(keep))


def _mark(node: LexborNode, name: str, keep: Collection[str]) -> None:
    before = after = _BREAK if name in _LINES else " " if name in _CELLS else ""
    if name in keep:
        before += f"{_MARK}{name};"
        after = after if name in _VOID else f"{_MARK}/{name};{after}"
    node.insert_before(before)
    node.insert_after(after)


def _mark_lines_as_written(block: LexborNode) -> set[int]:
    """Mark the line ends of preformatted text. Returns the elements inside, which must not be marked again: that would
    cost the square of their depth."""
    inside = set()
    for node in list(block.traverse(include_text=True)):
        if not node.is_text_node:
            inside.add(node.mem_id)
        elif "\n" in (written := node.text_content or ""):
            node.replace_with(written.replace("\n", _BREAK))
    return inside


def _joined(lines: Iterable[str], as_html: bool) -> bytes:
    """The lines with white space folded, without empty ones."""
    whole = "\n".join(filter(None, (" ".join(line.split()) for line in lines)))
    if as_html:
        whole = _KEPT.sub(r"<\1>", escape(whole, quote=False))
    return whole.encode(errors="replace")
