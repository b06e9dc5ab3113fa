"""Small versions of bench/citizen.py: mixed crawls with kills, over sockets and simulated, break no rule."""

from __future__ import annotations

import tempfile
import time
from email.utils import formatdate
from pathlib import Path

import pytest
from hypothesis import Phase, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from bench import citizen
from bench.mixed import MixedWeb
from gossamer.base.model import Ask, Assignment
from gossamer.config import Settings
from gossamer.gatherer.reader import Reader
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.message import HEAD, decode_results
from gossamer.webs.demo import DemoWeb, moods

WEB = DemoWeb(
    seed=5,
    sites=30,
    pages=900,
    largest=100,
    moody=3,
    changing=3,
    failing=3,
    delays=2,
    shared=2,
    slow=1,
    errors=0.003,
    busy=0.005,
    unavailable=1,
    tls=0,
    mood=3.0,
)


@pytest.mark.slow
def test_a_mixed_crawl_that_is_killed_twice_breaks_no_rule(tmp_path: Path) -> None:
    proof = citizen.sockets(tmp_path, 300, 2, WEB, "harvester.wait=100ms", "harvester.wait_large=100ms")
    assert [str(v) for v in proof.report.violations] == []
    assert proof.report.requests >= 300
    assert {200, 404} < set(proof.statuses), "the crawl is mixed"
    assert {200, 503} < set(proof.robots)


@examples(deadline=None, max_examples=4, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    seed=st.integers(0, 1 << 30),
    restarts=st.integers(0, 3),
    mood=st.floats(20, 600),
    wait=st.floats(0.5, 20),
    valid=st.integers(30, 900),
    pace=st.sampled_from(["polite", "gentle"]),
)
def test_a_simulated_crawl_breaks_no_rule_in_any_mood(
    seed: int, restarts: int, mood: float, wait: float, valid: int, pace: str
) -> None:
    web = MixedWeb(sites=60, pages=60, seed=seed, mood=mood)
    changes = (
        f"harvester.pace={pace}",
        f"harvester.wait={wait}s",
        f"harvester.wait_large={wait / 3}s",
        f"harvester.robots_valid={valid}s",
        "collection.max_pages=20000",
        "collection.max_sites=200",
    )
    with tempfile.TemporaryDirectory() as folder:
        proof = citizen.simulated(Path(folder), 800, restarts, web, *changes, seed=seed)
    assert [str(v) for v in proof.report.violations] == []
    assert proof.report.requests >= 800


def test_a_mixed_web_has_every_kind_of_answer() -> None:
    """Every kind of answer occurs, and the same answer at the same time."""
    web = MixedWeb(sites=240, pages=50)
    times = [600.0 * n + 130.0 for n in range(20)]
    pages = {web.reply(f"{seed}p7.html", at).status for seed in web.seeds for at in times}
    files = {web.reply(f"{seed}robots.txt", at).status for seed in web.seeds for at in times}
    assert pages == {200, 402, 429, 500, 503}
    assert files == {0, 200, 301, 404, 429, 500, 503}
    assert len({web.robots(web.host(2), at) for at in times}) > 5
    assert web.robots(web.host(2), 600.0) == web.robots(web.host(2), 1199.9)
    assert 1 < len({web.address(web.host(n)) for n in range(8)}) < 8


def test_the_demonstration_web_has_moods_and_knows_their_truth() -> None:
    sites = {
        kind: next(s for s in WEB.all_sites if getattr(s.moods, kind)) for kind in ("moody", "changing", "failing")
    }
    times = [WEB.mood * n / 10 for n in range(2_000)]

    def asked(kind: str, target: str) -> list[tuple[int, str]]:
        answers = (moods.answer(WEB, sites[kind], target, at, 1e9) for at in times)
        return [(a.status, a.retry_after) for a in answers if a]

    cross = set(asked("moody", "/x"))
    assert {status for status, _ in cross} == {402, 429, 500, 503}
    assert {retry for _, retry in cross} == {"", "2", "Sun, 09 Sep 2001 01:46:43 GMT"}
    assert 0.2 < len(asked("moody", "/x")) / len(times) < 0.3
    assert {status for status, _ in asked("failing", "/robots.txt")} == {429, 444, 500, 503}
    assert asked("failing", "/x") == asked("moody", "/robots.txt") == []
    changing = sites["changing"]
    for at in times[::50]:
        found = moods.answer(WEB, changing, "/robots.txt", at, 1e9)
        assert (found.body if found else None) == WEB.robots_of(changing.home[:-1], at)
    assert len({WEB.robots_of(changing.home[:-1], at) for at in times}) > 5


def test_a_retry_after_that_is_a_date_counts_from_the_end_of_the_answer() -> None:
    """It does not matter how long the worker was busy before it read the head."""
    end = time.monotonic() - 5.0
    assignment = Assignment(1, Ask.PAGE, 0, 0, 0, b"http://a.test/", "127.0.0.1", 80)
    later = formatdate(time.time() + 60.0, usegmt=True)
    fetched = Fetched(assignment, None, "", end - 1.0, end, status=503, headers={"retry-after": later})
    (visit,) = decode_results([Reader(Settings(), 1).result(fetched)[HEAD.size :]]).visits
    assert 63.0 < visit["retry_after"] < 65.1
