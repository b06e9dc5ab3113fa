"""Recent events of pages: as a page, as JSON and as a feed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Final

import msgspec
from starlette.responses import Response

from gossamer.base.errors import UsageError
from gossamer.base.units import plural
from gossamer.collection import watches
from gossamer.collection.watches import Watch
from gossamer.library.collection import wall
from gossamer.read.changes.events import Choice, Event, Events, Mark, iso, reading
from gossamer.read.changes.shown import Shown, as_atom
from gossamer.read.sql.changes import KINDS
from gossamer.serve.html import Child, Html, tag
from gossamer.serve.question import ROWS, ROWS_FIELD, Asked, Field, File, Question, rows_of
from gossamer.serve.shell import at, choice, field, form, next_link, page_link, search_field, shell
from gossamer.serve.tables import ending

FRESH: Final = 5.0
"""Seconds for which an answer is kept, at least."""
LINES: Final = 12
"""Lines of a changed page that are shown."""


class EventRow(msgspec.Struct, frozen=True):
    kind: str
    url: str
    time: str
    title: str
    change: str | None
    target: str | None
    added: list[str] = []
    removed: list[str] = []
    """The first lines of its text."""


class Changes(msgspec.Struct, frozen=True):
    rows: list[EventRow]
    counts: dict[str, int]
    """Events that were chosen, by kind."""
    next: str | None
    """The cursor of older ones; null: there are no more."""


def answer_of(asked: Asked) -> Changes:
    """Events that were chosen, the newest first."""
    rows = rows_of(asked.number("rows", ROWS))
    counts, events = _chosen(asked, rows + 1)
    shown = events[:rows]
    more = f"{shown[-1].mark.tick}-{shown[-1].mark.number}" if len(events) > rows else None
    return Changes([_row(event) for event in shown], counts, more)


def _row(e: Event) -> EventRow:
    signed = () if e.lines is None else e.lines.lines
    added, removed = ([line for sign, line in signed if sign == wanted] for wanted in "+-")
    return EventRow(e.kind, e.url, iso(e.time), e.title, e.change, e.target, added, removed)


def _chosen(asked: Asked, rows: int) -> tuple[dict[str, int], list[Event]]:
    """How many events by kind there are, and the newest of them, with their lines."""
    choice, before = _choice(asked), _before(asked.text("after"))

    def make() -> tuple[dict[str, int], list[Event]]:
        with _open(asked) as events:
            counts = events.choose(choice)
            return counts, list(events.with_lines(events.newest(rows, before), LINES))

    key = "&".join(f"{name}={asked.text(name)}" for name in ("kind", "site", "since", "watch", "after"))
    return asked.seen.once(f"changes {rows} {key}", FRESH, make)


@contextmanager
def _open(asked: Asked) -> Iterator[Events]:
    with reading(asked.web.folder) as events, ending(events, cure="Ask for a site, or for less time (since)."):
        yield events


def _choice(asked: Asked) -> Choice:
    kind = asked.one_of("kind", KINDS)
    since, site = asked.text("since"), asked.text("site")
    return Choice(
        wall(since) if since else None,
        None,
        (site,) if site else (),
        (kind,) if kind else (),
        _watch(asked) if asked.text("watch") else None,
    )


def _watch(asked: Asked) -> Watch:
    number = asked.number("watch", 0)
    found = [each for each in watches.read(asked.web.folder).watches if each.number == number]
    if not found:
        raise UsageError(f"there is no watch {number}", "The page of watches lists them.")
    return found[0]


def _before(cursor: str) -> Mark | None:
    if not cursor:
        return None
    tick, dash, number = cursor.partition("-")
    if not (dash and tick.isascii() and tick.isdecimal() and number.isascii() and number.isdecimal()):
        raise UsageError(f"after={cursor!r} is not a cursor", "Take `next` of the answer before.")
    if max(len(tick), len(number)) > 18:
        raise UsageError(f"after={cursor!r} is too large", "Take `next` of the answer before.")
    return Mark(int(tick), int(number))


# --- as a page --------------------------------------------------------------------------------------------------------


def page_of(asked: Asked, found: Changes) -> str:
    name, given = asked.name, {key: asked.text(key) for key in ("kind", "site", "since", "watch")}
    feed, more = at(name, "feed", **given), at(name, "changes", **given, after=found.next)
    days = groupby(found.rows, key=lambda row: row.time[:10])
    counted = ", ".join(f"{count:,} {kind}" for kind, count in found.counts.items())
    watched = tag("input", type="hidden", name="watch", value=given["watch"]) if given["watch"] else None
    return shell(
        "Changes",
        form(
            name,
            "changes",
            search_field("Site", given["site"], "site"),
            choice("kind", "Kind", KINDS, given["kind"]),
            field("since", "Since (7d, 2026-11-01)", given["since"]),
            watched,
        ),
        tag("p", counted or "Nothing yet", given["watch"] and f" of watch {given['watch']}", " · ", _feed(feed)),
        *(tag("section", tag("h2", day), [_article(name, row) for row in rows], class_="day") for day, rows in days),
        next_link(more if found.next is not None else None, "Older"),
        name=name,
        here="changes",
        feed=feed,
    )


def _feed(address: str) -> Html:
    return tag("a", "as a feed", href=address, type="application/atom+xml")


def _article(name: str, row: EventRow) -> Html:
    how = row.kind if row.change is None else f"{row.kind} ({row.change})"
    lines: list[Child] = [tag("li", tag("del", line)) for line in row.removed]
    lines += [tag("li", tag("ins", line)) for line in row.added]
    return tag(
        "article",
        tag("p", tag("span", how, class_=f"word {row.kind}"), " ", tag("time", row.time[11:19], datetime=row.time)),
        tag("h3", page_link(name, row.url, row.title or row.url)),
        tag("p", row.url, class_="small") if row.title else None,
        tag("p", "now at ", page_link(name, row.target), class_="small") if row.target else None,
        tag("details", tag("summary", plural(len(lines), "line")), tag("ul", lines)) if lines else None,
        class_=f"event {row.kind}",
    )


# --- as a feed --------------------------------------------------------------------------------------------------------


def feed_of(asked: Asked) -> Response:
    """The newest events as Atom."""
    rows = rows_of(asked.number("rows", ROWS))
    counts, events = _chosen(asked, rows)
    with asked.tables.open() as database:
        meta = database.sources.contents.meta
    chosen = " ".join(f"{key} {asked.text(key)}" for key in ("kind", "site", "since", "watch") if asked.text(key))
    lines = as_atom(Shown(asked.name, meta, chosen, counts, events), time.time())
    return Response("".join(f"{line}\n" for line in lines), media_type="application/atom+xml; charset=utf-8")


_FIELDS: Final = (
    Field("kind", "Only events of this kind.", among=KINDS),
    Field("site", "Only pages of this site."),
    Field("since", "Only events since then: a time ago (7d), or a date (2026-11-01)."),
    Field("watch", "Only pages that the watch of this number matches.", "integer"),
    ROWS_FIELD,
)
QUESTION: Final = Question(
    "changes",
    "Recent events of pages, the newest first.",
    answer_of,
    page_of,
    (*_FIELDS, Field("after", "`next` of before.")),
    Changes,
)
FEED: Final = File("feed", "The same as an Atom feed.", "application/atom+xml", feed_of, _FIELDS)
