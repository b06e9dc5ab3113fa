"""The stored copies of pages: SQL that finds them, and where their bodies are in the archive.

The body of a copy in a revisit record is that of the first record with the same payload.
"""

from __future__ import annotations

import re
from typing import Final

from gossamer.base.model import VisitFlag
from gossamer.read.sql.columns import VIEWS

FETCHED: Final = "page is not null and outcome in ('ok', 'duplicate')"
_ARCHIVED: Final = f"{FETCHED} and (flags & {VisitFlag.STORED:d}) != 0 and warc_end > 0"

_OF_VISITS: Final = frozenset(column.name for column in VIEWS["visits"].columns)
_FOUND: Final = ("url", "depth", "kind", "source", "fingerprint")
"""Columns of the view `pages` that do not change once a page is known: reading them needs no computation."""
_COMPUTED: Final = tuple(c.name for c in VIEWS["pages"].columns if c.name not in {*_OF_VISITS, *_FOUND})


def views_in(where: str) -> tuple[str, ...]:
    """The view `pages` if a condition uses a column of it that is computed, else nothing: at 10^7 known pages the view
    takes seconds."""
    return ("pages",) if re.search(rf"\b({'|'.join(_COMPUTED)})\b", where, re.IGNORECASE) else ()


def copies(only: str = "true", views: tuple[str, ...] = (), every: bool = False) -> str:
    """`with` clauses of a query, which end with the table `copies`: the last copy of each page, or `every` copy.

    It has the columns of the view `visits`; `url`, `depth`, `kind`, `source` and `fingerprint` of `pages`, or all of
    its columns if `views` names it; and `body_file`, `body_at`, `body_end`. `only`: a condition on `visits`.
    """
    of_pages = ", ".join(f"p.{name}" for name in (*_FOUND, *(_COMPUTED if views else ())))
    body = ", ".join(
        f"case when (v.flags & {VisitFlag.REPEATED:d}) != 0 then o.place.{name} else v.{column} end as body_{name}"
        for name, column in (("file", "warc_file"), ("at", "warc_offset"), ("end", "warc_end"))
    )
    repeated = f"(flags & {VisitFlag.REPEATED:d})"
    stored = f"select * from stored.visits where {_ARCHIVED} and {only}"
    last = "" if every else f"last as (select page, max((tick, number)) as key from ({stored}) group by page),"
    return f"""with {last}
originals as (
    select payload, arg_min({{'file': warc_file, 'at': warc_offset, 'end': warc_end}}, tick) as place
    from stored.visits where warc_end > 0 and {repeated} = 0
         and payload in (select payload from stored.visits where {repeated} != 0 and {only}) group by payload
),
copies as (
    select v.*, {of_pages}, {body}
    from ({stored}) v {"" if every else "join last l on l.page = v.page and l.key = (v.tick, v.number)"}
         join {"main" if views else "stored"}.pages p on p.page = v.page
         left join originals o on o.payload = v.payload
)"""
