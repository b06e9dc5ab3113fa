"""Measured figures and their bounds: a missed bound ends the benchmark with a nonzero exit code."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: float
    unit: str
    bound: float
    at_least: bool = False
    """Whether the bound is a minimum, not a maximum."""
    aside: str = ""

    @property
    def is_good(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        which = "at least" if self.at_least else "at most"
        said = f"{self.name:<44}{self.value:>10,.4g} {self.unit} (bound: {which} {self.bound:,.4g})"
        return said + (f"; {self.aside}" if self.aside else "") + ("" if self.is_good else "  MISSED")


def judge(figures: Iterable[Figure], file: TextIO | None = None) -> None:
    """Prints all figures, by default to standard output; then ends the program if a bound is missed."""
    missed = []
    for figure in figures:
        print(figure, file=file, flush=True)
        if not figure.is_good:
            missed.append(figure.name)
    if missed:
        raise SystemExit(f"missed: {', '.join(missed)}{_busy()}")


def _busy() -> str:
    """A note for a machine with other load, on which elapsed times are not those of an idle machine."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    return f" (with a load of {load:.1f} on {cores} processors)" if load > cores else ""
