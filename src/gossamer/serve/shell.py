"""What all pages of the dashboard are made of: the frame around them, tables, bars, forms.

Numbers that change while one looks have `data-live`: the script replaces their text (`static/live.js`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from gossamer.base.model import Reason
from gossamer.base.outcomes import Aside, Outcome
from gossamer.base.units import thousands
from gossamer.serve.charts import bar
from gossamer.serve.html import Child, Html, joined, tag

TABS: Final = (("", "Overview"), ("sites", "Sites"), ("pages", "Pages"), ("changes", "Changes"), ("sql", "SQL"))
SENTENCES: Final = {
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


def cells(values: Iterable[Child]) -> Html:
    """A cell for each value; numbers are at the right."""
    return joined(
        [
            tag("td", "–" if value is None or value == "" else value, class_="number" if _is_number(value) else None)
            for value in values
        ]
    )


def _is_number(value: Child) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.replace(",", "").isdigit())


def table(names: Iterable[str], rows: Iterable[Html], caption: str = "") -> Html:
    head = tag(
        "thead", tag("tr", [tag("th", n, scope="col", class_="number" if n in _NUMBERS else None) for n in names])
    )
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


def site_link(name: str, site: str) -> Html:
    return tag("a", site, href=at(name, "site", name=site))


def page_link(name: str, url: str) -> Html:
    return tag("a", url, href=at(name, "page", url=url))


def form(name: str, path: str, *fields: Child) -> Html:
    button = tag("button", "Show", type="submit")
    return tag("form", *fields, button, method="get", action=at(name, path), role="search", class_="choose")


def choice(key: str, label: str, options: Iterable[str], chosen: str, all_: bool = True) -> Html:
    every = [tag("option", "all", value="")] if all_ else []
    some = [tag("option", one, value=one, selected=one == chosen) for one in options]
    return tag("label", label, tag("select", *every, *some, name=key))


def search_field(label: str, value: str) -> Html:
    return tag("label", label, tag("input", type="search", name="q", value=value))


def next_link(address: str | None) -> Html | None:
    return None if address is None else tag("p", tag("a", "Next", href=address, rel="next", class_="next"))


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
