"""Extraction rules in crawl.toml: read, written, and refused with their line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.config import Settings, differences, dump, from_json, loads, override, to_json
from gossamer.config.load import line_of_rule
from gossamer.config.rules import COLUMN_TYPES
from gossamer.config.settings import ExtractRule

TOML = """[harvester]
wait = "20s"

[[extract]]   # the price
table = "prices"
column = "price"
css = ".price"
type = "float"

[[ "extract" ]]
table = "prices"
column = "tags"
css = "a.tag"
many = true
url = '/product/\\d+'
"""
NAMES = st.from_regex(r"x[a-z0-9_]{0,10}", fullmatch=True)


@st.composite
def rules(draw: st.DrawFn) -> tuple[ExtractRule, ...]:
    found = []
    for table in draw(st.lists(NAMES, max_size=3, unique=True)):
        each = draw(st.text(max_size=5))
        for column in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
            texts = [draw(st.text(max_size=8)) for _ in range(2)]
            kind, many, url = (
                draw(st.sampled_from(COLUMN_TYPES)),
                draw(st.booleans()),
                draw(st.sampled_from(["", "/a+"])),
            )
            found.append(ExtractRule(table, column, texts[0], texts[1], kind, many, url, each))
    return tuple(found)


@given(rules())
@settings(max_examples=60, deadline=None)
def test_rules_survive_files_json_and_commands(of: tuple[ExtractRule, ...]) -> None:
    before = override(loads("[seeder]\ndomains = ['a.example']\n"), ["harvester.wait=20s"])
    loaded = from_json(to_json(before).replace('"extract": []', '"extract": ' + _json(of)))
    assert loaded.plugins.extract == of
    assert loads(dump(loaded)) == loads(dump(loaded, whole=True)) == from_json(to_json(loaded)) == loaded


def _json(of: tuple[ExtractRule, ...]) -> str:
    import json
    from dataclasses import asdict

    return json.dumps([asdict(rule) for rule in of])


def test_rules_are_read_beside_the_sections() -> None:
    found = loads(TOML)
    assert found.plugins.extract == (
        ExtractRule("prices", "price", ".price", type="float"),
        ExtractRule("prices", "tags", "a.tag", many=True, url=r"/product/\d+"),
    )
    assert float(found.harvester.wait) == 20.0
    (line,) = (each for each in differences(Settings(), found) if each.startswith("plugins"))
    assert line.startswith("plugins.extract: + {")
    assert override(Settings(), ['plugins.extract=[{table="t", column="c"}]']).plugins.extract == (
        ExtractRule("t", "c"),
    )


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ('type = "float"', 'type = "floot"', 8, "'floot' is not one of text, int"),
        ('css = ".price"', "css = 3", 7, "css: 3 is not a text"),
        ("many = true", "many = 1", 14, "many: 1 is neither true nor false"),
        ('column = "price"', "", 4, "a rule needs column"),
        ('column = "tags"', 'column = "Tags"', 12, "'Tags' is not accepted: begin with a letter"),
        ('column = "tags"', 'column = "page"', 12, "'page' is a name that Gossamer uses itself"),
        ('column = "tags"', 'column = "price"', 10, "column price of table prices is float in another rule"),
        ('css = "a.tag"', 'each = "li"', 13, "the rules of table prices must agree"),
        ("\\d+'", "(\\d+'", 15, "is not a regular expression"),
        ('css = ".price"', 'ccs = ".price"', 7, "unknown key ccs; did you mean css?"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_line(before: str, after: str, line: int, words: str) -> None:
    assert TOML.count(before) == 1
    with pytest.raises(UsageError, match="extract: ") as raised:
        loads(TOML.replace(before, after), "crawl.toml")
    assert raised.value.message.startswith(f"crawl.toml, line {line}: extract: ")
    assert words in raised.value.message


def test_rules_that_are_no_tables_are_refused() -> None:
    for text in ("extract = 3", "[extract]\ntable = 't'", "extract = ['t']"):
        with pytest.raises(UsageError, match=r"begin each with \[\[extract\]\]"):
            loads(text, "crawl.toml")
    with pytest.raises(UsageError, match="is there twice"):
        loads("[[extract]]\ntable='t'\ncolumn='c'\n[plugins]\nextract=[]", "crawl.toml")


def test_the_line_of_a_rule_is_found() -> None:
    assert [line_of_rule(TOML, n) for n in (0, 1, 2)] == [4, 10, 0]
    assert line_of_rule(TOML, 1, "css") == 13
    assert line_of_rule(TOML, 1, "each") == 10
