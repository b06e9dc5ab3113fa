"""How long a site is left in peace after an answer. What slows it and what ends it is said in `outcomes.TREATMENTS`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.compiled import njit
from gossamer.outcomes import LONGEST_PAUSE, TREATMENTS, Aside, Outcome

Array = npt.NDArray[Any]

_SLOWS: Final = np.array([TREATMENTS[outcome].slows for outcome in Outcome])
_ENDS: Final = np.array([TREATMENTS[outcome].ends for outcome in Outcome])
_RETURNED: Final = int(Outcome.RETURNED)
_ASKED, _FAILING, _NO_WHY = int(Aside.ASKED_TO_WAIT), int(Aside.FAILING), int(Aside.NONE)


def pause_after(outcome: Outcome, wait: float, failures: int, retry: float) -> float:
    """Seconds, as `clocks` has it, after the `failures`-th failure in a row."""
    treatment = TREATMENTS[outcome]
    if not treatment.slows:
        return wait
    pause = max(1.0, wait) * 2.0 ** min(failures, 16)
    return max(pause, retry) if treatment.ends and failures >= treatment.ends else pause


@njit
def clocks(
    sites: Array, outcome: Array, time: Array, retry_after: Array, wait: Array, answered: Array, retry: float,
    next_: Array, asked: Array, failures: Array, why: Array,
) -> None:  # fmt: skip
    """After these visits, in order: when each site may be asked again (`next_`), and why not sooner."""
    for i in range(len(sites)):
        site, of = sites[i], outcome[i]
        pause, reason = float(wait[i]), _NO_WHY
        if of != _RETURNED:
            asked[site] += 1
            if _SLOWS[of]:
                failures[site] = min(failures[site] + 1, 16)
                pause, reason = max(1.0, pause) * 2.0 ** failures[site], _FAILING
                if _ENDS[of] and failures[site] >= _ENDS[of]:
                    pause = max(pause, retry)
            elif answered[i]:
                failures[site] = 0
            if retry_after[i] >= pause:
                pause, reason = float(retry_after[i]), _ASKED
        until = time[i] + min(pause, LONGEST_PAUSE)
        if until >= next_[site]:
            next_[site] = until
            why[site] = reason

