"""The sites, sorted and searched by the server, and all that is known of one."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec

from gossamer.base.outcomes import Aside
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.read.sites import Clock
from gossamer.serve.explained import explained
from gossamer.serve.html import Child, Html, tag
from gossamer.serve.question import ROWS, ROWS_FIELD, Asked, Field, Question, moment, needed, rows_of
from gossamer.serve.shell import at, cells, choice, form, next_link, search_field, shell, site_link, table, told
from gossamer.serve.site_table import STATES, SUMS, SiteTable, clocks, table_of
from gossamer.serve.subjects import orders

SORTS: Final = (*SUMS, "queue", "name")
"""Orders of the table of sites: numbers from the largest down."""
_STATES: Final = {
    "open": "Pages are pending, and the site may be requested in its turn.",
    "slowed": "It is requested less often than usual, since it failed, or answers slowly.",
    "waiting": "All of its pages wait.",
    "quiet": "Nothing is pending.",
}
"""Words for the state of a site."""


class SiteRow(msgspec.Struct, frozen=True):
    name: str
    state: str
    """open, slowed, waiting, or quiet: nothing is pending."""
    aside: str | None
    """Why all of its pages wait; null: they do not."""
    until: str | None
    """When the wait ends."""
    queue: int | None
    """Number of pending pages; null: unknown."""
    planned: int | None
    """Number of its pages in the current plan."""
    next: str | None
    """Time of its next request, at the earliest."""
    wait: float | None
    """Seconds between two turns, its factor included."""
    speed: int | None
    """Expected bytes per second of its address."""
    latency: float | None
    """Usual seconds to the first byte."""
    pages: int
    visits: int
    ok: int
    errors: int
    bytes: int


class Sites(msgspec.Struct, frozen=True):
    rows: list[SiteRow]
    total: int
    next: str | None
    """The cursor of the rows that follow; null: there are no more."""


def answer_of(asked: Asked) -> Sites:
    """Sites that were chosen, after the place that the cursor names."""
    sort = asked.one_of("sort", SORTS, "pages")
    state = asked.one_of("state", STATES)
    after, rows = asked.text("after"), rows_of(asked.number("rows", ROWS))
    sites = table_of(asked)
    order = sites.order(sort)
    order = order[sites.chosen(asked.text("q").lower(), state)[order]]
    left = order[sites.after(sort, after)[order]] if after else order
    shown = left[:rows]
    found = clocks(asked, sites.numbers[shown].tolist())
    listed = [_row(sites, row, found.get(int(sites.numbers[row]))) for row in shown.tolist()]
    more = sites.cursor(sort, int(shown[-1])) if len(left) > len(shown) else None
    return Sites(listed, len(order), more)


def _row(sites: SiteTable, row: int, clock: Clock | None) -> SiteRow:
    number, pending = int(sites.numbers[row]), int(sites.pending[row])
    why, until = sites.aside.get(number, (None, None))
    factor = clock["factor"] if clock else 1.0
    state = "waiting" if why else "quiet" if pending == 0 else "slowed" if factor > 1 else "open"
    sums = (int(sites.sums[name][row]) for name in SUMS)
    return SiteRow(
        str(sites.names[row]),
        state,
        why,
        moment(until),
        None if pending < 0 else pending,
        clock["planned"] if clock else None,
        moment(clock["next"]) if clock else None,
        round(clock["wait"] * factor, 3) if clock else None,
        clock["speed"] if clock else None,
        clock["usual"] if clock else None,
        *sums,
    )


def page_of(name: str, found: Sites, sort: str, search: str, state: str) -> str:
    def column(label: str, key: str = "") -> Html | str:
        """A heading that sorts, if there is an order by this column."""
        if not key:
            return label
        link = tag("a", label, href=at(name, "sites", sort=key, q=search, state=state))
        return tag("span", link, class_="sorted" if key == sort else None)

    names = (
        column("site", "name"),
        "state",
        column("queue", "queue"),
        "next turn",
        "wait",
        "speed",
        column("pages", "pages"),
        column("visits", "visits"),
        column("ok", "ok"),
        column("errors", "errors"),
        column("bytes", "bytes"),
    )
    rows = [tag("tr", tag("th", site_link(name, row.name), scope="row"), *_cells(row)) for row in found.rows]
    return shell(
        "Sites",
        form(
            name,
            "sites",
            search_field("Name contains", search),
            choice("state", "State", STATES, state),
            choice("sort", "Order by", SORTS, sort, all_=False),
        ),
        table(names, rows, plural(found.total, "site") if found.total else "No site", numbers=range(2, 11)),
        next_link(at(name, "sites", sort=sort, q=search, state=state, after=found.next) if found.next else None),
        name=name,
        here="sites",
    )


def _cells(row: SiteRow) -> list[Child]:
    why = tag("div", row.aside.replace("_", " "), class_="small", title=_sentence(row.aside)) if row.aside else None
    state = tag("td", tag("span", row.state, class_=f"word {row.state}", title=_STATES[row.state]), why)
    numbers = cells(
        (
            None if row.queue is None else thousands(row.queue),
            (row.until or row.next or "")[5:19].replace("T", " "),
            None if row.wait is None else human_time(row.wait),
            None if row.speed is None else f"{human_size(row.speed)}/s",
            *(thousands(each) for each in (row.pages, row.visits, row.ok)),
        ),
        right=True,
    )
    errors = tag("td", thousands(row.errors), class_="number error" if row.errors else "number")
    return [state, numbers, errors, tag("td", human_size(row.bytes), class_="number")]


def _sentence(aside: str) -> str:
    return Aside[aside.upper()].sentence if aside.upper() in Aside.__members__ else ""


def page_of_one(name: str, given: str, answer: Any, now: float) -> str:
    lines = explained(answer, now)
    return shell(
        given,
        tag(
            "p",
            tag("a", "Its pages", href=at(name, "pages", q=f"//{given}/")),
            " · ",
            tag("a", "What became of them", href=at(name, "changes", site=given)),
        ),
        orders.of_site(name, given) if answer["known"] else None,
        told(name, lines),
        name=name,
        here="sites",
    )


QUESTION: Final = Question(
    "sites",
    "Sites, sorted and searched by the server.",
    answer_of,
    lambda a, found: page_of(a.name, found, a.text("sort") or "pages", a.text("q"), a.text("state")),
    (
        Field("sort", "Column: numbers from the largest down.", among=SORTS),
        Field("state", "Only sites in this state.", among=STATES),
        Field("q", "Part of the name."),
        Field("after", "`next` of before."),
        ROWS_FIELD,
    ),
    Sites,
)
ONE: Final = Question(
    "site",
    "Everything that is known about a site.",
    lambda a: a.web.explain(needed(a, "name")),
    lambda a, found: page_of_one(a.name, a.text("name"), found, time.time()),
    (Field("name", "Its name.", needed=True),),
)
