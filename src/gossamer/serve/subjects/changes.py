"""What became of pages lately."""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.library.collection import Collection
from gossamer.serve.html import tag
from gossamer.serve.question import ROWS, ROWS_FIELD, Question, rows_of
from gossamer.serve.shell import at, cells, shell, table


class EventRow(msgspec.Struct, frozen=True):
    kind: str
    url: str
    time: float
    title: str
    change: str | None
    target: str | None


class Events(msgspec.Struct, frozen=True):
    rows: list[EventRow]


def answer_of(web: Collection, rows: int = ROWS) -> Events:
    """What became of pages lately, the newest first."""
    return Events(
        [EventRow(e.kind, e.url, e.time, e.title, e.change, e.target) for e in web.changes(most=rows_of(rows))]
    )


def page_of(name: str, found: Events) -> str:
    rows = [
        tag(
            "tr",
            tag("th", tag("a", row.url, href=at(name, "page", url=row.url)), scope="row"),
            cells((row.kind, row.change, row.title, row.target)),
        )
        for row in found.rows
    ]
    caption = "The newest first" if rows else "Nothing yet"
    return shell("Changes", table(("page", "what", "how", "title", "target"), rows, caption), name=name, here="changes")


QUESTION: Final = Question(
    "changes",
    "What became of pages lately, the newest first.",
    lambda a: answer_of(a.web, a.number("rows", ROWS)),
    lambda a, found: page_of(a.name, found),
    (ROWS_FIELD,),
    Events,
)
