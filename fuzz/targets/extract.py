"""Pages from which rows are extracted: by rules, and by the processors that are built in."""

from __future__ import annotations

import json
from typing import Final

from bench.costs import RULES
from fuzz.target import Target
from gossamer.config.settings import GathererSettings, PluginSettings
from gossamer.gatherer.extract.extractor import MOST_FAULTS
from gossamer.gatherer.extract.named import extractor
from gossamer.gatherer.gather import gather
from gossamer.plugins.kinds import BUILT_IN
from gossamer.plugins.rows import LONGEST_FAULT, MOST_BYTES, MOST_ROWS, Table
from gossamer.urls import Scope

_URL: Final = "http://example.org/folder/page.html"
_SEEDS: Final = (
    '<base href="/a/"><div class=row><p class=price>EUR 1.234,50</p><a href="x?sid=1" title="2026-11-19">x</a></div>',
    "<div class=row><div class=row><p class=price>1 234</p></div><p>second</p><p>third</p></div>",
    "<table><tr><td>1<td>23<tr><td>x<td>true</table><div><div><div><p>yes</p></div></div></div>",
    '<div itemscope itemtype="https://schema.org/Product" itemid=/7 itemref="more loop"><b itemprop="a b">x</b>'
    "<div itemprop=offers itemscope><meta itemprop=price content=3></div><time itemprop=t datetime=2>x</time></div>"
    "<p id=more itemprop=c>y</p><div id=loop itemprop=own itemscope itemref=loop></div>",
    '<script type="application/ld+json">{"@type":["A","B"],"@id":"#x","name":"n","a":[1,2.5,null,true]}</script>',
    '<script type="application/ld+json">[{"@graph":[{"url":"/y","headline":"h"},3]},{"x":NaN,"y":1e999}]</script>',
    '<meta property="og:title" content="t"><meta property="og:image" content="/a.png"><meta name="fb:x" content=c>',
)


class ExtractTarget(Target):
    """pages with rows: rules, JSON-LD, OpenGraph, microdata."""

    name = "extract"
    parts = ("gatherer/extract", "plugins/rows.py")
    words = (
        b"<div class=row>",
        b"<p class=price>",
        b"<td>",
        b"<base href='/x/'>",
        b"<div itemscope>",
        b" itemscope itemprop='a b'",
        b" itemref='more loop a b c'",
        b" itemprop=name",
        b" id=more",
        b" id=loop",
        b" itemtype='x y'",
        b" href='../",
        b" title='",
        b"<time itemprop=t datetime=",
        b"<meta itemprop=x content=",
        b"<meta property='og:image' content=",
        b"</div>",
        b"</script>",
        b'<script type="application/ld+json">',
        b'{"@type":',
        b'"@graph":[',
        b'"@id":"',
        b'"\\ud800"',
        b"1e999",
        b"-Infinity",
        b"[[[[",
        b"1.234,50",
        b"2026-11-19T10:00:00+23:59",
        b"0001-01-01T00:00:00+24:00",
        b"99999999999999999999",
    )
    seconds = 3.0

    def __init__(self) -> None:
        self._scope = Scope(("example.org", "example"))
        of = extractor(PluginSettings(process=BUILT_IN, extract=RULES), self._scope)
        assert of is not None
        self._extract, self._settings = of(_URL, 0), GathererSettings()

    def seeds(self) -> list[bytes]:
        return [seed.encode() for seed in (*_SEEDS, "".join(_SEEDS))]

    def check(self, data: bytes) -> None:
        rows = gather(_URL, "text/html", (), data, self._settings, self._scope, "gossamer", extract=self._extract).rows
        faults = dict[str, int]()
        for line in rows.split(b"\n")[:-1]:
            name, columns, body = line.split(b"\t")
            table, found = Table.parse(name.decode(), columns.decode()), json.loads(body)
            assert len(body) <= MOST_BYTES
            if isinstance(found, str):
                assert 0 < len(found) <= LONGEST_FAULT
                faults[table.name] = faults.get(table.name, 0) + 1
                continue
            assert 0 < len(found) <= MOST_ROWS
            for row in found:
                self._check_row(table, row)
        assert all(count <= MOST_FAULTS + 1 for count in faults.values())

    @staticmethod
    def _check_row(table: Table, row: list[object]) -> None:
        for column, value in zip(table.columns, row, strict=True):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str):
                    one.encode()  # a column of texts takes it
                if column.name == "data" and one is not None:
                    assert isinstance(one, str)
                    json.loads(one, parse_constant=_refused)


def _refused(word: str) -> None:
    raise ValueError(f"{word} is no JSON")
