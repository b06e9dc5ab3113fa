"""Extraction rules at work: CSS selectors become values, and values become rows.

A rule is for the pages whose URL its pattern is found in. The rules of a table make one row of a page, or one for each
element that `each` finds. A row in which every value is missing is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from selectolax.lexbor import LexborNode

from gossamer.config.settings import ExtractRule
from gossamer.gatherer.extract.page import Extracted
from gossamer.plugins.rows import MOST_ROWS, Join, value
from gossamer.urls.patterns import found_in


class Rules:
    """The rules of one table."""

    def __init__(self, rules: Sequence[ExtractRule]) -> None:
        self._each = rules[0].each
        self._rules = [(rule, found_in((rule.url,)) if rule.url else None) for rule in rules]
        self._columns = list(dict.fromkeys(rule.column for rule in rules))

    def rows(self, page: Extracted) -> Iterator[list[Any] | ValueError]:
        """The rows of a page, in the order of the columns."""
        rules = [rule for rule, matches in self._rules if matches is None or matches(page.url)]
        if not rules or (root := page.tree.root) is None:
            return
        elements = root.css(self._each) if self._each else [root]
        for element in elements[:MOST_ROWS]:
            found = self._row(rules, element, page.join)
            if any(each is not None and each != [] for each in found):
                yield found
        if len(elements) > MOST_ROWS:
            yield ValueError(f"the page has {len(elements)} elements for rows; the first {MOST_ROWS} were taken")

    def _row(self, rules: Sequence[ExtractRule], element: LexborNode, join: Join) -> list[Any]:
        """The first rule of a column that finds something gives its value."""
        found: dict[str, Any] = {}
        for rule in rules:
            if found.get(rule.column) in (None, []):
                found[rule.column] = _value(rule, element, join)
        return [found.get(column) for column in self._columns]


def _value(rule: ExtractRule, element: LexborNode, join: Join) -> Any:
    """The value of a rule in an element: of the first element that has one, or of all."""
    several = []
    for node in (element.css(rule.css) if rule.css else [element])[:MOST_ROWS]:
        raw = node.attributes.get(rule.attribute) if rule.attribute else node.text()
        one = None if raw is None else value(rule.type, raw, join)
        if one is not None:
            if not rule.many:
                return one
            several.append(one)
    return several if rule.many else None
