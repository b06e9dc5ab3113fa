"""The known pages, searched by the server, and all that is known of one: why, its links, text and stored copy."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec
from starlette.responses import Response

from gossamer.base.outcomes import Outcome
from gossamer.base.units import plural, thousands
from gossamer.library.collection import Collection, UnknownPageError
from gossamer.library.page import Page
from gossamer.serve.explained import explained
from gossamer.serve.html import Child, Html, tag
from gossamer.serve.question import (
    ROWS,
    ROWS_FIELD,
    STATES,
    Asked,
    Field,
    File,
    Question,
    iso,
    literal,
    needed,
    rows_of,
)
from gossamer.serve.shell import (
    SENTENCES,
    at,
    cells,
    choice,
    form,
    next_link,
    page_link,
    search_field,
    shell,
    table,
    told,
)

SHOWN: Final = 20
"""Links in each direction on the page of a page."""
MOST_TEXT: Final = 2_000_000
"""Characters of a text or of a body that are sent."""
WAYS: Final = {"out": ("source", "target"), "in": ("target", "source")}
"""The column of a link that is the page, and the one that is the other."""
OUTCOMES: Final = tuple(outcome.word for outcome in Outcome)


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


class LinkRow(msgspec.Struct, frozen=True):
    url: str
    kind: str
    state: str
    nofollow: bool


class Links(msgspec.Struct, frozen=True):
    """Links from a page, or to it."""

    rows: list[LinkRow]
    total: int
    next: int | None
    """The cursor of the next rows; null: there are no more."""


class Content(msgspec.Struct, frozen=True):
    """The last stored copy of a page."""

    url: str
    time: str
    status: int | None
    outcome: str
    mime: str
    charset: str
    language: str
    title: str
    description: str
    text: str
    """The cleaned text."""
    html: str
    """The body as text."""


def answer_of(asked: Asked) -> Pages:
    """Known pages that were chosen, in the order of discovery, from the one after page `after` on."""
    tests, values = ["page > ?"], list[Any]([asked.number("after", -1)])
    for name, accepted in (("state", STATES), ("outcome", OUTCOMES)):
        if given := asked.one_of(name, accepted):
            tests.append(f"{name} = ?")
            values.append(given)
    if search := asked.text("q"):
        tests.append("url like ? escape '\\'")
        values.append(f"%{literal(search)}%")
    rows = rows_of(asked.number("rows", ROWS))
    found = asked.tables.run(
        "select page, url, state, reason, outcome, status, depth, visits, last_visit from main.pages"
        f" where {' and '.join(tests)} order by page limit {rows + 1}",
        values,
        ("pages",),
    )
    shown = found[:rows]
    return Pages(
        [PageRow(*(*row[1:8], iso(row[8]))) for row in shown],
        int(shown[-1][0]) if len(found) > len(shown) else None,
    )


def page_of(name: str, found: Pages, search: str, state: str, outcome: str) -> str:
    rows = [
        tag(
            "tr",
            tag("th", page_link(name, row.url), scope="row"),
            tag("td", tag("span", row.state, class_=f"word {row.state}"), _reason(row.reason)),
            tag("td", row.outcome or "–", title=SENTENCES.get(row.outcome or "")),
            cells((row.status, row.depth, thousands(row.visits), (row.last_visit or "")[:16].replace("T", " "))),
        )
        for row in found.rows
    ]
    names = ("page", "state", "outcome", "status", "depth", "visits", "last visit (UTC)")
    more = at(name, "pages", q=search, state=state, outcome=outcome, after=found.next)
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
        next_link(more if found.next is not None else None),
        name=name,
        here="pages",
    )


def _reason(reason: str) -> Html | None:
    return None if reason == "none" else tag("div", reason, class_="small", title=SENTENCES.get(reason))


# --- one page ---------------------------------------------------------------------------------------------------------


def number_of(asked: Asked, url: str) -> int:
    """The number of a page. UnknownPageError if it is not known."""
    canonical, print_ = asked.web.fingerprint(url)
    found = asked.tables.run("select page from stored.pages where fingerprint = ?", [print_])
    if not found:
        raise UnknownPageError(f"{canonical} is not known", "Its own page says why.")
    return int(found[0][0])


def links_of(asked: Asked, page: int, rows: int, way: str, after: int = -1) -> Links:
    """The links of a page, by the number of the page at their other end."""
    own, other = WAYS[way]
    total = asked.tables.run(f"select count(distinct {other}) from stored.links where {own} = ?", [page])[0][0]
    found = asked.tables.run(
        f"with chosen as (select {other} as page, min(kind) as kind, bool_or((flags & 1) != 0) as nofollow"
        f" from stored.links where {own} = ? and {other} > ? group by 1 order by 1 limit {rows + 1})"
        " select c.page, p.url, c.kind, c.nofollow, p.state from chosen c join main.pages p on p.page = c.page"
        " order by c.page",
        [page, after],
        ("pages",),
    )
    shown = [LinkRow(link, kind, state, nofollow) for _, link, kind, nofollow, state in found[:rows]]
    return Links(shown, int(total), int(found[rows - 1][0]) if len(found) > rows else None)


def content_of(page: Page) -> Content:
    return Content(
        page.url,
        page.time.isoformat(timespec="seconds"),
        page.status,
        page.outcome,
        page.mime,
        page.charset,
        page.language,
        page.title,
        page.description,
        page.text[:MOST_TEXT],
        page.html[:MOST_TEXT],
    )


def page_of_one(asked: Asked, answer: Any, now: float) -> str:
    name, url = asked.name, asked.text("url")
    copy = asked.web.get(url) if answer["known"] else None
    lines = explained(answer, now)
    sections: list[Child] = [tag("nav", _jumps(copy is not None), aria_label="On this page", class_="jumps")]
    sections.append(tag("section", told(name, lines[1:]), id="explanation"))
    if answer["known"]:
        for way, label in (("out", "Links from it"), ("in", "Links to it")):
            found = links_of(asked, answer["page"], SHOWN, way)
            every = tag("a", f"all {thousands(found.total)}", href=at(name, "links", url=url, way=way))
            more = tag("p", every) if found.next is not None else None
            sections.append(tag("section", tag("h2", label), _links(name, found), more, id=f"links-{way}"))
    sections.append(tag("section", tag("h2", "Stored copy"), *_stored(name, url, copy), id="copy"))
    return shell(lines[0], *sections, name=name, here="pages")


def _jumps(stored: bool) -> list[Child]:
    to = [("#links-out", "Links from it"), ("#links-in", "Links to it"), ("#copy", "Stored copy")]
    return [tag("a", label, href=place) for place, label in to] if stored else []


def _stored(name: str, url: str, copy: Page | None) -> list[Child]:
    if copy is None:
        return [tag("p", "No copy of it is stored.")]
    frame = tag(
        "iframe", sandbox=True, src=at(name, "copy", url=url), title="The stored copy, without scripts", loading="lazy"
    )
    about = ", ".join(filter(None, (copy.mime, copy.charset, copy.language)))
    fetched = f"Fetched {copy.time.strftime('%Y-%m-%d %H:%M:%S')} UTC{f'; {about}' if about else ''}."
    text = tag("details", tag("summary", "Cleaned text"), tag("pre", copy.text[:MOST_TEXT]))
    return [tag("p", tag("strong", copy.title or "no title")), tag("p", fetched, class_="small"), frame, text]


def _links(name: str, found: Links) -> Html:
    rows = [
        tag(
            "tr",
            tag("th", page_link(name, row.url), scope="row"),
            cells((row.kind + (", nofollow" if row.nofollow else ""),)),
            tag("td", tag("span", row.state, class_=f"word {row.state}")),
        )
        for row in found.rows
    ]
    return table(("page", "kind", "state"), rows, plural(found.total, "page") if found.total else "None")


def page_of_links(name: str, url: str, way: str, found: Links) -> str:
    next_ = at(name, "links", url=url, way=way, after=found.next)
    return shell(
        "Links from a page" if way == "out" else "Links to a page",
        tag("p", page_link(name, url)),
        _links(name, found),
        next_link(next_ if found.next is not None else None),
        name=name,
        here="pages",
    )


def _shown(web: Collection, url: str) -> Response:
    """The stored copy. The browser runs nothing of it, loads nothing for it, and gives it no origin."""
    policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
    headers = {"content-security-policy": policy, "x-frame-options": "SAMEORIGIN"}
    return Response(web[url].html, media_type="text/html; charset=utf-8", headers=headers)


def _links_asked(asked: Asked) -> Links:
    rows = rows_of(asked.number("rows", ROWS))
    page, way = number_of(asked, needed(asked, "url")), asked.one_of("way", WAYS, "out")
    return links_of(asked, page, rows, way, asked.number("after", -1))


_URL: Final = Field("url", "The URL, in any spelling.", needed=True)
QUESTION: Final = Question(
    "pages",
    "Known pages in the order of discovery.",
    answer_of,
    lambda a, found: page_of(a.name, found, a.text("q"), a.text("state"), a.text("outcome")),
    (
        Field("q", "Part of the URL."),
        Field("state", "Only pages in this state.", among=STATES),
        Field("outcome", "Outcome of the last request.", among=OUTCOMES),
        Field("after", "`next` of before.", "integer"),
        ROWS_FIELD,
    ),
    Pages,
)
ONE: Final = Question(
    "page",
    "Everything that is known about a URL: `gossamer explain`.",
    lambda a: a.web.explain(needed(a, "url")),
    lambda a, found: page_of_one(a, found, time.time()),
    (_URL,),
)
LINKS: Final = Question(
    "links",
    "The pages to which a page links, or those that link to it.",
    _links_asked,
    lambda a, found: page_of_links(a.name, a.text("url"), a.text("way") or "out", found),
    (
        _URL,
        Field("way", "From the page, or to it.", among=tuple(WAYS)),
        Field("after", "`next` of before.", "integer"),
        ROWS_FIELD,
    ),
    Links,
)
CONTENT: Final = Question(
    "content",
    "The last stored copy of a page: its text, and its body as text.",
    lambda a: content_of(a.web[needed(a, "url")]),
    lambda a, found: shell(found.title or found.url, tag("pre", found.text), name=a.name, here="pages"),
    (_URL,),
    Content,
)
COPY: Final = File(
    "copy",
    "The last stored copy of a page as it was served; nothing of it runs in a browser.",
    "text/html",
    lambda a: _shown(a.web, needed(a, "url")),
    (_URL,),
)
