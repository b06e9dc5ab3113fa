"""The table of requests in flight, compared with a plain dictionary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE, Ask
from gossamer.harvester.in_flight import Flight, InFlight

STEPS = st.lists(st.one_of(st.sampled_from(Ask), st.lists(st.integers(1, 12), max_size=4)), max_size=30)
"""What is requested, or the numbers that are answered; some of them were answered before, or never given."""


def flight(ask: Ask, site: int) -> Flight:
    url = b"http://s%d.example/" % site
    return Flight(ask, 7 if ask is Ask.PAGE else NONE, site, site, url, url)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.sets(st.integers(1, 12)))
def test_every_request_is_in_flight_until_it_is_answered(steps: list[Ask | list[int]], answered: set[int]) -> None:
    table, plain, given_out = InFlight(), dict[int, Flight](), 0
    for step in steps:
        if isinstance(step, list):
            table.end(step)
            plain = {number: each for number, each in plain.items() if number not in step}
        else:
            given_out += 1
            plain[given_out] = flight(step, given_out)
            assert table.add(plain[given_out]) == given_out == table.last, "numbers are never used twice"
    assert len(table) == len(plain)
    assert [table.get(number) for number in range(14)] == [plain.get(number) for number in range(14)]
    for ask in set(Ask) - {Ask.PAGE}:
        open_ = [each for number, each in plain.items() if each.ask is ask and number not in answered]
        assert sorted(table.asked(ask, answered)) == sorted(open_)
