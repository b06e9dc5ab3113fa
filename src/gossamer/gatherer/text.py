"""The text of a page: as one string for digest, sketch and language; on request cleaned, in lines, for the archive.

Invariant: `cleaned_text_has_the_characters_of_the_digest`: but for white space and the title in front they are the
same. Cost: the one string 0.02 ms; lines 0.6 ms for 25 KB (`bench/gather.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from html import escape
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

_WHITE: Final = b" \t\n\r\f\v"
# fmt: off
_LINES: Final = frozenset({
    "address", "article", "aside", "blockquote", "br", "caption", "center", "dd", "details", "dialog", "dir", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
    "hgroup", "hr", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup", "option", "p", "plaintext",
    "pre", "search", "section", "select", "summary", "table", "tbody", "textarea", "tfoot", "thead", "tr", "ul", "xmp",
})
"""Elements that begin and end a line."""
# fmt: on
_CELLS: Final = frozenset({"td", "th", "button", "input"})
"""Elements that are set apart from their neighbours."""
_AS_WRITTEN: Final = frozenset({"pre", "textarea", "listing", "xmp", "plaintext"})
# fmt: off
_VOID: Final = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
})
# fmt: on
_MARK: Final = "\0"
"""No text of a parsed page has it: it begins what is put between texts."""
_BREAK: Final = _MARK + "\n"
_KEPT: Final = re.compile(_MARK + r"(/?[a-z0-9-]+);")


def visible_text(tree: LexborHTMLParser, drop: Iterable[str]) -> str:
    """Takes the dropped elements out of the tree. Elements are set apart by a space."""
    if names := list(drop):
        tree.strip_tags(names)
    return tree.body.text(separator=" ") if tree.body else ""


def without_white(text: str, whole: bytes) -> tuple[bytes, int]:
    """A text without white space, and its length in characters. Splitting it at white space costs five times more."""
    cleaned = whole.translate(None, _WHITE)
    return cleaned, len(text) - (len(whole) - len(cleaned))


def page_lines(tree: LexborHTMLParser, keep: Collection[str], title: str) -> bytes:
    """Title and text, a line for each block: plain, or HTML if tags are kept. Fills the tree with marks."""
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
    """Of a page that is plain text."""
    return _joined(text.replace(_MARK, "").split("\n"), bool(keep))


def _mark(node: LexborNode, name: str, keep: Collection[str]) -> None:
    before = after = _BREAK if name in _LINES else " " if name in _CELLS else ""
    if name in keep:
        before += f"{_MARK}{name};"
        after = after if name in _VOID else f"{_MARK}/{name};{after}"
    node.insert_before(before)
    node.insert_after(after)


def _mark_lines_as_written(block: LexborNode) -> set[int]:
    """The elements inside of which the same need not be done again: it would cost the square of their depth."""
    inside = set()
    for node in list(block.traverse(include_text=True)):
        if not node.is_text_node:
            inside.add(node.mem_id)
        elif "\n" in (written := node.text_content or ""):
            node.replace_with(written.replace("\n", _BREAK))
    return inside


def _joined(lines: Iterable[str], as_html: bool) -> bytes:
    """White space folded; lines without text or tag are left out."""
    whole = "\n".join(filter(None, (" ".join(line.split()) for line in lines)))
    if as_html:
        whole = _KEPT.sub(r"<\1>", escape(whole, quote=False))
    return whole.encode(errors="replace")
