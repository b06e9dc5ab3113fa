"""Links become pages: the kernels of the seeder, compared with numpy and plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE, Counted, LinkFlag, Outcome, Texts
from gossamer.collection.journal.effects import Effects
from gossamer.crawler.parts import new_columns
from gossamer.desk.domains import Room
from gossamer.seeder.pages import SeederLimits
from gossamer.seeder.seed import identify, kept_texts
from gossamer.web.message import Links, Results
from tests.support.visits import COUNTS, PAGES, SEEDS, SITES, made_visits


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
def test_links_of_a_tick_are_known_new_or_counted(seed: int, count: int, full: bool) -> None:
    """If the collection is full, no link becomes a page, and all unknown links are counted."""
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
    limits = SeederLimits(PAGES if full else 100, SITES, 100, 5, 5, Room(SITES, 100))
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
def test_kept_texts_are_whole(items: list[tuple[bytes, bool]]) -> None:
    texts, kept = Texts.join([text for text, _ in items], "<u2"), np.array([keep for _, keep in items], np.bool_)
    assert kept_texts(texts, kept).split() == [text for text, keep in items if keep]
