"""The guard of name lookups: no site is suspended because a name server fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.base.clock import VirtualClock
from gossamer.base.ending import Ending
from gossamer.base.model import State
from gossamer.base.outcomes import Aside
from gossamer.web.names.guard import LATEST, LEAST_NAMES, LOOKUPS, SHARE, SOONEST, Watched, Window
from gossamer.web.seam import Answer
from gossamer.webs.simulated import Reply
from tests.support.world import World, impolite


@dataclass
class Servers:
    """Name servers. Names that begin with "no" do not exist; while the servers are down, nothing is found. `slow`: one
    of several lookups is answered a call later."""

    down: bool = False
    slow: bool = False
    error: str = "timed out"
    asked: list[tuple[int, str]] = field(default_factory=list)
    _open: list[Answer] = field(default_factory=list)

    @property
    def open(self) -> int:
        return len(self._open)

    def ask(self, site: int, host: str, fresh: bool = False) -> None:
        self.asked.append((site, host))
        error = self.error if self.down else "no such name" if host.startswith("no") else ""
        self._open.append(Answer(site, host, None if error else "192.0.2.1", 0, 60.0, error, server="192.0.2.53:53"))

    def forget(self) -> None:
        pass

    def answers(self) -> list[Answer]:
        later = self._open[-1:] if self.slow and len(self._open) > 1 else []
        out, self._open = self._open[: len(self._open) - len(later)], later
        return out


def collect(watched: Watched, clock: VirtualClock, seconds: float) -> list[Answer]:
    """The answers that are passed on within so many seconds."""
    got, end = [], clock.monotonic() + seconds
    while clock.monotonic() < end:
        got += watched.answers()
        clock.advance(1.0)
    return got


def failed(answers: list[Answer]) -> list[str]:
    return sorted(answer.host for answer in answers if answer.address is None)


def sites(answers: list[Answer]) -> list[int]:
    return sorted(answer.site for answer in answers)


def ask(watched: Watched, names: list[str], first: int = 0) -> None:
    for site, host in enumerate(names, first):
        watched.ask(site, host)


@given(st.lists(st.tuples(st.integers(0, 80), st.booleans()), max_size=1_500))
@settings(max_examples=60, deadline=None)
def test_the_window_is_suspicious_when_most_of_the_last_lookups_failed_or_a_long_run(
    lookups: list[tuple[int, bool]],
) -> None:
    window = Window()
    for name, failed in lookups:
        window.add(f"{name}.example", "timed out" if failed else "")
    last = lookups[-LOOKUPS:]
    share = sum(failed for _, failed in last) / max(1, len(last))
    mostly = share > SHARE and len({name for name, _ in last}) >= LEAST_NAMES
    ends = [i for i, (_, failed) in enumerate(lookups) if not failed]
    run = {name for name, _ in lookups[ends[-1] + 1 if ends else 0 :]}
    assert window.suspicious == (mostly or len(run) >= LEAST_NAMES)
    assert (len(window), window.failed) == (len(last), sum(failed for _, failed in last))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(1, 120), st.integers(0, 10)),
        st.tuples(st.just("down"), st.just(0), st.sampled_from([0, 1, 2])),
        st.tuples(st.just("up"), st.just(0), st.just(0)),
        st.tuples(st.just("wait"), st.integers(1, 400), st.just(0)),
    ),
    min_size=1,
    max_size=20,
)


@dataclass
class Call:
    """One call of the guard: what it passed on, and for which sites it looked something up."""

    faults: tuple[str, str]
    """What was wrong with the servers before the call, and after it."""
    passed: list[Answer]
    looked_up: list[int]


def follow(
    steps: list[tuple[str, int, int]], servers: Servers, watched: Watched, clock: VirtualClock
) -> Iterator[Call]:
    """Asks and waits as `steps` say, while the servers go down and up."""
    site = 0
    for step, number, kind in steps:
        before, fault = len(servers.asked), watched.fault
        if step == "ask":
            ask(watched, [f"{'no' if i % 10 < kind else 'a'}{site + i}.example" for i in range(number)], site)
            site += number
            yield Call((fault, watched.fault), [], [site for site, _ in servers.asked[before:]])
        elif step == "wait":
            for _ in range(number):
                before, fault = len(servers.asked), watched.fault
                passed = watched.answers()
                yield Call((fault, watched.fault), passed, [site for site, _ in servers.asked[before:]])
                clock.advance(1.0)
        else:
            servers.down = step == "down"
            servers.error = ("timed out", "no such name", "the name server failed")[kind]


def calls_of(steps: list[tuple[str, int, int]]) -> int:
    return sum({"ask": 1, "wait": number}.get(step, 0) for step, number, _ in steps)


@given(STEPS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_ask_gets_exactly_one_answer_once_the_servers_answer(
    steps: list[tuple[str, int, int]], slow: bool
) -> None:
    servers, clock, got = Servers(slow=slow), VirtualClock(), list[Answer]()
    watched = Watched(servers, clock)
    for call in follow(steps, servers, watched, clock):
        got += call.passed
    asked = sum(number for step, number, _ in steps if step == "ask")
    assert watched.open == asked - len(got)
    servers.down = False
    watched.ask(asked, "an.example")
    got += collect(watched, clock, 30 * LATEST)
    assert sites(got) == list(range(asked + 1))
    assert watched.open == 0
    assert not watched.fault
    assert {answer.host for answer in got if answer.address is not None} >= {"an.example"}


@given(STEPS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_failure_is_passed_on_while_the_servers_are_at_fault(steps: list[tuple[str, int, int]], slow: bool) -> None:
    servers, clock = Servers(slow=slow), VirtualClock()
    calls = list(follow(steps, servers, Watched(servers, clock), clock))
    assert len(calls) == calls_of(steps)
    for call in calls:
        assert not (all(call.faults) and failed(call.passed))


@given(STEPS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_nothing_is_looked_up_but_probes_while_the_servers_are_at_fault(
    steps: list[tuple[str, int, int]], slow: bool
) -> None:
    servers, clock = Servers(slow=slow), VirtualClock()
    calls = list(follow(steps, servers, Watched(servers, clock), clock))
    assert len(calls) == calls_of(steps)
    for call in calls:
        assert not call.faults[1] or all(site == -1 for site in call.looked_up)


@given(st.integers(1, 300), st.integers(1, 3_000), st.booleans())
@example(2, 1, True)
@settings(max_examples=40, deadline=None)
def test_no_name_that_exists_is_given_up_in_an_outage_if_another_was_found_before(
    number: int, seconds: int, slow: bool
) -> None:
    servers, clock = Servers(slow=slow), VirtualClock()
    watched = Watched(servers, clock)
    watched.ask(0, "first.example")
    assert sites(collect(watched, clock, 3)) == [0]
    servers.down = True
    ask(watched, [f"a{i}.example" for i in range(number)], 1)
    assert collect(watched, clock, seconds) == []
    servers.down = False
    answers = collect(watched, clock, 2 * LATEST)
    assert sites(answers) == list(range(1, number + 1))
    assert failed(answers) == []


@given(st.integers(1, 20), st.integers(1, 5), st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_no_name_is_given_up_in_an_outage_while_names_are_looked_up_all_the_time(
    before: int, number: int, seconds: int
) -> None:
    servers, clock = Servers(), VirtualClock()
    watched, got = Watched(servers, clock), list[Answer]()
    for second in range(before + seconds + 30):
        servers.down = before <= second < before + seconds
        ask(watched, [f"a{second}-{i}.example" for i in range(number)], second * number)
        got += collect(watched, clock, 1)
    got += collect(watched, clock, 2 * LATEST)
    assert sites(got) == list(range((before + seconds + 30) * number))
    assert failed(got) == []


def test_a_name_that_does_not_exist_is_believed_when_others_do() -> None:
    servers, clock = Servers(), VirtualClock()
    watched = Watched(servers, clock)
    ask(watched, ["a.example", "none.example"])
    assert failed(collect(watched, clock, 5)) == ["none.example"]
    assert Counter(host for _, host in servers.asked) == {"a.example": 2, "none.example": 1}
    assert watched.warnings == []


def test_a_few_failures_without_controls_are_believed() -> None:
    servers, clock = Servers(), VirtualClock()
    watched = Watched(servers, clock)
    ask(watched, [f"no{i}.example" for i in range(LEAST_NAMES - 1)])
    assert len(failed(watched.answers())) == LEAST_NAMES - 1
    assert not watched.fault


def test_a_list_of_sites_that_are_gone_is_no_fault_of_the_servers() -> None:
    servers, clock = Servers(), VirtualClock()
    watched = Watched(servers, clock)
    names = [f"{'a' if i % 40 == 0 else 'no'}{i}.example" for i in range(3_000)]
    got = []
    for i in range(0, len(names), 20):
        ask(watched, names[i : i + 20], i)
        got += collect(watched, clock, 2)
    got += collect(watched, clock, 60)
    assert sites(got) == list(range(3_000))
    assert len(failed(got)) == 2_925
    assert watched.warnings == []
    assert len(servers.asked) < 3_600


def test_in_a_list_of_sites_that_are_almost_all_gone_the_others_are_found_in_the_end() -> None:
    servers, clock = Servers(), VirtualClock()
    watched = Watched(servers, clock)
    names = [f"{'a' if i == 180 else 'no'}{i}.example" for i in range(200)]
    ask(watched, names)
    got = collect(watched, clock, 3_600)
    assert [answer.host for answer in got if answer.address] == ["a180.example"]
    assert sites(got) == list(range(200))


def test_the_warning_names_the_servers_the_kinds_of_failure_and_what_to_check() -> None:
    servers, clock = Servers(down=True), VirtualClock()
    watched = Watched(servers, clock)
    ask(watched, [f"a{i}.example" for i in range(60)])
    assert collect(watched, clock, 60) == []
    assert "192.0.2.53:53" in watched.fault
    assert "60 of the last 60 lookups failed (60 timed out)" in watched.fault
    (warning,) = watched.warnings
    assert "harvester.resolvers" in warning
    servers.down = False
    assert len(collect(watched, clock, LATEST)) == 60
    assert not watched.fault
    assert "60 names to look up" in watched.warnings[1]


def test_probes_become_rare_and_addresses_in_urls_need_none() -> None:
    servers, clock = Servers(), VirtualClock()
    watched = Watched(servers, clock)
    watched.ask(0, "first.example")
    collect(watched, clock, 2)
    servers.down = True
    ask(watched, [f"a{i}.example" for i in range(60)], 1)
    collect(watched, clock, 5)
    assert watched.fault
    before = len(servers.asked)
    collect(watched, clock, 3_600)
    assert 3_600 / LATEST < len(servers.asked) - before <= 3_600 / SOONEST / 3
    watched.ask(99, "192.0.2.7")
    assert servers.asked[-1] == (99, "192.0.2.7")


def test_a_crawl_continues_after_an_outage_and_no_site_is_suspended(tmp_path: Path) -> None:
    """The servers fail when a part is fetched: nothing is found for twenty minutes, then every name is."""
    hosts = [f"s{i}.example" for i in range(120)]
    web = {f"http://{host}/": Reply(links=[f"http://{hosts[(i + 1) % 120]}/"]) for i, host in enumerate(hosts)}
    web |= {"http://s0.example/": Reply(links=[f"http://{host}/" for host in hosts[1:100]])}
    world = World(tmp_path, web)
    start = world.clock.monotonic()
    lookups: list[float] = []

    def address(host: str) -> str | None:
        lookups.append(world.clock.monotonic() - start)
        return None if 5 < lookups[-1] < 1_200 else f"198.51.100.{hosts.index(host.removeprefix('www.'))}"

    world.address = address
    result = world.run(["http://s0.example/", "http://s1.example/"])
    assert result.ending is Ending.DONE
    assert result.in_state(State.DONE) == set(web)
    assert len([t for t in lookups if 5 < t < 1_200]) < 150
    site = result.crawl.desk.columns.site
    assert site.name_failures[:120].max() == 0
    assert site.respelled[:120].max() == 0
    assert len(result.crawl.names.warnings) == 2
    assert impolite(world.asked, 15.0, 1.0) == []
    events = world.replayed().columns.site.why[:120]
    assert (events != Aside.NAME_FAILED).all()


def test_a_crawl_whose_servers_never_answer_waits_until_its_time_is_over(tmp_path: Path) -> None:
    seeds = [f"http://s{i}.example/" for i in range(80)]
    world = World(tmp_path, {seed: Reply() for seed in seeds}, address=lambda host: None)
    result = world.run(seeds, seconds=1_800.0)
    assert result.ending is Ending.TIME
    assert result.crawl.names.fault
    assert result.crawl.desk.columns.site.name_failures[:80].max() == 0
    world.address = lambda host: f"198.51.100.{sum(host.encode()) % 200}"
    assert world.run().in_state(State.DONE) == set(seeds)


def test_the_requested_number_of_pages_ends_a_crawl_although_names_are_open(tmp_path: Path) -> None:
    seeds = [f"http://s{i}.example/" for i in range(80)]
    world = World(tmp_path, {seed: Reply() for seed in seeds})
    world.address = lambda host: "192.0.2.1" if host == "s0.example" else None
    result = world.run(seeds, pages=1, seconds=7_200.0)
    assert result.ending is Ending.PAGES
