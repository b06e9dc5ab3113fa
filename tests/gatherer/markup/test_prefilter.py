"""Tests of the pre-check of markup: pages that it accepts are never cut by the exact check."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.gatherer.markup import limits
from gossamer.gatherer.markup.fast import FORMATTING
from gossamer.gatherer.markup.prefilter import count_roots, has_few
from gossamer.gatherer.markup.tags import marks
from tests.support.strategies import LEAF_PIECES, TAG_PIECES, joined

PIECES = TAG_PIECES + LEAF_PIECES

LIMITS = {"DEEPEST": 4, "MOST_REBUILT": 12, "MOST_WALKED": 9, "MOST_OPTIONS": 2}


def _is_cleared(page: str, tags: int) -> bool:
    left = limits.FREE + LIMITS["MOST_REBUILT"] // tags
    return has_few(page, marks(page), LIMITS["DEEPEST"], left, LIMITS["MOST_WALKED"], LIMITS["MOST_OPTIONS"])


@settings(max_examples=1_000, deadline=None)
@given(joined(PIECES, least=1, most=12))
def test_pages_with_few_tags_are_not_cut_by_the_exact_check(page: str) -> None:
    tags = page.count("<")
    if tags and _is_cleared(page, tags):
        with patch.dict(vars(limits), LIMITS):
            assert limits._end(page) == len(page)


def _is_formatting(piece: str) -> bool:
    """Whether it is a formatting element. The parser re-creates three of a kind elsewhere: they have another bound."""
    return re.match(rf"</?(?:{'|'.join(FORMATTING)})\b", piece, re.IGNORECASE) is not None


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([p for p in PIECES if not _is_formatting(p)]), min_size=1, max_size=4))
@example(["<rt>"])
@example(["<optgroup>"])
@example(["<span>", "<div>", "</span>"])
@example(["<noscript>", "<div>", "</noscript>"])
@example(["<form>", "<div>", "</form>"])
@example(["<form>", "<object>", "</form>", "</object>", "</form>"])
@example(["<h1>", "<div>", "<h2>", "</h1>"])
@example(["<li>", "<ul>", "</li>"])
@example(["<svg>", "<a>"])
@example(["<svg>", "<a>", "</a>"])
def test_pages_cut_by_the_exact_check_are_not_deep_for_the_parser(unit: list[str]) -> None:
    page = "".join(unit) * 100
    with patch.dict(vars(limits), {"DEEPEST": 10}):
        left = page[: limits._end(page)]
    assert max((_depth(node) for node in LexborHTMLParser(left).css("*")), default=0) < 60


def _depth(node: LexborNode | None) -> int:
    depth = 0
    while node is not None:
        depth, node = depth + 1, node.parent
    return depth


@pytest.mark.parametrize(
    ("page", "cleared"),
    [
        ("<p><a href=x>y</a><br>" * 50, True),
        ("<svg><path/></svg>", True),
        ("<svg>" + "<a>" * 5, False),
        ("<svg></svg>" + "<a href=x>y</a>" * 50, True),
        ("<span class='x'>y</span>" * 50, True),
        ("<rustdoc-topbar>x</rustdoc-topbar>" * 50, True),
        ("<div class=x><p><span>x</span><a href=y>z</a></p></div>" * 50, True),
        ("<div>" * 5, False),
        ("<div><table></div></table>" * 3, False),
        ("<b class=x><p>" * 100, False),
        ('<b class=">"></b>' * 100, False),
        ("<svg><![CDATA[<", False),
    ],
)
def test_only_elements_that_stay_open_are_counted(page: str, cleared: bool) -> None:
    assert has_few(page, marks(page), 4, 3, 1_000, 1_000) is cleared


def test_repeated_formatting_elements_count_by_spelling() -> None:
    page = "<b>x</b> " * 500
    assert has_few(page, marks(page), 1_000, 3, 1_000_000, 1_000)
    varied = "".join(f"<b id={number}>x</b> " for number in range(500))
    assert not has_few(varied, marks(varied), 1_000, 300, 1_000_000, 1_000)


def test_the_limit_of_options_counts_only_options() -> None:
    page = "<p>x" * 500
    assert has_few(page, marks(page), 1_000, 3, 1_000_000, 100)
    assert not has_few(page + "<OPTION>" * 101, marks(page + "<OPTION>" * 101), 1_000, 3, 1_000_000, 100)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, "<image src=x>", "<IMG>", "<Base href=x>", "<tr>", "<col>"])))
def test_an_element_is_in_the_tree_only_if_its_tag_may_be_in_the_page(pieces: list[str]) -> None:
    page = "".join(pieces)
    found = marks(page)
    names = {node.tag or "" for node in LexborHTMLParser(page).css("*")}
    assert all(found.may_have(name) for name in names if name.isascii())


def test_a_page_may_have_only_tags_that_are_in_its_text() -> None:
    assert marks("<table><td>x").may_have("tr")
    found = marks("<P>x<a>y</a><image><!-- <area> --><b\0>")
    assert [name for name in ("p", "a", "img", "area", "b", "i", "base", "html") if found.may_have(name)] == [
        "p",
        "a",
        "img",
        "area",
        "html",
    ]


def test_roots_are_counted_in_any_spelling() -> None:
    assert count_roots(marks("<html><HTML lang=de><Body></body><htmlx>< html>")) == 4
