"""The checker, tested by mutation: a log that breaks one rule is accused of exactly that, and an ideal crawler of
nothing."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.config.settings import Settings
from gossamer.robots import Rules
from gossamer.webs.checker import Fault, PolitenessLimits, Request, check
from gossamer.webs.checker import report as report_module
from gossamer.webs.checker.limits import MOST_SLOWED
from gossamer.webs.checker.logs import by_start
from gossamer.webs.checker.robots import DOUBTFUL, Origin, RobotsAnswer
from tests.support.timing import takes_less

LIMITS = replace(
    PolitenessLimits.of(Settings()),
    wait=5.0,
    pause=1.0,
    address_wait=0.5,
    max_delay=60.0,
    robots_valid=600.0,
    late=0.0,
    wait_factor=10.0,
    domain_wait=0.25,
    contacts=("me@a.test", "http://a.test/us"),
)
DAY = 86_400.0
FACES = (
    b"User-agent: *\nDisallow: /even/\n",
    b"User-agent: Gossamer\nDisallow: /odd/\nCrawl-delay: 8\n",
    b"User-agent: *\nDisallow: /even/\nDisallow: /odd/\n",
    b"User-agent: *\nCrawl-delay: 900\nDisallow:\n",
)


def face(request: Request) -> bytes:
    """The robots.txt of a host at a time: it changes every five minutes; too long a Crawl-delay is rare."""
    return FACES[random.Random(f"{request.host} {request.start // 300}").choice((0, 0, 1, 1, 2, 0, 1, 3))]


def kinds(log: list[Request], *kills: float, limits: PolitenessLimits = LIMITS) -> list[Fault]:
    return [v.kind for v in check(log, limits, face, kills).violations]


# --- an ideal crawler


@dataclass
class Site:
    due: float = 0.0
    slow: float = 1.0
    delay: float = 0.0
    rules: Rules | None = None
    read: float = 0.0
    left: bool = False


@dataclass
class Crawler:
    """Requests as early as the rules allow, plus `extra` seconds, and writes the log of it."""

    sites: list[Site] = field(default_factory=lambda: [Site() for _ in range(4)])
    due: dict[str, float] = field(default_factory=dict)
    """By address and by domain."""
    log: list[Request] = field(default_factory=list)
    slack: list[float] = field(default_factory=list)

    def ask(self, number: int, status: int, took: float, extra: float, retry: float | None) -> None:
        site = self.sites[number]
        host, address = f"s{number}.{'ab'[number // 2]}.test", f"127.0.0.{number % 3}"
        domain = host.partition(".")[2]
        start = max(site.due, self.due.get(address, 0.0), self.due.get(domain, 0.0)) + extra
        target = self.target(site, start, status)
        if target is None:
            return
        end = start + took
        request = Request(
            start, end, address, host, target, status, retry_after=retry, agent="Gossamer/0.1 (+me@a.test)", sender="-"
        )
        self.log.append(request)
        self.slack.append(extra)
        slows = status == 429 or status >= 500 or (status == 402 and target != "/robots.txt")
        site.slow = min(site.slow * 2, MOST_SLOWED) if slows else max(1.0, site.slow * 0.9)
        if target == "/robots.txt":
            self.learn(site, request)
        wait = max(5.0, 0.0 if site.left else site.delay)  # too long a delay is not waited for: the site is left
        site.due = end + max(wait * site.slow, 10.0 * took, retry or 0.0)
        self.due[address], self.due[domain] = end + 0.5, end + 0.25

    def target(self, site: Site, start: float, status: int) -> str | None:
        if site.rules is None or start - site.read > 600.0:
            return "/robots.txt"
        allowed = [path for path in ("/even/1", "/odd/1", "/sitemap.xml") if site.rules.allows(path)]
        return None if site.left else allowed[status % len(allowed)]

    def learn(self, site: Site, answer: Request) -> None:
        if answer.status == 429 or answer.status >= 500:
            site.rules = None
            return
        site.rules = Rules.parse(face(answer) if answer.status == 200 else b"", "Gossamer")
        site.read, site.delay = answer.end, site.rules.delay or 0.0
        site.left = site.delay > 60.0


REQUESTS = st.tuples(
    st.integers(0, 3),
    st.sampled_from([200, 200, 200, 404, 402, 429, 500, 503]),
    st.floats(0, 3),
    st.floats(0, 60),
    st.one_of(st.none(), st.floats(1, 900)),
)


@st.composite
def crawls(draw: st.DrawFn) -> Crawler:
    crawler = Crawler()
    for request in draw(st.lists(REQUESTS, min_size=2, max_size=40)):
        crawler.ask(*request)
    return crawler


@examples(deadline=None, max_examples=100)
@given(crawls(), st.lists(st.floats(0, 2_000), max_size=4))
def test_an_ideal_crawler_is_accused_of_nothing_whenever_it_is_killed(crawler: Crawler, kills: list[float]) -> None:
    assert kinds(crawler.log) == []
    assert kinds(crawler.log, *kills) == []


@examples(deadline=None, max_examples=60)
@given(crawls(), st.data())
def test_one_request_too_early_is_accused(crawler: Crawler, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, len(crawler.log) - 1))
    moved = crawler.log[n]
    if moved.start - crawler.slack[n] < 0.2:
        return  # there is no request before it
    early = moved.start - crawler.slack[n] - data.draw(st.floats(0.06, 0.2))
    moved = replace(moved, start=early, end=early + 1e-3)
    report = check([*crawler.log[:n], moved], LIMITS, face)
    assert moved in [v.request for v in report.violations]


# --- each rule by itself


def ask(start: float, target: str = "/odd/1", status: int = 200, took: float = 0.1, **more: object) -> Request:
    return replace(
        Request(start, start + took, "127.0.0.1", "s.a.test", target, status, agent="Gossamer/0.1 (+me@a.test)"),
        **more,  # type: ignore[arg-type]
    )


def host_with(faces: set[int], at: float = 0.0) -> str:
    """A host whose robots.txt has one of these faces at a time."""
    names = (f"h{n}.a.test" for n in range(10_000))
    return next(name for name in names if face(replace(ask(at), host=name)) in [FACES[f] for f in faces])


EVEN, ODD, CLOSED, FAR = (host_with({n}) for n in range(4))
FIRST = ask(0.0, "/robots.txt", host=EVEN)


def at(start: float, target: str = "/odd/1", **more: object) -> Request:
    return ask(start, target, **{"host": EVEN, **more})  # type: ignore[arg-type]


BUSY = at(10.0, status=429)
GOOD = [at(20.2 + n * 9.2) for n in range(3)]
"""Waits after a 429: 10 s, then 9 s, then 8.1 s."""

BROKEN = {
    "too early": ([FIRST, at(5.0)], Fault.SITE_EARLY),
    "Crawl-delay": ([replace(FIRST, host=ODD), at(7.0, "/even/1", host=ODD)], Fault.SITE_EARLY),
    "429 doubles": ([FIRST, BUSY, at(20.0)], Fault.SLOWED_EARLY),
    "402 doubles": ([FIRST, replace(BUSY, status=402), at(20.0)], Fault.SLOWED_EARLY),
    "5xx doubles": ([FIRST, replace(BUSY, status=504), at(20.0)], Fault.SLOWED_EARLY),
    "429 twice": ([FIRST, BUSY, at(20.2, status=503), at(40.0)], Fault.SLOWED_EARLY),
    "slow to recover": ([FIRST, BUSY, *GOOD[:2], at(GOOD[1].end + 8.0)], Fault.SLOWED_EARLY),
    "an answer that took long": ([FIRST, at(10.0, took=2.0), at(31.0)], Fault.TOOK_EARLY),
    "address": ([FIRST, at(0.5, "/robots.txt", host="s.b.test")], Fault.ADDRESS_EARLY),
    "domain": ([FIRST, at(0.2, "/robots.txt", host="t.a.test", address="127.0.0.9")], Fault.DOMAIN_EARLY),
    "parallel at the site": ([at(0.0, "/robots.txt", took=3.0), at(2.0, "/robots.txt")], Fault.SITE_PARALLEL),
    "parallel at the address": ([FIRST, at(0.05, "/robots.txt", host="s.b.test")], Fault.ADDRESS_PARALLEL),
    "parallel at the domain": (
        [FIRST, at(0.05, "/robots.txt", host="t.a.test", address="127.0.0.9")],
        Fault.DOMAIN_PARALLEL,
    ),
    "Retry-After": ([FIRST, replace(BUSY, retry_after=60.0), at(70.0)], Fault.RETRY_AFTER),
    "Retry-After of a page": (
        [FIRST, replace(BUSY, status=200, retry_after=60.0), at(70.0)],
        Fault.RETRY_AFTER,
    ),
    "Retry-After of robots.txt": ([replace(FIRST, retry_after=60.0), at(50.0)], Fault.RETRY_AFTER),
    "forbidden": ([FIRST, at(10.0, "/even/1")], Fault.FORBIDDEN),
    "a forbidden sitemap": (
        [replace(FIRST, host=CLOSED), at(9.0, "/odd/sitemap.xml", host=CLOSED)],
        Fault.FORBIDDEN,
    ),
    "robots.txt 503": ([replace(FIRST, status=503), at(30.0)], Fault.FORBIDDEN),
    "robots.txt 429": ([replace(FIRST, status=429), at(30.0)], Fault.FORBIDDEN),
    "robots.txt without answer": ([replace(FIRST, status=444), at(30.0)], Fault.FORBIDDEN),
    "robots.txt that the client left": ([replace(FIRST, status=499), at(30.0)], Fault.NO_ROBOTS),
    "robots.txt fails when asked again": (
        [FIRST, at(650.0, "/robots.txt", status=500), at(700.0)],
        Fault.FORBIDDEN,
    ),
    "no robots.txt": ([at(0.0)], Fault.NO_ROBOTS),
    "rules too old": ([FIRST, at(601.0)], Fault.NO_ROBOTS),
    "robots.txt moved to what forbids": (
        [at(0.0, "/robots.txt", status=301, location="/r.txt"), at(9.0, "/r.txt"), at(20.0, "/even/1")],
        Fault.FORBIDDEN,
    ),
    "Crawl-delay too long": ([replace(FIRST, host=FAR), at(950.0, "/odd/1", host=FAR)], Fault.DELAY_TOO_LONG),
    "no name": ([replace(FIRST, agent="-")], Fault.NAMELESS),
    "another name": ([replace(FIRST, agent="Mozilla/5.0 Gossamer/0.1 (+me@a.test)")], Fault.NAMELESS),
    "no version": ([replace(FIRST, agent="Gossamer (+me@a.test)")], Fault.NAMELESS),
    "no contact": ([replace(FIRST, agent="Gossamer/0.1", sender="-")], Fault.NAMELESS),
    "HEAD": ([replace(FIRST, method="HEAD")], Fault.METHOD),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_log_that_breaks_one_rule_is_accused_of_just_that(name: str) -> None:
    log, kind = BROKEN[name]
    limits = replace(LIMITS, robots_valid=1e6) if kind is Fault.DELAY_TOO_LONG else LIMITS
    assert kinds(log[:-1], limits=limits) == []
    assert kinds(log, limits=limits) == [kind]


ALLOWED = {
    "Crawl-delay": [replace(FIRST, host=ODD), at(8.2, "/even/1", host=ODD)],
    "429 doubles": [FIRST, BUSY, at(20.2)],
    "slow to recover": [FIRST, BUSY, *GOOD],
    "an answer that took long": [FIRST, at(10.0, took=2.0), at(32.0)],
    "Retry-After": [FIRST, replace(BUSY, retry_after=60.0), at(70.2)],
    "Retry-After of years": [FIRST, replace(BUSY, retry_after=1e9), at(8 * DAY, "/robots.txt")],
    "robots.txt 404": [replace(FIRST, status=404), at(10.0, "/even/1")],
    "robots.txt of 600 KB, left after 500": [replace(FIRST, status=499, sent=600_000), at(30.0)],
    "a robots.txt that changed": [FIRST, at(650.0, "/robots.txt"), at(660.0, "/sitemap.xml")],
    "robots.txt moved": [
        at(0.0, "/robots.txt", status=301, location="http://t.b.test/r.txt"),
        at(10.0, "/r.txt", host="t.b.test"),
        at(20.0),
    ],
    "robots.txt moved to an unknown place": [
        at(0.0, "/robots.txt", status=301),
        at(10.0, "/r.txt", host="t.b.test"),
        at(20.0),
    ],
    "a log without names": [replace(FIRST, agent="", sender="")],
    "a contact in From": [replace(FIRST, agent="Gossamer/0.1", sender="me@a.test")],
}


@pytest.mark.parametrize("name", ALLOWED)
def test_a_log_that_barely_keeps_a_rule_is_not_accused(name: str) -> None:
    assert kinds(ALLOWED[name]) == []


def test_after_thirty_days_of_failures_the_last_good_robots_txt_counts() -> None:
    failures = [at(700.0 + day * DAY, "/robots.txt", status=503) for day in (0, 8, 16, 24, 31)]
    after = failures[-1].end + DAY
    assert kinds([FIRST, *failures[:4], at(29 * DAY)]) == [Fault.FORBIDDEN]
    assert kinds([FIRST, *failures, at(after)]) == []
    assert kinds([FIRST, *failures, at(after, "/even/1")]) == [Fault.FORBIDDEN]
    assert kinds([*failures, at(after, "/even/1")]) == [], "without a good copy everything is allowed"


def test_six_redirects_of_robots_txt_count_as_none() -> None:
    moves = [
        at(10.0 * n, f"/{n}/robots.txt" if n else "/robots.txt", status=302, location=f"/{n + 1}/robots.txt")
        for n in range(6)
    ]
    assert kinds([*moves[:5], at(70.0)]) == [Fault.NO_ROBOTS], "the fifth target has not been requested"
    assert kinds([*moves, at(70.0, "/even/1")]) == []


def test_the_place_of_a_moved_robots_txt_may_be_requested_for_its_own_site_first() -> None:
    def there(start: float, name: str = "/robots.txt") -> Request:
        return at(start, name, host="t.b.test", address="127.0.0.9")

    moved = at(0.0, "/robots.txt", status=301, location="http://t.b.test/robots.txt")
    own, errand = there(10.0), there(100.0)
    assert kinds([moved, there(0.05), at(20.0)]) == [Fault.NO_ROBOTS], "it was requested before the move was known"
    assert kinds([moved, there(0.05), own, at(20.0)]) == []
    assert kinds([moved, own, at(650.0)]) == [Fault.NO_ROBOTS]
    assert kinds([moved, own, errand, at(650.0)]) == []
    assert kinds([moved, own, errand, at(750.0)]) == [Fault.NO_ROBOTS]
    more = [there(200.0), there(210.0)]
    assert kinds([moved, own, errand, more[0], at(750.0)]) == [], "one of the two may have been by https"
    assert kinds([moved, own, errand, *more, at(805.0)]) == [Fault.NO_ROBOTS], "nobody else can have requested a fourth"
    assert kinds([moved, replace(own, status=499), there(70.0), errand, at(690.0)]) == [], (
        "a client that left heard nothing"
    )
    again = replace(moved, start=90.0, end=90.1)
    assert kinds([moved, own, again, errand, at(650.0)]) == []
    elsewhere = replace(again, location="http://u.b.test/robots.txt")
    assert kinds([moved, own, elsewhere, errand, at(650.0)]) == [Fault.NO_ROBOTS], "it has moved elsewhere since"


def test_an_answer_speaks_for_all_origins_whose_robots_txt_moved_there() -> None:
    place = {"status": 301, "location": "http://t.b.test/robots.txt"}
    log = [at(0.0, "/robots.txt", **place), at(2.0, "/robots.txt", host="s.c.test", **place)]
    asked = [at(10.0 + 100 * n, "/robots.txt", host="t.b.test", address="127.0.0.9") for n in range(5)]
    for n in (1, 2, 3, 4):
        pages = [at(asked[n - 1].end + 590.0), at(asked[n - 1].end + 592.0, host="s.c.test")]
        assert kinds([*log, *asked[:n], *pages]) == []
        assert kinds([*log, *asked[: n - 1], *pages]) == [Fault.NO_ROBOTS] * 2
    late = [at(asked[4].end + 590.0), at(asked[4].end + 592.0, host="s.c.test")]
    assert kinds([*log, *asked, *late]) == [Fault.NO_ROBOTS] * 2, "two moved there: up to four answers may be for each"


def test_a_page_that_serves_as_robots_txt_is_excused_only_as_often_as_necessary() -> None:
    moved = at(0.0, "/robots.txt", status=301, location="/even/1")
    assert kinds([moved, at(10.0, "/even/1"), at(20.0)]) == []
    assert kinds([moved, at(10.0, "/even/1", status=499), at(20.0, "/even/1"), at(30.0)]) == []
    assert kinds([moved, at(10.0, "/even/1"), at(20.0, "/even/1")]) == [Fault.FORBIDDEN]


def test_robots_txt_that_moves_in_a_circle_counts_as_none() -> None:
    here = [at(10.0 * n, "/robots.txt", status=301, location="/robots.txt") for n in range(6)]
    assert kinds([*here[:5], at(80.0)]) == [Fault.NO_ROBOTS]
    assert kinds([*here, at(80.0, "/even/1")]) == []
    again = at(700.0, "/robots.txt", status=301, location="/r.txt")
    assert kinds([*here, again, at(710.0, "/r.txt"), at(720.0, "/even/1")]) == [Fault.FORBIDDEN], (
        "it is requested again"
    )


def test_the_number_of_doubtful_answers_is_limited() -> None:
    origin = Origin()
    for n in range(3 * DOUBTFUL):
        origin.hear(RobotsAnswer(at(float(n), "/robots.txt"), Rules()), is_certain=n == 0)
    assert len(origin.doubtful) == DOUBTFUL
    assert origin.doubtful[-1].answer.start == 3 * DOUBTFUL - 1


def test_rules_that_a_kill_may_have_lost_accuse_nobody() -> None:
    flipped = host_with({0}, 0.0)
    later = next(t for t in range(300, 90_000, 300) if face(at(float(t), host=flipped)) == FACES[1])
    log = [at(0.0, "/robots.txt", host=flipped), at(float(later), "/robots.txt", host=flipped)]
    valid = replace(LIMITS, robots_valid=DAY)
    page = at(later + 20.0, "/odd/1", host=flipped)
    assert kinds([*log, page], limits=valid) == [Fault.FORBIDDEN]
    assert kinds([*log, page], later + 1.0, limits=valid) == []
    assert kinds([*log, replace(page, target="/even/1")], later + 1.0, limits=valid) == []


def test_the_429_of_a_killed_crawl_slows_nobody() -> None:
    assert kinds([FIRST, BUSY, at(16.0)], 11.0) == []
    assert kinds([FIRST, BUSY, at(16.0)], 13.0) == [Fault.SLOWED_EARLY]
    assert check([FIRST, BUSY, at(16.0)], LIMITS, face, [13.0], lost=3.0).is_polite
    assert kinds([FIRST, BUSY, at(16.0)], 9.5) == [Fault.SLOWED_EARLY]
    assert check([FIRST, BUSY, at(16.0)], LIMITS, face, [9.5], afterlife=1.0).is_polite


def test_the_worst_violation_of_each_kind_is_reported_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "KEPT", 3)
    log = [FIRST, *(at(10.0 + n * (5.0 - n / 10)) for n in range(1, 9))]
    report = check(log, LIMITS, face)
    assert report.counts == {Fault.SITE_EARLY: 7}
    assert len(report.violations) == 3
    assert report.worst[Fault.SITE_EARLY].request is log[-1]
    assert report.total == 7
    assert not report.is_polite


def test_a_long_log_may_be_out_of_order_only_as_far_as_answers_overlap() -> None:
    log = sorted((at(float(n), took=random.Random(n).uniform(0, 20)) for n in range(300)), key=lambda r: r.end)
    assert [r.start for r in by_start(log, held=40)] == [float(n) for n in range(300)]
    with pytest.raises(UsageError, match="not in order"):
        list(by_start([*log, at(0.5)], held=40))


def many(sites: int, rounds: int) -> Iterator[Request]:
    """A polite log with Retry-Afters and failures, in the order of their ends."""
    agent = "Gossamer/0.1 (+me@a.test)"
    for n in range(rounds):
        for s in range(sites):
            start, host = n * 600.0 + s / sites, f"s{s}.x{s}.test"
            target, status = ("/robots.txt", 200) if n % 2 == 0 else ("/sitemap.xml", (200, 429, 404)[n // 2 % 3])
            yield Request(start, start, f"10.0.{s >> 8}.{s & 255}", host, target, status, retry_after=5.0, agent=agent)


def test_a_long_log_is_judged_fast_and_in_constant_memory() -> None:
    """10^6 requests per minute; memory does not grow with the log."""
    limits = replace(LIMITS, robots_valid=1_000.0, wait=1.0)
    sizes = []
    for rounds in (60, 180):
        tracemalloc.start()
        check(many(50, rounds), limits, lambda r: FACES[0])
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert sizes[1] < sizes[0] + 50_000
    requests = list(many(250, 40))
    report = check(requests, limits, lambda r: FACES[0])
    assert report.is_polite
    assert report.requests == 10_000
    assert takes_less(lambda: check(requests, limits, lambda r: FACES[0]), than=10_000 * 200e-6), (
        "without reading the log"
    )
