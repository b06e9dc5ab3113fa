"""The page that a processor sees (`plugins/kinds.py`, `Page`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from gossamer.crawler.processing.frames import Given
from gossamer.gatherer.charset import charset_of, decode
from gossamer.gatherer.markup.limits import bounded
from gossamer.gatherer.read import HTML
from gossamer.gatherer.result import urls_of_links


class ProcessedPage:
    """A gathered page. What costs anything is made when it is first used."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self.status = given.status
        self.body = given.body

    def __repr__(self) -> str:
        return f"<Page {self.url}>"

    @cached_property
    def url(self) -> str:
        return self._given.url.decode()

    @cached_property
    def headers(self) -> Mapping[str, str]:
        parts = self._given.headers.decode(errors="replace").split("\0")
        return dict(zip(parts[::2], parts[1::2], strict=False))

    @cached_property
    def title(self) -> str:
        return self._given.title.decode(errors="replace")

    @cached_property
    def links(self) -> Sequence[str]:
        return urls_of_links(self._given.links, self._given.linked)

    @cached_property
    def markup(self) -> str:
        return decode(self.body, charset_of(self.headers.get("content-type", "")))[0]

    @cached_property
    def tree(self) -> Any:
        from selectolax.lexbor import LexborHTMLParser

        mime = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return LexborHTMLParser(bounded(self.markup)[0]) if not mime or mime in HTML else None

    @cached_property
    def text(self) -> str:
        if self.tree is None:
            return self.markup
        from selectolax.lexbor import LexborHTMLParser

        from gossamer.gatherer.text import visible_text

        fresh = LexborHTMLParser(bounded(self.markup)[0])  # elements are removed from it
        return " ".join(visible_text(fresh, ("script", "style", "noscript", "template")).split())
