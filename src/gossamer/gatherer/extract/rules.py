"""Extraction rules at work: CSS selectors become values, and values become rows.

A rule is for the pages whose URL its pattern is found in. The rules of a table make one row of a page, or one for each
element that `each` finds. A row in which every value is missing is none.

A page may nest what the selectors find: then each element has all of those inside it, and the work is the product of
both. So what is walked through, found and read for the rows of a page is counted and bounded. Selectors of siblings
(`td:nth-child(2)`, `h2 ~ p`) cost the square of their number: pages with too many get a fault.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from selectolax.lexbor import LexborNode

from gossamer.config.settings import ExtractRule
from gossamer.gatherer.extract.page import Extracted
from gossamer.plugins.rows import MOST_BYTES, MOST_ROWS, Join, value
from gossamer.urls.patterns import found_in

_OF_SIBLINGS: Final = re.compile(r"[~+]|:(?:nth|first|last|only)-")
"""In a selector whose search walks along the siblings of an element, from each of them."""
_FEW_TAGS: Final = 10_000
_MOST_BESIDE: Final = 500_000_000
"""Steps along siblings: half a second."""
_MOST_WALKED: Final = 500_000
"""Elements below those that rows are made of: one inside another is walked through for both."""
_FEW: Final = 1_000_000
"""Rows times tags, up to which nobody counts."""
_MOST_CHARACTERS: Final = 4 * MOST_BYTES
"""Characters of all texts of a table: of elements inside one another, each has the text of those inside."""
_MOST_FOUND: Final = 200_000
"""Elements that the selectors of a table find in all rows."""


class _TooMuchError(Exception):
    """The rows of a page cost more than they may."""


@dataclass(slots=True)
class _Left:
    """What the rows of a page may still cost."""

    walked: int = _MOST_WALKED
    characters: int = _MOST_CHARACTERS
    found: int = _MOST_FOUND

    def walk(self, element: LexborNode) -> None:
        self.walked -= sum(1 for _ in islice(element.traverse(), self.walked + 1))
        if self.walked < 0:
            raise _TooMuchError


class Rules:
    """The rules of one table."""

    def __init__(self, rules: Sequence[ExtractRule]) -> None:
        self._each = rules[0].each
        self._rules = [(rule, found_in((rule.url,)) if rule.url else None) for rule in rules]
        self._columns = list(dict.fromkeys(rule.column for rule in rules))
        self._along = sum(bool(_OF_SIBLINGS.search(each)) for each in (self._each, *(rule.css for rule in rules)))

    def rows(self, page: Extracted) -> Iterator[list[Any] | ValueError]:
        """The rows of a page, in the order of the columns."""
        rules = [rule for rule, matches in self._rules if matches is None or matches(page.url)]
        if not rules or (root := page.tree.root) is None:
            return
        if self._along and page.markup.count(b"<") > _FEW_TAGS and _steps_along(root) * self._along > _MOST_BESIDE:
            yield ValueError("the page has too many elements beside one another for a selector of siblings")
            return
        elements = root.css(self._each) if self._each else [root]
        left = _Left()
        is_long = len(elements) > 1 and len(elements) * page.markup.count(b"<") > _FEW
        for number, element in enumerate(elements[:MOST_ROWS]):
            try:
                if is_long:
                    left.walk(element)
                found = self._row(rules, element, page.join, left)
            except _TooMuchError:
                yield ValueError(
                    f"the rows of the page are inside one another, or too long; the first {number} were taken"
                )
                return
            if any(each is not None and each != [] for each in found):
                yield found
        if len(elements) > MOST_ROWS:
            yield ValueError(f"the page has {len(elements)} elements for rows; the first {MOST_ROWS} were taken")

    def _row(self, rules: Sequence[ExtractRule], element: LexborNode, join: Join, left: _Left) -> list[Any]:
        """The first rule of a column that finds something gives its value."""
        found: dict[str, Any] = {}
        for rule in rules:
            if found.get(rule.column) in (None, []):
                found[rule.column] = _value(rule, element, join, left)
        return [found.get(column) for column in self._columns]


def _steps_along(root: LexborNode) -> int:
    """The sum of the squares of the numbers of siblings."""
    siblings = Counter[int]()
    for node in root.traverse(include_text=True):
        if (parent := node.parent) is not None:
            siblings[parent.mem_id] += 1
    return sum(number * number for number in siblings.values())


def _value(rule: ExtractRule, element: LexborNode, join: Join, left: _Left) -> Any:
    """The value of a rule in an element: of the first element that has one, or of all."""
    several, nodes = [], element.css(rule.css) if rule.css else [element]
    left.found -= len(nodes)
    for node in nodes[:MOST_ROWS]:
        raw = node.attrs.get(rule.attribute) if rule.attribute else node.text()
        if raw is None:
            continue
        left.characters -= len(raw)
        if left.characters < 0 or left.found < 0:
            raise _TooMuchError
        if (one := value(rule.type, raw, join)) is not None:
            if not rule.many:
                return one
            several.append(one)
    return several if rule.many else None
