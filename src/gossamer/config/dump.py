"""Settings as commented TOML, as JSON for a worker, and the difference between two of them.

Invariants: `dumped_settings_load_again`: loads(dump(s)) == s. `settings_survive_json`: from_json(to_json(s)) == s.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import Any

from gossamer.config import settings as module
from gossamer.config.settings import Settings
from gossamer.config.values import write


def dump(settings: Settings, whole: bool = False) -> str:
    """TOML that can be fed back: what differs from the defaults, or with `whole` everything."""
    default, lines = Settings(), list[str]()
    for section in fields(Settings):
        values, usual = getattr(settings, section.name), getattr(default, section.name)
        shown = [f.name for f in fields(values) if whole or getattr(values, f.name) != getattr(usual, f.name)]
        if not shown:
            continue
        about = _comments()[type(values).__name__]
        if lines:
            lines.append("")
        lines += [f"# {about['']}", f"[{section.name}]"]
        for name in shown:
            lines += [f"# {about[name]}", f"{name} = {write(getattr(values, name))}"]
    return "\n".join(lines) + "\n" if lines else ""


def differences(old: Settings, new: Settings) -> list[str]:
    """One line a setting: `harvester.wait: 15s -> 5s`."""
    return [f"{key}: {_show(a)} -> {_show(b)}" for key, a, b in _pairs(old, new) if a != b]


def _pairs(old: Settings, new: Settings) -> list[tuple[str, Any, Any]]:
    return [
        (f"{s.name}.{f.name}", getattr(getattr(old, s.name), f.name), getattr(getattr(new, s.name), f.name))
        for s in fields(Settings)
        for f in fields(getattr(old, s.name))
    ]


def _show(value: object) -> str:
    return write(value).strip('"') if isinstance(value, float | int) else write(value)


def to_json(settings: Settings) -> str:
    """Durations as seconds, sizes as bytes."""
    return json.dumps(asdict(settings))


@cache
def _comments() -> Mapping[str, Mapping[str, str]]:
    """Class to field to the sentence below it in the source ("": the class's own): written once, shown everywhere."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            texts = found[node.name] = {"": _folded(ast.get_docstring(node) or "")}
            for field, text in zip(node.body, node.body[1:], strict=False):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(text, ast.Expr)
                ):
                    texts[field.target.id] = _folded(ast.literal_eval(text.value))
    return found


def _folded(text: str) -> str:
    return " ".join(text.split())
