"""Settings as commented TOML, as JSON, and the difference between two of them.

Invariants: `dumped_settings_load_again`: loads(dump(s)) == s. `settings_survive_json`: from_json(to_json(s)) == s.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from textwrap import wrap
from typing import Any, Final

from gossamer.config.accepted import OF_PRESET, PRESET_VALUE, limits
from gossamer.config.comments import sentences
from gossamer.config.presets import in_force
from gossamer.config.settings import Settings
from gossamer.config.values import KINDS, known, write

WIDTH: Final = 100
_SHORT: Final = 60
"""A default that is longer is not repeated in the comment."""
_MOST: Final = 3
"""Items of a long list that are named as new, and as gone."""
_HEAD: Final = (
    "Settings of a crawl. One that is left out has its default.",
    'Durations are written with ms, s, min, h, d, as in "1min30s"; sizes with B, KB, MB, GB, TB (powers of 1000) or'
    ' KiB, MiB, GiB, TiB (of 1024), as in "400KB". A bare number is seconds, or bytes.',
)


def dump(settings: Settings, whole: bool = False) -> str:
    """TOML that can be fed back: what differs from the defaults, or with `whole` everything."""
    default = Settings()
    lines = list(_comment(_HEAD)) if whole else []
    for section in fields(Settings):
        values, usual = getattr(settings, section.name), getattr(default, section.name)
        shown = [f.name for f in fields(values) if whole or getattr(values, f.name) != getattr(usual, f.name)]
        if not shown:
            continue
        about = sentences()[type(values).__name__]
        lines += ["", *_comment(about[""]), f"[{section.name}]"]
        for name in shown:
            key = f"{section.name}.{name}"
            facts = f"({described(key, getattr(usual, name))}{_by_preset(settings, key)})"
            written = write(getattr(values, name), WIDTH, len(f"{name} = "))
            lines += ["", *_comment((*about[name], facts)), f"{name} = {written}"]
    return "\n".join(lines).lstrip("\n") + "\n" if lines else ""


def described(key: str, default: object) -> str:
    """Kind, what is accepted, and the default if it is short: "duration, 0s to 30d; default 15s"."""
    kind = ", ".join(filter(None, (KINDS[known()[key]], limits(key, known()[key]))))
    text = write(default)
    return f"{kind}; default {text}" if len(text) <= _SHORT else kind


def _by_preset(settings: Settings, key: str) -> str:
    """What a setting is that is left to the preset."""
    manager, name = settings.manager, key.partition(".")[2]
    if key not in OF_PRESET or getattr(manager, name) != PRESET_VALUE:
        return ""
    return f"; by the preset {manager.preset}: {_show(getattr(in_force(manager), name))}"


def _comment(paragraphs: Iterable[str]) -> Iterable[str]:
    for paragraph in paragraphs:
        yield from wrap(paragraph, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def differences(old: Settings, new: Settings) -> list[str]:
    """One line a setting: `harvester.wait: 15s -> 5s`; of long lists and tables what is new and what is gone."""
    return [f"{key}: {_change(a, b)}" for key, a, b in _pairs(old, new) if a != b]


def _change(old: object, new: object) -> str:
    whole = f"{_show(old)} -> {_show(new)}"
    if len(whole) <= WIDTH or not isinstance(old, tuple | dict):
        return whole
    before, after = _items(old), _items(new)
    added, gone = [each for each in after if each not in before], [each for each in before if each not in after]
    return ", ".join(f"{sign} {_some(items)}" for sign, items in (("+", added), ("-", gone)) if items) or "other order"


def _items(value: Any) -> list[str]:
    """Each as it is written."""
    if isinstance(value, tuple):
        return [write((each,))[1:-1] for each in value]
    return [write({key: of})[2:-2] for key, of in value.items()]


def _some(items: list[str]) -> str:
    shown = ", ".join(items[:_MOST])
    return f"{shown} and {len(items) - _MOST} more" if len(items) > _MOST else shown


def _pairs(old: Settings, new: Settings) -> list[tuple[str, Any, Any]]:
    return [
        (f"{s.name}.{f.name}", getattr(getattr(old, s.name), f.name), getattr(getattr(new, s.name), f.name))
        for s in fields(Settings)
        for f in fields(getattr(old, s.name))
    ]


def _show(value: object) -> str:
    return write(value).strip('"') if isinstance(value, float | int) else write(value)


def to_json(settings: Settings, indent: int | None = None) -> str:
    """Durations as seconds, sizes as bytes."""
    return json.dumps(asdict(settings), indent=indent)
