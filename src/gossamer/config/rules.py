"""Extraction rules: what `[[extract]]` in crawl.toml may say, and how it is read and written.

    [[extract]]
    table = "prices"
    column = "price"
    css = ".price"
    type = "float"

Each rule fills a column of a table. The rules of a table belong together: they make its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from difflib import get_close_matches
from typing import Any, Final

from gossamer.config.settings import ExtractRule

RULES: Final = "extract"
"""The name under which crawl.toml has the rules, beside its sections."""
COLUMN_TYPES: Final = ("text", "int", "float", "bool", "date", "url")
"""Types of the columns of plug-ins and rules."""
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""Names of tables and columns."""
OWN_COLUMNS: Final = ("page", "time", "tick", "error")
"""Columns that every table of plug-ins has."""
# fmt: off
OWN_TABLES: Final = frozenset((
    "pages", "visits", "links", "sites", "origins", "events", "verdicts", "anchors", "counts", "hints", "mentions",
    "ticks", "orders", "addresses", "preferences", "changes", "lives", "clocks", "speeds", "calibration",
    "freshness", "stored",
))
# fmt: on
"""Names that tables of plug-ins cannot have."""
_DEFAULTS: Final = {f.name: f.default for f in fields(ExtractRule)}
_BOOLS: Final = ("many",)


class WrongRuleError(ValueError):
    """A rule that is not accepted: which one, counted from 0, and at which key ("": the rule as a whole)."""

    def __init__(self, message: str, number: int = -1, key: str = "") -> None:
        super().__init__(message)
        self.number, self.key = number, key


def read_rules(raw: object) -> tuple[ExtractRule, ...]:
    """The rules. Raises WrongRuleError, which says what is accepted."""
    if not isinstance(raw, list) or not all(isinstance(each, dict) for each in raw):
        raise WrongRuleError("rules are tables: begin each with [[extract]]")
    rules = tuple(_rule(each, number) for number, each in enumerate(raw))
    _check_together(rules)
    return rules


def write_rules(rules: Sequence[ExtractRule]) -> Iterator[tuple[str, Any]]:
    """For each rule, "" and then its keys with values, without those that have their defaults."""
    for rule in rules:
        yield "", None
        yield from told(rule).items()


def told(rule: ExtractRule) -> dict[str, Any]:
    """The keys of a rule that do not have their defaults."""
    return {name: value for name, value in asdict(rule).items() if value != _DEFAULTS[name]}


def _rule(raw: Mapping[str, object], number: int) -> ExtractRule:
    for key, value in raw.items():
        if key not in _DEFAULTS:
            near = get_close_matches(key, _DEFAULTS, 1)
            hint = f"did you mean {near[0]}?" if near else f"accepted: {', '.join(_DEFAULTS)}"
            raise WrongRuleError(f"unknown key {key}; {hint}", number, key)
        wanted = bool if key in _BOOLS else str
        if type(value) is not wanted:
            words = "is neither true nor false" if wanted is bool else "is not a text: write it in quotes"
            raise WrongRuleError(f"{key}: {value!r} {words}", number, key)
    for key, default in _DEFAULTS.items():
        if default is MISSING and not raw.get(key):
            raise WrongRuleError(f"a rule needs {key}", number)
    rule = ExtractRule(**dict[str, Any](raw))
    for key, own in (("table", OWN_TABLES), ("column", OWN_COLUMNS)):
        check_name(getattr(rule, key), own, number, key)
    if rule.type not in COLUMN_TYPES:
        raise WrongRuleError(f"type: {rule.type!r} is not one of {', '.join(COLUMN_TYPES)}", number, "type")
    try:
        re.compile(rule.url)
    except re.error as error:
        raise WrongRuleError(f"url: {rule.url!r} is not a regular expression: {error}", number, "url") from error
    return rule


def check_name(name: str, own: Sequence[str] | frozenset[str], number: int = -1, key: str = "") -> None:
    """Checks the name of a table or column of plug-ins; `own`: names that are taken."""
    if not NAME.fullmatch(name):
        wanted = "begin with a letter and use small letters, digits and _, at most 40"
        raise WrongRuleError(f"{key}: {name!r} is not accepted: {wanted}", number, key)
    if name in own:
        raise WrongRuleError(f"{key}: {name!r} is a name that Gossamer uses itself: choose another", number, key)


def _check_together(rules: Sequence[ExtractRule]) -> None:
    """Rules of a table have the same `each`, and each column has one type."""
    tables = dict[str, str]()
    columns = dict[tuple[str, str], tuple[str, bool]]()
    for number, rule in enumerate(rules):
        if tables.setdefault(rule.table, rule.each) != rule.each:
            wrong = f"each: the rules of table {rule.table} must agree; another has {tables[rule.table]!r}"
            raise WrongRuleError(wrong, number, "each")
        kind = rule.type, rule.many
        if columns.setdefault((rule.table, rule.column), kind) != kind:
            first = columns[rule.table, rule.column]
            wrong = f"column {rule.column} of table {rule.table} is {first[0]}{' (many)' * first[1]} in another rule"
            raise WrongRuleError(wrong, number, "type")
