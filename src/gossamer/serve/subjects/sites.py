"""The sites, sorted and searched by the server, and all that is known of one."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec

from gossamer.base.errors import UsageError
from gossamer.base.units import human_size, plural, thousands
from gossamer.library.collection import Collection
from gossamer.read.explain.text import lines_of
from gossamer.serve.html import tag
from gossamer.serve.question import ROWS, ROWS_FIELD, Question, literal, moment, needed, rows_of
from gossamer.serve.shell import at, cells, choice, form, next_link, search_field, shell, site_link, table


class SiteRow(msgspec.Struct, frozen=True):
    name: str
    pages: int
    visits: int
    ok: int
    errors: int
    bytes: int
    aside: str | None
    """Why its pages wait, if they do."""
    until: str | None


class Sites(msgspec.Struct, frozen=True):
    rows: list[SiteRow]
    total: int
    next: int | None
    """Where the next rows begin; null: there are no more."""


SORTS: Final = {
    name: f"{column} {order} nulls last, t.site"
    for name, column, order in (
        ("pages", "pages", "desc"),
        ("visits", "visits", "desc"),
        ("errors", "errors", "desc"),
        ("bytes", "bytes", "desc"),
        ("name", "name", "asc"),
    )
}
"""Orders of the table of sites."""


def answer_of(web: Collection, sort: str = "pages", search: str = "", after: int = 0, rows: int = ROWS) -> Sites:
    """Sites whose name contains `search`, from place `after` on."""
    if sort not in SORTS:
        raise UsageError(f"sites cannot be sorted by {sort!r}", f"Sort by {', '.join(SORTS)}.")
    like = f"%{literal(search.lower())}%"
    summed = (
        "select site, max(name) as name, sum(pages)::bigint as pages, sum(visits)::bigint as visits,"
        " sum(ok)::bigint as ok, sum(errors)::bigint as errors, sum(bytes)::bigint as bytes"
        " from stored.sites group by site"
    )
    database = web.database()
    aside = {site: (why, until) for site, why, until in web.aside()}
    found = database.run(
        f"select *, count(*) over () from ({summed}) t where name like ? escape '\\' order by {SORTS[sort]}"
        f" limit {rows_of(rows) + 1} offset {max(0, after)}",
        [like],
    )
    total = int(found[0][-1]) if found else 0
    shown = [
        SiteRow(*row[1:7], *(aside[row[0]][0], moment(aside[row[0]][1])) if row[0] in aside else (None, None))
        for row in found[: rows_of(rows)]
    ]
    return Sites(shown, total, after + len(shown) if len(found) > len(shown) else None)


def page_of(name: str, found: Sites, sort: str, search: str, after: int) -> str:
    rows = [
        tag(
            "tr",
            tag("th", site_link(name, row.name), scope="row"),
            cells(
                (
                    thousands(row.pages),
                    thousands(row.visits),
                    thousands(row.ok),
                    thousands(row.errors),
                    human_size(row.bytes),
                    row.aside,
                    row.until,
                )
            ),
        )
        for row in found.rows
    ]
    names = ("site", "pages", "visits", "ok", "errors", "bytes", "why it waits", "until")
    return shell(
        "Sites",
        form(name, "sites", search_field("Name contains", search), choice("sort", "Order by", SORTS, sort, all_=False)),
        table(names, rows, plural(found.total, "site") if found.total else "No site"),
        next_link(at(name, "sites", sort=sort, q=search, after=found.next) if found.next is not None else None),
        name=name,
        here="sites",
    )


def page_of_one(name: str, given: str, answer: Any, now: float) -> str:
    return shell(
        given,
        tag("p", tag("a", "Its pages", href=at(name, "pages", q=f"//{given}/"))),
        tag("pre", "\n".join(lines_of(answer, now))),
        name=name,
        here="sites",
    )


QUESTION: Final = Question(
    "sites",
    "Sites, sorted and searched by the server.",
    lambda a: answer_of(a.web, a.text("sort") or "pages", a.text("q"), a.number("after", 0), a.number("rows", ROWS)),
    lambda a, found: page_of(a.name, found, a.text("sort") or "pages", a.text("q"), a.number("after", 0)),
    (("sort", f"{', '.join(SORTS)}."), ("q", "Part of the name."), ("after", "`next` of before."), ROWS_FIELD),
    Sites,
)
ONE: Final = Question(
    "site",
    "Everything that is known about a site.",
    lambda a: a.web.explain(needed(a, "name")),
    lambda a, found: page_of_one(a.name, a.text("name"), found, time.time()),
    (("name", "Its name."),),
)
