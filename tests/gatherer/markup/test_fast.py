"""Tests of the fast check of markup: pages that it accepts never exceed the limits in the parser."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.gatherer.markup.fast import NEVER_DEEP, RAW, SIBLINGS, is_plain
from gossamer.gatherer.markup.tags import marks
from tests.support.strategies import TAG_PIECES, joined

SHALLOW, FEW, MANY = 4, 2, 1_000


def _depth(node: LexborNode | None) -> int:
    """Open elements that count for the limit; elements whose content is not markup contain no others."""
    depth = 0
    while node is not None and node.tag != "-document":
        depth += node.tag not in NEVER_DEEP and node.tag not in SIBLINGS and node.tag not in RAW
        node = node.parent
    return depth


@settings(max_examples=500, deadline=None)
@given(joined(TAG_PIECES, least=1, most=40))
def test_plain_pages_are_never_too_deep_for_the_parser(page: str) -> None:
    if is_plain(marks(page), SHALLOW, FEW, MANY, MANY):
        nodes = LexborHTMLParser(page).css("*")
        assert nodes
        for node in nodes:
            assert _depth(node) < SHALLOW


@pytest.mark.parametrize(
    ("page", "plain"),
    [
        ("<div><b>x</b></div>" * 50, True),
        ("<ul>" + "<li>x" * 50 + "</ul>", True),
        ("<dl>" + "<dt>x<dd>y" * 50 + "</dl>", True),
        ("<!-- <div> --><script>'<div>'</script><p>x" * 50, True),
        ("<!doctype html><html><body><table>" + "<tr><td>x" * 50 + "</table>", True),
        ("<div>" * 5, False),
        ("<p><b></p>" * 3, False),
        ("<option>" * 1_001, False),
        ("<p title='a > b'>", False),
        ("1 < 2", False),
        ("<svg><path></svg>", False),
        ("<!-- never closed <div>", True),
        ('<p title="<!--"><div><p title="-->">', False),
        ("</di<!-- -->v>", False),
        ('<p a"="></div>">', False),
        ('<p a=b=" c="></div>">', False),
        ('<p ="x="></div>">', False),
        ("<p a=/x/ b='1' c><br/>", True),
        ('<p class="x "><p class=""></p>', True),
        ('<p a=b=" c= "></div>">', False),
        ('<p a="=">', False),
    ],
)
def test_usual_pages_are_plain_and_unusual_ones_are_not(page: str, plain: bool) -> None:
    assert is_plain(marks(page), SHALLOW, FEW, MANY, MANY) is plain


def test_stray_end_tags_of_formatting_elements_are_counted() -> None:
    page = "<b><div></b></div>" * 3
    assert is_plain(marks(page), 10, 10, 3, 0)
    assert not is_plain(marks(page), 10, 10, 2, 0)
