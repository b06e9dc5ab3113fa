"""Durations, sizes and speeds: people write them with units, the code uses them as numbers.

A `Duration` is a float of seconds, a `Size` an int of bytes and a `Speed` an int of bytes per second, so arithmetic and
arrays accept them directly. `parse(str(x)) == x` for every finite duration and size that is not negative.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, Self

_SECONDS: Final = {"ms": Decimal("0.001"), "s": Decimal(1), "min": Decimal(60), "h": Decimal(3600), "d": Decimal(86400)}
# fmt: off
_BYTES: Final = {
    "B": Decimal(1),
    "KB": Decimal(10**3), "MB": Decimal(10**6), "GB": Decimal(10**9), "TB": Decimal(10**12),
    "KiB": Decimal(2**10), "MiB": Decimal(2**20), "GiB": Decimal(2**30), "TiB": Decimal(2**40),
}
# fmt: on
_BYTES_BY_LOWER: Final = {name.lower(): value for name, value in _BYTES.items()}

_DIGITS: Final = r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*"
_NUMBER: Final = re.compile(_DIGITS)
_PART: Final = re.compile(_DIGITS + "([A-Za-z]+)")


class Duration(float):
    """Seconds."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: str | float) -> Self:
        """From "15s", "1min30s", or a number (seconds); ValueError says what is accepted."""
        if isinstance(value, str):
            total = _sum_of_parts(value, _SECONDS)
            seconds = math.nan if total is None else float(total)
        else:
            seconds = float(value)
        if isinstance(value, bool) or not 0 <= seconds < math.inf:
            raise ValueError(
                f"{value!r} is not a duration: write a number and a unit (ms, s, min, h, d), for example 1min30s"
            )
        return cls(seconds)

    def __str__(self) -> str:
        """The shortest form that parses back."""
        if not math.isfinite(self):
            return float.__repr__(self)
        return _shortest(Decimal(float.__repr__(self)), _SECONDS, "s")


class Size(int):
    """Bytes. KB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB of 1024."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: str | int) -> Self:
        """From "400KB", "1.5MiB", or a number (bytes); ValueError says what is accepted."""
        if isinstance(value, str):
            total = _sum_of_parts(value.lower(), _BYTES_BY_LOWER)
        else:
            total = Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else None
        if total is None or total < 0 or total != int(total):
            raise ValueError(
                f"{value!r} is not a size: write a whole number of bytes, or a number and a unit: "
                "B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024), for example 400KB"
            )
        return cls(int(total))

    def __str__(self) -> str:
        return _shortest(Decimal(int(self)), _BYTES, "B")


class Speed(Size):
    """Bytes per second; 0 means no limit."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: str | int) -> Self:
        """From "2MB/s", or a number (bytes per second); ValueError says what is accepted."""
        try:
            return cls(Size.parse(value.strip().removesuffix("/s") if isinstance(value, str) else value))
        except ValueError:
            raise ValueError(
                f"{value!r} is not a speed: write bytes per second with a unit (KB, MB, GB, KiB, MiB, GiB), for example"
                " 2MB/s; a byte has 8 bits, so 16 Mbit/s are 2MB/s"
            ) from None

    def __str__(self) -> str:
        return f"{super().__str__()}/s"


def _sum_of_parts(text: str, units: Mapping[str, Decimal]) -> Decimal | None:
    """The sum of all pairs of a number and a unit, or a single number without one; None for anything else."""
    bare = _NUMBER.fullmatch(text)
    if bare:
        return Decimal(bare[1])
    total, at = Decimal(0), 0
    while part := _PART.match(text, at):
        if part[2] not in units:
            return None
        total += Decimal(part[1]) * units[part[2]]
        at = part.end()
    return total if at and not text[at:].strip() else None


def _shortest(number: Decimal, units: Mapping[str, Decimal], plain: str) -> str:
    """The number in the unit that needs the fewest characters (a point counts twice); of several such units, the
    largest."""
    if not number:
        return f"0{plain}"
    best = f"{number.normalize():f}{plain}"
    for name, unit in units.items():
        amount = (number / unit).normalize()
        text = f"{amount:f}{name}"
        if len(text) + ("." in text) <= len(best) + ("." in best) and amount * unit == number:
            best = text
    return best


def thousands(n: int) -> str:
    """1234567 as 1,234,567."""
    return f"{n:,}"


def plural(n: int, one: str, many: str = "") -> str:
    """1 page, 2,000 pages; `many` is the plural if it is not `one` with an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def human_size(n: float) -> str:
    """Three significant digits for a progress line: 0 B, 999 B, 1.23 KB, 45.6 MB, 789 GB."""
    for unit in ("B", "KB", "MB", "GB"):
        if n < 999.5:
            return f"{n:.0f} {unit}" if unit == "B" or n >= 99.95 else f"{n:.{2 if n < 9.995 else 1}f} {unit}"
        n /= 1000
    return f"{n:.{2 if n < 9.995 else 1}f} TB"


def human_time(seconds: float) -> str:
    """The two largest units for a progress line: 0.25 s, 12.3 s, 2 min 05 s, 3 h 07 min, 2 d 04 h."""
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 0.995 else f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {second:02d} s"
    hours, minute = divmod(round(seconds / 60), 60)
    if hours < 24:
        return f"{hours} h {minute:02d} min"
    days, hour = divmod(round(seconds / 3600), 24)
    return f"{days} d {hour:02d} h"
