"""The known pages, searched by the server, and all that is known of one."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec

from gossamer.base.errors import UsageError
from gossamer.base.outcomes import Outcome
from gossamer.library.collection import Collection
from gossamer.library.page import Page
from gossamer.read.explain.text import lines_of
from gossamer.serve.html import Child, tag
from gossamer.serve.question import ROWS, ROWS_FIELD, STATES, Question, iso, literal, needed, rows_of
from gossamer.serve.shell import at, cells, choice, form, next_link, search_field, shell, table


class PageRow(msgspec.Struct, frozen=True):
    url: str
    state: str
    reason: str
    outcome: str | None
    status: int | None
    depth: int
    visits: int
    last_visit: str | None


class Pages(msgspec.Struct, frozen=True):
    rows: list[PageRow]
    next: int | None
    """The cursor of the next rows; null: there are no more."""


OUTCOMES: Final = tuple(outcome.word for outcome in Outcome)


def answer_of(
    web: Collection, search: str = "", state: str = "", outcome: str = "", after: int = -1, rows: int = ROWS
) -> Pages:
    """Known pages whose URL contains `search`, in the order of discovery, from the one after page `after` on."""
    for given, accepted, what in ((state, STATES, "state"), (outcome, OUTCOMES, "outcome")):
        if given and given not in accepted:
            raise UsageError(f"{given!r} is no {what}", f"One of: {', '.join(accepted)}.")
    tests, values = ["page > ?"], list[Any]([after])
    for name, given in (("state", state), ("outcome", outcome)):
        if given:
            tests.append(f"{name} = ?")
            values.append(given)
    if search:
        tests.append("url like ? escape '\\'")
        values.append(f"%{literal(search)}%")
    found = web.database().run(
        "select page, url, state, reason, outcome, status, depth, visits, last_visit from main.pages"
        f" where {' and '.join(tests)} order by page limit {rows_of(rows) + 1}",
        values,
        ("pages",),
    )
    shown = found[: rows_of(rows)]
    return Pages(
        [PageRow(*(*row[1:8], iso(row[8]))) for row in shown],
        int(shown[-1][0]) if len(found) > len(shown) else None,
    )


def page_of(name: str, found: Pages, search: str, state: str, outcome: str) -> str:
    rows = [
        tag(
            "tr",
            tag("th", tag("a", row.url, href=at(name, "page", url=row.url)), scope="row"),
            cells(
                (
                    row.state if row.reason == "none" else f"{row.state}: {row.reason}",
                    row.outcome,
                    row.status,
                    row.depth,
                    row.visits,
                    row.last_visit,
                )
            ),
        )
        for row in found.rows
    ]
    names = ("page", "state", "outcome", "status", "depth", "visits", "last visit")
    return shell(
        "Pages",
        form(
            name,
            "pages",
            search_field("URL contains", search),
            choice("state", "State", STATES, state),
            choice("outcome", "Outcome", OUTCOMES, outcome),
        ),
        table(names, rows, "In the order of discovery" if rows else "No page"),
        next_link(
            at(name, "pages", q=search, state=state, outcome=outcome, after=found.next)
            if found.next is not None
            else None
        ),
        name=name,
        here="pages",
    )


def page_of_one(name: str, url: str, answer: Any, copy: Page | None, now: float) -> str:
    stored: list[Child] = [tag("p", "No copy of it is stored.")]
    if copy is not None:
        frame = tag(
            "iframe",
            sandbox=True,
            src=at(name, "copy", url=url),
            title="The stored copy, without scripts",
            loading="lazy",
        )
        stored = [
            tag("p", f"Fetched {copy.time.isoformat(timespec='seconds')}: {copy.title or 'no title'}"),
            frame,
            tag("details", tag("summary", "Cleaned text"), tag("pre", copy.text)),
        ]
    return shell(
        url,
        tag("h2", "Explanation"),
        tag("pre", "\n".join(lines_of(answer, now))),
        tag("h2", "Stored copy"),
        *stored,
        name=name,
        here="pages",
    )


QUESTION: Final = Question(
    "pages",
    "Known pages in the order of discovery.",
    lambda a: answer_of(
        a.web, a.text("q"), a.text("state"), a.text("outcome"), a.number("after", -1), a.number("rows", ROWS)
    ),
    lambda a, found: page_of(a.name, found, a.text("q"), a.text("state"), a.text("outcome")),
    (
        ("q", "Part of the URL."),
        ("state", f"{', '.join(STATES)}."),
        ("outcome", "Outcome of the last request."),
        ("after", "`next` of before."),
        ROWS_FIELD,
    ),
    Pages,
)
ONE: Final = Question(
    "page",
    "Everything that is known about a URL: `gossamer explain`.",
    lambda a: a.web.explain(needed(a, "url")),
    lambda a, found: page_of_one(a.name, a.text("url"), found, a.web.get(a.text("url")), time.time()),
    (("url", "The URL, in any spelling."),),
)
