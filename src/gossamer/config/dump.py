"""Writes settings as commented TOML, as JSON or as Markdown, and lists the differences between two sets of settings.

Their documentation is taken from the source of `settings.py` (`sentences`): written once, shown everywhere.

Invariants: `dumped_settings_load_again`: loads(dump(s)) == s. `settings_survive_json`: from_json(to_json(s)) == s.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from functools import cache
from textwrap import wrap
from types import ModuleType
from typing import Any, Final

from gossamer.config import settings as source
from gossamer.config.accepted import OF_PRESET, PRESET_VALUE
from gossamer.config.presets import PACES, in_force, paced
from gossamer.config.rules import RULES, write_rules
from gossamer.config.settings import Settings
from gossamer.config.values import accepted, write

WIDTH: Final = 100
_SHORT: Final = 60
"""Maximum length of a default that is repeated in the comment, in characters."""
_SHORT_IN_TABLE: Final = 40
"""The same for the table in docs/reference.md. Longer defaults follow below the table."""
_MOST: Final = 3
"""Maximum number of items of a long list that are named as added, and as removed."""
_HEAD: Final = (
    "Settings of a crawl. A setting that is left out has its default.",
    'Durations are written with ms, s, min, h, d, as in "1min30s"; sizes with B, KB, MB, GB, TB (powers of 1000) or'
    ' KiB, MiB, GiB, TiB (powers of 1024), as in "400KB". A number without a unit means seconds, or bytes.',
)


def dump(settings: Settings, whole: bool = False) -> str:
    """The settings as TOML that can be loaded again: the changes from the defaults or, with `whole`, everything."""
    default = Settings()
    waits = replace(paced(default.harvester, settings.harvester.pace), pace=default.harvester.pace)
    left_out = replace(default, harvester=waits)
    lines = list(_comment(_HEAD)) if whole else []
    for section in fields(Settings):
        values, usual = getattr(settings, section.name), getattr(left_out, section.name)
        shown = [f.name for f in fields(values) if whole or getattr(values, f.name) != getattr(usual, f.name)]
        shown = [name for name in shown if name != RULES]
        if not shown:
            continue
        about = sentences()[type(values).__name__]
        lines += ["", *_comment(about[""]), f"[{section.name}]"]
        for name in shown:
            key = f"{section.name}.{name}"
            usually = getattr(getattr(default, section.name), name)
            facts = f"({described(key, usually)}{_by_preset(settings, key)})"
            written = write(getattr(values, name), WIDTH, len(f"{name} = "))
            lines += ["", *_comment((*about[name], facts)), f"{name} = {written}"]
    if whole:
        about = sentences()["ExtractRule"]
        lines += ["", *_comment(about[""])]
        lines += [line for name, said in about.items() if name for line in _comment((f"{name}: {' '.join(said)}",))]
    for name, value in write_rules(settings.plugins.extract):
        lines += [f"{name} = {write(value)}"] if name else ["", "[[extract]]"]
    return "\n".join(lines).lstrip("\n") + "\n" if lines else ""


def described(key: str, default: object) -> str:
    """Type, accepted values and, if it is short, the default: "duration, 0s to 30d; default 15s"."""
    text = write(default)
    return f"{accepted(key)}; default {text}" if len(text) <= _SHORT else accepted(key)


def _by_preset(settings: Settings, key: str) -> str:
    """The value that the preset or the pace gives to a setting; "" if neither determines it."""
    manager, pace, name = settings.manager, settings.harvester.pace, key.partition(".")[2]
    if key.startswith("harvester.") and pace != Settings().harvester.pace and name in PACES[pace]:
        return f"; at the pace {pace}: {_show(PACES[pace][name])}"
    if key not in OF_PRESET or getattr(manager, name) != PRESET_VALUE:
        return ""
    return f"; by the preset {manager.preset}: {_show(getattr(in_force(manager), name))}"


def _comment(paragraphs: Iterable[str]) -> Iterable[str]:
    for paragraph in paragraphs:
        yield from wrap(paragraph, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def differences(old: Settings, new: Settings) -> list[str]:
    """One line per changed setting: `harvester.wait: 15s -> 5s`; for long lists and tables, added and removed items."""
    found = []
    for section in fields(Settings):
        before, after = getattr(old, section.name), getattr(new, section.name)
        for name in (f.name for f in fields(before) if getattr(before, f.name) != getattr(after, f.name)):
            found.append(f"{section.name}.{name}: {_change(getattr(before, name), getattr(after, name))}")
    return found


def _change(old: object, new: object) -> str:
    whole = f"{_show(old)} -> {_show(new)}"
    if len(whole) <= WIDTH or not isinstance(old, tuple | dict):
        return whole
    before, after = _items(old), _items(new)
    added, removed = [item for item in after if item not in before], [item for item in before if item not in after]
    changed = (f"{sign} {_some(items)}" for sign, items in (("+", added), ("-", removed)) if items)
    return ", ".join(changed) or "other order"


def _items(value: Any) -> list[str]:
    """Each item of a list or table, as TOML."""
    if isinstance(value, tuple):
        return [write((each,))[1:-1] for each in value]
    return [write({key: of})[2:-2] for key, of in value.items()]


def _some(items: list[str]) -> str:
    shown = ", ".join(items[:_MOST])
    return f"{shown} and {len(items) - _MOST} more" if len(items) > _MOST else shown


def _show(value: object) -> str:
    return write(value).strip('"') if isinstance(value, float | int) else write(value)


def to_json(settings: Settings, indent: int | None = None) -> str:
    """The settings as JSON: durations in seconds, sizes in bytes."""
    return json.dumps(asdict(settings), indent=indent)


def reference() -> str:
    """For each section: a heading, its introduction, a table of its settings, and the long defaults."""
    return "\n".join(_section(each.name, getattr(Settings(), each.name)) for each in fields(Settings))


def _section(section: str, values: object) -> str:
    about = sentences()[type(values).__name__]
    lines = [f"## [{section}]", "", "\n\n".join(about[""]), "", "| setting | default | accepted | meaning |"]
    lines.append("|---|---|---|---|")
    long = []
    for name, sentence in about.items():
        if not name:
            continue
        key, default = f"{section}.{name}", write(getattr(values, name))
        if len(default) > _SHORT_IN_TABLE:
            long.append(f"{name} = {write(getattr(values, name), WIDTH, len(name) + 3)}")
        shown = f"`{_cell(default)}`" if len(default) <= _SHORT_IN_TABLE else "see below"
        lines.append(f"| `{name}` | {shown} | {_cell(accepted(key))} | {_cell(' '.join(sentence))} |")
    if long:
        lines += ["", "Long defaults:", "", "```toml", *long, "```"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


@cache
def sentences(module: ModuleType = source) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """For each class of a module: the paragraphs of each field, by name; "" is the class itself."""
    return {
        node.name: {"": _paragraphs(ast.get_docstring(node) or ""), **_fields(node)}
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ClassDef)
    }


def _fields(node: ast.ClassDef) -> dict[str, tuple[str, ...]]:
    """The string literal below a field documents the field."""
    return {
        field.target.id: _paragraphs(ast.literal_eval(text.value))
        for field, text in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr)
    }


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(each.split()) for each in text.split("\n\n"))
