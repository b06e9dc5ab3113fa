"""Learning from a tick: states, depths and cash, compared with an obvious model in plain Python."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.askable import REVISITED
from gossamer.base.errors import UsageError
from gossamer.base.model import NONE, TRANSIENT, VISIT, LinkKind, Outcome, PageFlag, Reason, State
from gossamer.base.outcomes import TREATMENTS
from gossamer.config.accepted import WORDS
from gossamer.crawler.parts import new_columns
from gossamer.manager.learn import LearnLimits, learn, new_counts, plant
from gossamer.manager.policies import DAMPING, KEPT, LOST, SEED_CASH, SPENT, new_totals
from gossamer.manager.strategies import (
    BACKLINKS,
    BREADTH_FIRST,
    FRACTIONAL,
    LIVE,
    MERCATOR,
    MERIT,
    OPIC,
    PARTIAL,
    RANDOM,
    SHALLOW,
    VALUE,
    strategy_named,
)
from gossamer.manager.value import GIVEN, TOTAL

LIMITS = LearnLimits(depth_static=3, depth_dynamic=1, retry=100.5, tries=3)

PAYING = (OPIC, VALUE, FRACTIONAL)


class Crawl:
    """The columns, and the model: a dictionary for each page."""

    def __init__(self, random: Random, policy: str = "opic") -> None:
        self.random, self.policy = random, strategy_named(policy)
        self.columns = new_columns(100, 4)
        self.columns.site.count, self.columns.origin.count = 4, 8
        self.columns.origin.site[:8] = [0, 0, 1, 1, 2, 2, 3, 3]
        self.totals, self.counts = new_totals(), new_counts()
        self.pages: list[dict[str, int]] = []
        self.spent = self.lost = 0

    def discover(self) -> None:
        page, first = self.columns.page, len(self.pages)
        for number in range(first, min(100, first + self.random.randint(1, 8))):
            seed = PageFlag.SEED if self.random.random() < 0.2 else 0
            flags = seed | self.random.choice([0, PageFlag.DYNAMIC])
            depth = 0 if seed else self.random.randint(0, 6)
            limit = LIMITS.depth_dynamic if flags & PageFlag.DYNAMIC else LIMITS.depth_static
            deep = depth > limit
            state = State.EXCLUDED if deep or self.random.random() < 0.1 else State.PENDING
            shut = self.random.choice([Reason.ROBOTS, Reason.UNLISTED]) if state == State.EXCLUDED else Reason.NONE
            reason = Reason.DEPTH if deep else shut
            origin = self.random.randrange(8)
            values = {"state": state, "reason": reason, "flags": flags, "depth": depth, "origin": origin}
            for name, value in values.items():
                getattr(page, name)[number] = value
            cash = SEED_CASH if seed and self.policy.code in PAYING else 0
            self.pages.append({**values, "cash": cash, "given": 0, "tries": 0, "due": 0, "limit": limit})
        page.count = len(self.pages)
        plant(self.columns, self.policy, self.totals, self.counts, first, page.count - first)
        if self.policy.code == MERCATOR:  # the drawing times have their own tests; here they must not change
            for number in range(first, page.count):
                self.pages[number]["cash"] = int(page.cash[number])

    def tick(self) -> None:
        count = self.random.randint(1, 6)
        visits, targets, kinds = np.zeros(count, VISIT), [], []
        opened = 0
        for i in range(count):
            page = self.random.choice([*range(len(self.pages)), NONE])
            outcome = self.random.choice([Outcome.OK, Outcome.OK, *Outcome])
            links = [self.random.randrange(len(self.pages)) for _ in range(self.random.randint(0, 5))]
            if outcome == Outcome.REDIRECT:
                links = links[:1]
            if outcome == Outcome.RETURNED:
                links = []
            kind = [LinkKind.REDIRECT if outcome == Outcome.REDIRECT else self.random.randrange(5) for _ in links]
            degree = len(links) + self.random.choice([0, 3]) if outcome == Outcome.OK else len(links)
            visits[i]["page"], visits[i]["outcome"], visits[i]["links"] = page, outcome, len(links)
            visits[i]["out_degree"], visits[i]["time"] = degree, 1000.0 + i
            targets += links
            kinds += [k | self.random.choice([0, 16]) for k in kind]
            if page != NONE:
                self.columns.page.flags[page] |= PageFlag.ASSIGNED
                if outcome != Outcome.RETURNED:
                    opened += self.model(page, outcome, degree, links, kind, 1000.0 + i)
        answer = learn(
            self.columns,
            self.policy,
            self.totals,
            self.counts,
            visits,
            np.array(targets, np.uint32),
            np.array(kinds, np.uint8),
            LIMITS,
        )
        assert answer == opened

    def model(self, number: int, outcome: int, degree: int, links: list[int], kinds: list[int], time: float) -> int:
        page = self.pages[number]
        before, page["transient"] = page.get("transient", False), outcome in TRANSIENT
        failures = page["tries"] if before == page["transient"] else 0
        page["tries"] = 0 if outcome in (*REVISITED, Outcome.NOT_MODIFIED) else failures + 1
        follows = TREATMENTS[Outcome(outcome)]
        if outcome in TRANSIENT and page["tries"] < follows.most(LIMITS.tries):
            if page["state"] != State.EXCLUDED:
                due = math.ceil(time + follows.pause(LIMITS.retry))
                page["state"], page["due"], page["reason"] = State.WAITING, due, 0
        else:
            page["state"], page["due"], page["reason"] = State.DONE, int(time), 0
            self.pay(page, outcome, degree, links)
        return sum(self.link(page, self.pages[t], k) for t, k in zip(links, kinds, strict=True))

    def pay(self, page: dict[str, int], outcome: int, degree: int, links: list[int]) -> None:
        if page["given"] or self.policy.code in (BREADTH_FIRST, MERIT, RANDOM, SHALLOW):
            return
        held, page["given"] = page["cash"], 1
        if self.policy.code not in PAYING:
            self.count(page, degree, links)
            return
        gives = outcome == Outcome.REDIRECT or (outcome in (Outcome.OK, Outcome.DUPLICATE) and degree > 0)
        if not gives:
            self.spent += held
        else:
            moves = int(held * DAMPING) if self.policy.code == FRACTIONAL and outcome != Outcome.REDIRECT else held
            share = moves // max(1, degree)
            for target in links:
                if self.pages[target]["state"] != State.DONE and not self.pages[target]["given"]:
                    self.pages[target]["cash"] += share
                    held -= share
            self.lost += held

    def count(self, page: dict[str, int], degree: int, links: list[int]) -> None:
        """What strategies without cash put into the cells of cash."""
        share = 1 if self.policy.code == BACKLINKS else 0
        if self.policy.code == PARTIAL and degree:
            share = int(page["cash"] / degree)
        for target in links:
            if self.pages[target]["state"] != State.DONE and not self.pages[target]["given"]:
                self.pages[target]["cash"] += share

    def link(self, source: dict[str, int], target: dict[str, int], kind: int) -> int:
        same = source["origin"] // 2 == target["origin"] // 2
        depth = source["depth"] + (kind != LinkKind.REDIRECT) if same else 0
        out = target["reason"] if target["state"] == State.EXCLUDED else None
        unlisted = out == Reason.UNLISTED and kind == LinkKind.REDIRECT
        if depth >= target["depth"] and not unlisted:
            return 0
        target["depth"] = depth = min(depth, target["depth"])
        if (out == Reason.DEPTH or unlisted) and depth <= target["limit"]:
            target["state"], target["reason"] = State.PENDING, 0
            return 1
        return 0

    def live(self) -> Crawl:
        self.discover()
        for _ in range(self.random.randint(1, 15)):
            self.random.choice([self.discover, self.tick, self.tick])()
        return self

    def column(self, name: str) -> list[int]:
        return [int(v) for v in getattr(self.columns.page, name)[: len(self.pages)]]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_kept_plus_spent_plus_lost_is_the_total(seed: int) -> None:
    crawl = Crawl(Random(seed)).live()
    assert crawl.totals[KEPT] + crawl.totals[SPENT] + crawl.totals[LOST] == crawl.totals[TOTAL]
    assert crawl.totals[KEPT] == sum(cash for cash in crawl.column("cash") if cash < GIVEN)
    assert crawl.totals[TOTAL] == SEED_CASH * sum(bool(p["flags"] & PageFlag.SEED) for p in crawl.pages)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), policy=st.sampled_from(sorted(LIVE)))
def test_known_is_pending_and_waiting_and_done_and_excluded(seed: int, policy: str) -> None:
    crawl = Crawl(Random(seed), policy).live()
    states = crawl.column("state")
    assert crawl.counts.sum(axis=1).tolist() == [states.count(state) for state in State]
    assert crawl.counts.sum() == crawl.columns.page.count


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), policy=st.sampled_from(sorted(LIVE)))
def test_the_account_equals_the_columns(seed: int, policy: str) -> None:
    crawl = Crawl(Random(seed), policy).live()
    expected, pending = new_counts(), [0] * 4
    for state, reason, outcome, origin in zip(
        *map(crawl.column, ("state", "reason", "outcome", "origin")), strict=True
    ):
        expected[state, {State.PENDING: 0, State.EXCLUDED: reason}.get(State(state), outcome)] += 1
        pending[origin // 2] += state == State.PENDING
    assert crawl.counts.tolist() == expected.tolist()
    assert crawl.columns.site.pending[:4].tolist() == pending


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), policy=st.sampled_from(sorted(LIVE)))
def test_a_tick_changes_pages_as_the_model_does(seed: int, policy: str) -> None:
    crawl = Crawl(Random(seed), policy).live()
    for page in crawl.pages:
        page["cash"] |= GIVEN * page["given"]
    for name in ("state", "reason", "depth", "cash", "tries", "due", "flags"):
        column = crawl.column(name)
        if name == "flags":  # consecutive redirects have their own tests
            column = [flags & ~int(PageFlag.HOPS) for flags in column]
        assert column == [int(page[name]) for page in crawl.pages], name
    assert (crawl.totals[SPENT], crawl.totals[LOST]) == (crawl.spent, crawl.lost)


def test_read_only_arrays_of_a_journal_record_have_the_same_effect() -> None:
    crawl = Crawl(Random(3)).live()
    visits = np.frombuffer(np.zeros(1, VISIT).tobytes(), VISIT)
    nothing = np.frombuffer(b"", np.uint32), np.frombuffer(b"", np.uint8)
    assert not visits.flags.writeable
    assert learn(crawl.columns, crawl.policy, crawl.totals, crawl.counts, visits, *nothing, LIMITS) == 0
    assert crawl.columns.page.state[0] == State.DONE


def test_seeds_beyond_the_capacity_of_the_total_get_nothing() -> None:
    columns = new_columns(10, 1)
    columns.page.count, columns.page.flags[:10] = 10, PageFlag.SEED
    totals, counts = new_totals(), new_counts()
    totals[KEPT] = totals[TOTAL] = 2**63 - 3 * SEED_CASH
    plant(columns, strategy_named("opic"), totals, counts, 0, 10)
    assert columns.page.cash[:10].tolist() == [SEED_CASH] * 2 + [0] * 8
    assert totals[KEPT] == totals[TOTAL] == 2**63 - SEED_CASH


def test_a_page_keeps_its_cash_and_gives_it_once() -> None:
    columns = new_columns(3, 1)
    columns.page.count, columns.site.count, columns.origin.count = 3, 1, 1
    columns.page.flags[0] = PageFlag.SEED
    policy, totals, counts = strategy_named("value"), new_totals(), new_counts()
    plant(columns, policy, totals, counts, 0, 3)
    visits = np.zeros(1, VISIT)
    visits["links"] = visits["out_degree"] = 1
    for target in (1, 2):
        learn(columns, policy, totals, counts, visits, np.array([target], "<u4"), np.zeros(1, "u1"), LIMITS)
    assert columns.page.cash[:3].tolist() == [GIVEN | SEED_CASH, SEED_CASH, 0]
    assert totals[: TOTAL + 1].tolist() == [SEED_CASH, 0, 0, SEED_CASH]


def test_breadth_first_moves_no_cash() -> None:
    crawl = Crawl(Random(5), "breadth-first").live()
    assert not crawl.totals.any()
    assert not any(crawl.column("cash"))


def test_pages_are_drawn_from_front_queues_first_in_first_out_and_half_as_often_from_each_deeper_one() -> None:
    columns, each = new_columns(40_000, 1), 10_000
    columns.page.count, columns.site.count, columns.origin.count = 4 * each, 1, 1
    columns.page.depth[: 4 * each] = np.tile([0, 1, 2, 9], each)
    plant(columns, strategy_named("mercator"), new_totals(), new_counts(), 0, 4 * each)
    drawn = np.argsort(columns.page.cash[: 4 * each], kind="stable")
    for queue in range(4):
        assert np.all(np.diff(drawn[drawn % 4 == queue]) > 0)
    first = np.bincount(drawn[:each] % 4, minlength=4)
    odds = np.array([1, 1 / 2, 1 / 4, 1 / 128])
    assert first == pytest.approx(each * odds / odds.sum(), rel=0.2)


def test_a_page_found_late_is_not_drawn_before_pages_that_are_already_fetched() -> None:
    columns, policy, totals = new_columns(200, 1), strategy_named("mercator"), new_totals()
    columns.page.count, columns.site.count, columns.origin.count = 100, 1, 1
    plant(columns, policy, totals, new_counts(), 0, 100)
    visits = np.zeros(1, VISIT)
    visits["page"] = 99
    learn(columns, policy, totals, new_counts(), visits, np.zeros(0, "<u4"), np.zeros(0, "u1"), LIMITS)
    columns.page.count, columns.page.depth[100] = 101, 3
    plant(columns, policy, totals, new_counts(), 100, 1)
    assert columns.page.cash[100] > columns.page.cash[99] & np.uint64(GIVEN - 1)


def test_an_unknown_policy_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as error:
        strategy_named("pagerank", LIVE)
    assert "value, completed-pagerank, breadth-first" in error.value.cure
    with pytest.raises(UsageError) as error:
        strategy_named("opik")
    assert "Did you mean opic?" in error.value.cure
    with pytest.raises(UsageError) as error:
        strategy_named("omniscient", LIVE, "manager.policy")
    assert "only the simulator" in error.value.cure


def test_the_settings_accept_the_strategies_that_a_crawl_can_use() -> None:
    assert WORDS["manager.policy"] == tuple(LIVE)


def test_links_count_once_for_each_fetched_page() -> None:
    crawl = Crawl(Random(3), "backlink-count").live()
    assert max(cash % GIVEN for cash in crawl.column("cash")) >= 1
    assert not crawl.totals.any()
