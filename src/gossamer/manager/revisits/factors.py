"""Factors on believed rates, learned from visits: by comparing how many changes they predict with those found."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64, Array
from gossamer.manager.revisits.policies import chance
from gossamer.manager.revisits.rates import Belief

_DOUBT: Final = 30.0
"""Weight of the assumption that a factor is 1: that many visits whose outcome depends on the rate entirely."""
_MEMORY: Final = 3000.0
"""Weight at which older visits begin to be forgotten."""
_MOST: Final = 2.0
"""Maximum of the logarithm of a factor: a factor is seven at most."""
_STEP: Final = 0.1


def learn(
    logs: F64, weights: F64, used: F64, of: Array, belief: Belief, seconds: F64, told: Array, changed: Array
) -> None:
    """Takes what visits found of pages; each has the factor `of`. `logs` and `weights`, which are updated, are the
    logarithms of the factors and how much was learned of each. `belief` is corrected by `used`, and `told` the
    probability of a change that was believed in."""
    whole = Belief(belief.mean + (logs - used)[of].astype(np.float32), belief.spread)
    said = chance(whole, seconds)
    slope = (chance(Belief(whole.mean + np.float32(_STEP), whole.spread), seconds) - said) / _STEP
    missed = np.bincount(of, changed - np.clip(told + said - chance(belief, seconds), 0, 1), len(logs))
    weights[:] = np.minimum(weights + np.bincount(of, slope, len(logs)), _MEMORY)
    logs[:] = np.clip(logs + missed / (weights + _DOUBT), -_MOST, _MOST)
