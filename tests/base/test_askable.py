"""The rules of `base/askable.py`: on columns with numpy and page by page in kernels they are the same, and obvious."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base import askable
from gossamer.base.model import Outcome, PageFlag, State
from gossamer.harvester.queue import turns
from gossamer.manager import profit, scans

COUNT = 30


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_kernels_and_numpy_apply_the_same_rules(seed: int) -> None:
    random = np.random.default_rng(seed)
    state = random.choice(list(State), COUNT).astype(np.uint8)
    flags = random.choice([0, PageFlag.DYNAMIC, PageFlag.ASSIGNED, PageFlag.ASSIGNED | PageFlag.SEED], COUNT)
    flags, reason = flags.astype(np.uint8), random.integers(0, 2, COUNT).astype(np.uint8)
    outcome = random.choice([*Outcome, 255], COUNT).astype(np.uint8)
    visited, wall = random.integers(0, 10, COUNT).astype(np.uint32), 5.0
    new, retried = askable.is_new(state, flags), askable.is_to_be_retried(state, flags, visited, wall)
    again = askable.is_due_again(state, flags, visited, wall - 1.5, reason)
    fetched = askable.may_be_fetched_again(reason, outcome)
    next_, refused = random.uniform(0, 10, COUNT), random.integers(0, 2, COUNT).astype(np.uint8)
    suspended = askable.is_suspended(refused, next_, wall)
    for i in range(COUNT):
        free = not flags[i] & PageFlag.ASSIGNED
        assert new[i] == (free and state[i] == State.PENDING)
        assert retried[i] == (free and state[i] == State.WAITING and visited[i] <= 5)
        assert again[i] == (free and state[i] == State.DONE and visited[i] <= 3.5 and not reason[i])
        assert fetched[i] == (outcome[i] in askable.REVISITED and not reason[i])
        assert suspended[i] == (refused[i] == 1 or next_[i] > 5)
        for kernels in (profit, turns):
            assert kernels.is_new(state[i], flags[i]) == new[i]
            assert kernels.is_to_be_retried(state[i], flags[i], visited[i], wall) == retried[i]
            assert kernels.is_due_again(state[i], flags[i], visited[i], wall - 1.5, reason[i]) == again[i]
        assert profit.may_be_fetched_again(reason[i], outcome[i]) == fetched[i]
        assert scans.is_suspended(refused[i], next_[i], wall) == suspended[i]
