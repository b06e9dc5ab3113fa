"""How sites that were ordered to be slower are held back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.model import VISIT
from gossamer.harvester.spacing import LOOK, Spacing

TIMES = st.floats(0.0, 1e6)


def answered(site: int, end: float) -> np.ndarray:
    visits = np.zeros(1, VISIT)
    visits["site"], visits["end"] = site, end
    return visits


@given(TIMES, st.floats(1.0, 1e5), st.floats(0.0, 2e5))
def test_a_site_is_held_back_until_its_time_has_passed(begun: float, least: float, passed: float) -> None:
    spacing = Spacing()
    spacing.order({3: least}, begun)
    spacing.answered(answered(3, begun + 1.0))
    spacing.answered(answered(4, begun + 9e9))
    now = begun + 1.0 + passed
    found = spacing.held(np.array([4, 3], np.uint32), now).tolist()
    assert found[0] == 0
    assert (found[1] > 0) == (now < begun + 1.0 + least)
    assert found[1] <= LOOK


def test_what_is_ordered_anew_counts_from_the_last_request() -> None:
    spacing, three = Spacing(), np.array([3], np.uint32)
    spacing.order({3: 60.0}, 0.0)
    spacing.answered(answered(3, 10.0))
    spacing.order({3: 20.0, 4: 5.0}, 40.0)
    assert spacing.held(three, 40.0).tolist() == [0]
    assert spacing.held(np.array([4], np.uint32), 44.5).tolist() == [0.5]
    spacing.order({}, 41.0)
    assert not spacing.held(np.array([3, 4], np.uint32), 41.0).any()
