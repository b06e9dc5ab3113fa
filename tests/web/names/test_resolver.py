"""Names to addresses, with a name server of our own on loopback."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

import pytest

from gossamer.base.clock import VirtualClock
from gossamer.base.errors import UsageError
from gossamer.base.units import Duration
from gossamer.config import Settings, override
from gossamer.config.settings import HarvesterSettings
from gossamer.web.names.resolver import AT_ONCE, FAILURE, LONGEST, SHORTEST, Resolver, families
from tests.support.nameserver import AAAA, BOTH, A, NameServer, collect, one, resolver_of
from tests.support.timing import WITHIN, wait_for


@pytest.fixture
def server() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.close()


def test_a_name_gets_its_address_and_its_time_to_live(server: NameServer) -> None:
    answer = one(resolver_of(server), "public.test")
    assert (answer.address, answer.port, answer.ttl, answer.error) == ("93.184.216.34", 0, 300.0, "")


def test_times_to_live_are_bounded_on_both_sides(server: NameServer) -> None:
    resolver = resolver_of(server)
    assert one(resolver, "short.test").ttl == SHORTEST
    assert one(resolver, "long.test").ttl == LONGEST


def test_ipv6_is_used_when_there_is_no_ipv4_address(server: NameServer) -> None:
    resolver = resolver_of(server)
    assert one(resolver, "six.test").address == "2606:4700::1111"
    assert one(resolver, "both.test").address == "93.184.216.37"
    assert server.kinds["both.test"] == {A}, "one family at a time"


@pytest.mark.parametrize(
    ("wanted", "routes", "order"),
    [
        (("ipv4", "ipv6"), BOTH, (4, 6)),
        (("ipv6", "ipv4"), BOTH, (6, 4)),
        (("ipv4", "ipv6"), (socket.AF_INET6,), (6, 4)),
        (("ipv6", "ipv4"), (socket.AF_INET,), (4, 6)),
        (("ipv4", "ipv6"), (), (4, 6)),
        (("ipv6",), (socket.AF_INET,), (6,)),
        (("ipv4",), BOTH, (4,)),
    ],
)
def test_the_family_that_this_machine_can_reach_comes_first(
    wanted: tuple[str, ...], routes: tuple[int, ...], order: tuple[int, ...]
) -> None:
    numbers = {socket.AF_INET: 4, socket.AF_INET6: 6}
    assert tuple(numbers[family] for family in families(wanted, routes)) == order
    assert {numbers[family] for family in families(wanted)} == set(order)


def test_only_the_families_of_the_settings_are_asked_for(server: NameServer) -> None:
    resolver = resolver_of(server, families=("ipv6",))
    assert one(resolver, "both.test").address == "2606:4700::1111"
    assert one(resolver, "public.test").error == "no address"
    assert server.kinds["public.test"] == {AAAA}


def test_a_site_that_asks_again_is_given_the_next_of_several_addresses(server: NameServer) -> None:
    resolver = resolver_of(server)
    given = [one(resolver, "three.test") for _ in range(4)]
    assert [answer.address for answer in given] == [f"93.184.216.{n}" for n in (51, 52, 53, 51)]
    assert {answer.addresses for answer in given} == {("93.184.216.51", "93.184.216.52", "93.184.216.53")}
    assert [bool(answer.server) for answer in given] == [True, False, False, False]
    assert server.asked["three.test"] == 1


def test_forgotten_names_are_looked_up_again(server: NameServer) -> None:
    resolver = resolver_of(server)
    for host in ("public.test", "missing.test"):
        one(resolver, host)
        resolver.forget()
        assert one(resolver, host).server == server.address
        assert server.asked[host] == 2


def test_a_fresh_lookup_goes_to_a_server_and_leaves_other_answers_alone(server: NameServer) -> None:
    resolver = resolver_of(server)
    for host in ("public.test", "three.test"):
        one(resolver, host)
    resolver.ask(7, "public.test", fresh=True)
    (answer,) = collect(resolver, 1)
    assert (answer.address, answer.server) == ("93.184.216.34", server.address)
    assert server.asked["public.test"] == 2
    assert one(resolver, "three.test").address == "93.184.216.52"
    assert server.asked["three.test"] == 1


@pytest.mark.parametrize("host", ["private.test", "metadata.test", "mapped.test", "127.0.0.1", "[::1]", "localhost"])
def test_forbidden_addresses_are_refused_unless_allowed(server: NameServer, host: str) -> None:
    answer = one(resolver_of(server), host)
    assert (answer.address, answer.error) == (None, "forbidden")
    allowed = one(resolver_of(server, allow_private=True), host)
    assert allowed.address is not None
    assert not allowed.error


def test_networks_of_the_settings_are_refused(server: NameServer) -> None:
    answer = one(resolver_of(server, forbidden=("93.184.216.34", "2606:4700::/32")), "public.test")
    assert (answer.address, answer.error) == (None, "forbidden")
    assert one(resolver_of(server, forbidden=("2606:4700::/32",), allow_private=True), "six.test").error == "forbidden"
    assert one(resolver_of(server, forbidden=("93.184.216.35",)), "public.test").error == ""


def test_name_servers_are_written_with_or_without_a_port(server: NameServer) -> None:
    for text in ("::1", "[::1]:53", "127.0.0.1", server.address):
        Resolver(HarvesterSettings(resolvers=(text,))).close()
    with pytest.raises(UsageError, match=r"harvester\.resolvers"):
        Resolver(HarvesterSettings(resolvers=("ns.example.org",)))


def test_of_several_addresses_the_forbidden_ones_are_dropped(server: NameServer) -> None:
    assert one(resolver_of(server), "mixed.test").address == "93.184.216.38"


@pytest.mark.parametrize(
    ("host", "error"),
    [
        ("missing.test", "no such name"),
        ("nothing.test", "no address"),
        ("silent.test", "timed out"),
        ("malformed.test", ""),
        ("failing.test", ""),
        ("x" * 64 + ".test", ""),
        ("a..b", ""),
    ],
)
def test_every_failure_is_an_answer_with_a_reason(server: NameServer, host: str, error: str) -> None:
    answer = one(resolver_of(server), host)
    assert answer.address is None
    assert answer.error not in ("", "forbidden")
    assert not error or answer.error == error
    assert answer.ttl == FAILURE


def test_addresses_in_urls_need_no_server(server: NameServer) -> None:
    resolver = resolver_of(server)
    assert one(resolver, "93.184.216.99").address == "93.184.216.99"
    assert one(resolver, "[2606:4700::1]").address == "2606:4700::1"
    assert not server.asked


def test_patterns_of_the_settings_come_first(server: NameServer) -> None:
    patterns = {"*": "127.0.0.3", "*.demo": "127.0.0.2:8002", "exact.demo": "127.0.0.1:8001", "six.test": "[::1]:8003"}
    resolver = resolver_of(server, resolve=patterns, allow_private=True)
    found = {host: one(resolver, host) for host in ("exact.demo", "a.b.demo", "demo", "six.test", "public.test")}
    assert {host: (a.address, a.port) for host, a in found.items()} == {
        "exact.demo": ("127.0.0.1", 8001),
        "a.b.demo": ("127.0.0.2", 8002),
        "demo": ("127.0.0.3", 0),
        "six.test": ("::1", 8003),
        "public.test": ("127.0.0.3", 0),
    }
    assert not server.asked


def test_a_pattern_may_have_the_target_none(server: NameServer) -> None:
    resolver = resolver_of(server, resolve={"*.demo": "none", "a.demo": "127.0.0.1:80"}, allow_private=True)
    assert one(resolver, "a.demo").address == "127.0.0.1"
    assert (one(resolver, "b.demo").address, one(resolver, "b.demo").error) == (None, "no such name")
    assert not server.asked


def test_patterns_do_not_open_private_addresses(server: NameServer) -> None:
    assert one(resolver_of(server, resolve={"*": "127.0.0.1:80"}), "any.test").error == "forbidden"


@pytest.mark.parametrize("target", ["localhost:80", "127.0.0.1:http", "127.0.0.1:70000", "", "[::1", "1.2.3:80"])
def test_a_pattern_without_a_valid_target_is_refused(server: NameServer, target: str) -> None:
    with pytest.raises(UsageError, match="not an address with a port"):
        resolver_of(server, resolve={"*.demo": target})


def test_answers_are_cached_for_their_time_to_live_and_failures_for_a_while(server: NameServer) -> None:
    clock = VirtualClock()
    resolver = resolver_of(server, clock=clock)
    for host, hold in (("public.test", 300), ("missing.test", FAILURE)):
        first = one(resolver, host)
        clock.advance(hold - 1)
        again = one(resolver, host)
        assert (again.address, again.error, again.ttl) == (first.address, first.error, 1.0)
        assert server.asked[host] == 1


def test_a_name_asked_for_twice_is_looked_up_once(server: NameServer) -> None:
    server.hold = True
    resolver = resolver_of(server)
    resolver.ask(1, "public.test")
    resolver.ask(2, "public.test")
    assert resolver.open == 2
    server.release()
    assert sorted(answer.site for answer in collect(resolver, 2)) == [1, 2]


def test_every_ask_gets_exactly_one_answer(server: NameServer) -> None:
    resolver = resolver_of(server, lookups=8, name_timeout=Duration(WITHIN))
    for site in range(100):
        resolver.ask(site, f"many{site % 60}.test")
    assert resolver.open == 100
    answers = collect(resolver, 100)
    assert sorted(answer.site for answer in answers) == list(range(100))
    assert all(answer.address == "93.184.216.40" for answer in answers)


def test_no_more_names_are_looked_up_at_a_time_than_the_settings_allow(server: NameServer) -> None:
    server.hold = True
    resolver = resolver_of(server, lookups=8, name_timeout=Duration(WITHIN))
    for site in range(100):
        resolver.ask(site, f"many{site}.test")
    assert resolver.open == 100
    wait_for(lambda: len(server.asked) >= 8)
    assert len(server.asked) == 8
    server.release()
    answers = collect(resolver, 100)
    assert sorted(answer.site for answer in answers) == list(range(100))


def test_the_number_of_answers_per_call_is_bounded_and_the_rest_notifies(server: NameServer) -> None:
    resolver = resolver_of(server)
    many = 2 * AT_ONCE + 10
    for site in range(many):
        resolver.ask(site, f"93.184.{site // 250}.{site % 250 + 1}")
    for left in (many - AT_ONCE, 10):
        assert len(resolver.answers()) == AT_ONCE
        assert resolver.open == left
        assert select.select([resolver.fileno()], [], [], 0)[0], "otherwise the rest would never be collected"
    assert len(resolver.answers()) == 10
    assert not select.select([resolver.fileno()], [], [], 0)[0]


def test_without_answers_the_list_is_empty(server: NameServer) -> None:
    assert resolver_of(server).answers() == []


@pytest.mark.parametrize("value", ["[]", '["ipv4", "ipv4"]', '["ipv5"]'])
def test_families_are_named_once_each_and_at_least_one(value: str) -> None:
    with pytest.raises(UsageError, match="ipv4"):
        override(Settings(), [f"harvester.families={value}"])
    assert override(Settings(), ['harvester.families=["ipv6"]']).harvester.families == ("ipv6",)
