"""The page that rows are taken from."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from gossamer.plugins.rows import Join


class Extracted(NamedTuple):
    """The page that rows are taken from."""

    url: str
    tree: LexborHTMLParser
    markup: bytes
    join: Join


def extracted(url: str, tree: LexborHTMLParser, markup: bytes, joiner: Callable[[str], Join]) -> Extracted:
    """The page. `joiner` gives what joins the references of a page with this base."""
    join = joiner(url)
    if b"<base" in markup.lower() and (node := tree.css_first("base[href]")) is not None:
        join = joiner(join(node.attributes.get("href") or "") or url)
    return Extracted(url, tree, markup, join)
