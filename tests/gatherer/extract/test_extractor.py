"""Extraction without code: rules, JSON-LD, OpenGraph and microdata."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gossamer.config import loads
from gossamer.config.rules import WrongRuleError
from gossamer.config.settings import ExtractRule, GathererSettings
from gossamer.gatherer.extract.extractor import Extractor, check_selectors, tables
from gossamer.gatherer.extract.named import extractor
from gossamer.gatherer.extract.page import Extracted
from gossamer.gatherer.gather import gather
from gossamer.plugins.kinds import BUILT_IN
from gossamer.plugins.rows import Table
from gossamer.urls import Scope

URL = "http://shop.example/product/7"
SCOPE = Scope(("shop.example",))


def rules(*each: dict[str, Any], process: str = "") -> Any:
    toml = "".join(
        "[[extract]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rule.items()) for rule in each
    )
    return loads(f"{toml}\n[plugins]\nprocess = {json.dumps(process.split())}\n").plugins


def lines(raw: bytes) -> dict[str, list[Any]]:
    """What a page gave: rows by name of column, and faults, by table."""
    found: dict[str, list[Any]] = {}
    for line in raw.split(b"\n")[:-1]:
        name, columns, body = line.split(b"\t")
        table = Table.parse(name.decode(), columns.decode())
        rows = json.loads(body)
        said = (
            [rows]
            if isinstance(rows, str)
            else [{c.name: v for c, v in zip(table.columns, row, strict=True) if v not in (None, [])} for row in rows]
        )
        found.setdefault(table.name, []).extend(said)
    return found


def gathered(html: str, plugins: Any, url: str = URL, kind: str = "text/html; charset=utf-8") -> dict[str, list[Any]]:
    of = extractor(plugins, SCOPE)
    assert of is not None
    extract = of(url, 0)
    return lines(gather(url, kind, (), html.encode(), GathererSettings(), SCOPE, "test", extract=extract).rows)


SHOP = """<html><head><base href="/base/"><title>Seven</title></head><body>
<h1> The <b>seventh</b>  product</h1><p class="price">EUR 1,234.50</p>
<ul><li class="offer"><a href="a?sid=1">first</a><i>2</i></li><li class="offer"><a href="http://else.example/b">second</a></li>
<li class="offer"></li></ul><time datetime="2026-11-19T10:00:00Z">today</time></body></html>"""


def test_rules_fill_the_columns_of_a_row() -> None:
    found = gathered(
        SHOP,
        rules(
            {"table": "prices", "column": "name", "css": "h1"},
            {"table": "prices", "column": "price", "css": ".price", "type": "float"},
            {"table": "prices", "column": "stars", "css": ".stars", "type": "int"},
            {"table": "prices", "column": "links", "css": ".offer a", "attribute": "href", "type": "url", "many": True},
            {"table": "prices", "column": "seen", "css": "time", "attribute": "datetime", "type": "date"},
        ),
    )
    (row,) = found["prices"]
    assert row.pop("seen") == 1_795_082_400_000_000
    assert row == {
        "name": "The seventh product",
        "price": 1234.5,
        "links": ["http://shop.example/base/a?sid=1", "http://else.example/b"],
    }


def test_each_element_may_be_a_row_and_rows_without_values_are_none() -> None:
    each = {"table": "offers", "each": ".offer"}
    found = gathered(
        SHOP,
        rules(
            {**each, "column": "text", "css": "a"},
            {**each, "column": "number", "css": "i", "type": "int"},
            {**each, "column": "number", "css": "a", "type": "int"},
        ),
    )
    assert found["offers"] == [{"text": "first", "number": 2}, {"text": "second"}]


def test_a_rule_is_for_the_pages_that_its_pattern_names() -> None:
    found = rules(
        {"table": "t", "column": "c", "css": "h1", "url": "/PRODUCT/"},
        {"table": "u", "column": "c", "css": "h1", "url": "/product/\\d$"},
    )
    assert set(gathered(SHOP, found)) == {"u"}
    assert set(gathered(SHOP, found, "http://shop.example/other")) == set()


def test_text_that_is_not_html_has_no_elements() -> None:
    assert gathered("<h1>x</h1>", rules({"table": "t", "column": "c", "css": "h1"}), kind="text/plain") == {}


def test_a_selector_that_is_none_is_refused() -> None:
    broken = {"css": ExtractRule("t", "b", css="a[["), "each": ExtractRule("t", "b", each="a[[")}
    for key, rule in broken.items():
        with pytest.raises(WrongRuleError, match="is not a CSS selector") as error:
            check_selectors([ExtractRule("t", "a"), rule])
        assert (error.value.number, error.value.key) == (1, key)
    check_selectors([ExtractRule("t", "a", css="p:has(b) > a", each="li")])


JSON_LD = """<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","@id":"#it",
"name":"Seven","offers":{"@type":"Offer","price":3}}</script>
<script type="Application/LD+json; charset=utf-8">[{"@graph":[{"@type":["A","B"],"headline":"News"},3]},
{"@type":"C","url":"/c"}]</script>
<script type='application/ld+json'>{"broken":</script>"""


def test_json_ld_gives_a_row_for_each_object_and_says_what_is_broken() -> None:
    first, second, third, fault = gathered(JSON_LD, rules(process="json-ld"))["json_ld"]
    assert json.loads(first.pop("data"))["offers"]["price"] == 3
    assert first == {"type": ["Product"], "id": f"{URL}", "name": "Seven"}
    assert (second["type"], second["name"]) == (["A", "B"], "News")
    assert (third["type"], third["id"]) == (["C"], "http://shop.example/c")
    assert fault.startswith("a script is not JSON: ")
    assert gathered("<p>ld+json</p>", rules(process="json-ld")) == {}


def test_opengraph_gives_a_row_for_the_page() -> None:
    html = """<meta property="og:title" content=" Seven "><meta property="og:image" content="/a.png">
    <meta property="og:image" content="b.png"><meta name="twitter:card" content="summary"><meta name="x" content="y">"""
    (row,) = gathered(html, rules(process="opengraph"))["opengraph"]
    assert json.loads(row.pop("data")) == {
        "og:title": ["Seven"],
        "og:image": ["/a.png", "b.png"],
        "twitter:card": ["summary"],
    }
    assert row == {"title": "Seven", "image": ["http://shop.example/a.png", "http://shop.example/product/b.png"]}
    assert gathered("<meta name=description content=x>", rules(process="opengraph")) == {}


MICRODATA = """<div itemscope itemtype="https://schema.org/Product" itemid="/seven" itemref="more loop">
<h1 itemprop="name">Seven</h1><a itemprop="url" href="x">x</a><span itemprop="a b">both</span>
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="price" content="3">
<data itemprop="count" value="12">twelve</data></div><time itemprop="seen" datetime="2026-11-19">today</time></div>
<p id="more"><b itemprop="colour">red</b></p>
<div id="loop" itemprop="own" itemscope itemref="loop"><i itemprop="own" itemscope itemref="loop"></i></div>"""


def test_microdata_gives_a_row_for_each_item_at_the_top() -> None:
    (row,) = gathered(MICRODATA, rules(process="microdata"))["microdata"]
    assert (row["type"], row["id"], row["name"]) == (
        ["https://schema.org/Product"],
        "http://shop.example/seven",
        "Seven",
    )
    properties = json.loads(row["data"])["properties"]
    assert properties["url"] == ["http://shop.example/product/x"]
    assert properties["a"] == properties["b"] == ["both"]
    assert properties["offers"] == [
        {"type": ["https://schema.org/Offer"], "properties": {"price": ["3"], "count": ["12"]}}
    ]
    assert properties["seen"] == ["2026-11-19"]
    assert properties["colour"] == ["red"]
    assert len(properties["own"]) == 1, "a circle ends"


def test_nothing_runs_that_settings_do_not_name() -> None:
    assert extractor(loads("").plugins, SCOPE) is None
    assert extractor(loads("[plugins]\nprocess='my.py:extract'").plugins, SCOPE) is None
    assert [t.name for t in tables(rules(process=" ".join(BUILT_IN)))] == ["json_ld", "opengraph", "microdata"]


PIECES = st.sampled_from(
    [
        *JSON_LD.split(">"),
        *MICRODATA.split(">"),
        "<div itemscope itemprop=x itemref='a a a'>",
        "<a id=a itemscope itemprop='x y'>",
        '<script type="application/ld+json">' + "[" * 3_000,
        '<script type="application/ld+json">{"@type":{"a":[]},"name":3,"@id":{}}</script>',
        "<meta property=og:url content='http://['>",
        "<meta property=og:title content>",
        "\0",
        "</div>",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=12), st.text(max_size=10))
@settings(max_examples=100, deadline=None)
def test_an_extractor_never_raises(pieces: list[str], more: str) -> None:
    markup = (">".join(pieces) + more).encode(errors="replace")
    every = Extractor(
        rules({"table": "t", "column": "c", "css": "*", "type": "float", "many": True}, process=" ".join(BUILT_IN))
    )
    raw = every(Extracted(URL, LexborHTMLParser(markup), markup, SCOPE.joiner(URL)))
    for found in lines(raw).values():
        assert found
