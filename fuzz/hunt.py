"""The hunt: mutate an input, try it, keep it if it reached a new line, report it if it broke something.

Deterministic by target, seed and number of inputs, as far as the target is. An input breaks something if its check
raises, if it takes more CPU time than the target allows (twice in a row, the second time alone), or if peak memory
exceeds that of the seeds by more than the target allows.
"""

from __future__ import annotations

import hashlib
import resource
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from random import Random
from typing import Final

from fuzz.lines import Lines
from fuzz.mutate import mutated
from fuzz.target import Target

_SHRINKING: Final = 5.0
"""Seconds for shortening an input that breaks something."""
_TRACED: Final = 0.5
"""Share of inputs whose lines are recorded. The others take a quarter of the time, and break things just as well."""
_SHORTER: Final = 0.5
"""Share of parents that are the shorter one of two."""


class TooSlowError(Exception):
    pass


class TooMuchMemoryError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that breaks something."""

    data: bytes
    key: str
    """The same for inputs that break the same thing."""
    told: str


class Hunt:
    """Mutates and tries the inputs of one target."""

    def __init__(self, target: Target, seed: int, trying: Callable[[bytes], None] = lambda data: None) -> None:
        """`trying` is called with each input before it is tried."""
        self._target = target
        self._dice = Random(seed)
        self._lines = Lines(target.parts)
        self._trying = trying
        self._kept: list[bytes] = []
        self.findings: dict[str, Failure] = {}
        self.tried = 0
        for data in target.seeds():
            self._try(data, None)
            self._kept.append(data)
        self._most = peak() + (target.megabytes << 20)

    @property
    def reached(self) -> int:
        """Number of lines reached."""
        return len(self._lines.seen)

    def once(self) -> Failure | None:
        """Tries one more input; returns what it broke, unless that broke before."""
        dice, kept = self._dice, self._kept
        data = mutated(dice, self._parent(), self._target.words, dice.choice(kept), self._target.longest)
        found = self._try(data, self._most, dice.random() < _TRACED)
        if found is None and self._lines.fresh():
            self._kept.append(data)
        if found is None or found.key in self.findings:
            return None
        self.findings[found.key] = shorter = self._shortened(found)
        return shorter

    def _parent(self) -> bytes:
        """What is mutated: a kept input, rather a short one, as a long one takes the time of many."""
        one, other = self._dice.choice(self._kept), self._dice.choice(self._kept)
        return min(one, other, key=len) if self._dice.random() < _SHORTER else one

    def _try(self, data: bytes, most: int | None, traced: bool = True) -> Failure | None:
        self.tried += 1
        self._trying(data)
        with self._lines if traced else nullcontext():
            found = tried(self._target, data, most)
        if found is not None and found.key == TooSlowError.__name__:
            found = tried(self._target, data, most)
        if found is not None and found.key == TooMuchMemoryError.__name__:
            self._most = peak() + (self._target.megabytes << 20)
        return found

    def _shortened(self, found: Failure) -> Failure:
        """Leaves out halves, quarters, … as long as the same thing breaks."""
        end, size = time.monotonic() + _SHRINKING, len(found.data) // 2
        while size and time.monotonic() < end and found.key not in _BY_AMOUNT:
            at = 0
            while at < len(found.data) and time.monotonic() < end:
                data = found.data[:at] + found.data[at + size :]
                self._trying(data)
                again = tried(self._target, data, self._most)
                if again is not None and again.key == found.key:
                    found = again
                else:
                    at += size
            size //= 2
        return found


_BY_AMOUNT: Final = (TooSlowError.__name__, TooMuchMemoryError.__name__)


def tried(target: Target, data: bytes, most: int | None = None) -> Failure | None:
    """What an input breaks, or None. `most`: bytes of peak memory allowed."""
    start = time.process_time()
    try:
        target.check(data)
        took = time.process_time() - start
        if took > target.seconds:
            raise TooSlowError(f"{took:.1f} s of CPU time")
        if most is not None and peak() > most:
            raise TooMuchMemoryError(f"a peak of {peak() >> 20} MB")
    except Exception as error:
        return Failure(data, _key(error), "".join(traceback.format_exception(error)))
    return None


def _key(error: Exception) -> str:
    if type(error).__name__ in _BY_AMOUNT:
        return type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    places = "".join(f"{frame.filename}:{frame.lineno}" for frame in frames[1:])
    return f"{type(error).__name__}-{hashlib.sha256(places.encode()).hexdigest()[:8]}"


def peak() -> int:
    """Peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
