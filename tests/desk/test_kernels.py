"""Kernels that go through the visits of a tick once do what numpy does, question by question."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE, VISIT, Ask, Counted, LinkFlag, Outcome, PageFlag, Texts, VisitFlag
from gossamer.collection.journal.effects import PAGE, Effects
from gossamer.config import Settings
from gossamer.crawl.parts import LAYOUT, new_columns
from gossamer.desk.columns import Group
from gossamer.desk.kernels import asked_for, enter, spoken_against, tally, unanswered, writable
from gossamer.harvester.backoff import Answers, Clocks, Waits, clocks, clocks_after, pauses_at, waits_at
from gossamer.harvester.bandwidth.schedule import Moment
from gossamer.harvester.bandwidth.speeds import Speeds
from gossamer.seeder.seed import Limits, identify, keep_contents, kept_texts, mark_duplicates
from gossamer.web.message import Links, Results

Array = npt.NDArray[Any]

SITES, PAGES = 8, 40
SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.integers(0, 12)


def made_visits(random: np.random.Generator, count: int) -> Array:
    """Of few sites and pages, so that they meet."""
    visits = np.zeros(count, VISIT)
    visits["ask"] = random.choice([Ask.PAGE, Ask.PAGE, Ask.PAGE, Ask.ROBOTS, Ask.SITEMAP, Ask.PROBE], count)
    visits["page"] = np.where(visits["ask"] == Ask.PAGE, random.integers(0, PAGES, count), NONE)
    visits["site"], visits["origin"] = random.integers(0, SITES, count), random.integers(0, SITES, count)
    visits["outcome"] = random.choice([Outcome.OK, Outcome.OK, *Outcome], count)
    visits["status"] = random.choice([0, 200, 404], count)
    visits["flags"] = random.integers(0, 1 << 13, count) & random.integers(0, 1 << 13, count)
    visits["time"], visits["start"] = random.uniform(1e9, 2e9, count), random.uniform(0, 1e3, count)
    visits["end"], visits["first"] = visits["start"] + random.uniform(0, 9, count), random.uniform(0, 5, count)
    visits["received"], visits["out_degree"] = random.integers(0, 1 << 20, count), random.integers(0, 99, count)
    visits["retry_after"] = random.choice([-1.0, 0.0, 30.0, 1e9], count)
    visits["digest"], visits["sketch"] = (
        random.integers(0, 4, count),
        random.integers(0, 2, count) * random.integers(0, 1 << 62, count),
    )
    visits["payload"] = random.integers(0, 2, (count, 1)) * random.integers(0, 256, (count, 20))
    visits["duplicate_of"] = np.where(random.integers(0, 2, count) == 0, NONE, random.integers(0, PAGES, count))
    visits["texts"] = random.integers(0, 2, visits["texts"].shape) * random.integers(0, 9, visits["texts"].shape)
    return visits


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_a_tally_counts_what_each_question_finds(seed: int, count: int) -> None:
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
def test_whether_there_is_any_is_what_a_mask_says(seed: int, count: int) -> None:
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
def test_clocks_after_visits_are_those_after_what_the_visits_tell(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, group, harvester = made_visits(random, count), Group(SITES, LAYOUT["site"]), Settings().harvester
    group.pages[:] = random.integers(0, 2 * harvester.large_site, SITES)
    group.delay[:] = random.choice([0.0, 0.3, 40.0], SITES)
    waits, sites = Waits.of(group, harvester), visits["site"].copy()
    plain = np.where(group.pages[sites] > harvester.large_site, harvester.wait_large, harvester.wait)
    plain = np.maximum(group.delay[sites], plain)
    assert waits_at(waits, sites).tolist() == plain.tolist()
    assert pauses_at(waits, sites, 0.5).tolist() == np.maximum(group.delay[sites], 0.5).tolist()
    one, other = (Clocks.of(group).copy(0, SITES) for _ in range(2))
    clocks(Answers.of(visits, plain), one, 500.0, 2.0)
    clocks_after(visits, waits, other, 500.0, 2.0)
    assert all(a.tolist() == b.tolist() for a, b in zip(one, other, strict=True))


@settings(max_examples=40, deadline=None)
@given(SEEDS, COUNTS)
def test_speeds_learn_of_visits_what_they_carried(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, at = made_visits(random, count), Moment(600.5, False)
    addresses = np.where(random.integers(0, 3, count) == 0, NONE, random.integers(0, 5, count)).astype(np.uint32)
    one, other = Speeds(5), Speeds(5)
    received = visits["received"] * (visits["ask"] != Ask.ROBOTS)
    held = visits["flags"] & VisitFlag.HELD != 0
    one.learn(addresses, received, visits["end"] - visits["start"], held, at)
    other.learn_visits(addresses, visits, at)
    assert one.dump(5).tolist() == other.dump(5).tolist()


@settings(max_examples=40, deadline=None)
@given(SEEDS, COUNTS)
def test_new_pages_enter_with_all_that_is_known_of_them(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    new, pages = np.zeros(count, PAGE), Group(20, LAYOUT["page"])
    for name in ("origin", "state", "reason", "depth", "flags"):
        new[name] = random.integers(0, 200, count)
    new["site"], of_sites = random.integers(0, SITES, count), np.zeros(SITES, np.uint32)
    new["flags"] |= int(PageFlag.JUDGED) if seed % 2 else 0
    journalled = np.frombuffer(new.tobytes(), PAGE)
    assert enter(pages, of_sites, writable(journalled), 3) == bool((new["flags"] & PageFlag.JUDGED == 0).any())
    for name in ("origin", "state", "reason", "depth", "flags"):
        assert getattr(pages, name)[3 : 3 + count].tolist() == new[name].tolist()
    assert (pages.outcome[3 : 3 + count] == 255).all()
    assert np.count_nonzero(pages.outcome) == count
    assert of_sites.tolist() == np.bincount(new["site"], minlength=SITES).tolist()


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS)
def test_the_first_page_with_a_content_is_no_duplicate_and_all_others_are(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    visits, columns, known = made_visits(random, count), new_columns(100, SITES), dict[int, int]()
    expected = visits.copy()
    for visit in expected:
        empty = visit["flags"] & (VisitFlag.EMPTY | VisitFlag.NOINDEX)
        visit["duplicate_of"] = NONE
        if visit["digest"] and visit["outcome"] == Outcome.OK and not empty and visit["page"] != NONE:
            first = known.setdefault(int(visit["digest"]), int(visit["page"]))
            if first != visit["page"]:
                visit["duplicate_of"], visit["outcome"] = first, Outcome.DUPLICATE
    mark_duplicates(columns, Results(visits, b"", Links.none()), seed)
    assert visits.tobytes() == expected.tobytes()
    again = new_columns(100, SITES)
    keep_contents(again, visits, seed)
    cells = [np.concatenate(each.digests.cells()) for each in (columns, again)]
    assert sorted(cells[0].tolist()) == sorted(cells[1].tolist())


def made_links(random: np.random.Generator, count: int) -> Links:
    texts = [b"http://a.example/%d" % number for number in random.integers(0, 30, count).tolist()]
    anchors = [b"x" * length for length in random.integers(0, 4, count).tolist()]
    flags = random.choice([0, LinkFlag.NOFOLLOW, LinkFlag.DYNAMIC], count).astype(np.uint8)
    return Links(
        np.array([1 + int(text[17:]) for text in texts], np.uint64),
        np.full(count, 5, np.uint64),
        random.integers(0, 5, count).astype(np.uint8),
        flags,
        Texts.join(texts, "<u2"),
        random.integers(0, 9, count).astype(np.uint8),
        np.arange(count, dtype=np.uint16),
        Texts.join(anchors, "<u2"),
    )


@settings(max_examples=60, deadline=None)
@given(SEEDS, COUNTS, st.booleans())
def test_links_of_a_tick_are_known_new_or_passed_over(seed: int, count: int, full: bool) -> None:
    """With the collection full nothing becomes a page, and all that is not known is counted."""
    random = np.random.default_rng(seed)
    visits, columns = made_visits(random, count), new_columns(100, SITES)
    visits["page"] = np.where(visits["page"] == NONE, 0, visits["page"])
    visits["links"] = random.integers(0, 4, count)
    links = made_links(random, int(visits["links"].sum()))
    columns.known.add(np.arange(1, 20, dtype=np.uint64), np.arange(19, dtype=np.uint32))
    columns.page.count = PAGES
    columns.origins.add(np.array([5], np.uint64), np.array([0], np.uint32))
    columns.origin.count = columns.site.count = 1
    before, effects = visits.copy(), Effects(1, 1.0, 1.0, 1, 1, PAGES)
    limits = Limits(PAGES if full else 100, SITES, 100, 5, 5)
    identify(columns, Results(visits, b"", links), limits, seed, np.zeros(0, np.uint8), effects)
    owner = np.repeat(np.arange(count), before["links"])
    closed = (Outcome.DUPLICATE, Outcome.SOFT_404)
    follow = ~np.isin(before["outcome"], closed)[owner]
    nofollow = links.flags & LinkFlag.NOFOLLOW != 0
    targets, new = links.fingerprint.astype(np.int64) - 1, list[int]()
    for i in np.flatnonzero(targets >= 19).tolist():
        if follow[i] and not nofollow[i] and targets[i] not in new and not full:
            new.append(int(targets[i]))
    numbers = {target: PAGES + i for i, target in enumerate(new)} | {target: target for target in range(19)}
    found = np.array([numbers.get(target, NONE) for target in targets.tolist()], np.uint32)
    found[nofollow & (targets >= 19)] = NONE  # as it stood before the tick
    kept = follow & (found != NONE)
    assert effects.link_targets.tolist() == found[kept].tolist()
    kinds = links.kind | (links.flags & (LinkFlag.NOFOLLOW | LinkFlag.DYNAMIC)) << 4
    assert effects.link_kinds.tolist() == kinds[kept].tolist()
    assert visits["links"].tolist() == np.bincount(owner[kept], minlength=count).tolist()
    lost = {Counted.NOFOLLOW: follow & nofollow & (found == NONE)}
    lost[Counted.COLLECTION_FULL] = follow & ~nofollow & (found == NONE)
    for reason, rows in lost.items():
        assert visits["counted"][:, reason].tolist() == np.bincount(owner[rows], minlength=count).tolist()
    assert effects.urls.split() == [b"http://a.example/%d" % target for target in new]
    if links.anchors.buffer:
        texts = np.array(links.anchors.split(), object)
        assert effects.anchors.split() == texts[kept].tolist()
        assert effects.link_tags.tolist() == links.tag[kept].tolist()
        assert effects.link_positions.tolist() == links.position[kept].tolist()


@given(st.lists(st.tuples(st.binary(max_size=5), st.booleans())))
def test_texts_are_kept_whole(items: list[tuple[bytes, bool]]) -> None:
    texts, kept = Texts.join([text for text, _ in items], "<u2"), np.array([keep for _, keep in items], np.bool_)
    assert kept_texts(texts, kept).split() == [text for text, keep in items if keep]


def test_columns_of_origins_are_as_kernels_take_them() -> None:
    """`moved` is compared with a number: a column of another type would be compiled for again."""
    assert Group(1, LAYOUT["origin"]).moved.dtype == np.uint16
