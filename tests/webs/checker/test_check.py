"""The politeness checker: it accuses no polite log, and finds exactly each fault planted in one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.base.units import Duration
from gossamer.config.settings import HarvesterSettings, Settings
from gossamer.webs.checker import EPSILON, Fault, PolitenessReport, Request, check, read, robots_in, web_of
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.access import AccessLog, LoggedRequest

WAIT, PAUSE, ADDRESS_WAIT, DELAY = 5.0, 1.0, 0.5, 8.0
ROBOTS = {
    "http://a.test": b"User-agent: *\nDisallow: /private/\n",
    "http://slow.test": f"User-agent: Gossamer\nCrawl-delay: {DELAY:g}\nDisallow: /private/\n".encode(),
}


def settings(per_turn: int = 1, **more: Any) -> Settings:
    harvester = HarvesterSettings(
        wait=Duration(15),
        wait_large=Duration(WAIT),
        pause=Duration(PAUSE),
        address_wait=Duration(ADDRESS_WAIT),
        per_turn=per_turn,
    )
    return Settings(harvester=replace(harvester, **more))


def judge(log: Iterable[Request], per_turn: int = 1, kills: list[float] | None = None, **more: Any) -> PolitenessReport:
    return check(log, settings(per_turn, **more), lambda r: ROBOTS.get(r.origin), kills or [])


def faults(log: Iterable[Request], kills: list[float] | None = None, **more: Any) -> list[Fault]:
    return [v.kind for v in judge(log, kills=kills, **more).violations]


def ask(start: float, target: str = "/", host: str = "a.test", status: int = 200, took: float = 0.1) -> Request:
    address = "127.1.1.1" if host != "b.test" else "127.1.1.2"
    return Request(start, start + took, address, host, target, status)


@dataclass(frozen=True)
class Polite:
    """A log without faults, of sites with their own addresses; `slack` is how much longer each request waited than it
    had to."""

    log: list[Request]
    slack: dict[int, float]
    per_turn: int


@st.composite
def polite_logs(draw: st.DrawFn) -> Polite:
    per_turn = draw(st.integers(1, 3))
    log, slack = list[Request](), dict[int, float]()
    for n in range(draw(st.integers(1, 4))):
        host = "slow.test" if n == 0 else f"s{n}.test"
        delay = DELAY if host == "slow.test" else 0.0
        at, in_turn = draw(st.floats(0, 20)), 0
        for k in range(draw(st.integers(2, 12))):
            if k:
                in_turn = in_turn + 1 if draw(st.booleans()) and in_turn < per_turn else 1
                extra = draw(st.floats(0, 3))
                slack[len(log)] = extra
                at += max(delay, WAIT if in_turn == 1 else PAUSE) + extra
            else:
                in_turn = 1
            took = draw(st.floats(0, 2))
            status = draw(st.sampled_from([200, 404])) if k else 200
            log.append(Request(at, at + took, f"127.0.1.{n}", host, f"/{k}" if k else "/robots.txt", status))
            at += took
    return Polite(log, slack, per_turn)


@examples(deadline=None, max_examples=60)
@given(polite_logs())
def test_a_polite_log_has_no_violation(polite: Polite) -> None:
    report = judge(polite.log, polite.per_turn)
    assert not report.violations
    assert report.is_polite
    assert report.requests == len(polite.log)
    assert report.sites == report.addresses == len({r.host for r in polite.log})


@examples(deadline=None, max_examples=60)
@given(polite_logs(), st.data())
def test_a_request_moved_earlier_is_the_one_violation(polite: Polite, data: st.DataObject) -> None:
    n = data.draw(st.sampled_from(sorted(polite.slack)))
    moved, before = polite.log[n], polite.log[n - 1]
    gap = moved.start - before.end
    by = polite.slack[n] + data.draw(st.floats(2 * EPSILON, PAUSE - 2 * EPSILON))
    early = replace(moved, start=moved.start - by)
    report = judge([*polite.log[:n], early, *polite.log[n + 1 :]], polite.per_turn)
    if gap - by >= PAUSE - EPSILON and polite.per_turn > 1 and moved.host != "slow.test":
        assert all(v.kind is Fault.SITE_EARLY for v in report.violations), "it may have joined the previous turn"
        return
    assert [(v.kind, v.request, v.previous) for v in report.violations] == [(Fault.SITE_EARLY, early, before)]


@examples(deadline=None, max_examples=60)
@given(polite_logs(), st.data())
def test_a_request_moved_into_another_is_in_parallel(polite: Polite, data: st.DataObject) -> None:
    n = data.draw(st.sampled_from(sorted(polite.slack)))
    before = replace(polite.log[n - 1], end=polite.log[n - 1].start + 0.5)
    moved = replace(polite.log[n], start=before.start + data.draw(st.floats(0.01, 0.49)))
    report = judge([before, moved, *polite.log[: n - 1], *polite.log[n + 1 :]], polite.per_turn)
    assert (Fault.SITE_PARALLEL, moved) in [(v.kind, v.request) for v in report.violations]
    known = [v for v in report.violations if v.kind is not Fault.NO_ROBOTS]
    assert len(known) == 1, "no other request is to blame (but a page may now come before its robots.txt was read)"


@examples(deadline=None, max_examples=60)
@given(polite_logs(), st.randoms(use_true_random=False))
def test_the_order_of_the_lines_does_not_matter(polite: Polite, random: Random) -> None:
    turned = list(polite.log)
    random.shuffle(turned)
    assert judge(turned, polite.per_turn) == judge(polite.log, polite.per_turn)


def test_a_turn_longer_than_allowed_is_too_early() -> None:
    log = [ask(10.0, "/robots.txt"), *(ask(10.0 + k * (PAUSE + 0.1), f"/{k}") for k in range(1, 4))]
    assert not judge(log, per_turn=4).violations
    (violation,) = judge(log, per_turn=3).violations
    assert violation.kind is Fault.SITE_EARLY
    assert violation.early == pytest.approx(WAIT - PAUSE)


def test_sites_that_share_an_address_wait_for_one_another() -> None:
    first, second = ask(10.0, "/robots.txt"), ask(10.1 + ADDRESS_WAIT, "/robots.txt", "c.test")
    assert faults([first, second]) == []
    early = replace(second, start=second.start - 0.2)
    assert faults([first, early]) == [Fault.ADDRESS_EARLY]
    assert faults([first, replace(second, start=10.05, end=10.2)]) == [Fault.ADDRESS_PARALLEL]
    assert faults([first, replace(early, address="127.9.9.9")]) == []


def test_the_address_wait_also_holds_between_turns_of_one_site() -> None:
    log = [ask(10.0, "/robots.txt"), ask(16.0, "/x")]
    assert faults(log, address_wait=Duration(5)) == []
    assert faults(log, address_wait=Duration(7)) == [Fault.ADDRESS_EARLY]


def test_a_page_requested_without_robots_txt_is_a_violation() -> None:
    assert faults([ask(10.0, "/x")]) == [Fault.NO_ROBOTS]
    assert faults([ask(10.0, "/x", status=404), ask(20.0, "/robots.txt"), ask(30.0, "/x")]) == [Fault.NO_ROBOTS]
    assert faults([ask(10.0, "/robots.txt", status=499), ask(20.0, "/x")]) == [Fault.NO_ROBOTS]
    assert faults([ask(10.0, "/robots.txt", "b.test"), ask(20.0, "/x")]) == [Fault.NO_ROBOTS]


def test_a_page_forbidden_by_the_rules_that_were_served_is_a_violation() -> None:
    robots = ask(10.0, "/robots.txt")
    assert faults([robots, ask(20.0, "/private/x")]) == [Fault.FORBIDDEN]
    assert faults([robots, ask(20.0, "/open/x")]) == []
    assert faults([replace(robots, status=404), ask(20.0, "/private/x")]) == []
    for status in (429, 444, 500, 503):
        failed = replace(robots, status=status)
        assert faults([failed, ask(30.0, "/open/x")]) == [Fault.FORBIDDEN]
        assert faults([failed, ask(30.0, "/robots.txt"), ask(50.0, "/open/x")]) == []


def test_rules_that_are_no_longer_valid_do_not_permit() -> None:
    log = [ask(10.0, "/robots.txt"), ask(200.0, "/x")]
    assert faults(log, robots_valid=Duration(200)) == []
    assert faults(log, robots_valid=Duration(100)) == [Fault.NO_ROBOTS]


def test_a_retry_after_holds_for_the_whole_site() -> None:
    busy = replace(ask(20.0, "/x", status=429), retry_after=30.0)
    log = [ask(10.0, "/robots.txt"), busy]
    assert faults([*log, ask(31.0, "/y")]) == [Fault.RETRY_AFTER]
    assert faults([*log, ask(51.0, "/y")]) == []
    assert faults([*log, ask(30.0, "/robots.txt", "b.test")]) == []
    for status in (200, 301, 404, 408, 503):
        assert faults([log[0], replace(busy, status=status), ask(31.0, "/y")]) == [Fault.RETRY_AFTER]
        assert faults([log[0], replace(busy, status=status), ask(51.0, "/y")]) == []


@pytest.mark.parametrize(("before", "obliges"), [(0.3, False), (1.4, False), (1.7, True)])
def test_an_answer_shortly_before_a_kill_obliges_to_nothing(before: float, obliges: bool) -> None:
    busy = replace(ask(20.0, "/x", status=503), retry_after=100.0)
    log = [ask(10.0, "/robots.txt"), busy, ask(40.0, "/y")]
    assert faults(log, kills=[busy.end + before]) == ([Fault.RETRY_AFTER] if obliges else [])
    slow = [ask(10.0, "/robots.txt", "slow.test"), ask(17.0, "/robots.txt", "slow.test")]
    assert faults(slow, kills=[slow[0].end + before]) == ([Fault.SITE_EARLY] if obliges else [])


def test_an_answer_shortly_before_a_kill_is_known_until_the_kill() -> None:
    busy = replace(ask(20.0, "/x", status=503), retry_after=100.0)
    log = [ask(10.0, "/robots.txt"), busy, ask(31.0, "/y")]
    assert faults(log, kills=[20.5]) == []
    assert faults(log, kills=[31.5]) == [Fault.RETRY_AFTER]


def test_an_uncommitted_answer_may_have_been_committed_and_so_permits() -> None:
    log = [ask(10.0, "/robots.txt"), ask(20.0, "/x")]
    assert faults(log, kills=[10.5]) == []
    assert faults([log[0], ask(20.0, "/private/x")], kills=[10.5]) == [Fault.FORBIDDEN]


def test_a_request_on_its_way_at_a_kill_ends_there_and_still_counts_for_waits() -> None:
    log = [ask(10.0, "/robots.txt"), ask(20.0, "/x", took=60.0), ask(26.0, "/y")]
    assert faults(log) == [Fault.SITE_PARALLEL]
    assert faults(log, kills=[20.5]) == []
    assert faults(log, kills=[22.0]) == [Fault.SITE_EARLY]


def test_nobody_learns_from_a_request_that_arrives_just_after_a_kill() -> None:
    log = [ask(10.0, "/robots.txt", "slow.test"), ask(17.0, "/robots.txt", "slow.test")]
    assert faults(log, kills=[9.95]) == []
    assert faults(log, kills=[9.5]) == [Fault.SITE_EARLY]


def test_less_than_epsilon_is_no_violation() -> None:
    robots = ask(10.0, "/robots.txt")
    due = robots.end + WAIT
    assert faults([robots, ask(due - 0.004, "/x")]) == []
    assert faults([robots, ask(due - 0.006, "/x")]) == [Fault.SITE_EARLY]


def test_the_verdict_is_a_sentence() -> None:
    assert judge([]).verdict == "Nothing to judge: the log has no requests."
    assert not judge([]).is_polite
    assert judge([ask(1.0, "/robots.txt")]).verdict.startswith("Polite: 1 request to 1 site at 1 address")
    report = judge([ask(1.0, "/robots.txt"), ask(2.1, "/x")])
    assert "1 too early at its site" in report.verdict
    assert "http://a.test/x (127.1.1.1): too early at its site, 4.000 s early; see" in str(report.violations[0])


# --- logs


def demo_log(path: Path, web: DemoWeb, requests: list[Request]) -> None:
    log = AccessLog(path, web)
    for r in requests:
        retry = "" if r.retry_after is None else f"{r.retry_after:g}"
        asked = (r.start, r.start + 1e9, r.address, r.connection, r.host, r.method, r.target, r.sender, r.agent)
        log.add(LoggedRequest(*asked), r.end, r.status, r.sent, retry, r.location)
    log.close()


REQUESTS = [
    Request(1.0, 1.5, "127.1.1.1", "a.test", "/robots.txt", 301, "http", "GET", 3, None, "Gossamer/1", "x@y", "/r", 9),
    Request(7.0, 7.25, "127.1.1.1", "a.test:81", '/x?a="b"', 503, "http", "GET", 4, 120.0, "Gossamer/1", "-"),
]


def test_the_demonstration_webs_log_is_read_as_it_was_written(tmp_path: Path) -> None:
    web = DemoWeb(seed=9, sites=3, pages=30)
    demo_log(tmp_path / "log", web, REQUESTS)
    assert list(read(tmp_path / "log")) == REQUESTS
    assert [r.start for r in read(tmp_path / "log", wall=True)] == [1e9 + 1.0, 1e9 + 7.0]
    assert web_of(tmp_path / "log") == web
    with (tmp_path / "log").open("a") as log:
        log.write("9.0\t1")
    assert list(read(tmp_path / "log")) == REQUESTS


def test_nginx_logs_are_read(tmp_path: Path) -> None:
    line = (
        '127.0.0.1 - - [16/Nov/2026:11:00:00 +0000] "GET /a\\x22b HTTP/1.1" 503 12 "-" "Gossamer \\x22q\\x22" '
        '1794826790.500 0.250 https a.test 127.1.1.1 42 "{}"\n'
    )
    log = tmp_path / "access.log"
    log.write_text(line.format("-") + line.format("30") + line.format("Mon, 16 Nov 2026 11:00:20 GMT"))
    assert web_of(log) is None
    first, second, third = read(log)
    log.write_text(line.format("-").replace("\n", ' "http://b.test/r" "x@y"\n'))
    (longer,) = read(log)
    assert (longer.location, longer.sender, longer.sent) == ("http://b.test/r", "x@y", 12)
    assert (first.location, first.sender) == ("", "")
    assert (first.start, first.end) == (1794826790.25, 1794826790.5)
    assert (first.origin, first.target, first.address) == ("https://a.test", '/a"b', "127.1.1.1")
    assert (first.status, first.method, first.connection, first.agent) == (503, "GET", 42, 'Gossamer "q"')
    assert (first.retry_after, second.retry_after) == (None, 30.0)
    assert third.retry_after == pytest.approx(1794826820 - 1794826790.5)


def test_each_port_in_an_nginx_log_is_its_own_origin(tmp_path: Path) -> None:
    line = '127.0.0.1 - - [x] "GET {} HTTP/1.1" 404 12 "-" "Gossamer/0.1" {}.000 0.010 {} 127.1.1.1 42 "-"\n'
    log = tmp_path / "access.log"
    places = ["http a.test", "http a.test:80", "https a.test:443", "https a.test:80"]
    places += ["http [::1]:8080", "http a.test:8080"]
    log.write_text("".join(line.format("/", 1_000 + 100 * n, place) for n, place in enumerate(places)))
    assert [(r.origin, r.site) for r in read(log)] == [
        ("http://a.test", "a.test"),
        ("http://a.test", "a.test"),
        ("https://a.test", "a.test"),
        ("https://a.test:80", "a.test"),
        ("http://[::1]:8080", "[::1]"),
        ("http://a.test:8080", "a.test"),
    ]
    asked = line.format("/robots.txt", 1_000, "http a.test:80")
    for port, accused in ((80, []), (8080, [Fault.NO_ROBOTS])):
        log.write_text(asked + line.format("/p", 1_100, f"http a.test:{port}"))
        assert [v.kind for v in check(read(log), Settings(), lambda _: None).violations] == accused


def test_an_unreadable_line_is_reported_by_its_number(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text('127.0.0.1 - - [16/Nov/2026:11:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "x"\n')
    with pytest.raises(UsageError, match="line 1") as caught:
        list(read(log))
    assert "log_format gossamer" in caught.value.cure


def test_robots_files_are_found_by_host(tmp_path: Path) -> None:
    (tmp_path / "a.test").mkdir()
    (tmp_path / "a.test" / "robots.txt").write_bytes(b"one")
    (tmp_path / "a.test" / "robots.txt.20010909T014640Z").write_bytes(b"two")
    (tmp_path / "a.test" / "robots.txt.20010909T014740Z").write_bytes(b"three")

    def served(host: str, start: float) -> bytes | None:
        return robots_in(tmp_path)(Request(start, start, "127.1.1.1", host, "/robots.txt", 200))

    times = (1e9 - 1, 1e9, 1e9 + 59, 1e9 + 60)
    assert [served("a.test:8080", at) for at in times] == [b"one", b"two", b"two", b"three"]
    assert served("b.test", 0.0) is None
    (tmp_path / "robots.txt").write_bytes(b"all")
    assert served("b.test", 0.0) == b"all"
    assert served("../a.test", 0.0) == b"all"


def test_the_command_judges_a_log_by_the_rules_of_the_web_that_it_describes(tmp_path: Path) -> None:
    from gossamer.cli import app

    web = DemoWeb(seed=9, sites=12, pages=300)
    url = next(e.url for e in web.reachable().values() if e.kind == "forbidden")
    host, _, target = url.partition("://")[2].partition("/")
    address = web.by_host[host].address
    robots = Request(100.0, 100.1, address, host, "/robots.txt", 200, agent="Gossamer/1.2")
    good = replace(robots, start=200.0, end=200.1, target="/")
    demo_log(tmp_path / "good", web, [robots, good])
    demo_log(tmp_path / "bad", web, [robots, replace(good, target=f"/{target}")])
    (tmp_path / "crawl.toml").write_text('[harvester]\nwait = "15s"\n')
    asked = ["--config", str(tmp_path / "crawl.toml"), "--json"]
    run = CliRunner().invoke(app, ["check", str(tmp_path / "good"), *asked])
    assert (run.exit_code, json.loads(run.stdout)["polite"]) == (0, True)
    bad = CliRunner().invoke(app, ["check", str(tmp_path / "bad"), *asked])
    assert (bad.exit_code, json.loads(bad.stdout)["counts"]) == (1, {"forbidden": 1})
    assert json.loads(bad.stdout)["worst"]["forbidden"]["url"].endswith(f"/{target}")
    both = CliRunner().invoke(app, ["check", str(tmp_path / "good"), str(tmp_path / "bad"), *asked])
    assert json.loads(both.stdout)["requests"] == 4
