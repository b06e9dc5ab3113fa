"""The kernels that pass once over the visits of a tick, compared with numpy, one question at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings

from gossamer.base.model import NONE, Ask, Outcome, PageFlag, VisitFlag
from gossamer.base.outcomes import NO_OUTCOME
from gossamer.collection.journal.effects import PAGE
from gossamer.config import Settings
from gossamer.crawler.parts import LAYOUT
from gossamer.desk.columns import Group
from gossamer.desk.kernels import asked_for, enter, spoken_against, tally, unanswered, writable
from gossamer.harvester.backoff import Answers, SiteClocks, clocks, clocks_after, pauses_at, waits_at
from gossamer.harvester.bandwidth.schedule import Moment
from gossamer.harvester.bandwidth.speeds import Speeds
from gossamer.harvester.bandwidth.speeds import learn as learn_speeds
from gossamer.harvester.waits import OWN_WAIT, Waits
from tests.support.visits import COUNTS, SEEDS, SITES, made_visits

Array = npt.NDArray[Any]


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_a_tally_counts_what_numpy_masks_count(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, telling = made_visits(random, count), random.integers(0, 2, SITES) == 1
    outcomes = np.zeros(len(Outcome), np.int64)
    found = tally(visits, telling, outcomes)
    ask, outcome, flags = visits["ask"], visits["outcome"], visits["flags"]
    pages = ask == Ask.PAGE
    made = pages & (outcome != Outcome.RETURNED)
    moved = pages & ((outcome == Outcome.REDIRECT) | (outcome == Outcome.SOFT_404)) & (flags & VisitFlag.RESPELLED == 0)
    kept = pages & (outcome <= Outcome.DUPLICATE) & (flags & VisitFlag.STORED != 0)
    assert found == (
        (ask == Ask.ROBOTS).sum(),
        (ask == Ask.SITEMAP).sum(),
        (ask == Ask.PROBE).sum(),
        (pages & telling[visits["site"]]).sum(),
        ((outcome == Outcome.DUPLICATE) & (visits["duplicate_of"] != NONE)).sum(),
        moved.sum(),
        (outcome == Outcome.CONNECT_FAILED).sum(),
        (flags & VisitFlag.OTHER_NAME != 0).sum(),
        made.sum(),
        kept.sum(),
        visits["received"].sum(),
    )
    assert outcomes.tolist() == np.bincount(outcome[made], minlength=len(Outcome)).tolist()


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_any_kernels_agree_with_numpy_masks(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, refused = made_visits(random, count), random.integers(0, 9, SITES).astype(np.uint8) // 8
    resolved = random.choice([0.0, 5.0, 6.0, 7.0], SITES)
    for ask in Ask:
        assert asked_for(visits, int(ask)) == bool((visits["ask"] == ask).any())
    nobody = (Outcome.CONNECT_FAILED, Outcome.TLS_FAILED)
    assert unanswered(visits) == bool(np.isin(visits["outcome"], nobody).any())
    sites = visits["site"].copy()
    against = (refused[sites] != 0) | (resolved[sites] <= 5.0)
    assert spoken_against(sites, refused, resolved, 5.0) == bool(against.any())


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_clocks_after_visits_equal_clocks_after_their_answers(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, group, harvester = made_visits(random, count), Group(SITES, LAYOUT["site"]), Settings().harvester
    group.pages[:] = random.integers(0, 2 * harvester.large_site, SITES)
    group.delay[:] = random.choice([0.0, 0.3, 40.0], SITES)
    group.named[:], group.owned[:] = random.integers(0, 2, SITES), random.choice([0, 0, 0, 2], SITES)
    waits, sites = Waits.of(group, harvester), visits["site"].copy()
    plain = np.where(group.pages[sites] > harvester.large_site, harvester.wait_large, harvester.wait)
    plain = np.where(group.named[sites] != 0, np.minimum(plain, harvester.address_wait), plain)
    plain = np.maximum(group.delay[sites], np.where(group.owned[sites] != 0, OWN_WAIT, plain))
    assert waits_at(waits, sites).tolist() == plain.tolist()
    pause = np.where(group.owned[sites] != 0, OWN_WAIT, 0.5)
    assert pauses_at(waits, sites, 0.5).tolist() == np.maximum(group.delay[sites], pause).tolist()
    one, other = (SiteClocks.of(group).copy(0, SITES) for _ in range(2))
    clocks(Answers.of(visits, plain, group.owned[sites]), one, 500.0, 2.0)
    clocks_after(visits, waits, other, 500.0, 2.0)
    assert all(a.tolist() == b.tolist() for a, b in zip(one, other, strict=True))


@settings(max_examples=40, deadline=None)
@given(SEEDS, COUNTS)
def test_speeds_learn_from_visits_as_from_their_bytes_and_times(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, at = made_visits(random, count), Moment(600.5, False)
    addresses = np.where(random.integers(0, 3, count) == 0, NONE, random.integers(0, 5, count)).astype(np.uint32)
    one, other = Speeds(5), Speeds(5)
    received = visits["received"] * (visits["ask"] != Ask.ROBOTS)
    held = visits["flags"] & VisitFlag.HELD != 0
    learn_speeds(one.rows, addresses, received, visits["end"] - visits["start"], held, at.minute, int(at.holiday))
    other.learn_visits(addresses, visits, at)
    assert one.rows.tolist() == other.rows.tolist()


@settings(max_examples=40, deadline=None)
@given(SEEDS, COUNTS)
def test_new_pages_enter_with_all_that_is_known_of_them(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    new, pages = np.zeros(count, PAGE), Group(20, LAYOUT["page"])
    for name in ("origin", "state", "reason", "depth", "flags"):
        new[name] = random.integers(0, 200, count)
    new["site"], sites = random.integers(0, SITES, count), Group(SITES, LAYOUT["site"])
    sites.domain[:] = random.integers(0, 2, SITES)
    new["flags"] |= int(PageFlag.JUDGED) if seed % 2 else 0
    journalled = np.frombuffer(new.tobytes(), PAGE)
    assert enter(pages, sites, writable(journalled), 3) == bool((new["flags"] & PageFlag.JUDGED == 0).any())
    for name in ("origin", "state", "reason", "depth", "flags"):
        assert getattr(pages, name)[3 : 3 + count].tolist() == new[name].tolist()
    assert (pages.outcome[3 : 3 + count] == NO_OUTCOME).all()
    assert np.count_nonzero(pages.outcome) == count
    assert sites.pages.tolist() == np.bincount(new["site"], minlength=SITES).tolist()
    assert sites.domain_pages.tolist() == np.bincount(sites.domain[new["site"]], minlength=SITES).tolist()


def test_columns_of_origins_have_the_types_that_kernels_take() -> None:
    """`moved` is compared with a number: another type would need another compilation."""
    assert Group(1, LAYOUT["origin"]).moved.dtype == np.uint16
