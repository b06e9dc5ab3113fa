"""Emphasis of links: in headings and bold text, and around them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gossamer.base.model import LinkFlag
from gossamer.config.settings import GathererSettings, SeederSettings
from gossamer.gatherer import emphasis
from gossamer.gatherer.emphasis import emphasized
from gossamer.gatherer.gather import gather
from gossamer.gatherer.markup.tags import marks
from gossamer.urls import Scope
from tests.support.timing import takes_less

HEADING, BOLD = int(LinkFlag.HEADING), int(LinkFlag.BOLD)
_PIECE = st.recursive(
    st.sampled_from(("x", "<img src=i>", "<style>b{}</style>", "<strike>s</strike>")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.tuples(st.sampled_from(("div", "section", "span")), inner).map(lambda t: f"<{t[0]}>{t[1]}</{t[0]}>"),
        inner.map(lambda text: f"<!-- <a href=/c>{text}</a> <b> -->"),
    ),
    max_leaves=6,
)
_MARKED = st.tuples(st.sampled_from(("h1", "h3", "h6", "b", "strong")), _PIECE)


def _wrapped(name: str, inner: str) -> str:
    return f"<{name}>{inner}</{name}>"


_BLOCK = st.one_of(
    _PIECE,
    _PIECE.map(lambda inner: f"<a href=/l>{inner}</a>"),
    _MARKED.map(lambda t: _wrapped(*t)),
    _MARKED.map(lambda t: f"<a href=/i>{_wrapped(*t)}</a>"),
    _MARKED.map(lambda t: _wrapped(t[0], f"{t[1]}<a href=/o>t</a><a href=/p>t</a>")),
    _MARKED.map(lambda t: _wrapped("h2", f"<a href=/q>{_wrapped('b', t[1])}</a>")),
)
_PAGES = st.lists(_BLOCK, max_size=6).map("".join)


def flags(html: str) -> list[int]:
    tree, tags = LexborHTMLParser(html), marks(html)
    links = tree.tags("a")
    return emphasized(tree, links, tags) or [0] * len(links)


@given(_PAGES)
def test_both_ways_to_find_emphasis_agree(html: str) -> None:
    tree = LexborHTMLParser(html)
    assert flags(html) == emphasis._from_tree(tree, tree.tags("a"))


def test_links_in_headings_and_bold_text_and_around_them() -> None:
    html = (
        "<a href=/0>plain</a><h2>See <a href=/1>one</a></h2><strong><a href=/2>two</a></strong>"
        "<a href=/3><h3>three</h3></a><a href=/4>a <b>bold</b> word</a><h1><a href=/5><b>both</b></a></h1>"
        "<b>x</b><a href=/6>behind</a><strike><a href=/7>struck</a></strike><blockquote><a href=/8>b</a></blockquote>"
    )
    assert flags(html) == [0, HEADING, BOLD, HEADING, BOLD, HEADING | BOLD, 0, 0, 0]


def test_tags_in_comments_and_scripts_and_unclosed_ones_need_the_tree() -> None:
    assert flags("<!-- <a href=/c><b> --><h2><a href=/1>one</a></h2><a href=/2>two</a>") == [HEADING, 0]
    assert flags("<script>'<h2><a>'</script><a href=/1>one</a><b><a href=/2>two</a></b>") == [0, BOLD]
    assert flags("<h2><a href=/1>one</h2><p><a href=/2>two") == [HEADING, 0]


def test_one_emphasized_link_to_a_target_is_enough() -> None:
    html = "<h2><a href=/x>X</a></h2><a href=/x>again</a><a href=/y>y</a><b><a href=./y>y</a></b>"
    settings, scope = GathererSettings(), Scope.of(SeederSettings(domains=("a.example",)))
    found = gather("https://a.example/", "text/html", (), html.encode(), settings, scope, "Gossamer")
    assert [(link.url[-1], link.flags) for link in found.links] == [("x", HEADING), ("y", BOLD)]


def test_nested_headings_do_not_take_the_square_of_their_number() -> None:
    def page(n: int) -> str:
        return "<svg>" + "<b><g>" * n + "<a href=/x>x</a>" * n

    assert takes_less(lambda: flags(page(400)), 1.0)
