"""What was gathered from a page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gossamer.base.model import Counted
from gossamer.gatherer.links import Link
from gossamer.gatherer.mentions import Mention, mentioned, withheld


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was gathered from a page. `Gathered()` is that of a response without content to read."""

    charset: str = ""
    title: str = ""
    text_length: int = 0
    """Characters of the cleaned text, without white space."""
    digest: int = 0
    """64 bits; 0 if the page is almost empty."""
    flags: int = 0
    """VisitFlag: NOINDEX, NOFOLLOW, NOARCHIVE, UNAVAILABLE, EMPTY, MANY_LINKS."""
    out_degree: int = 0
    """Distinct targets except the page itself, including the counted ones."""
    links: list[Link] = field(default_factory=list)
    counted: list[int] = field(default_factory=lambda: [0] * len(Counted))
    """Number of counted links, by `Counted`."""
    seen: bytes = b""
    """Lines: the counted links by class, extension and domain (`links.py`), then mentions (`mentions.py`)."""
    language: str = ""
    """ISO 639-1 code; "" if there is too little text or the language is uncertain."""
    description: str = ""
    sketch: int = 0
    """64 bits; 0 if the page is almost empty."""
    numberless: int = 0
    """Digest of text and links without their digits: 64 bits; 0 if there is no text."""
    text: bytes | None = None
    """Cleaned text in UTF-8, if the settings ask for it."""
    preferences: list[tuple[str, str]] = field(default_factory=list)
    """Preferences for the use of the content, from meta elements: names and values."""

    rows: bytes = b""
    """Lines with the rows that the page gives to tables of rules and plug-ins (`plugins/rows.py`)."""

    @property
    def mentions(self) -> list[Mention]:
        """What no decision of the crawl needs: see `mentions.py`."""
        return mentioned(self.seen)

    def withheld(self) -> Gathered:
        """The same for a page that must not be indexed: without its content, but with its links."""
        links = [link._replace(text="") if link.text else link for link in self.links]
        return replace(self, title="", description="", text=None, links=links, seen=withheld(self.seen), rows=b"")
