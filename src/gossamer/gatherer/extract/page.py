"""The page that rows are taken from."""

from __future__ import annotations

from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from gossamer.gatherer.links import joining
from gossamer.plugins.rows import Join
from gossamer.urls import Scope


class Extracted(NamedTuple):
    """The page that rows are taken from."""

    url: str
    tree: LexborHTMLParser
    markup: bytes
    join: Join


def extracted(url: str, tree: LexborHTMLParser, markup: bytes, charset: str, scope: Scope, proven: int) -> Extracted:
    """The page. `proven`: session parameters of its site (`Scope.proving`)."""
    base = tree.css_first("base[href]") if b"<base" in markup.lower() else None
    raw = (base.attributes.get("href") or "") if base is not None else ""
    return Extracted(url, tree, markup, joining(raw, url, scope, charset, proven))
