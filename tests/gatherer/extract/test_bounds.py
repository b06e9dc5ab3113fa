"""What a page can multiply is bounded: names of properties, references, elements inside one another, long addresses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gossamer.collection.tables.plugin_rows import TYPES
from gossamer.gatherer.extract import structured
from gossamer.gatherer.extract.extractor import MOST_FAULTS
from gossamer.plugins.rows import MOST_BYTES
from tests.gatherer.extract.test_extractor import URL, gathered, rules

MICRODATA = rules(process="microdata")
LONG = structured.LONGEST


def script(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


def test_names_of_items_inside_one_another_do_not_multiply() -> None:
    """Two names on each of 19 levels: half a million values, in 700 bytes."""
    inside = "<div itemscope itemprop='a b'>" * 18 + "<i itemprop='a b'>x</i>"
    found = gathered(f"<div itemscope>{inside}", MICRODATA)
    assert found["microdata"] == [f"an item has more than {LONG} characters"]
    few = "<div itemscope itemprop='a b'>" * 9 + "<i itemprop='a b'>x</i>"
    (row,) = gathered(f"<div itemscope>{few}", MICRODATA)["microdata"]
    assert row["data"].count('"x"') == 2**10


def test_names_of_a_long_text_do_not_multiply() -> None:
    names, text = " ".join(f"n{n}" for n in range(1_000)), "x" * 10_000
    found = gathered(f"<p itemscope><b itemprop='{names}'>{text}</b></p><p itemscope><b itemprop=a>y</b>", MICRODATA)
    fault, row = sorted(found["microdata"], key=lambda each: isinstance(each, dict))
    assert fault == f"an item has more than {LONG} characters"
    assert json.loads(row["data"])["properties"] == {"a": ["y"]}


def test_elements_that_many_items_refer_to_are_counted() -> None:
    items = "<p itemscope itemref=big><b itemprop=a>x</b></p>" * 200
    found = gathered(f"{items}<div id=big>{'<i>x</i>' * 5_000}</div>", MICRODATA)["microdata"]
    most = structured._MOST_STEPS // 5_000
    assert len(found) == most
    assert found[-1] == f"the items of the page refer to too much of it; the first {most - 1} were taken"


def test_values_that_many_items_refer_to_are_counted() -> None:
    items = "<p itemscope itemref=big></p>" * 200
    found = gathered(f"{items}<div id=big>{'<i itemprop=a>x</i>' * 600}</div>", MICRODATA)["microdata"]
    assert len(found) == 17
    assert found[-1] == "the items of the page have more than 10000 values; the first 16 were taken"


def test_texts_inside_one_another_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structured, "_MOST_CHARACTERS", 5_000)
    page = f"<p itemscope><b itemprop=a>x</b></p><div itemscope>{'<div itemprop=a>' * 10}{'x' * 1_000}"
    found = gathered(page, MICRODATA)["microdata"]
    assert [type(each) for each in found] == [dict, str]
    assert found[-1] == "the items of the page have more than 5000 characters; the first 1 were taken"


def test_ids_are_looked_up_in_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first element of an id counts, and an id is a text: it is no part of a selector."""
    page = '<p itemscope itemref="a&quot;] b] *"></p><i id=\'a"]\' itemprop=x>1</i><i id=b] itemprop=y>2</i><i id=b]>3'
    (row,) = gathered(page, MICRODATA)["microdata"]
    assert json.loads(row["data"])["properties"] == {"x": ["1"], "y": ["2"]}


@pytest.mark.parametrize("process", ["json-ld", "microdata", "opengraph"])
def test_an_address_of_any_length_is_not_joined(process: str) -> None:
    for raw, kept in (("../" * 5 + "x", True), ("../" * 6_000 + "x", False)):
        page = {
            "json-ld": script(json.dumps({"@id": raw})),
            "microdata": f"<p itemscope itemid='{raw}'>",
            "opengraph": f"<meta property=og:url content='{raw}'>",
        }[process]
        (row,) = gathered(page, rules(process=process))[process.replace("-", "_")]
        assert (row.get("id") or row.get("url")) == ("http://shop.example/x" if kept else None)


def test_a_base_that_is_longer_than_a_url_is_never_joined() -> None:
    """Every value would be as long as the base."""
    each = {"table": "t", "column": "c", "css": "a", "attribute": "href", "type": "url", "many": True}
    links = "<a href=x>x</a><a href=/y>y</a><a href='http://else.example/z'>z</a><a href='?q'>q</a>"
    for base in ("/" + "a/" * 2_000, "/" + "a/" * 20_000):
        (row,) = gathered(f"<base href='{base}'>{links}", rules(each))["t"]
        assert row["c"] == ["http://shop.example/y", "http://else.example/z"]
    (row,) = gathered(f"<base href='/b/'>{links}", rules(each))["t"]
    assert row["c"][0] == "http://shop.example/b/x"


def test_rows_inside_one_another_are_counted() -> None:
    each = rules({"table": "t", "column": "c", "css": "i", "each": ".row"})
    found = gathered(f"{'<div class=row>' * 600}{'<i>x</i>' * 2_000}", each)["t"]
    assert found[-1].startswith("the rows of the page are inside one another, or too long; the first ")
    assert 50 < len(found) < 600
    flat = gathered("<div class=row><i>x</i></div>" * 1_000, each)["t"]
    assert flat == [{"c": "x"}] * 1_000


def test_texts_of_elements_inside_one_another_are_counted() -> None:
    every = rules({"table": "t", "column": "c", "css": "*", "many": True})
    (fault,) = gathered(f"{'<div>' * 100}{'x' * 50_000}", every)["t"]
    assert fault == "the rows of the page are inside one another, or too long; the first 0 were taken"


def test_faults_of_a_page_are_bounded() -> None:
    found = gathered(
        "".join(script("[" * n) for n in range(1, 100)) + script('{"name":"last"}'), rules(process="json-ld")
    )
    assert len(found["json_ld"]) == MOST_FAULTS


def test_rows_that_fit_are_kept_when_others_do_not() -> None:
    """A page with more bytes than a line may have keeps its first rows."""
    page = "".join(script(json.dumps({"name": str(n), "text": "x" * 150_000})) for n in range(20))
    *rows, fault = gathered(page, rules(process="json-ld"))["json_ld"]
    assert [row["name"] for row in rows] == [str(n) for n in range(MOST_BYTES // 170_000)]
    assert fault == f"the rows of a page have more than {MOST_BYTES} bytes; the first {len(rows)} were taken"


ODD: list[tuple[str, Any]] = [
    ('{"name":"a","price":NaN}', {"name": "a", "price": None}),
    ('{"name":"a","price":-Infinity}', {"name": "a", "price": None}),
    ('{"name":"\\ud800x"}', {"name": "?x"}),
    ('{"name":"a","deep":' + "[" * 100 + "]" * 100 + "}", None),
]


@pytest.mark.parametrize(("text", "data"), ODD)
def test_what_is_no_json_for_others_is_not_stored(text: str, data: Any) -> None:
    (row,) = gathered(script(text), rules(process="json-ld"))["json_ld"]
    read = json.loads(row["data"])
    assert data is None or read == data
    assert TYPES["text"] == "string"
    row["data"].encode()


def test_an_object_that_is_no_json_does_not_take_others_with_it() -> None:
    page = script('[{"name":"a"},{"name":"b","price":1e999},{"name":"c"}]')
    found = gathered(page, rules(process="json-ld"))["json_ld"]
    assert [each["name"] for each in found if isinstance(each, dict)] == ["a", "c"]
    (fault,) = [each for each in found if isinstance(each, str)]
    assert fault.startswith("an object is not JSON")
    assert URL


@pytest.mark.parametrize("selector", ["td:nth-child(2)", "td ~ td", "td + td", "td:last-of-type"])
def test_selectors_of_siblings_do_not_walk_along_too_many(selector: str) -> None:
    rule = rules({"table": "t", "column": "c", "css": selector, "many": True})
    fault = ["the page has too many elements beside one another for a selector of siblings"]
    assert gathered(f"<table><tr>{'<td>x' * 30_000}", rule)["t"] == fault
    usual = "".join(f"<tr><td>{n}<td>x" for n in range(2_000))
    (row,) = gathered(f"<table>{usual}", rule)["t"]
    assert row["c"] == ["x"] * 2_000
