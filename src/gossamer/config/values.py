"""What each setting accepts: its type from the field, its range from the table below; and how it is written in TOML."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final, get_type_hints

from gossamer.config.settings import Settings
from gossamer.units import Duration, Size

_ANY: Final = (0.0, math.inf)
_RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "collection.max_pages": (1, 2**32 - 2),
    "collection.max_sites": (1, 2**32 - 2),
    "collection.seal_visits": (1, math.inf),
    "collection.seal_every": (1, math.inf),
    "collection.warc_size": (1_000_000, 2**63 - 1),
    "seeder.pages_per_site": (1, math.inf),
    "seeder.depth_static": (0, 254),
    "seeder.depth_dynamic": (0, 254),
    "seeder.url_length": (16, 65_535),
    "manager.batch_size": (1, 2**32 - 2),
    "manager.batch_per_site": (1, 2**32 - 2),
    "harvester.workers": (0, 1024),
    "harvester.connections": (1, 100_000),
    "harvester.per_turn": (1, 65_535),
    "harvester.name_timeout": (0.001, math.inf),
    "harvester.connect_timeout": (0.001, math.inf),
    "harvester.first_byte_timeout": (0.001, math.inf),
    "harvester.whole_timeout": (0.001, math.inf),
    "harvester.slow_time": (1, math.inf),
    "harvester.max_download": (1, 2**31 - 1),
    "harvester.tries": (1, 255),
    "gatherer.max_decoded": (1, 2**31 - 1),
    "gatherer.max_links": (0, 65_535),
}
"""Lowest and highest; numbers that are not here may be anything from 0 on."""


@cache
def known() -> Mapping[str, Any]:
    """Every key, as "section.name", in the order of the settings, with the type of its field."""
    sections = get_type_hints(Settings)
    types = {name: get_type_hints(kind) for name, kind in sections.items()}
    return {f"{s}.{f.name}": types[s][f.name] for s, kind in sections.items() for f in fields(kind)}


def read(key: str, raw: object) -> Any:
    """The value of a known key; ValueError says what is accepted instead."""
    kind = known()[key]
    if kind in _READERS:
        value = _READERS[kind](raw)
    elif kind == tuple[str, ...]:
        value = _texts(raw)
    else:
        value = _text_to_text(raw)
    low, high = _RANGES.get(key, _ANY)
    if isinstance(value, int | float) and not low <= value <= high:
        shown = str if not isinstance(value, Size | Duration) else lambda limit: str(type(value)(limit))
        wanted = (
            f"from {shown(_plain(low))} on" if high == math.inf else f"{shown(_plain(low))} to {shown(_plain(high))}"
        )
        raise ValueError(f"{value} is out of range: {wanted} is accepted")
    return value


def _plain(limit: float) -> float:
    return int(limit) if limit == int(limit) else limit


def _whole(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise ValueError(f"{raw!r} is no whole number: write digits only, as in 25_000")
    return raw


def _truth(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise ValueError(f"{raw!r} is neither true nor false")
    return raw


def _text(raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError(f"{raw!r} is no text: write it in quotes")
    return raw


def _texts(raw: object) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(each, str) for each in raw):
        raise ValueError(f'{raw!r} is no list of texts: write ["one", "two"]')
    return tuple(raw)


def _text_to_text(raw: object) -> dict[str, str]:
    if not isinstance(raw, dict) or not all(isinstance(each, str) for each in raw.values()):
        raise ValueError(f'{raw!r} is no table of texts: write {{ "*.example" = "127.0.0.1:8080" }}')
    return dict(raw)


def _duration(raw: object) -> Duration:
    return Duration.parse(raw if isinstance(raw, str | int | float) else str(raw))


def _size(raw: object) -> Size:
    return Size.parse(raw if isinstance(raw, str | int) else str(raw))


_READERS: Final[Mapping[Any, Callable[[object], Any]]] = {
    int: _whole, bool: _truth, str: _text, Duration: _duration, Size: _size,
}  # fmt: skip


def write(value: object) -> str:
    """In TOML. A JSON string is a TOML string, but for DEL, which TOML wants escaped."""
    if isinstance(value, Duration | Size):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(write, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{write(k)} = {write(v)}" for k, v in value.items()) + " }" if value else "{}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
