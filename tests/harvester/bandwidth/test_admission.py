"""Which requests are started within the granted bandwidth (`harvester/bandwidth/admission.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gossamer.harvester.bandwidth.admission import EVERY, FLOOR, LOOK, Admission

LIMIT = 1_000
SPEEDS = st.integers(1, 4 * LIMIT)


def offer(admission: Admission, now: float, *candidates: tuple[int, float]) -> dict[int, int]:
    """The sites that were started, in order, with their caps; candidates are offered as the search takes them."""
    search, left, chosen = admission.search(now), list(candidates), dict[int, int]()
    while (width := search.width) and left:
        batch, left = left[:width], left[width:]
        sites = np.array([site for site, _ in batch], np.uint32)
        started, caps = search.offer(sites, np.array([float(speed) for _, speed in batch]))
        chosen |= dict(zip(sites[started].tolist(), caps[started].tolist(), strict=True))
    return chosen


def test_requests_that_fit_are_started_in_the_order_of_the_queue_and_others_are_passed_over() -> None:
    admission = Admission(100, limit=LIMIT, adapts=False)
    assert offer(admission, 0, (1, 600), (2, 600), (3, 300), (4, 200), (5, 100)) == {1: 0, 3: 0, 5: 0}
    assert admission.predicted == 1_000
    assert admission.inversions == 2
    admission.close(np.array([1]))
    assert offer(admission, 1, (2, 600), (4, 200)) == {2: 0}
    assert admission.inversions == 2


def test_after_an_assignment_the_search_does_not_advance() -> None:
    """The search ends when two are passed over, however many were started before."""
    admission = Admission(100, depth=2, limit=LIMIT, adapts=False)
    chosen = offer(admission, 0, (1, 100), (2, 100), (3, 900), (4, 100), (5, 100), (6, 900), (7, 1), (8, 1))
    assert list(chosen) == [1, 2, 4, 5]


def test_a_page_predicted_above_the_limit_is_started_after_the_patience_capped_to_the_free_bandwidth() -> None:
    admission = Admission(100, patience=5.0, limit=LIMIT, adapts=False)
    assert offer(admission, 0, (1, 300)) == {1: 0}
    assert offer(admission, 0, (2, 50_000)) == {}
    assert offer(admission, 4.9, (2, 50_000)) == {}
    assert offer(admission, 5.0, (2, 50_000)) == {2: 700}
    assert admission.predicted == LIMIT
    assert offer(admission, 5.0, (3, 50_000)) == {}
    assert offer(admission, 5.1, (3, 50_000)) == {}
    assert offer(admission, 10.1, (3, 50_000)) == {3: FLOOR * LIMIT}, "it makes progress though nothing is free"
    admission.close(np.array([1, 2, 3]))
    assert offer(admission, 16.0, (4, 50_000)) == {4: LIMIT}, "alone it gets all"


class Searches(RuleBasedStateMachine):
    """Sites wait in a queue; searches start some of them, answers come, time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.admission = Admission(1000, depth=3, patience=5.0, adapts=False, limit=LIMIT)
        self.queue: list[tuple[int, float]] = []
        self.open: dict[int, int] = {}
        self.capped: dict[int, int] = {}
        self.reached: dict[int, float] = {}
        """The time since which a site is within reach of every search."""
        self.now, self.sites = 0.0, 0
        self.inversions = 0
        self.longest_wait, self.most_passed = 0.0, 0

    @rule(speed=SPEEDS)
    def arrives(self, speed: float) -> None:
        if self.sites < 1000:
            self.queue.append((self.sites, speed))
            self.sites += 1

    @rule(seconds=st.floats(0, 3))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(data=st.data())
    def an_answer_comes(self, data: st.DataObject) -> None:
        if self.open:
            site = data.draw(st.sampled_from(sorted(self.open)))
            self.admission.close(np.array([site]))
            del self.open[site]
            self.capped.pop(site, None)

    @rule()
    def searches(self) -> None:
        search, passed, head = self.admission.search(self.now), 0, 0
        while width := search.width:
            batch = self.queue[head : head + width]
            if not batch:
                break
            before = self.admission.predicted
            started, caps = search.offer(
                np.array([s for s, _ in batch], np.uint32), np.array([float(speed) for _, speed in batch])
            )
            for (site, speed), did, cap in zip(batch, started.tolist(), caps.tolist(), strict=True):
                if not did:
                    passed += 1
                    waited = self.now - self.reached.setdefault(site, self.now)
                    self.longest_wait = max(self.longest_wait, waited)
                    continue
                takes = cap or min(LIMIT, int(speed))
                fits = before + takes <= LIMIT
                assert fits or (cap and self.now - self.reached[site] >= 5.0)
                before += takes
                self.open[site] = takes
                self.inversions += passed > 0
                if not fits:
                    self.capped[site] = cap
            head += len(batch)
            self.most_passed = max(self.most_passed, passed)
        self.queue = [waiting for waiting in self.queue if waiting[0] not in self.open]

    @invariant()
    def test_cb_is_the_sum_of_the_open_requests(self) -> None:
        assert self.admission.predicted == sum(self.open.values())

    @invariant()
    def test_the_open_requests_stay_within_the_threshold_except_for_capped_ones(self) -> None:
        assert sum(self.open.values()) - sum(self.capped.values()) <= LIMIT

    @invariant()
    def test_no_site_within_reach_is_passed_over_for_longer_than_the_patience_plus_a_search_interval(self) -> None:
        assert self.longest_wait < 5.0 + LOOK

    @invariant()
    def test_at_most_depth_sites_are_passed_over_in_a_search(self) -> None:
        assert self.most_passed <= 3

    @invariant()
    def test_inversions_are_requests_started_while_a_better_one_was_passed_over(self) -> None:
        assert self.admission.inversions == self.inversions


TestSearches = Searches.TestCase
TestSearches.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


@given(st.floats(0.01, 1.0))
@settings(max_examples=30, deadline=None)
def test_the_threshold_rises_until_the_limit_is_used_and_falls_slowly_while_it_is(share: float) -> None:
    """Requests use `share` of their prediction; as many are started as the threshold allows."""
    admission, now, read = Admission(10, limit=LIMIT), 0.0, 0
    used = []
    for _ in range(400):
        now += EVERY
        admission.passed_over = True
        admission.passes(1, now)
        measured = min(1.0, share * admission._threshold.factor)
        read += round(measured * LIMIT * EVERY)
        used.append(measured)
        admission.observe(read, now)
    assert np.mean(used[200:]) > 0.97
    assert admission._threshold.factor >= 1.0


def test_without_a_hard_limit_the_threshold_falls_below_the_limit_when_more_is_used() -> None:
    admission, read = Admission(10, limit=LIMIT, enforced=False), 0
    for i in range(1, 100):
        admission.passes(1, i * EVERY)
        read += round(3 * admission._threshold.factor * LIMIT * EVERY)
        admission.observe(read, i * EVERY)
    assert admission._threshold.factor == pytest.approx(1 / 3, rel=0.1)
