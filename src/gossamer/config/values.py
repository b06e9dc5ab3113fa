"""Values of settings: their types (from the fields), how they are read from TOML or JSON and written as TOML."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Final, get_type_hints

from gossamer.base.units import Duration, Size, Speed
from gossamer.config.accepted import PRESET_VALUE, Wrong, check, limits
from gossamer.config.rules import read_rules, told
from gossamer.config.settings import ExtractRule, Settings

Texts = tuple[str, ...]
ONE_OR_MORE: Final = "plugins."
"""The section in which a list of texts may be written as one text."""
TextTable = dict[str, str]
NumberTable = dict[str, float]
Rules = tuple[ExtractRule, ...]


@cache
def known() -> Mapping[str, Any]:
    """Every setting, as "section.name", in the order of `Settings`, with the type of its field."""
    sections = get_type_hints(Settings)
    types = {name: get_type_hints(kind) for name, kind in sections.items()}
    return {f"{s}.{f.name}": types[s][f.name] for s, kind in sections.items() for f in fields(kind)}


def read(key: str, raw: object) -> Any:
    """The value of a known setting. Raises ValueError (`Wrong`, if a part is at fault), which says what is accepted."""
    if isinstance(raw, str) and key.startswith(ONE_OR_MORE) and known()[key] == Texts:
        raw = [raw]
    value = _TYPES[known()[key]][1](raw)
    check(key, value)
    return value


def _only(kind: type, wrong: str) -> Callable[[object], Any]:
    def reader(raw: object) -> Any:
        if type(raw) is not kind:
            raise ValueError(f"{raw!r} {wrong}")
        return raw

    return reader


def _number(raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise ValueError(f"{raw!r} is not a number: write it as in 0.5")
    return float(raw)


def _texts(raw: object) -> Texts:
    if not isinstance(raw, list) or not all(isinstance(each, str) for each in raw):
        raise ValueError(f'{raw!r} is not a list of texts: write ["one", "two"]')
    return tuple(raw)


def _text_table(raw: object) -> TextTable:
    if not isinstance(raw, dict) or not all(isinstance(each, str) for each in raw.values()):
        raise ValueError(f'{raw!r} is not a table of texts: write {{ "*.example" = "127.0.0.1:8080" }}')
    return dict(raw)


def _number_table(raw: object) -> NumberTable:
    if not isinstance(raw, dict):
        raise ValueError(f"{raw!r} is not a table of numbers: write {{ pagerank = 1.0, depth = 0.5 }}")
    numbers = {}
    for name, number in raw.items():
        try:
            numbers[name] = _number(number)
        except ValueError as error:
            raise Wrong(f"{name}: {error}", name) from error
    return numbers


def _duration(raw: object) -> Duration:
    if raw == PRESET_VALUE and not isinstance(raw, bool):
        return Duration(PRESET_VALUE)
    return Duration.parse(raw if isinstance(raw, str | int | float) else str(raw))


def _amount(kind: type[Size]) -> Callable[[object], Size]:
    return lambda raw: kind.parse(raw if isinstance(raw, str | int) else str(raw))


_TYPES: Final[Mapping[Any, tuple[str, Callable[[object], Any]]]] = {
    int: ("whole number", _only(int, "is not a whole number: write only digits, as in 25_000")),
    float: ("number", _number),
    bool: ("true or false", _only(bool, "is neither true nor false")),
    str: ("text", _only(str, "is not a text: write it in quotes")),
    Duration: ("duration", _duration),
    Size: ("size", _amount(Size)),
    Speed: ("speed", _amount(Speed)),
    Texts: ("list of texts", _texts),
    TextTable: ("table of texts", _text_table),
    NumberTable: ("table of numbers", _number_table),
    Rules: ("tables [[extract]]", read_rules),
}
"""For each type of a field: what it is called, and how a value is read."""


def accepted(key: str) -> str:
    """What a setting accepts, in words: its type, and its limits."""
    kind = known()[key]
    return ", ".join(filter(None, (_TYPES[kind][0], limits(key, kind))))


def write(value: object, width: int = 0, start: int = 0) -> str:
    """The value as TOML. With `width`, a longer list is broken into lines; its first line begins at column `start`.

    A JSON string is a TOML string, except that TOML requires DEL to be escaped. A string with a backslash is easier to
    read in single quotes. Tables stay on one line, as TOML requires.
    """
    if isinstance(value, Duration | Size):
        return f'"{value}"' if value != PRESET_VALUE else f"{PRESET_VALUE:g}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, tuple | list):
        items = [write(each) for each in value]
        line = f"[{', '.join(items)}]"
        return line if not items or not width or start + len(line) <= width else f"[\n{_lines(items, width)}]"
    if isinstance(value, ExtractRule):
        return write(told(value))
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{write(k)} = {write(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, str) and "\\" in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(items: Sequence[str], width: int) -> str:
    """The items in lines, each as full as possible; one item per line if any of them is long."""
    lines, alone = [""], any(len(item) > width / 3 for item in items)
    for item in items:
        if lines[-1] and (alone or len(lines[-1]) + len(item) + 2 > width):
            lines.append("")
        lines[-1] += (" " if lines[-1] else "    ") + item + ","
    return "".join(f"{line}\n" for line in lines)
