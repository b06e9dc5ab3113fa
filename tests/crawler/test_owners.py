"""Whole simulated crawls with `harvester.mine`, of random Webs: sites that are the operator's, that were, that claim to
be, and others, behind shared addresses, through days, failures and kills."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from hypothesis import Phase, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from gossamer import urls
from gossamer.base.model import Ask, Outcome, VisitFlag
from gossamer.harvester.errands.mine import AT_MOST
from gossamer.harvester.owned import Owned
from gossamer.robots import Rules
from gossamer.web.owner.key import Key, write
from gossamer.web.owner.proof import WELL_KNOWN, line, shown
from gossamer.webs import checker
from gossamer.webs.simulated import Asked, Labels, Reply
from tests.support.world import World, impolite

MINE, OTHERS = ("a.example", "b.example", "c.example"), ("d.example", "e.example")
KEY = Key(b"k" * 32, frozenset(MINE))
PAGES = 80
SHOWN = ("robots", "robots", "file", "borrowed", "none")
"""What a site shows in its robots.txt or in its file of proof."""


@dataclass
class Web:
    """A Web that changes from one run to the next."""

    random: Random
    now: World | None = None
    kills: list[float] = field(default_factory=list)
    bodies: dict[str, list[tuple[float, bytes]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.seconds = {site: self.random.choice([0.01, 0.05, 0.3]) for site in (*MINE, *OTHERS)}
        places = [f"192.0.2.{n}" for n in range(1, 5)]
        self.address = {site: self.random.choice(places) for site in (*MINE, *OTHERS)}
        self.change()

    def change(self) -> None:
        self.shown = {site: self.random.choice(SHOWN) for site in (*MINE, *OTHERS)}
        self.delays = {site: self.random.choice(["", "", "", "*: 3", "Gossamer: 2", "Gossamer: 0.2"]) for site in MINE}

    def body(self, site: str, own_file: bool) -> bytes:
        mode = self.shown[site]
        proofs = [KEY.proof(MINE[0])] if mode == "borrowed" and site != MINE[0] else []
        if mode == ("file" if own_file else "robots"):
            proofs.append(KEY.proof(site))
        agent, _, delay = ("" if own_file else self.delays.get(site, "")).partition(":")
        group = f"User-agent: {agent}\nCrawl-delay:{delay}\nDisallow:\n" if delay else ""
        return (group + "".join(f"{line(proof)}\n" for proof in proofs)).encode()

    def reply(self, url: str) -> Reply:
        site, path = urls.host(url), "/" + url.split("/", 3)[3]
        seconds = self.seconds[site] * self.random.choice([1, 1, 1, 2])
        if path in ("/robots.txt", WELL_KNOWN):
            return self._file(url, site, path == WELL_KNOWN, seconds)
        if self.random.random() < 0.02:
            return Reply(Outcome.TOO_MANY_REQUESTS, 429, seconds=seconds, retry_after=self.random.choice([-1, 3]))
        n = int(path[1:] or 0)
        links = [f"http://{site}/{m}" for m in (2 * n + 1, 2 * n + 2) if m < PAGES]
        if n < 12:
            links.append(f"http://{self.random.choice((*MINE, *OTHERS))}/")
        return Reply(links=links, digest=urls.fingerprint(url, 1), seconds=seconds)

    def _file(self, url: str, site: str, own_file: bool, seconds: float) -> Reply:
        body = self.body(site, own_file)
        if own_file and not body:
            return Reply(Outcome.NOT_FOUND, 404, seconds=seconds)
        assert self.now is not None
        self.bodies[url].append((self.now.clock.monotonic(), body))
        rules = Rules.parse(body, "Gossamer")
        detail = f"gossamer-mine: {' '.join(shown(body))}"
        delay, labels = (
            rules.delay if rules.delay is not None else -1.0,
            Labels(flags=VisitFlag.NAMED * rules.named, detail=detail),
        )
        return Reply(seconds=seconds, delay=delay, labels=labels)

    def served(self, request: checker.Request) -> bytes | None:
        return next((text for at, text in reversed(self.bodies[request.url]) if at <= request.start + 1e-6), None)


@contextmanager
def crawl(seed: int, *changes: str) -> Iterator[tuple[World, Web]]:
    """Crawls a Web of this seed in several runs, some of which are killed."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write(path / "mine.key", KEY)
        web = Web(random)
        mine = ("harvester.mine=true", f"harvester.mine_key={path / 'mine.key'}", "seeder.domains=example", *changes)
        world = World(path / "crawl", web.reply, mine, address=web.address.get)
        web.now = world
        for _ in range(random.randint(1, 3)):
            killed = random.random() < 0.4
            if killed:
                world.run([f"http://{MINE[0]}/"], turns=random.randint(5, 400), clean=False)
                web.kills.append(world.clock.monotonic())
            else:
                world.run([f"http://{MINE[0]}/"], seconds=random.choice([10.0, 60.0]))
            world.clock.advance(random.choice([1.0, 30.0, 3600.0, 20 * 3600.0, 26 * 3600.0]))
            web.change()
        yield world, web


def site(asked: Asked) -> str:
    return urls.host(asked.url)


def by_address(world: World) -> list[list[Asked]]:
    found: dict[str, list[Asked]] = defaultdict(list)
    for asked in sorted(world.asked, key=lambda each: each.start):
        found[asked.address].append(asked)
    return list(found.values())


RANDOM = examples(deadline=None, max_examples=8, phases=(Phase.explicit, Phase.reuse, Phase.generate))
SEEDS = st.integers(0, 1 << 30)


@RANDOM
@given(seed=SEEDS, pace=st.sampled_from(["polite", "gentle"]))
def test_no_request_to_a_site_without_a_valid_proof_is_earlier_than_at_the_usual_pace(seed: int, pace: str) -> None:
    with crawl(seed, f"harvester.pace={pace}") as (world, web):
        others = [asked for asked in world.asked if site(asked) in OTHERS]
        assert impolite(others, 1.0 if pace == "gentle" else 5.0, 1.0) == []
        log = [
            checker.Request(
                a.start, a.end, a.address, site(a), "/" + a.url.split("/", 3)[3], a.status or 444,
                retry_after=a.retry_after if a.retry_after >= 0 else None,
            )
            for a in world.asked
        ]  # fmt: skip
        report = checker.check(log, world.settings, web.served, web.kills)
    assert [str(each) for each in report.violations] == []
    assert report.requests


@RANDOM
@given(seed=SEEDS)
def test_sites_of_the_operator_get_at_most_ten_requests_in_a_second(seed: int) -> None:
    with crawl(seed) as (world, _):
        for asked in by_address(world):
            assert all(after.start >= before.start + 0.1 - 1e-6 for before, after in pairwise(asked))
            assert all(after.start >= before.end - 1e-6 for before, after in pairwise(asked))


@RANDOM
@given(seed=SEEDS)
def test_the_wait_of_an_address_that_has_other_sites_too_stays(seed: int) -> None:
    with crawl(seed) as (world, _):
        for asked in by_address(world):
            first = next((n for n, each in enumerate(asked) if site(each) in OTHERS), len(asked))
            assert impolite(asked[max(0, first - 1) :], 0.0, 1.0) == []


@examples(deadline=None, max_examples=25, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    name=st.sampled_from([MINE[0], OTHERS[0]]),
    scheme=st.sampled_from(["http", "https"]),
    port=st.sampled_from(["", "", ":8080"]),
    own_file=st.booleans(),
    moved=st.booleans(),
    outcome=st.sampled_from([Outcome.OK, Outcome.OK, Outcome.NOT_FOUND]),
)
def test_only_an_answer_of_a_claimed_site_itself_without_a_redirect_at_port_80_or_443_makes_it_the_operators(
    name: str, scheme: str, port: str, own_file: bool, moved: bool, outcome: Outcome
) -> None:
    root = f"{scheme}://{name}{port}"
    where, proof = (
        root + (WELL_KNOWN if own_file else "/robots.txt"),
        Labels(detail=f"gossamer-mine: {KEY.proof(name)}"),
    )
    web = {root + "/": Reply(links=[]), where: Reply(outcome, 200 if outcome is Outcome.OK else 404, labels=proof)}
    if moved:
        web[root + "/moved"] = web[where]
        web[where] = Reply(Outcome.REDIRECT, 301, redirect=root + "/moved", labels=proof)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "mine.key", KEY)
        changes = ("harvester.mine=true", f"harvester.mine_key={folder}/mine.key", "seeder.domains=*")
        result = World(Path(folder) / "crawl", web, changes).run([root + "/"])
        owned = bool(result.crawl.desk[Owned].proofs)
    assert owned == (name in MINE and not port and not moved and outcome is Outcome.OK)


@examples(deadline=None, max_examples=2, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(valid=st.integers(60, 900), status=st.sampled_from([404, 500]))
def test_in_a_run_a_site_is_asked_for_its_file_of_proof_at_most_once_an_hour(valid: int, status: int) -> None:
    outcome = Outcome.NOT_FOUND if status == 404 else Outcome.SERVER_ERROR
    root = f"http://{MINE[0]}/"
    web = {root: Reply(links=[]), root[:-1] + WELL_KNOWN: Reply(outcome, status)}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "mine.key", KEY)
        mine = ("harvester.mine=true", f"harvester.mine_key={folder}/mine.key", "manager.min_period=5min")
        world = World(Path(folder) / "crawl", web, (*mine, f"harvester.robots_valid={valid}s"))
        world.run([root], seconds=1.2 * AT_MOST, patience=3600.0)
    asked = [each.start for each in world.asked if each.ask is Ask.PROOF]
    assert len(asked) == 2
    assert all(after - before >= AT_MOST for before, after in pairwise(asked))
