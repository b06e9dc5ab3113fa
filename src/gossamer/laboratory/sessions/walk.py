"""Surfers who walk: simulates a model, click by click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64, I64
from gossamer.base.compiled import i64, njit
from gossamer.rank.surfers import Surfer

LEVELS: Final = 2_000
LONGEST: Final = 10_000
_TWO_53: Final = np.float64(1 / 9007199254740992)
_ELEVEN: Final = np.uint64(11)


class Walked(NamedTuple):
    """What a simulation found."""

    levels: F64
    """Share of the visits, by level."""
    lengths: F64
    """Share of the sessions by their number of visits; 0 first."""
    length: float
    """Mean number of visits of a session."""


def walk(model: Surfer, values: Sequence[float], steps: int, seed: int = 1) -> Walked:
    """Simulates one surfer after the other for so many visits in all. A session ends at the return to level 0."""
    visits, lengths = np.zeros(LEVELS, np.int64), np.zeros(LONGEST + 1, np.int64)
    onward = model.onward(values, LEVELS)
    sessions = _walk(onward, int(model.back), steps, np.uint64(2 * seed + 1), visits, lengths)
    return Walked(visits / visits.sum(), lengths / max(1, lengths.sum()), float(visits.sum() / max(1, sessions)))


@njit
def _random(state: np.uint64) -> np.uint64:
    """The next state of a xorshift generator (Marsaglia 2003)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@njit
def _walk(onward: F64, back: int, steps: int, state: np.uint64, visits: I64, lengths: I64) -> int:
    level, length, sessions = i64(0), i64(0), i64(0)
    for _ in range(64):
        state = _random(state)
    for _ in range(steps):
        visits[level] += 1
        length += 1
        state = _random(state)
        if np.float64(state >> _ELEVEN) * _TWO_53 < onward[level] and level + 1 < len(onward):
            level += 1
            continue
        if back == 0:
            level = max(level - 1, 0)
        elif back == 1:
            level = 0
        else:
            state = _random(state)
            level = i64(np.float64(state >> _ELEVEN) * _TWO_53 * (level + 1))
        if level == 0:
            lengths[min(length, len(lengths) - 1)] += 1
            length = 0
            sessions += 1
    return sessions
