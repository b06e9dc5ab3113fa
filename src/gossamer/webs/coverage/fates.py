"""What became of every known page of a collection, as far as it can be compared with the truth about a Web."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer import config
from gossamer.base.model import Counted, VisitFlag
from gossamer.collection.layout import SETTINGS
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find

_OTHERS: Final = (Counted.NOFOLLOW, Counted.SITE_FULL, Counted.COLLECTION_FULL)
"""Classes of links that are counted because of the page or the time, not because of their target."""
_LINKS: Final = " + ".join(f"v.counted_{c.name.lower()}" for c in Counted if c not in _OTHERS)
_QUERY: Final = f"""
with gathered as (
    select page, arg_max(v, (v.tick, v.number)) as v from visits v where outcome in ('ok', 'duplicate') group by page
)
select p.url, p.state, p.reason, p.outcome, original.url,
       coalesce(v.language, ''), coalesce(v.charset, ''), coalesce(v.title, ''), coalesce(v.description, ''),
       coalesce(v.payload, ''::blob), coalesce({_LINKS}, 0),
       coalesce(v.flags & {int(VisitFlag.STORED)}, 0) != 0, coalesce(v.flags & {int(VisitFlag.NOINDEX)}, 0) != 0
from pages p left join gathered on gathered.page = p.page left join pages original on original.page = v.duplicate_of
"""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one page: a row of `_QUERY`, which says nothing of what was not gathered."""

    state: str
    reason: str
    outcome: str | None
    """Outcome of the last request; None: it was not requested."""
    duplicate_of: str | None = None
    """URL of the original."""
    language: str = ""
    charset: str = ""
    title: str = ""
    description: str = ""
    payload: bytes = b""
    """SHA-1 of the body."""
    counted: int = 0
    """Number of links that were counted and become no page."""
    stored: bool = False
    """A copy was archived when it was last fetched."""
    noindex: bool = False
    """The page says noindex."""

    @property
    def withheld(self) -> bool:
        """Whether it says noindex, and nothing of it was kept."""
        return self.noindex and not self.stored

    @property
    def word(self) -> str:
        """What became of it, in one or two words."""
        if self.outcome is not None:
            return self.outcome
        return f"{self.state}: {self.reason}" if self.state == "excluded" else self.state


def fates(folder: Path) -> dict[str, Fate]:
    """Fates by URL, including what is committed but not sealed yet."""
    rows = Database(find(folder, fresh=True), config.load(folder / SETTINGS)).run(_QUERY, views=("pages", "visits"))
    return {url: Fate(*values) for url, *values in rows}
