"""Reads settings from TOML, from `--set KEY=VALUE` and from JSON. Each error names the file, the line and what is
accepted."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from gossamer.base.errors import UsageError
from gossamer.config.accepted import PATTERNS, RETIRED, Wrong, check_together
from gossamer.config.presets import paced
from gossamer.config.rules import RULES, WrongRuleError
from gossamer.config.settings import Settings
from gossamer.config.values import NumberTable, Texts, known, read


@dataclass(frozen=True, slots=True)
class _Source:
    """Where settings come from, for error messages."""

    name: str
    text: str = ""

    def at(self, section: str, key: str = "", part: str = "") -> str:
        line = line_of(self.text, section, key, part)
        return f"{self.name}, line {line}" if line else self.name

    def at_rule(self, number: int, key: str = "") -> str:
        line = line_of_rule(self.text, number, key)
        return f"{self.name}, line {line}" if line else self.name


def load(path: Path, base: Settings | None = None) -> Settings:
    """The settings of a file; settings that it does not name are taken from `base`, or from the defaults."""
    return loads(_text(path), str(path), base)


def named(path: Path) -> set[str]:
    """Names of the settings that the file contains, even if their values are the defaults."""
    tree = _parsed(_text(path), str(path))
    return {f"{section}.{name}" for section, values in tree.items() if isinstance(values, dict) for name in values}


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "Name a readable settings file.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}", "Save the file as UTF-8.") from error


def loads(text: str, name: str = "settings", base: Settings | None = None) -> Settings:
    """The settings of a TOML text. Error messages call it `name`."""
    return _apply(base or Settings(), _parsed(text, name), _Source(name, text))


def _parsed(text: str, name: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: not TOML: {error}", "Correct the file at that line and column.") from error


def override(settings: Settings, assignments: Iterable[str]) -> Settings:
    """Applies assignments like `harvester.wait=5s`. Values are TOML; texts need no quotes, and lists may be `a,b`.
    `seeder.reject+=x` adds to a list what it does not have."""
    changes = list(assignments)
    given = {change.partition("=")[0].strip().removeprefix("harvester.") for change in changes}
    for assignment in changes:
        key, equals, text = (piece.strip() for piece in assignment.partition("="))
        key, adds = key.removesuffix("+").rstrip(), key.endswith("+")
        section, dot, name = key.partition(".")
        if not (equals and dot and name):
            raise UsageError(
                f"--set {assignment}: not of the form section.key=value", "Example: --set harvester.wait=5s"
            )
        value = _bare(key, text)
        if adds and key in known():
            value = _added(getattr(getattr(settings, section), name), value, assignment)
        settings = _apply(settings, {section: {name: value}}, _Source(f"--set {assignment}"), given)
    return settings


def _added(before: object, more: object, assignment: str) -> object:
    """A list, with what is new of another one."""
    if not (isinstance(before, tuple) and isinstance(more, list)):
        raise UsageError(f"--set {assignment}: not a list, so nothing can be added to it", "Use = instead of +=.")
    return [*before, *(each for each in dict.fromkeys(more) if each not in before)]


def from_json(text: str) -> Settings:
    return _apply(Settings(), json.loads(text), _Source("settings sent to a worker"))


def _bare(key: str, text: str) -> object:
    """A value from the command line, where texts need no quotes."""
    kind = known().get(key)
    try:
        parsed: object = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = text
    if kind is str and not isinstance(parsed, str):
        return text
    if kind == Texts and not isinstance(parsed, list):
        return [text] if key in PATTERNS else [piece.strip() for piece in text.split(",") if piece.strip()]
    if kind == NumberTable and parsed == text:
        return _table(text)
    return parsed


def _table(text: str) -> object:
    """A table written as `pagerank=1,depth=0.5`."""
    try:
        return tomllib.loads(f"value = {{{text}}}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _apply(settings: Settings, tree: Mapping[str, object], source: _Source, given: Iterable[str] = ()) -> Settings:
    """`given`: names of waits that are set beside the tree, which no pace changes."""
    for section, values in _with_rules(tree, source).items():
        if not hasattr(settings, section):
            raise _unknown(section, source.at(section), section)
        if not isinstance(values, dict):
            raise UsageError(f"{source.at(section)}: {section} is a section, not a value", f"Write it as [{section}].")
        read_values: dict[str, Any] = {}
        for name, raw in values.items():
            key = f"{section}.{name}"
            if key in RETIRED:
                continue
            if key not in known():
                raise _unknown(key, source.at(section, name), name)
            try:
                read_values[name] = read(key, raw)
            except WrongRuleError as error:
                raise UsageError(f"{source.at_rule(error.number, error.key)}: extract: {error}") from error
            except ValueError as error:
                raise UsageError(f"{source.at(section, name, _part(error))}: {key}: {error}") from error
        before = getattr(settings, section)
        if "pace" in read_values:
            before = paced(before, read_values["pace"], {*read_values, *given})
        settings = replace(settings, **{section: replace(before, **read_values)})
        try:
            check_together(section, getattr(settings, section))
        except ValueError as error:
            raise UsageError(f"{source.at(section, part=_part(error))}: {section}: {error}") from error
    return settings


def _with_rules(tree: Mapping[str, object], source: _Source) -> Mapping[str, object]:
    """The tree with the rules of [[extract]] among the settings of their section."""
    if RULES not in tree:
        return tree
    section = tree.get("plugins", {})
    if not isinstance(section, dict) or RULES in section:
        raise UsageError(f"{source.at(RULES)}: extract is there twice", "Write each rule as [[extract]].")
    return {name: values for name, values in tree.items() if name != RULES} | {
        "plugins": section | {RULES: tree[RULES]}
    }


def _part(error: ValueError) -> str:
    return error.part if isinstance(error, Wrong) else ""


def _unknown(key: str, place: str, name: str) -> UsageError:
    """The error for an unknown setting. It suggests the nearest known one: for a section, a similar section; for a key,
    a key of the same section that contains its name, else any similar key."""
    section = key.partition(".")[0]
    sections = list(dict.fromkeys(each.partition(".")[0] for each in known()))
    names = {each.partition(".")[2]: each for each in known()}
    here = [each for each in known() if each.startswith(f"{section}.")]
    if key == name:
        near = get_close_matches(key, sections, 1) or [names[n] for n in (name,) if n in names]
    else:
        near = [each for each in here if name in each.partition(".")[2]][:2]
        near = near or get_close_matches(key, known(), 1, 0.7) or [names[n] for n in get_close_matches(name, names, 1)]
    cure = f"Did you mean {' or '.join(near)}?" if near else "`gossamer config` lists all settings."
    return UsageError(f"{place}: unknown setting {key}", cure)


_RULE: Final = re.compile(r"""\s*\[\[\s*["']?extract["']?\s*\]\]""")
_TABLE: Final = re.compile(r"""\s*\[\s*(?P<name>[^\]#]+?)\s*\]""")


def line_of(text: str, section: str, key: str = "", part: str = "") -> int:
    """Number of the line that sets `key` in the table `section`, or that begins the table; 0 if neither is found.

    With `part`: the line of that text in the value, if it is found. This scans lines and does not parse: that is enough
    to show a reader the place in a text that tomllib has accepted.
    """
    lines = text.splitlines()
    begins = _begin(lines, section, key)
    if not part or not begins:
        return begins
    spellings = (part, json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1])
    whole = [re.compile(rf"""(?<![^\s"',\[{{]){re.escape(each)}(?![^\s"',\]}}=])""") for each in spellings]
    return next((n for n in range(begins, len(lines) + 1) if any(w.search(lines[n - 1]) for w in whole)), begins)


def _begin(lines: Sequence[str], section: str, key: str) -> int:
    name = rf"""\s*["']?{re.escape(key)}["']?\s*[.=]""" if key else r"(?!)"
    in_table = re.compile(name)
    dotted = re.compile(rf"""\s*["']?{re.escape(section)}["']?\s*""" + (rf"\.{name}" if key else "[.=]"))
    table, begins = "", 0
    for number, line in enumerate(lines, 1):
        if header := _TABLE.match(line):
            table = re.sub(r"""[\s"']""", "", header["name"])
            if key and table == f"{section}.{key}":
                return number
            if table == section or table.startswith(f"{section}."):
                begins = begins or number
        elif (table == section and in_table.match(line)) or (not table and dotted.match(line)):
            return number
    return begins


def line_of_rule(text: str, number: int, key: str = "") -> int:
    """Number of the line where a rule, counted from 0, sets a key, or begins; 0 if it is not found."""
    found, begins = -1, 0
    own = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""") if key else re.compile(r"(?!)")
    for at, line in enumerate(text.splitlines(), 1):
        if _RULE.match(line):
            found += 1
            begins = at if found == number else begins
        elif found == number and own.match(line):
            return at
    return begins
