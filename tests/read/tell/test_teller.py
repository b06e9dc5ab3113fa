"""The teller: in order, at least once across kills, nothing again after its mark."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.verify import Maker
from gossamer.base.errors import UsageError
from gossamer.collection import watches
from gossamer.collection.watches import Watch, read_standing
from gossamer.config import Settings
from gossamer.read.changes.events import Event, Mark, reading
from gossamer.read.steer.again import Chosen, Filter, Reopened, choose
from gossamer.read.steer.deliver import Delivered
from gossamer.read.tell import teller as telling
from gossamer.read.tell import within
from gossamer.read.tell.message import Message
from gossamer.read.tell.send import NotToldError
from gossamer.read.tell.teller import Only, Teller
from gossamer.read.tell.within import condition
from tests.read.changes.test_shown import EVENT
from tests.support.receiving import receiving
from tests.support.timing import COMMAND
from tests.support.world import at_processor_speed


class Killed(BaseException):
    """The process was killed here."""


class Source:
    """Events in memory."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events

    def after(self, mark: Mark, most: int) -> list[Event]:
        return [event for event in self.events if event.mark > mark][:most]

    def last(self) -> Mark:
        return self.events[-1].mark if self.events else Mark(0, 0)

    def with_lines(self, events: list[Event], most: int = 0) -> Iterable[Event]:
        return events


def event(place: int, site: str) -> Event:
    return replace(EVENT, url=f"http://{site}.example/{place}", mark=Mark(place // 3 + 1, place % 3))


ACTIONS = st.lists(
    st.sampled_from(["ok", "ok", "refuse", "kill before", "kill after", "kill at the mark"]), max_size=30
)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40), ACTIONS, st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_every_event_that_matches_is_told_in_order(
    tmp_path_factory: pytest.TempPathFactory, sites: list[str], actions: list[str], chunk: int, most: int
) -> None:
    for each in run_with_kills(tmp_path_factory.mktemp("t"), sites, actions, chunk, most):
        assert list(dict.fromkeys(each.told)) == each.wanted, "each at least once, and first in order"


@given(st.lists(st.sampled_from("ab"), min_size=5, max_size=40), ACTIONS, st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_nothing_is_told_again_once_its_mark_is_written(
    tmp_path_factory: pytest.TempPathFactory, sites: list[str], actions: list[str], most: int
) -> None:
    watched = run_with_kills(tmp_path_factory.mktemp("t"), sites, actions, 5, most)
    for each in watched:
        assert each.marks == sorted(each.marks)
        assert each.after_its_mark == 0
    twice = sum(len(each.told) - len(each.wanted) for each in watched)
    assert twice <= most * sum(action in ("kill after", "kill at the mark") for action in actions)


@dataclass
class Watched:
    """What became of a watch."""

    wanted: list[Mark] = field(default_factory=list)
    """The events that match."""
    told: list[Mark] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    """As they were written."""
    after_its_mark: int = 0
    """Events that were sent though their mark was written."""


@at_processor_speed()
def run_with_kills(folder: Path, sites: list[str], actions: list[str], chunk: int, most: int) -> list[Watched]:
    """Tells events to three watches, with a receiver and a teller that fail as `actions` say; new events come while it
    runs."""
    for target in ("a.example", "*.example", "http://b.example/*"):
        watches.add(folder, Watch(0, target, webhook="http://x/"))
    events = [event(place, site) for place, site in enumerate(sites)]
    found: dict[int, Watched] = defaultdict(Watched)
    script, clock = list(actions), iter(range(0, 10**9, int(telling.LONGEST_PAUSE)))

    def started() -> Teller:
        return Teller(folder, lambda: float(next(clock)), lambda line: None, send)

    def send(watch: Watch, message: Message, _settings: Settings, _now: float) -> None:
        action = script.pop(0) if script else "ok"
        if action == "kill before":
            raise Killed
        standing = read_standing(folder, watch)
        late = sum(e.mark <= (standing.tick, standing.number) for e in message.events)
        found[watch.number].after_its_mark += late
        if action == "refuse":
            raise NotToldError("no")
        found[watch.number].told += [e.mark for e in message.events]
        if action == "kill after":
            raise Killed
        if action == "kill at the mark":
            script.insert(0, "kill at the mark")

    def write(where: Path, number: int, standing: watches.Standing) -> None:
        if script[:1] == ["kill at the mark"]:
            script.pop(0)
            raise Killed
        watches.write_standing(where, number, standing)
        found[number].marks.append(Mark(standing.tick, standing.number))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(telling, "CHUNK", chunk)
        patch.setattr(telling, "MOST_EVENTS", most)
        patch.setattr(telling, "write_standing", write)
        teller = started()
        for turn in range(2 * len(events) + len(actions)):
            try:
                teller.tell(teller._due(), Source(events[: len(events) // 2 + turn]), Settings())
            except Killed:
                teller = started()
        assert teller.tell(teller._due(), Source(events), Settings()) is False, "nothing is left"
    for watch in watches.read(folder).watches:
        found[watch.number].wanted = [e.mark for e in events if watch.matches(e.url)]
    return list(found.values())


def test_failures_pause_one_watch_and_are_counted(tmp_path: Path) -> None:
    for target in ("a.example", "b.example"):
        watches.add(tmp_path, Watch(0, target, webhook="http://x/"))
    now, said, sent = 1_000.0, list[str](), list[int]()

    def send(watch: Watch, *_: Any) -> None:
        sent.append(watch.number)
        if watch.number == 1:
            raise NotToldError("it answers 500")

    source = Source([event(n, site) for n, site in enumerate("ab")])
    teller = Teller(tmp_path, lambda: now, said.append, send)
    for pause in (10, 20, 40):
        assert teller.tell(teller._due(), source, Settings()) is False
        standing = read_standing(tmp_path, watches.read(tmp_path).watches[0])
        assert standing.next == now + pause
        now += pause - 1
        assert [w.number for w in teller._due()] == [2]
        now += 1
    assert (standing.failures, standing.since, standing.error, sent) == (3, 1_000.0, "it answers 500", [1, 2, 1, 1])
    assert said[0] == "watch 1: it answers 500; it is tried again in 10 s"


def test_one_process_tells_at_a_time(tmp_path: Path) -> None:
    first = Only(tmp_path)
    with pytest.raises(UsageError, match="by another process"):
        Only(tmp_path)
    first.close()
    Only(tmp_path).close()


@pytest.mark.slow
def test_events_of_a_collection_are_told_at_least_once_across_kills(tmp_path: Path) -> None:
    """`gossamer watch --follow`, killed at any time; a new watch is told nothing that was known when it was added."""
    folder = tmp_path / "crawl"
    Maker(folder).make(40, 20, unsealed=10)
    with reading(folder) as events:
        wanted, kills = {each.url for each in events.after(Mark(0, 0), 1_000)}, 0
    assert len(wanted) == 37
    with receiving() as receiver:
        (folder / "crawl.toml").write_text("[collection]\nprivate_webhooks = true\n")
        watches.add(folder, Watch(0, "*.example", receiver.url, secret="s"))
        watches.add(folder, Watch(0, "*.example", receiver.url, secret="s", tick=10**6))
        program = (
            "from gossamer.read.tell import message; message.MOST_BYTES = 2000; message.message.__defaults__ = (2000,)"
        )
        code = f"{program}\nfrom gossamer.cli import main; main()"
        until = time.monotonic() + COMMAND

        def over() -> bool:
            return {e["url"] for e in receiver.events} == wanted or time.monotonic() > until

        while not over():
            enough = len(receiver.got) + 1 + kills % 3
            arguments = [sys.executable, "-c", code, "watch", str(folder), "--follow", "--every", "1s"]
            process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
            while len(receiver.got) < enough and process.poll() is None and not over():
                time.sleep(0.01)
            process.kill()
            assert process.wait() == -signal.SIGKILL, "it ended by itself"
            kills += 1
    got = receiver.events
    assert kills > 1
    first_told = list(dict.fromkeys((e["tick"], e["number"]) for e in got))
    assert first_told == sorted(first_told)
    assert {e["url"] for e in got} == wanted
    assert {json.loads(body)["watch"] for _, body in receiver.got} == {1}
    bundles = [len(json.loads(body)["events"]) for _, body in receiver.got]
    assert len(got) - len(wanted) <= kills * max(bundles), "told twice only where the kill came before the mark"


def test_pages_are_asked_for_again_within_the_time_of_their_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only while a crawl runs, and each watch at its own times; a condition finds what the watch matches."""
    made = Maker(tmp_path).make(40, 20)
    found = [
        Watch(1, "site1.example", within=3600),
        Watch(2, "http://site0.example/p*", within=60),
        Watch(3, "x.example"),
    ]
    for watch in found:
        wanted = [url for url in made.asked if watch.matches(url)]
        chosen = choose(tmp_path, Filter(older=1.0, where=condition(watch)))
        assert len(chosen.ended) + sum(chosen.others.values()) == len(wanted)
        assert (len(chosen.ended) > 0) == bool(wanted)
    now, asked, running = 1_000.0, list[Filter](), False
    desk = SimpleNamespace(alive=True)
    monkeypatch.setattr(within, "holder", lambda shard: desk if running else None)

    def again(_folder: Path, which: Filter) -> Reopened:
        asked.append(which)
        return Reopened(Chosen([7], {}), Delivered(True, {}))

    monkeypatch.setattr(within, "again", again)
    looking = within.Within(tmp_path, lambda: now)
    assert looking.turn(found) == 0
    running = True
    assert [looking.turn(found), looking.turn(found)] == [2, 0]
    now += within.LEAST
    assert looking.turn(found) == 1
    now += 330
    assert looking.turn(found) == 2
    assert [which.older for which in asked] == [2880.0, 0.0, 0.0, 2880.0, 0.0]
