"""Parses options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gossamer.base.errors import UsageError
from gossamer.base.units import Duration, Size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def time_of(option: str, text: str) -> float:
    """Seconds, from a text like "1min30s"."""
    try:
        return Duration.parse(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from error


def speed_of(option: str, text: str | None) -> float:
    """Bytes per second, from a text like "2MB/s"; without a text there is no limit."""
    if text is None:
        return math.inf
    try:
        speed = Size.parse(text.strip().removesuffix("/s"))
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}", "Write a speed like 2MB/s.") from error
    if not speed:
        raise UsageError(f"{option} {text}: nothing would ever arrive", "Write a speed like 2MB/s.")
    return float(speed)


def rate_of(option: str, text: str) -> float:
    """Per second, from a text like "2/s", "100/min" or "5000/d"."""
    number, slash, unit = text.partition("/")
    try:
        rate = float(number) / Duration.parse(f"1{unit.strip()}") if slash and unit.strip().isalpha() else math.nan
    except ValueError:
        rate = math.nan
    if not 0 < rate < math.inf:
        raise UsageError(
            f"{option} {text}: not a number of requests in some time", "Write it like 2/s, 100/min or 5000/d."
        )
    return rate


def compile_kernels(stream: TextIO) -> None:
    """Compiles the kernels of link scores and of the laboratory, if they are not compiled yet, and says so."""
    from gossamer.base.compiled import LABORATORY, SCORES
    from gossamer.base.compiling import compile_ahead
    from gossamer.cli.progress import Progress

    with Progress(stream) as progress:
        for group in (SCORES, LABORATORY):
            compile_ahead(group, progress.doing, progress.say)


def strategies_of(names: Sequence[str]) -> list[str]:
    """The strategies of these names, each once, in the order given. An unknown name is an error, which lists the known
    strategies and suggests the nearest."""
    from gossamer.manager.strategies import strategy_named

    return list(dict.fromkeys(strategy_named(name).name for name in names))


def pages_of(option: str, path: Path, pages: int) -> npt.NDArray[np.uint32]:
    """Page numbers from a file with one per line. Empty lines and comments, which begin with #, are ignored."""
    import numpy as np

    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{option} {path}: cannot be read: {error}", "Name a text file of page numbers.") from error
    numbers = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if text:
            if not (text.isascii() and text.isdigit() and int(text) < pages):
                raise UsageError(
                    f"{option} {path}, line {number}: {text!r} is not a page of the graph",
                    f"Write a number from 0 to {pages - 1} on each line.",
                )
            numbers.append(int(text))
    if not numbers:
        raise UsageError(f"{option} {path}: the file contains no page number", "Write one per line.")
    return np.array(list(dict.fromkeys(numbers)), np.uint32)
