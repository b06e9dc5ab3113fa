"""Which validators of a site are believed: servers that lie are found out, honest ones are not."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Ask, Assignment, Outcome, State, Validators
from gossamer.collection.journal.effects import Effects
from gossamer.collection.versions import Version, versions_of
from gossamer.config import Settings, override
from gossamer.crawler.parts import new_desk
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Desk
from gossamer.desk.kernels import NO_VISITS
from gossamer.harvester.shown import LIES
from gossamer.harvester.versions import SHARE, Versions, number_versions
from gossamer.web.fetch.caching import compared, conditions
from tests.support.crawling import SMALL

BY_ETAG, BY_DATE = int(Validators.BY_ETAG), int(Validators.BY_DATE)
PAGES = 20


@dataclass
class Page:
    """A page of a server: its text changes now and then."""

    text: int
    changed: float = 0.0


Server = Callable[[Page, float, int, Version], Version | None]
"""Answers a request at a time, asked on conditions (bits, the version that they are from): None is a 304."""


def version(page: Page, etag: object, date: float) -> Version:
    return Version(digest=page.text, etag=f'"{etag}"'.encode(), modified=_date(date))


def _date(seconds: float) -> bytes:
    day, rest = divmod(int(seconds), 86_400)
    return b"Tue, %02d Dec 2026 %02d:%02d:%02d GMT" % (day % 28 + 1, rest // 3600, rest // 60 % 60, rest % 60)


def honest(page: Page, now: float, asked: int, before: Version) -> Version | None:
    current = version(page, page.text, page.changed)
    same = before.etag == current.etag if asked & BY_ETAG else before.modified == current.modified
    return None if asked and same else current


def etag_per_request(page: Page, now: float, asked: int, before: Version) -> Version | None:
    current = version(page, now, page.changed)
    return None if asked == BY_DATE and before.modified == current.modified else current


def date_of_now(page: Page, now: float, asked: int, before: Version) -> Version | None:
    current = version(page, page.text, now)
    return None if asked & BY_ETAG and before.etag == current.etag else current


def both_of_now(page: Page, now: float, asked: int, before: Version) -> Version | None:
    return version(page, now, now)


def always_unmodified(page: Page, now: float, asked: int, before: Version) -> Version | None:
    return None if asked else honest(page, now, 0, before)


def validators_for_ever(page: Page, now: float, asked: int, before: Version) -> Version | None:
    return None if asked else version(page, "x", 0.0)


@dataclass
class Site:
    """A site whose pages are requested again and again, as the desk and its workers do it."""

    server: Server
    seed: int
    change: float = 0.2
    """Probability that a page changes between two visits."""
    desk: Desk = field(default_factory=lambda: new_desk(override(Settings(), SMALL), 1))
    asked: Counter[int] = field(default_factory=Counter)
    missed: int = 0
    """Changes that were not noticed."""

    def run(self, rounds: int) -> Site:
        rng = random.Random(self.seed)
        columns, part = self.desk.columns, self.desk[Versions]
        columns.site.count, columns.page.count = 1, PAGES
        columns.page.state[:PAGES] = State.DONE
        pages = [Page(rng.getrandbits(60) | 1) for _ in range(PAGES)]
        texts, seen = [b""] * PAGES, [0] * PAGES
        for tick in range(1, rounds + 1):
            now = tick * 3_600.0 + rng.random()
            for number, page in enumerate(pages):
                if rng.random() < self.change:
                    page.text, page.changed = rng.getrandbits(60) | 1, now - 60
                allowed = part.conditions(number, 0, now) if texts[number] else 0
                assignment = Assignment(
                    1, Ask.PAGE, number, 0, 0, b"", "", 80, version=texts[number], conditions=allowed
                )
                bits = conditions(assignment)[0]
                answer = self.server(page, now, bits, Version.read(texts[number]) if texts[number] else Version())
                effects = _effects(tick, assignment, answer)
                number_versions(self.desk, Applied(effects, effects.visits, NO_VISITS, effects.visits))
                columns.page.outcome[number] = Outcome.OK
                self.asked[bits] += bool(texts[number])
                if answer is not None:
                    texts[number], seen[number] = versions_of(effects)[0], page.text
                self.missed += seen[number] != page.text
        return self

    def counts(self) -> tuple[int, int, int]:
        site = self.desk.columns.site
        return int(site.idle_etag[0]), int(site.idle_date[0]), int(site.stale[0])

    def share(self, bits: int) -> float:
        return self.asked[bits] / self.asked.total()


def _effects(tick: int, assignment: Assignment, answer: Version | None) -> Effects:
    visits = np.zeros(1, VISIT)
    visits["page"], visits["duplicate_of"] = assignment.page, NONE
    visits["outcome"] = Outcome.NOT_MODIFIED if answer is None else Outcome.OK
    if assignment.version:
        visits["change"], visits["validators"] = compared(assignment, answer, answer is None)
    texts = {} if answer is None else {"etag": answer.etag, "last_modified": answer.modified}
    visits["digest"] = 0 if answer is None else answer.digest
    visits["texts"] = [len(texts.get(name, b"")) for name in VISIT_TEXTS]
    buffer = b"".join(texts.get(name, b"") for name in VISIT_TEXTS)
    return Effects(tick, tick * 3_600.0, 0.0, visits=visits, visit_texts=buffer)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("change", [0.0, 0.05, 0.5, 1.0])
def test_an_honest_server_is_believed(seed: int, change: float) -> None:
    site = Site(honest, seed, change).run(60)
    assert max(site.counts()) < LIES
    assert site.missed == 0
    full = site.share(0)
    assert 0.5 / SHARE < full < 2.0 / SHARE, "and tested all the same"
    assert site.desk[Versions].explain_site(0) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "left"),
    [
        (etag_per_request, BY_DATE),
        (date_of_now, BY_ETAG),
        (both_of_now, 0),
        (always_unmodified, 0),
        (validators_for_ever, 0),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_lying_server_is_found_out(server: Server, left: int, seed: int) -> None:
    site = Site(server, seed).run(60)
    number = site.desk.columns.page.version[:PAGES].copy()
    assert sum(count >= LIES for count in site.counts()) >= 1
    allowed = {site.desk[Versions].conditions(page, 0, 1e6 + page) for page in range(PAGES)} - {int(Validators.TESTED)}
    if server is date_of_now:  # the ETag is sent, and decides; the date is sent too until full answers show it
        assert allowed <= {BY_ETAG, BY_ETAG | BY_DATE}
    else:
        assert allowed == {left}
    assert len(number) == PAGES
    if left == 0:
        late = Site(server, seed).run(40).missed
        assert site.missed == late, "once it is found out, nothing is missed"
        assert "believed" in str(site.desk[Versions].explain_site(0)["validators"])


def test_a_server_that_becomes_honest_is_believed_again() -> None:
    """Of its validators, that is: what changes under the same validators is not forgiven."""
    site = Site(etag_per_request, 1, 0.0).run(10)
    assert site.counts()[0] >= LIES
    site.server = honest
    site.run(30)
    assert site.counts() == (0, 0, 0)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(list(Outcome)), st.sampled_from([State.DONE, State.PENDING, State.WAITING]), st.floats(0, 4e9))
def test_a_page_that_was_not_fetched_the_last_time_is_requested_in_full(
    outcome: Outcome, state: State, wall: float
) -> None:
    page = DESK.columns.page
    page.outcome[0], page.state[0] = outcome, state
    found = DESK[Versions].conditions(0, 0, wall)
    fetched = outcome in (Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT)
    if not fetched or (outcome is Outcome.DUPLICATE and state is State.PENDING):
        assert found == 0
    else:
        assert found in (BY_ETAG | BY_DATE, int(Validators.TESTED))


DESK = new_desk(override(Settings(), SMALL), 1)
