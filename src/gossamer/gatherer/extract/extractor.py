"""The extractor: fills tables from pages, by rules and by the processors that are built in.

It runs in the worker, on the tree that the page was parsed into: it is the crawler's own code, and each of its loops is
bounded. What it raises nevertheless is an error row of the table, and the page keeps its outcome.

Invariant, a test of the same name: an extractor never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from gossamer.config.rules import WrongRuleError
from gossamer.config.settings import ExtractRule, PluginSettings
from gossamer.gatherer.extract.page import Extracted
from gossamer.gatherer.extract.rules import Rules
from gossamer.gatherer.extract.structured import JSON_LD, MICRODATA, OPENGRAPH, json_ld, microdata, opengraph
from gossamer.plugins.rows import MOST_BYTES, Rows, Table, fault
from gossamer.plugins.schema import tables_of_rules

Source = Callable[[Extracted], Iterator[Mapping[str, Any] | Sequence[Any] | ValueError]]
"""Yields rows; a ValueError is what was wrong with a part of the page."""

MOST_FAULTS: Final = 20
"""Faults of a table that a page may give."""
SOURCES: Final[Mapping[str, tuple[Table, Source]]] = {
    "json-ld": (JSON_LD, lambda page: json_ld(page.tree, page.markup, page.join)),
    "opengraph": (OPENGRAPH, lambda page: opengraph(page.tree, page.markup)),
    "microdata": (MICRODATA, lambda page: microdata(page.tree, page.markup, page.join)),
}
"""The processors that are built in: the table of each, and what makes its rows."""


class Extractor:
    """All tables that are filled without code of the user."""

    def __init__(self, settings: PluginSettings) -> None:
        self._sources: list[tuple[bytes, Rows, Source]] = []
        for name in dict.fromkeys(settings.process):
            if name in SOURCES:
                table, source = SOURCES[name]
                self._sources.append((table.head, Rows(table), source))
        for table in tables_of_rules(settings.extract):
            rules = Rules([rule for rule in settings.extract if rule.table == table.name])
            self._sources.append((table.head, Rows(table), rules.rows))

    def __call__(self, page: Extracted) -> bytes:
        """The lines of all tables that the page fills (`plugins/rows.py`)."""
        lines = []
        for head, rows, source in self._sources:
            for body in _bodies(rows, source, page):
                lines += [head, body, b"\n"]
        return b"".join(lines)


def tables(settings: PluginSettings) -> list[Table]:
    """The tables that the extractor fills."""
    own = [SOURCES[name][0] for name in dict.fromkeys(settings.process) if name in SOURCES]
    return [*own, *tables_of_rules(settings.extract)]


def check_selectors(rules: Sequence[ExtractRule]) -> None:
    """Raises WrongRuleError if a selector is none."""
    tree = LexborHTMLParser("<p>")
    for number, rule in enumerate(rules):
        for key in ("css", "each"):
            try:
                if selector := getattr(rule, key):
                    tree.css(selector)
            except SelectolaxError as error:
                raise WrongRuleError(f"{key}: {selector!r} is not a CSS selector", number, key) from error


def _bodies(rows: Rows, source: Source, page: Extracted) -> Iterator[bytes]:
    """The JSON of the rows that fit, then of each fault."""
    good, size, faults = list[list[Any]](), 0, dict[str, None]()
    try:
        for found in source(page):
            try:
                good.append(_values(rows, found, page))
            except ValueError as error:
                faults[str(error)] = None
                if len(faults) == MOST_FAULTS:
                    break
                continue
            size += sum(len(value) for value in good[-1] if type(value) is str)
            if size > MOST_BYTES:
                break
    except Exception as error:  # a page that nobody thought of
        faults[f"{type(error).__name__}: {error}"] = None
    try:
        body = rows.encoded(good)
    except ValueError:
        fitting = _fitting(rows, good)
        body = b"[%s]" % b",".join(fitting) if fitting else b""
        faults[f"the rows of a page have more than {MOST_BYTES} bytes; the first {len(fitting)} were taken"] = None
    if body:
        yield body
    for each in faults:
        yield fault(each)


def _values(rows: Rows, found: Mapping[str, Any] | Sequence[Any] | ValueError, page: Extracted) -> list[Any]:
    """The values of a row; what is wrong with it, or was found to be wrong, is raised."""
    if isinstance(found, ValueError):
        raise found
    return rows.row(found, page.join) if isinstance(found, Mapping) else list(found)


def _fitting(rows: Rows, good: Sequence[list[Any]]) -> list[bytes]:
    """The JSON of the first rows, as many as fit into a line."""
    fitting, room = list[bytes](), MOST_BYTES - len("[]")
    for each in good:
        try:
            fitting.append(rows.encoded([each])[1:-1])
        except ValueError:
            break
        room -= len(fitting[-1]) + 1
        if room < 0:
            return fitting[:-1]
    return fitting
