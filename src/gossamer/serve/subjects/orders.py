"""Orders: what is in force, what was ordered, and forms and addresses to order more. `collection/steering.py` is the
table that they are made from."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Final

import msgspec

from gossamer.collection.steering import KINDS, Argument, Kind
from gossamer.read.steer.order import Row, order, ordered, waiting_of
from gossamer.serve.html import Child, Html, joined, tag
from gossamer.serve.question import ROWS, ROWS_FIELD, Asked, Field, Order, Question, moment, rows_of
from gossamer.serve.shell import at, cells, field, next_link, shell, site_link, table
from gossamer.serve.subjects.overview import answer_of as overview_of
from gossamer.serve.subjects.overview import state_of

FRESH: Final = 0.5
"""Seconds for which the list is kept."""
PATH: Final = "orders"


class Carried(msgspec.Struct, frozen=True):
    """The result of an order about pages."""

    running: bool
    """Whether a running crawl has carried it out; if not, the next run will."""
    pages: dict[str, int]


class Given(msgspec.Struct, frozen=True):
    """What came of an order that stays."""

    number: int | None
    """Null: it waits for the next run."""
    holds: str
    """From when on."""
    words: str
    """Why not now, if so."""


class OrderRow(msgspec.Struct, frozen=True):
    number: int
    order: str
    """As `gossamer steer` takes it."""
    site: str | None
    who: str
    time: str | None
    in_force: bool


class OrderRows(msgspec.Struct, frozen=True):
    in_force: list[OrderRow]
    waiting: list[OrderRow]
    """Orders for the next run; they have no number yet."""
    rows: list[OrderRow]
    """All that was ordered, the newest first."""
    next: int | None
    """The cursor of older ones; null: there are no more."""


def answer_of(asked: Asked) -> OrderRows:
    given = asked.seen.once(PATH, FRESH, lambda: _given(asked))
    before, most = asked.number("after", 2**62), rows_of(asked.number("rows", ROWS))
    older = [row for row in reversed(given) if row.number < before]
    more = older[most - 1].number if len(older) > most else None
    waits = [_row(row) for row in waiting_of(asked.web.folder)]
    return OrderRows([row for row in given if row.in_force], waits, older[:most], more)


def _given(asked: Asked) -> list[OrderRow]:
    with asked.tables.open() as database:
        return [_row(row) for row in ordered(database)]


def _row(row: Row) -> OrderRow:
    kind = KINDS.get(row.name)
    of_site = kind is not None and kind.target is not None
    words = " ".join(filter(None, (row.name, row.target, row.value)))
    return OrderRow(row.number, words, row.target if of_site else None, row.who, moment(row.time or None), row.in_force)


def _carry_out(kind: Kind, asked: Asked) -> Given:
    words = [asked.text(argument.name) for argument in kind.arguments]
    return Given(*order(asked.web.folder, kind.name, words, asked.via, asked.key))


def _again(asked: Asked) -> Carried:
    given = [asked.text(key) for key in ("url", "site", "outcome")]
    urls, site, outcome = ([one] if one else [] for one in given)
    return _carried(asked.web.again(*urls, site=site, outcome=outcome))


def _add(asked: Asked) -> Carried:
    return _carried(asked.web.add(*asked.text("url").split()))


def _carried(counts: dict[str, int]) -> Carried:
    return Carried(bool(counts), {name: count for name, count in counts.items() if count})


# --- the page ---------------------------------------------------------------------------------------------------------


def page_of(asked: Asked, found: OrderRows) -> str:
    name, said = asked.name, fragments(asked)
    simple = [kind for kind in KINDS.values() if not kind.arguments]
    others = [kind for kind in KINDS.values() if kind.arguments and kind.name != "undo"]
    more = at(name, PATH, after=found.next)
    return shell(
        "Orders",
        tag("p", tag("span", said["state"], data_live="state"), role="status", class_="state"),
        _answer(asked),
        tag("div", [_form(name, kind, (), button=kind.name.capitalize()) for kind in simple], class_="orders row"),
        tag("h2", "In force"),
        tag("div", said["orders"], data_live="orders"),
        tag("h2", "Order"),
        tag("div", [_form(name, kind, kind.arguments) for kind in others], _pages_forms(name), class_="orders"),
        tag("h2", "What was ordered"),
        _table(name, found.rows, "The newest first" if found.rows else "Nothing yet", undo=False),
        next_link(more if found.next is not None else None, "Older"),
        tag(
            "p",
            "Orders need the token. None of them makes a wait shorter than pace and robots.txt allow.",
            class_="small",
        ),
        name=name,
        here=PATH,
        live=True,
    )


def _answer(asked: Asked) -> Html | None:
    """What came of the order that was sent from this page."""
    said = asked.answered
    return None if said is None else tag("p", _words(said), role="status", class_="answer")


def _words(said: object) -> str:
    if isinstance(said, Given):
        number = f"Order {said.number}" if said.number else "The order"
        return f"{number} holds {said.holds}{f': {said.words}' if said.words else ''}."
    if isinstance(said, Carried):
        counts = ", ".join(f"{word.replace('_', ' ')} {count:,}" for word, count in said.pages.items())
        return f"Pages: {counts or 'none'}." if said.running else "The next run carries it out."
    return ""


def fragments(asked: Asked) -> dict[str, Html]:
    """What changes while one looks."""
    found = answer_of(asked)
    rows = found.in_force + found.waiting
    crawl = overview_of(asked.name, asked.web, asked.seen)
    return {
        "state": joined(tag("span", class_="dot running" if crawl.running else "dot"), state_of(crawl)),
        "orders": _table(asked.name, rows, "The oldest first" if rows else "Nothing", undo=True),
    }


def _table(name: str, rows: list[OrderRow], caption: str, undo: bool) -> Html:
    shown = [
        tag(
            "tr",
            tag("td", row.number or "–", class_="number"),
            tag("th", _order_words(name, row), scope="row"),
            cells((row.who, (row.time or "for the next run")[:19].replace("T", " "))),
            tag("td", _undo(name, row) if row.number else None)
            if undo
            else tag("td", "in force" if row.in_force else ""),
        )
        for row in rows
    ]
    return table(("number", "order", "who", "when (UTC)", ""), shown, caption, numbers=(0,))


def _order_words(name: str, row: OrderRow) -> Child:
    if row.site is None:
        return row.order
    before, _, after = row.order.partition(f" {row.site}")
    return [before, " ", site_link(name, row.site), after]


def _undo(name: str, row: OrderRow) -> Html:
    number = tag("input", type="hidden", name="number", value=row.number)
    button = tag("button", "Undo", type="submit", aria_label=f"Undo order {row.number}")
    return _posting(name, "undo", number, button, key=f"undo-{row.number}")


def _form(name: str, kind: Kind, arguments: tuple[Argument, ...], button: str = "") -> Html:
    fields = [field(each.name, each.sentence, "") for each in arguments]
    return _posting(
        name,
        kind.name,
        tag("p", kind.sentence),
        *fields,
        tag("button", button or kind.name.capitalize(), type="submit"),
    )


def of_site(name: str, site: str) -> Html:
    """Forms for the orders about a site, on its own page."""
    kinds = [kind for kind in KINDS.values() if kind.target is not None]
    hidden = tag("input", type="hidden", name="site", value=site)
    forms = [
        _posting(
            name,
            kind.name,
            hidden,
            [field(each.name, each.sentence, "") for each in kind.arguments[1:]],
            tag("button", kind.name.capitalize(), type="submit", title=kind.sentence),
        )
        for kind in kinds
    ]
    return tag("div", forms, class_="orders row")


def _pages_forms(name: str) -> list[Html]:
    add = _posting(
        name,
        "add",
        tag("p", ADD.sentence),
        field("url", "URLs, with spaces between them", ""),
        tag("button", "Add", type="submit"),
        below=False,
    )
    again = _posting(
        name,
        "again",
        tag("p", AGAIN.sentence),
        field("url", "URL", ""),
        field("site", "Site", ""),
        field("outcome", "Outcome", ""),
        tag("button", "Again", type="submit"),
        below=False,
    )
    return [add, again]


def _posting(name: str, order_: str, *inside: Child, below: bool = True, key: str = "") -> Html:
    """A form that sends an order. Sent twice, it is carried out once: it has a key."""
    hidden = tag("input", type="hidden", name="key", value=key or secrets.token_hex(8))
    return tag("form", hidden, *inside, method="post", action=at(name, f"{PATH}/{order_}" if below else order_))


def _rows_of_table() -> tuple[Order, ...]:
    return tuple(
        Order(
            f"{PATH}/{kind.name}",
            kind.sentence,
            partial(_carry_out, kind),
            tuple(Field(each.name, each.sentence, needed=True) for each in kind.arguments),
            Given,
        )
        for kind in KINDS.values()
    )


ADD: Final = Order(
    "add",
    "Add URLs; known pages are requested again.",
    _add,
    (("url", "URLs, with spaces between them."),),
    Carried,
)
AGAIN: Final = Order(
    "again",
    "Request finished pages again: the pages that match all of these.",
    _again,
    (("url", "A URL."), ("site", "Name of a site."), ("outcome", "Outcome of the last request.")),
    Carried,
)
STEERING: Final = _rows_of_table()
QUESTION: Final = Question(
    PATH,
    "What was ordered of the crawl, by whom and when, and what is in force.",
    answer_of,
    page_of,
    (Field("after", "`next` of before.", "integer"), ROWS_FIELD),
    OrderRows,
    live=fragments,
)
