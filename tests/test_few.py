"""Counting tags: what it clears, the closer look would leave whole."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.gatherer import bounds
from gossamer.gatherer.few import count_roots, has_few
from gossamer.gatherer.marks import marks
from tests.test_plain import PIECES

LEAVES = (
    "<b>x</b>", "<b class=x>y</b>", "<span>x</span>", '<i title="a>b</i>">', "<i a=\u00a0\"x y=\">z</i>", "<b\u00a0>",
    "<b\u00a0=\"x y=\">", "<STRI\u212aE>", "<code\x0b>", "<u\x00>", "<A\n>x</a>", "<p\0>", "<li>x</li>", "<em/>x</em>",
    "<!-- <span>--></span>", '<p title="<div>x</div>">', "<title>x</title>", "<div\t>x</div>", "<b id=1>", "<b id=2>",
    "<![CDATA[ < ", "]]>", "<div ti", 'tle="x">', "<div t='", "<li><a href=x>y</a></li>", "<div><em>x</em><br></div>",
    "<b =\"x>y</b>\">",
)  # fmt: skip
LIMITS = {"DEEPEST": 4, "MOST_REBUILT": 12, "MOST_WALKED": 9, "MOST_OPTIONS": 2}


def _is_cleared(page: str, tags: int) -> bool:
    left = bounds.FREE + LIMITS["MOST_REBUILT"] // tags
    return has_few(page, marks(page), LIMITS["DEEPEST"], left, LIMITS["MOST_WALKED"], LIMITS["MOST_OPTIONS"])


@settings(max_examples=1_000, deadline=None)
@given(st.lists(st.sampled_from(PIECES + LEAVES), min_size=1, max_size=12).map("".join))
def test_what_has_few_tags_is_left_whole_by_the_closer_look(page: str) -> None:
    tags = page.count("<")
    if tags and _is_cleared(page, tags):
        with patch.dict(vars(bounds), LIMITS):
            assert bounds._end(page) == len(page)


@pytest.mark.parametrize(
    ("page", "cleared"),
    [
        ("<p><a href=x>y</a><br>" * 50, True),
        ("<svg><path/></svg>", True),
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
def test_elements_that_stay_open_are_counted_and_no_others(page: str, cleared: bool) -> None:
    assert has_few(page, marks(page), 4, 3, 1_000, 1_000) is cleared


def test_few_spellings_of_formatting_elements_are_few() -> None:
    page = "<b>x</b> " * 500
    assert has_few(page, marks(page), 1_000, 3, 1_000_000, 1_000)
    varied = "".join(f"<b id={number}>x</b> " for number in range(500))
    assert not has_few(varied, marks(varied), 1_000, 300, 1_000_000, 1_000)


def test_roots_are_counted_in_any_spelling() -> None:
    assert count_roots(marks("<html><HTML lang=de><Body></body><htmlx>< html>")) == 4
