"""Several name servers at the same time, faulty name servers, and a real one."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.clock import VirtualClock
from gossamer.base.units import Duration
from gossamer.web.names import nameserver, resolver
from gossamer.web.names.nameserver import FAILURES, LONGEST_REST
from gossamer.web.names.resolver import LONGEST, SHORTEST, Resolver
from tests.support.nameserver import FAULTS, NameServer, collect, one, resolver_of
from tests.support.needed import needed
from tests.support.timing import WITHIN, wait_for

DNSMASQ = shutil.which("dnsmasq") or shutil.which("dnsmasq", path="/usr/sbin:/usr/local/sbin")
with_dnsmasq = needed("dnsmasq", DNSMASQ is not None, "Debian: apt-get install dnsmasq-base")


@contextmanager
def servers(*faults: str) -> Iterator[list[NameServer]]:
    made = [NameServer(f"127.0.0.{i}", fault) for i, fault in enumerate(faults, 1)]
    yield made
    for server in made:
        server.close()


TOLERATED = {"many", "twice", "trailing", "thousands", "partly", "rest", "counted", "chain"}
"""Odd answers that still have the address of the name."""


def test_whatever_a_name_server_answers_a_lookup_ends_soon_and_others_are_not_harmed() -> None:
    with servers("") as (server,):
        asking = resolver_of(server, name_timeout=Duration(1.5), lookups=100)
        for site, fault in enumerate(FAULTS):
            asking.ask(site, f"{fault}.test")
        asking.ask(99, "public.test")
        answers = {answer.host: answer for answer in collect(asking, len(FAULTS) + 1)}
        asking.close()
    assert answers["public.test"].address == "93.184.216.34"
    found = {host.removesuffix(".test") for host, answer in answers.items() if answer.address is not None}
    assert found - {"public"} == TOLERATED
    assert all(answers[f"{fault}.test"].error for fault in set(FAULTS) - TOLERATED)
    assert len(answers["thousands.test"].addresses) <= resolver.MOST_ADDRESSES


@given(st.binary(max_size=300), st.booleans())
@settings(max_examples=60, deadline=None)
def test_random_bytes_of_a_name_server_do_no_harm(noise: bytes, with_id: bool) -> None:
    FAULTS["noise"] = lambda query, name, kind, end: [(query[:2] if with_id else b"") + noise]
    asking = _noisy()
    try:
        asking.ask(0, f"noise{time.monotonic_ns()}.test")
        (answer,) = collect(asking, 1)
        assert answer.address is not None or answer.error
        assert any(one(asking, "public.test").address == "93.184.216.34" for _ in range(20))  # the answer may be late
    finally:
        del FAULTS["noise"]


_NOISY: list[Resolver] = []


def _noisy() -> Resolver:
    """One resolver for all examples."""
    if not _NOISY:
        _NOISY.append(resolver_of(NameServer(), name_timeout=Duration(0.2)))
    return _NOISY[0]


def test_times_to_live_of_any_size_are_kept_within_bounds() -> None:
    with servers("") as (server,):
        asking = resolver_of(server)
        assert one(asking, "zero.test").ttl == SHORTEST
        assert SHORTEST <= one(asking, "endless.test").ttl <= LONGEST


def test_an_alias_is_followed() -> None:
    with servers("") as (server,):
        assert one(resolver_of(server), "alias.test").address == "93.184.216.40"


def test_at_most_so_many_lookups_are_under_way_at_each_server_and_all_share_the_work() -> None:
    with servers("", "", "") as three:
        for server in three:
            server.hold = True
        asking = resolver_of(*three, lookups=8, name_timeout=Duration(WITHIN))
        for site in range(60):
            asking.ask(site, f"many{site}.test")
        wait_for(lambda: sum(len(server.asked) for server in three) >= 24)
        assert [len(server.asked) for server in three] == [8, 8, 8]
        assert [server.open for server in asking.servers] == [8, 8, 8]
        for server in three:
            server.release()
        assert all(answer.address for answer in collect(asking, 60))
        assert min(len(server.asked) for server in three) >= 12


@pytest.mark.parametrize("fault", ["silent", "failing", "refusing", "malformed"])
def test_when_one_server_fails_another_is_asked_once(fault: str) -> None:
    with servers(fault, "") as (bad, good):
        asking = resolver_of(bad, good)
        for site in range(3):
            asking.ask(site, f"many{site}.test")
        answers = collect(asking, 3)
        assert all(answer.address and answer.server == good.address for answer in answers)
        assert all(good.asked[f"many{site}.test"] == 1 for site in range(3))


def test_no_such_name_is_an_answer_and_no_other_server_is_asked() -> None:
    with servers("", "") as two:
        assert one(resolver_of(*two), "missing.test").error == "no such name"
        assert sum(server.asked["missing.test"] for server in two) == 1


def test_a_lookup_that_fails_at_both_servers_has_failed() -> None:
    with servers("failing", "failing") as two:
        answer = one(resolver_of(*two), "many.test")
        assert (answer.address, answer.error) == (None, "the name server failed")
        assert all(server.asked["many.test"] for server in two)


def test_a_server_that_fails_time_after_time_is_asked_little_until_it_works_again() -> None:
    clock = VirtualClock()
    with servers("failing", "") as (bad, good):
        asking = resolver_of(bad, good, clock=clock, lookups=1)
        for site in range(40):
            asking.ask(site, f"many{site}.test")
        assert all(answer.address for answer in collect(asking, 40))
        assert [server.resting for server in asking.servers] == [True, False]
        assert len(bad.asked) <= FAILURES + 1
        bad.fault = ""
        clock.advance(LONGEST_REST + 1)
        before = len(bad.asked)
        for batch in range(1, 50):  # the quicker server gets more of them
            for site in range(40):
                asking.ask(site, f"many{100 * batch + site}.test")
            collect(asking, 40)
            if len(bad.asked) - before >= 10:
                break
        assert [server.resting for server in asking.servers] == [False, False]
        assert len(bad.asked) - before >= 10


def test_a_lookup_that_waits_for_a_second_server_ends_when_that_server_begins_to_rest() -> None:
    with servers("", "silent") as (first, second):
        clock = VirtualClock()
        asking = resolver_of(first, second, clock=clock, lookups=1, name_timeout=Duration(1))
        for _ in range(FAILURES - 1):
            asking.servers[1].fared(False, clock.monotonic())
        asking.ask(0, "failing.test")  # at the first, then it waits for the second
        asking.ask(1, "public.test")  # at the second, then at the first
        answers = {answer.host: answer for answer in collect(asking, 2)}
        asking.close()
    assert answers["public.test"].address == "93.184.216.34"
    assert answers["failing.test"].address is None
    assert set(second.asked) == {"public.test"}


def test_when_all_servers_fail_they_are_still_asked() -> None:
    with servers("failing", "refusing") as two:
        asking = resolver_of(*two)
        for site in range(30):
            asking.ask(site, f"many{site}.test")
        assert all(answer.error for answer in collect(asking, 30))
        for server in two:
            server.fault = ""
        assert one(asking, "many-later.test").address


def test_changed_name_servers_of_the_system_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    with servers("failing", "") as (old, new):
        monkeypatch.setattr(resolver, "system_servers", lambda: [old.address])
        asking = resolver_of(clock=clock)
        clock.advance(resolver.CHECK_EVERY)
        monkeypatch.setattr(resolver, "system_servers", lambda: [new.address])
        for site in range(FAILURES):
            asking.ask(site, f"many{site}.test")
        collect(asking, FAILURES)
        assert one(asking, "many-later.test").server == new.address
        asking.close()


def test_the_system_has_name_servers() -> None:
    assert nameserver.system_servers()


# --- a real name server ------------------------------------------------------------------------------------------


@contextmanager
def dnsmasq(folder: Path, *lines: str) -> Iterator[str]:
    """The address of a dnsmasq that answers only for `.test`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.53", 0))
        port = probe.getsockname()[1]
    config = folder / "dnsmasq.conf"
    usual = ("no-resolv", "no-hosts", "bind-interfaces", "listen-address=127.0.0.53", "local=/test/", "no-daemon")
    config.write_text("\n".join([*usual, f"port={port}", "user=", "group=", *lines]) + "\n")
    assert DNSMASQ is not None
    server = subprocess.Popen([DNSMASQ, f"--conf-file={config}"], stderr=subprocess.PIPE, text=True)
    try:

        def answers() -> bool:
            assert server.poll() is None, f"dnsmasq does not start: {server.stderr.read() if server.stderr else ''}"
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.53", port)) == 0

        wait_for(answers, "dnsmasq answers")
        yield f"127.0.0.53:{port}"
    finally:
        server.kill()
        server.communicate()


@with_dnsmasq
def test_a_real_name_server_is_understood(tmp_path: Path) -> None:
    lines = (
        "host-record=a.test,93.184.216.1,600",
        "host-record=six.test,2606:4700::1,600",
        "cname=alias.test,a.test,600",
        "host-record=both.test,93.184.216.2,2606:4700::2,600",
        "host-record=private.test,10.0.0.1",
        "host-record=many.test,93.184.216.3,600",
        "host-record=many.test,93.184.216.4,600",
        "local-ttl=0",
    )
    with dnsmasq(tmp_path, *lines) as address:
        asking = resolver_of(address)
        answers = {name: one(asking, f"{name}.test") for name in ("a", "six", "alias", "both", "private", "many", "no")}
        for site in range(300):
            asking.ask(site, f"no{site}.test")
        gone = collect(asking, 300)
        asking.close()
    addresses = {name: answer.address for name, answer in answers.items()}
    assert addresses.pop("many") in ("93.184.216.3", "93.184.216.4")
    assert addresses == {
        "a": "93.184.216.1",
        "six": "2606:4700::1",
        "alias": "93.184.216.1",
        "both": "93.184.216.2",
        "private": None,
        "no": None,
    }
    assert set(answers["many"].addresses) == {"93.184.216.3", "93.184.216.4"}
    assert (answers["a"].ttl, answers["private"].ttl) == (600.0, SHORTEST)
    assert (answers["private"].error, answers["no"].error) == ("forbidden", "no such name")
    assert {answer.error for answer in gone} == {"no such name"}


@with_dnsmasq
def test_a_real_name_server_that_dies_and_one_that_does_not_know_the_name(tmp_path: Path) -> None:
    with servers("") as (other,), dnsmasq(tmp_path, "host-record=a.test,93.184.216.1") as address:
        refused = one(resolver_of(address), "a.elsewhere")
        assert (refused.address, refused.error) == (None, "the name server refused")
        asking = resolver_of(address, other, lookups=1)
        assert {one(asking, f"many{i}.test").error for i in range(2)} == {"", "no such name"}
    dead = one(resolver_of(address, name_timeout=Duration(0.5)), "a.test")
    assert dead.error in ("no name server there", "timed out")
    with servers("") as (other,):
        assert one(resolver_of(address, other), "public.test").address == "93.184.216.34"
