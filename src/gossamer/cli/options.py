"""Reading what more than one verb takes."""

from __future__ import annotations

from gossamer.errors import UsageError
from gossamer.units import Duration


def time_of(option: str, text: str) -> float:
    try:
        return Duration.parse(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from error
