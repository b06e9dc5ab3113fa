"""The pages of the dashboard: HTML made from answers. Numbers that change while one looks have `data-live`: the script
replaces their text (`static/live.js`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from gossamer.base.model import Reason
from gossamer.base.outcomes import Aside, Outcome
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.library.page import Page
from gossamer.read.explain.text import lines_of
from gossamer.read.sql.columns import VIEWS
from gossamer.serve.answers import OUTCOMES, SORTS, STATES, Events, Overview, Pages, Sites, Table
from gossamer.serve.html import Child, Html, joined, tag

TABS: Final = (("", "Overview"), ("sites", "Sites"), ("pages", "Pages"), ("changes", "Changes"), ("sql", "SQL"))
_SENTENCES: Final = {
    **{reason.name.lower(): reason.sentence for reason in Reason if reason is not Reason.NONE},
    **{f"site: {aside.word}": aside.sentence for aside in Aside if aside is not Aside.NONE},
    **{outcome.word: outcome.sentence for outcome in Outcome},
}
"""What the words of tables mean."""
_NUMBERS: Final = frozenset(("pages", "visits", "stored", "known", "ok", "errors", "status", "depth", "seconds each"))
"""Columns of numbers."""


def shell(title: str, *content: Child, name: str = "", here: str | None = None) -> str:
    """A whole page. `name`: the collection that it is about; `here`: its tab."""
    tabs = [tag("a", label, href=at(name, path), aria_current="page" if path == here else None) for path, label in TABS]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Gossamer"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        tag("link", rel="icon", href="data:,"),
        Html('<script src="/static/live.js" defer></script>'),
    )
    top = tag(
        "header",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("a", "Gossamer", href="/", class_="home"),
        tag("span", name, class_="name") if name else None,
        tag("nav", *tabs, aria_label="Pages") if name else None,
    )
    body = tag("body", top, tag("main", tag("h1", title), *content, id="content"), data_name=name or None)
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def at(name: str, path: str = "", /, **query: Any) -> str:
    """The address of a page about a collection."""
    asked = urlencode({key: value for key, value in query.items() if value not in ("", None)})
    return f"/c/{quote(name, safe='')}/{path}{f'?{asked}' if asked else ''}"


def collections(found: Sequence[Overview | tuple[str, str]]) -> str:
    rows = []
    for one in found:
        if isinstance(one, Overview):
            state = "running" if one.running else one.ending
            cells: list[Child] = [
                state,
                thousands(one.counts.visits),
                thousands(one.counts.stored),
                thousands(one.counts.known),
            ]
            rows.append(tag("tr", tag("th", tag("a", one.name, href=at(one.name)), scope="row"), _cells(cells)))
        else:
            rows.append(tag("tr", tag("th", one[0], scope="row"), tag("td", one[1], colspan=4)))
    return shell("Collections", _table(("collection", "state", "visits", "stored", "known"), rows))


def _cells(values: Iterable[Child]) -> Html:
    """A cell for each value; numbers are at the right."""
    return joined(
        [
            tag("td", "–" if value is None or value == "" else value, class_="number" if _is_number(value) else None)
            for value in values
        ]
    )


def _is_number(value: Child) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.replace(",", "").isdigit())


def _table(names: Iterable[str], rows: Iterable[Html], caption: str = "") -> Html:
    head = tag(
        "thead", tag("tr", [tag("th", n, scope="col", class_="number" if n in _NUMBERS else None) for n in names])
    )
    inside = tag("table", tag("caption", caption) if caption else None, head, tag("tbody", list(rows)))
    return tag("div", inside, class_="wide", tabindex=0, role="region", aria_label=caption or "Table")


def figures(found: Overview) -> dict[str, tuple[str, str]]:
    """The figures of the overview by key: what each is, and its text."""
    return {
        "visits": ("visits", thousands(found.counts.visits)),
        "stored": ("pages stored", thousands(found.counts.stored)),
        "known": ("known pages", thousands(found.counts.known)),
        "sites": ("sites", thousands(found.counts.sites)),
        "bytes": ("received", human_size(found.counts.bytes)),
        "rate": ("visits a second", f"{found.pace.rates.get('visits', 0.0):.1f}"),
        "speed": ("bytes a second", human_size(int(found.pace.rates.get("bytes", 0)))),
        "connections": ("connections", thousands(found.use.connections)),
        "memory": ("memory", "–" if found.use.memory is None else human_size(found.use.memory)),
        "slowed": ("sites slowed", thousands(found.counts.slowed)),
        "left": (f"left, at least ({found.pace.left_why})" if found.pace.left_why else "left", _left(found)),
        "freshness": ("of the copies up to date", "–" if found.freshness is None else f"{found.freshness:.1%}"),
    }


def state_of(found: Overview) -> str:
    return "running" if found.running else f"not running: {found.ending}"


def live(found: Overview) -> dict[str, str]:
    """The texts of the overview that change, by their `data-live`."""
    return {"state": state_of(found), **{key: text for key, (_, text) in figures(found).items()}}


def overview(found: Overview) -> str:
    tiles = [
        tag("div", tag("dt", label), tag("dd", shown, data_live=key), class_="tile")
        for key, (label, shown) in figures(found).items()
    ]
    return shell(
        "Overview",
        tag("p", tag("span", state_of(found), data_live="state"), role="status", class_="state"),
        tag("dl", *tiles, class_="tiles"),
        tag("h2", "Known pages"),
        _bars([(part.name, part.pages) for part in found.states], found.counts.known, "state", found.name),
        _value(found.value),
        tag("h2", "Outcomes of requests"),
        _bars(sorted(found.outcomes.items(), key=lambda one: -one[1]), found.counts.visits, "outcome", found.name),
        tag("h2", "Why pages wait or are excluded"),
        _reasons(found.reasons),
        tag("h2", "Sites that take longest"),
        _table(
            ("site", "pages", "seconds each", "time"),
            [
                tag(
                    "tr",
                    _cells(
                        (
                            _site(found.name, one["site"]),
                            thousands(one["pages"]),
                            f"{one['each']:g}",
                            human_time(one["seconds"]),
                        )
                    ),
                )
                for one in found.pace.longest
            ],
        ),
        name=found.name,
        here="",
    )


def _left(found: Overview) -> str:
    return "unknown" if found.pace.left is None else human_time(found.pace.left)


def _bars(parts: Sequence[tuple[str, int]], total: int, key: str, name: str) -> Html:
    """A bar for each part, as wide as its share; each leads to its pages."""
    rows = []
    for label, count in parts:
        share = count / total if total else 0.0
        bar = tag("meter", f"{share:.1%}", min=0, max=1, value=f"{share:.4f}", aria_label=f"{label}: {share:.1%}")
        title = _SENTENCES.get(label)
        link = tag("a", label, href=at(name, "pages", **{key: label}), title=title)
        rows.append(tag("tr", tag("th", link, scope="row"), tag("td", bar), tag("td", thousands(count))))
    return tag("table", tag("tbody", rows), class_="bars")


def _reasons(reasons: Mapping[str, Mapping[str, int]]) -> Html:
    rows = [
        tag("tr", _cells((state, reason, thousands(count), _SENTENCES.get(reason, ""))))
        for state in ("waiting", "excluded")
        for reason, count in sorted(reasons.get(state, {}).items(), key=lambda one: -one[1])
    ]
    return _table(("state", "reason", "pages", "meaning"), rows) if rows else tag("p", "None.")


def _value(points: Sequence[Sequence[float]]) -> Html | None:
    """V(I) over time, as a line."""
    if len(points) < 2:
        return None
    wide, high = 600.0, 120.0
    first, last = points[0][0], points[-1][0]
    most = max(point[1] for point in points) or 1.0
    line = " ".join(
        f"{wide * (p[0] - first) / max(1e-9, last - first):.1f},{high - high * p[1] / most:.1f}" for p in points
    )
    drawn = tag("polyline", points=line, fill="none", stroke="currentColor", stroke_width=2)
    return joined(
        tag("h2", "Value of the index, V(I)"),
        tag(
            "svg",
            drawn,
            viewBox=f"-2 -4 {wide + 4:g} {high + 8:g}",
            role="img",
            class_="value",
            aria_label=f"From {points[0][1]:.4g} to {points[-1][1]:.4g} in {human_time(last - first)}",
        ),
        tag("p", f"{points[-1][1]:,.4g} after {human_time(last - first)}.", class_="small"),
    )


def _site(name: str, site: str) -> Html:
    return tag("a", site, href=at(name, "site", name=site))


def _form(name: str, path: str, *fields: Child) -> Html:
    button = tag("button", "Show", type="submit")
    return tag("form", *fields, button, method="get", action=at(name, path), role="search", class_="choose")


def _choice(key: str, label: str, options: Iterable[str], chosen: str, all_: bool = True) -> Html:
    every = [tag("option", "all", value="")] if all_ else []
    some = [tag("option", one, value=one, selected=one == chosen) for one in options]
    return tag("label", label, tag("select", *every, *some, name=key))


def _search(label: str, value: str) -> Html:
    return tag("label", label, tag("input", type="search", name="q", value=value))


def sites(name: str, found: Sites, sort: str, search: str, after: int) -> str:
    rows = [
        tag(
            "tr",
            tag("th", _site(name, row.name), scope="row"),
            _cells(
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
        _form(name, "sites", _search("Name contains", search), _choice("sort", "Order by", SORTS, sort, all_=False)),
        _table(names, rows, plural(found.total, "site") if found.total else "No site"),
        _next(at(name, "sites", sort=sort, q=search, after=found.next) if found.next is not None else None),
        name=name,
        here="sites",
    )


def _next(address: str | None) -> Html | None:
    return None if address is None else tag("p", tag("a", "Next", href=address, rel="next", class_="next"))


def pages(name: str, found: Pages, search: str, state: str, outcome: str) -> str:
    rows = [
        tag(
            "tr",
            tag("th", tag("a", row.url, href=at(name, "page", url=row.url)), scope="row"),
            _cells(
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
        _form(
            name,
            "pages",
            _search("URL contains", search),
            _choice("state", "State", STATES, state),
            _choice("outcome", "Outcome", OUTCOMES, outcome),
        ),
        _table(names, rows, "In the order of discovery" if rows else "No page"),
        _next(
            at(name, "pages", q=search, state=state, outcome=outcome, after=found.next)
            if found.next is not None
            else None
        ),
        name=name,
        here="pages",
    )


def page(name: str, url: str, answer: Any, copy: Page | None, now: float) -> str:
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


def site(name: str, given: str, answer: Any, now: float) -> str:
    return shell(
        given,
        tag("p", tag("a", "Its pages", href=at(name, "pages", q=f"//{given}/"))),
        tag("pre", "\n".join(lines_of(answer, now))),
        name=name,
        here="sites",
    )


def changes(name: str, found: Events) -> str:
    rows = [
        tag(
            "tr",
            tag("th", tag("a", row.url, href=at(name, "page", url=row.url)), scope="row"),
            _cells((row.kind, row.change, row.title, row.target)),
        )
        for row in found.rows
    ]
    caption = "The newest first" if rows else "Nothing yet"
    return shell(
        "Changes", _table(("page", "what", "how", "title", "target"), rows, caption), name=name, here="changes"
    )


def sql(name: str, text: str, found: Table | None, error: str = "") -> str:
    area = tag("textarea", text, name="query", rows=6, spellcheck="false", aria_label="Query")
    form = tag("form", area, tag("button", "Run", type="submit"), method="post", action=at(name, "sql"))
    result: list[Child] = [tag("pre", error, role="alert")] if error else []
    if found is not None:
        shown = f"The first {thousands(len(found.rows))} rows" if found.more else plural(len(found.rows), "row")
        result.append(_table(found.columns, [tag("tr", _cells(row)) for row in found.rows], shown))
    views = [
        tag(
            "details",
            tag("summary", tag("code", view), f": {about.sentence}"),
            tag("dl", [(tag("dt", tag("code", c.name), f" {c.type}"), tag("dd", c.sentence)) for c in about.columns]),
        )
        for view, about in VIEWS.items()
    ]
    return shell("SQL", form, *result, tag("h2", "Views and their columns"), *views, name=name, here="sql")


def token(wrong: bool) -> str:
    field = tag("label", "Token", tag("input", type="password", name="token", autocomplete="off", required=True))
    return shell(
        "A token is needed",
        tag("p", "`gossamer serve` printed it when it was made; it is kept in a file that only its user can read."),
        tag("p", "This is not the token.", role="alert") if wrong else None,
        tag("form", field, tag("button", "Enter", type="submit"), method="post", action="/token"),
    )


def problem(title: str, detail: str, cure: str) -> str:
    return shell(title, tag("p", detail, role="alert"), tag("p", cure) if cure else None)
