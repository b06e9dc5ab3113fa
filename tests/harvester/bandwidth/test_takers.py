"""Addresses that only take (`harvester/bandwidth/takers.py`): they get what others leave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import urls
from gossamer.base.model import NONE, VISIT, Ask, Outcome, Visits
from gossamer.harvester.bandwidth.takers import CHARGE, DOUBT, ENVELOPE, LONGEST, SHARE, Takers, waste
from gossamer.webs.simulated import Reply
from tests.support.world import World, impolite

LIMIT = 100_000
GOOD, BAD = 20, 12
SIZE, TAKEN = 20_000, 400_000
SHORT = (
    "harvester.wait=1s",
    "harvester.wait_large=1s",
    "harvester.address_wait=500ms",
    "harvester.soft_404=false",
    "harvester.time_zone=UTC",
    f"harvester.bandwidth={LIMIT}B",
)


def visits(*made: tuple[int, int, Outcome]) -> Visits:
    """Visits that received so many bytes, with a body of so many, and this outcome."""
    found: Visits = np.zeros(len(made), VISIT)
    for row, (received, length, outcome) in zip(found, made, strict=True):
        row["received"], row["length"], row["outcome"] = received, length, outcome
    return found


def one(takers: Takers, *made: tuple[int, int, Outcome]) -> bool:
    """Whether address 3 is a taker after these visits."""
    takers.learn(np.full(len(made), 3, np.uint32), visits(*made))
    return bool(takers.are(np.array([3], np.uint32))[0])


GIVEN = st.tuples(
    st.integers(0, 400_000), st.sampled_from([Outcome.OK, Outcome.REDIRECT, Outcome.NOT_FOUND, Outcome.SERVER_ERROR])
)


@given(st.lists(GIVEN, max_size=60))
def test_an_address_that_gives_what_it_takes_is_no_taker(made: list[tuple[int, Outcome]]) -> None:
    """Redirects and errors have no body, or a short one: their heads are no waste."""
    assert not one(Takers(10), *((int(length + ENVELOPE), length, outcome) for length, outcome in made))


@given(st.integers(1, 20), st.sampled_from([Outcome.PROTOCOL_ERROR, Outcome.BROKEN_OFF, Outcome.TIMED_OUT]))
def test_a_taker_is_one_no_more_after_it_has_given_enough(times: int, outcome: Outcome) -> None:
    takers = Takers(10)
    assert one(takers, *[(100_000, 0, outcome)] * times)
    assert not takers.are(np.array([2, NONE], np.uint32)).any()
    pages = 0
    while one(takers, (SIZE, SIZE, Outcome.OK)):
        pages += 1
        assert pages <= 2_000_000 / SIZE, "what lies before the memory does not count"
    assert pages >= min(times, 10)


def test_framing_around_a_body_is_waste_and_a_little_waste_makes_no_taker() -> None:
    made = visits((500_000, 100_000, Outcome.OK), (300, 0, Outcome.NOT_FOUND), (70_000, 0, Outcome.PROTOCOL_ERROR))
    assert waste(made).tolist() == [400_000 - ENVELOPE, 0, 70_000]
    assert not one(Takers(10), (int(DOUBT) // 2, 0, Outcome.BROKEN_OFF))
    assert one(Takers(10), (70_000, 0, Outcome.PROTOCOL_ERROR))
    assert one(Takers(10), (500_000, 100_000, Outcome.OK))


@given(st.lists(st.tuples(st.floats(0.01, 20), st.integers(0, 600_000)), min_size=1, max_size=60))
def test_takers_together_take_no_more_than_their_share_while_others_wait(steps: list[tuple[float, int]]) -> None:
    takers, now, took, begun = Takers(10), 100.0, 0, 0.0
    for site, (seconds, received) in enumerate(steps):
        now += seconds
        wait = takers.wait(now, LIMIT)
        assert wait <= LONGEST
        if not wait:
            begun = begun or now
            assert took <= SHARE * LIMIT * (now - begun) + 1, "all that was taken is paid for before the next"
            takers.ask(site)
            assert takers.wait(now, LIMIT) >= 1, "one at a time"
            takers.end([site], [received])
            took += received


def test_a_taker_that_was_not_asked_after_all_owes_nothing() -> None:
    takers = Takers(10)
    takers.ask(5)
    assert takers.wait(0.0, LIMIT) == pytest.approx(CHARGE / (SHARE * LIMIT))
    takers.end([4, 5])
    assert takers.wait(0.0, LIMIT) == 0


# --- crawls ---------------------------------------------------------------------------------------------------


def reply(url: str) -> Reply:
    """Good sites answer fast; the pages of the others take twenty times as much, and give nothing."""
    host, page = urls.host(url), url.rpartition("/")[2]
    if page == "robots.txt":
        return Reply(size=200, seconds=0.05)
    number = int(page or 0)
    links = [f"http://{host}/{n}" for n in range(10 * number + 1, 10 * number + 11) if n < 2_000]
    if host.startswith("bad") and number:
        return Reply(Outcome.BAD_ENCODING, size=TAKEN, seconds=TAKEN / 20_000)
    return Reply(links=links, size=SIZE, seconds=SIZE / 40_000)


def world(folder: Path) -> World:
    def address(host: str) -> str:
        network = "192.0.2" if host.startswith("bad") else "198.51.100"
        return f"{network}.{1 + int(''.join(filter(str.isdigit, host)))}"

    return World(folder, reply, SHORT, address)


def good_pages(folder: Path, seeds: list[str], seconds: float = 300.0) -> int:
    made = world(folder)
    made.run(seeds, seconds=seconds)
    assert impolite(made.asked, 1.0, 0.5) == []
    return sum(a.ask is Ask.PAGE and not urls.host(a.url).startswith("bad") for a in made.asked)


@pytest.mark.slow
def test_with_twelve_takers_good_sites_get_most_of_their_pages(tmp_path: Path) -> None:
    good = [f"http://s{i}.example/" for i in range(GOOD)]
    bad = [f"http://bad{i}.example/" for i in range(BAD)]
    alone = good_pages(tmp_path / "alone", good)
    beside = good_pages(tmp_path / "beside", good + bad)
    assert beside >= 0.8 * alone


def test_without_others_takers_wait_for_nobody(tmp_path: Path) -> None:
    bad = [f"http://bad{i}.example/" for i in range(BAD)]
    made = world(tmp_path)
    made.run(bad, seconds=300.0)
    taken = sum(a.ask is Ask.PAGE for a in made.asked) * TAKEN
    assert taken >= 0.5 * 300 * LIMIT
