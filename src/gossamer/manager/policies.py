"""The policies, and the cash that pages hand on.

A policy is a row of `POLICIES` and a branch, by its code, in the functions below and in `profit.score`. They are
compiled into the kernels of `plan` and `learn`: module-level functions chosen by a number, because numba's disk cache
misses functions that are passed as arguments or made by closures.

    seen         pages became known
    crawled      a page ended in its final outcome

**Cash** (OPIC; Abiteboul, Preda and Cobena 2003; thesis 4.3; read as ERRATA.md says). Every seed gets `SEED_CASH`,
other pages start at nothing. A page that is crawled gives an equal share to each of its links, counted ones included;
what goes to pages already fetched or not known, and the remainder of the division, is lost. A page without links, or
that failed for good, spends its cash. A redirect hands all of it on. What a page held when it was crawled stays in its
cell, marked as given away (`GIVEN`): it is what the page is worth from then on, and fetching it again moves nothing.
Cash is whole numbers, so that

    kept + spent + lost == total     always, kept being all cash that is not marked

and a replay of the journal comes to the same bit. Only ratios of cash matter, so a fixed amount for each seed equals
the thesis' cash of 1 shared by all, and needs no knowledge of the seeds to come. A million seeds fit in the total; more
get nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.compiled import njit
from gossamer.errors import UsageError
from gossamer.manager.value import BREADTH_FIRST, CODES, GIVEN, REVISITED
from gossamer.model import LinkKind, Outcome, State

Array = npt.NDArray[Any]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

SEED_CASH: Final = 2**43

KEPT: Final = 0
SPENT: Final = 1
LOST: Final = 2
TOTAL: Final = 3

_DONE: Final = int(State.DONE)
_REDIRECTED: Final = int(Outcome.REDIRECT)
_REDIRECT: Final = int(LinkKind.REDIRECT)
_FAILED: Final = np.array([o not in REVISITED for o in Outcome])
_GIVEN: Final = np.uint64(GIVEN)


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    code: int
    columns: tuple[str, ...]
    """Columns of pages that it reads or writes, beyond those that every plan reads."""
    sentence: str
    source: str


POLICIES: Final = {
    policy.name: policy
    for policy in (
        Policy(
            "value", CODES["value"], ("cash", "merit", "boost", "depth", "outcome"),
            "Pages whose fetch adds most to the value of the index first: by quality, and by age if fetched before.",
            "thesis 3.4, 7.2.1",
        ),
        Policy(
            "opic", CODES["opic"], ("cash",),
            "Pages with the most cash first: pages hand theirs on to those that they link to.",
            "thesis 4.3.2; Abiteboul, Preda and Cobena 2003",
        ),
        Policy(
            "breadth-first", CODES["breadth-first"], ("depth",),
            "Pages fewer clicks from their site's start page first, then in the order of discovery.",
            "thesis 4.3.2; Najork and Wiener 2001",
        ),
    )
}  # fmt: skip


def policy_named(name: str) -> Policy:
    try:
        return POLICIES[name]
    except KeyError:
        raise UsageError(f"no policy is called {name!r}", f"manager.policy is one of: {', '.join(POLICIES)}.") from None


def new_totals() -> I64:
    """Cash kept, spent, lost, and in total."""
    return np.zeros(4, np.int64)


@njit
def seen(code: int, cash: U64, totals: I64, page: int, is_seed: bool) -> None:
    if code != BREADTH_FIRST and is_seed and totals[TOTAL] <= np.int64(2**63 - 1 - SEED_CASH):
        cash[page] += np.uint64(SEED_CASH)
        totals[KEPT] += SEED_CASH
        totals[TOTAL] += SEED_CASH


@njit
def crawled(
    code: int, state: U8, cash: U64, totals: I64, page: int, outcome: int, out_degree: int, targets: U32, kinds: U8
) -> None:
    """`page` ended in `outcome`; it is DONE already, so what it gives to itself is lost."""
    if code == BREADTH_FIRST or cash[page] & _GIVEN:
        return
    held: int = np.int64(cash[page])  # type: ignore[assignment]
    cash[page] |= _GIVEN
    totals[KEPT] -= held
    given = 0
    degree = max(out_degree, len(targets))
    if outcome == _REDIRECTED:
        given = _hand_on(state, cash, held, targets, kinds)
    elif _FAILED[outcome] or degree == 0:
        totals[SPENT] += held
        return
    else:
        share = held // degree
        for target in targets:
            if state[target] != _DONE and cash[target] & _GIVEN == 0:
                cash[target] += np.uint64(share)
                given += share
    totals[KEPT] += given
    totals[LOST] += held - given


@njit
def _hand_on(state: U8, cash: U64, held: int, targets: U32, kinds: U8) -> int:
    for i in range(len(targets)):
        target = targets[i]
        if kinds[i] & 15 == _REDIRECT and state[target] != _DONE and cash[target] & _GIVEN == 0:
            cash[target] += np.uint64(held)
            return held
    return 0
