"""What all pages of the dashboard are made of: the frame around them, tables, bars, forms.

Numbers that change while one looks have `data-live`: the script replaces their text (`static/live.js`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from gossamer.base.model import Reason
from gossamer.base.outcomes import Aside, Outcome
from gossamer.base.units import thousands
from gossamer.serve.charts import bar
from gossamer.serve.html import Child, Html, joined, tag

TABS: Final = (
    ("", "Overview"),
    ("frontier", "Frontier"),
    ("sites", "Sites"),
    ("pages", "Pages"),
    ("changes", "Changes"),
    ("watches", "Watches"),
    ("orders", "Orders"),
    ("sql", "SQL"),
)
SENTENCES: Final = {
    **{reason.name.lower(): reason.sentence for reason in Reason if reason is not Reason.NONE},
    **{f"site: {aside.word}": aside.sentence for aside in Aside if aside is not Aside.NONE},
    **{outcome.word: outcome.sentence for outcome in Outcome},
}
"""What the words of tables mean."""
_NUMBERS: Final = frozenset(
    ("pages", "visits", "stored", "known", "ok", "errors", "status", "depth", "seconds each", "time", "in")
)
"""Columns of numbers."""
_URL: Final = re.compile(r"https?://[^\s\"<>]+")


def shell(
    title: str, *content: Child, name: str = "", here: str | None = None, live: bool = False, feed: str = ""
) -> str:
    """A whole page. `name`: the collection that it is about; `here`: its tab; `live`: it changes while one looks;
    `feed`: the address of the same as a feed."""
    tabs = [tag("a", label, href=at(name, path), aria_current="page" if path == here else None) for path, label in TABS]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Gossamer"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        tag("link", rel="icon", href="data:,"),
        Html('<script src="/static/live.js" defer></script>'),
        feed and tag("link", rel="alternate", type="application/atom+xml", title=f"{title} of {name}", href=feed),
    )
    top = tag(
        "header",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("a", "Gossamer", href="/", class_="home"),
        tag("span", name, class_="name") if name else None,
        tag("nav", *tabs, aria_label="Pages") if name else None,
    )
    stream = at(name, "live", page=here) if live else None
    body = tag("body", top, tag("main", tag("h1", title), *content, id="content"), data_stream=stream)
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def at(name: str, path: str = "", /, **query: Any) -> str:
    """The address of a page about a collection."""
    asked = urlencode({key: value for key, value in query.items() if value not in ("", None)})
    return f"/c/{quote(name, safe='')}/{path}{f'?{asked}' if asked else ''}"


def cells(values: Iterable[Child], right: bool = False) -> Html:
    """A cell for each value; numbers are at the right, or all of them."""
    return joined(
        [
            tag(
                "td",
                "–" if value is None or value == "" else value,
                class_="number" if right or _is_number(value) else None,
            )
            for value in values
        ]
    )


def _is_number(value: Child) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.replace(",", "").isdigit())


def table(names: Iterable[Child], rows: Iterable[Html], caption: str = "", numbers: Container[int] = ()) -> Html:
    """`numbers`: places of columns at the right, besides those whose names are known for it."""
    heads = [
        tag("th", name, scope="col", class_="number" if place in numbers or name in _NUMBERS else None)
        for place, name in enumerate(names)
    ]
    head = tag("thead", tag("tr", heads))
    inside = tag("table", tag("caption", caption) if caption else None, head, tag("tbody", list(rows)))
    return tag("div", inside, class_="wide", tabindex=0, role="region", aria_label=caption or "Table")


def bars(parts: Sequence[tuple[str, int]], total: int, key: str, name: str, bad: frozenset[str] = frozenset()) -> Html:
    """A bar for each part, as wide as its share; each leads to its pages. `bad`: those that are errors."""
    rows = []
    for label, count in parts:
        share = count / total if total else 0.0
        link = tag("a", label, href=at(name, "pages", **{key: label}), title=SENTENCES.get(label))
        shown = bar(share, "error" if label in bad else label if key == "state" else "")
        rows.append(
            tag(
                "tr",
                tag("th", link, scope="row"),
                tag("td", shown, class_="drawn"),
                tag("td", thousands(count), class_="number"),
                tag("td", f"{share:.1%}", class_="number"),
            )
        )
    return tag("table", tag("tbody", rows), class_="bars") if rows else tag("p", "None yet.")


def told(name: str, lines: Sequence[str]) -> Html:
    """What `gossamer explain` says, as sections: a line without an indent begins one. URLs lead to their pages."""
    sections: list[tuple[str, list[Child]]] = []
    for line in lines:
        if not line.startswith(" ") or not sections:
            sections.append((line, []))
        else:
            deeper = "deeper" if line.startswith("    ") else None
            sections[-1][1].append(tag("li", linked(name, line.strip()), class_=deeper))
    return tag(
        "div",
        [
            tag("section", tag("h2", linked(name, head)), tag("ul", inside) if inside else None)
            for head, inside in sections
        ],
        class_="told",
    )


def linked(name: str, text: str) -> Html:
    """A text whose URLs lead to what is known of them."""
    parts, end = list[Child](), 0
    for found in _URL.finditer(text):
        parts += [text[end : found.start()], page_link(name, found[0])]
        end = found.end()
    return joined(*parts, text[end:])


def site_link(name: str, site: str) -> Html:
    return tag("a", site, href=at(name, "site", name=site))


def page_link(name: str, url: str, text: str = "") -> Html:
    return tag("a", text or url, href=at(name, "page", url=url))


def form(name: str, path: str, *fields: Child) -> Html:
    button = tag("button", "Show", type="submit")
    return tag("form", *fields, button, method="get", action=at(name, path), role="search", class_="choose")


def choice(key: str, label: str, options: Iterable[str], chosen: str, all_: bool = True) -> Html:
    every = [tag("option", "all", value="")] if all_ else []
    some = [tag("option", one, value=one, selected=one == chosen) for one in options]
    return tag("label", label, tag("select", *every, *some, name=key))


def search_field(label: str, value: str, key: str = "q") -> Html:
    return tag("label", label, tag("input", type="search", name=key, value=value))


def field(key: str, label: str, value: str) -> Html:
    return tag("label", label, tag("input", name=key, value=value))


def next_link(address: str | None, label: str = "Next") -> Html | None:
    return None if address is None else tag("p", tag("a", label, href=address, rel="next", class_="next"))


def token(wrong: bool, to: str = "") -> str:
    """`to`: where one goes on from there."""
    after = tag("input", type="hidden", name="to", value=to) if to else None
    field = tag("label", "Token", tag("input", type="password", name="token", autocomplete="off", required=True))
    return shell(
        "A token is needed",
        tag("p", "`gossamer serve` printed it when it was made; it is kept in a file that only its user can read."),
        tag("p", "This is not the token.", role="alert") if wrong else None,
        tag("form", after, field, tag("button", "Enter", type="submit"), method="post", action="/token"),
    )


def problem(title: str, detail: str, cure: str) -> str:
    return shell(title, tag("p", detail, role="alert"), tag("p", cure) if cure else None)
