"""Reading what more than one verb takes."""

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
    try:
        return Duration.parse(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from error


def speed_of(option: str, text: str | None) -> float:
    """Bytes a second, from "2MB/s"; without one there is no limit."""
    if text is None:
        return math.inf
    try:
        speed = Size.parse(text.strip().removesuffix("/s"))
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}", "Write a speed as in 2MB/s.") from error
    if not speed:
        raise UsageError(f"{option} {text}: nothing would ever arrive", "Write a speed as in 2MB/s.")
    return float(speed)


def note_kernels(stream: TextIO) -> None:
    """Says why nothing happens for a while, if the kernels are not compiled yet."""
    from gossamer.base.compiled import KEPT

    if not KEPT.exists():
        print("compiling the kernels, once: a minute or more (`make install` does it beforehand)", file=stream)


def strategies_of(names: Sequence[str]) -> list[str]:
    """Each once, in the order given; an unknown one is an error that lists the known ones and names the nearest."""
    from gossamer.manager.strategies import strategy_named

    return list(dict.fromkeys(strategy_named(name).name for name in names))


def pages_of(option: str, path: Path, pages: int) -> npt.NDArray[np.uint32]:
    """Page numbers from a file, one a line; empty lines and those that begin with # are left out."""
    import numpy as np

    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{option} {path}: cannot be read: {error}", "Name a text file of page numbers.") from error
    found = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if text:
            if not (text.isascii() and text.isdigit() and int(text) < pages):
                raise UsageError(
                    f"{option} {path}, line {number}: {text!r} is no page of the graph",
                    f"Write a number from 0 to {pages - 1} on each line.",
                )
            found.append(int(text))
    if not found:
        raise UsageError(f"{option} {path}: there is no page number in it", "Write one on each line.")
    return np.array(list(dict.fromkeys(found)), np.uint32)
