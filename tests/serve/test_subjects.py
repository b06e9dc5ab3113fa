"""Pages of the dashboard, made from answers that say the worst."""

from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gossamer.library.collection import Collection
from gossamer.serve import shell
from gossamer.serve.html import Html, joined, tag
from gossamer.serve.question import Asked
from gossamer.serve.recent import Request
from gossamer.serve.subjects import changes, frontier, home, overview, pages, sites, sql, watches
from gossamer.serve.subjects.overview import Counts, Lately, Overview, Pace, Part, Use

NO_WEB = cast(Collection, None)
"""For pages that are made from an answer alone."""
WORST = st.text() | st.sampled_from(
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "javascript:alert(1)",
        "</title><script>",
        "&lt;b&gt;",
    ]
)


def plain(text: str) -> str:
    """As a parser has it: it replaces what HTML cannot hold, and normalises ends of lines."""
    return " ".join(text.replace("\0", "").replace("\ufffd", "").split())


def harmless(page: str) -> LexborHTMLParser:
    """The parsed page, which has only our script and no handler, frame or address that runs anything."""
    tree = LexborHTMLParser(page)
    assert [node.attributes.get("src") for node in tree.css("script")] == ["/static/live.js"]
    for node in tree.css("*"):
        for name, value in node.attributes.items():
            assert not name.startswith("on"), name
            if name in ("href", "src", "action"):
                assert (value or "").startswith(("/", "#", "data:,")), value
    return tree


@given(WORST, WORST, WORST)
def test_a_page_of_the_dashboard_shows_what_pages_say_and_runs_nothing(name: str, said: str, title: str) -> None:
    found_pages = pages.Pages([pages.PageRow(said, "done", "none", title, 200, 1, 1, None)], 7)
    site = sites.SiteRow(said, "waiting", title, None, 1, None, None, 1.0, 9, 0.1, 1, 1, 1, 0, 9)
    found_sites = sites.Sites([site], 1, None)
    event = changes.EventRow("new", said, "2026-11-19T00:00:00Z", title, None, said, [said], [title])
    asked = Asked(name, NO_WEB, {"site": said, "kind": title})
    link = pages.Links([pages.LinkRow(said, title, said, nofollow=True)], 1, 3)
    watch = watches.WatchRow(1, said, said, title, 60.0, 2, None, 3, None, said)
    coming = frontier.Next(said, title, 1.0, 1, 1, 1, said, title)
    spent = [frontier.Spent(said, 1, 1, 1)]
    ahead = frontier.Frontier(True, frontier.Plan(said, 1.0, 1, 1, 1), [coming], spent, spent, {said: 1.0}, [title])
    result = sql.Table([said], [[title], [None], [1]], more=True)
    for made in (
        pages.page_of(name, found_pages, said, "", ""),
        sites.page_of(name, found_sites, "pages", said, title),
        changes.page_of(asked, changes.Changes([event], {said: 1}, "1-2")),
        pages.page_of_links(name, said, "out", link),
        watches.page_of(name, watches.WatchRows([watch])),
        frontier.page_of(name, ahead),
        shell.shell(title, shell.told(name, [said, f"  {title} http://a.example/{said}"])),
        sql.page_of(name, said, result, title),
        shell.problem(said, title, name),
        overview.page_of(standing(name, said)),
    ):
        harmless(made)
    row = harmless(pages.page_of(name, found_pages, "", "", "")).css_first("tbody")
    assert row is not None
    assert plain(said) in plain(row.text())


def standing(name: str, said: str) -> Overview:
    longest = [{"site": said, "pages": 1, "each": 1.0, "seconds": 1.0}]
    return Overview(
        name,
        True,
        said,
        0.0,
        Counts(1, 1, 1, 1, 0, 9),
        [Part("done", 1)],
        {"waiting": {said: 1}},
        {said: 1},
        Pace({"visits": 1.0}, None, said, longest, {}),
        Use(0, None, {"granted": 10, "used": 5}, 7),
        [[0.0, 1.0, 1.0], [1.0, 2.0, 2.0]],
        0.5,
        faults=[said],
        lately=Lately([(0.0, 1.0, 2.0, 3.0), (1.0, 2.0, 3.0, 4.0)], [Request(0.0, said, said, None)]),
    )


@given(WORST, WORST)
def test_text_never_becomes_markup(text: str, attribute: str) -> None:
    made = tag("p", text, [text, None, 1], title=attribute)
    tree = LexborHTMLParser(f"<body>{made}</body>")
    assert len(tree.css("body *")) == 1
    assert joined(Html("<b>"), "<b>") == "<b>&lt;b&gt;"


def test_a_page_without_a_collection_has_no_tabs() -> None:
    assert not harmless(home.page_of([])).css("nav")
    assert len(harmless(overview.page_of(standing("a", "b"))).css("nav a")) == len(shell.TABS)
