"""Orders that stay: what they say, and which are in force."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.errors import GossamerError, UsageError
from gossamer.collection.journal.order import Order
from gossamer.collection.steering import KEPT, KEYS, KINDS, UNDO, InForce, read
from gossamer.config import Settings, override
from gossamer.urls import Scope

SCOPE = Scope.of(Settings().seeder)
SITE = "a.example"


def orders(*words: str) -> InForce:
    """What is in force after these orders, numbered from 1."""
    in_force = InForce()
    for number, text in enumerate(words, 1):
        name, *rest = text.split()
        in_force.take(Order(number, f"key {number}", "ann", name, *read(name, rest, SCOPE)), float(number))
    return in_force


def shown(in_force: InForce) -> list[str]:
    return [str(each.order) for each in in_force.all()]


@given(st.integers(0, 2**31), st.lists(st.text(), min_size=5, max_size=5))
def test_an_order_that_is_read_is_the_order_that_was_written(number: int, texts: list[str]) -> None:
    sound = [text.encode(errors="replace").decode() for text in texts]
    order = Order(number, *sound)
    assert Order.decode(order.encode()) == order


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'["x",1,2,3,4,5]', b"\xff"])
def test_what_is_no_order_is_an_error_with_a_cure(text: bytes) -> None:
    with pytest.raises(GossamerError, match="cannot be read"):
        Order.decode(text)


def test_an_order_is_in_force_until_it_is_undone_ended_or_replaced() -> None:
    assert shown(orders("pause")) == ["pause"]
    assert shown(orders("pause", "go")) == []
    assert shown(orders("slow a.example 9s", "slow a.example 2min")) == ["slow a.example 2min"]
    assert shown(orders("slow a.example 9s", "slow a.example 2min", "undo 2")) == ["slow a.example 9s"]
    assert shown(orders("slow a.example 9s", "slow a.example 2min", "undo 1")) == ["slow a.example 2min"]
    assert shown(orders("block a.example", "block b.example", "undo 1")) == ["block b.example"]
    assert shown(orders("block a.example", "prefer a.example", "slow b.example 1s", "free a.example")) == [
        "slow b.example 1s"
    ]
    assert shown(orders("stop", "undo 1")) == []


@given(st.lists(st.sampled_from(["pause", "go", "block a.example", "slow a.example 9s", "free a.example", "undo 2"])))
def test_undoing_the_last_order_is_as_if_it_had_not_been_given(words: list[str]) -> None:
    """Unless it ended others: these are given again, if that is wanted."""
    before, last = orders(*words), "prefer b.example"
    assert shown(orders(*words, last, f"undo {len(words) + 1}")) == shown(before)


def test_what_is_in_an_image_is_what_was_in_force() -> None:
    before = orders("pause", "slow a.example 9s", "slow a.example 2min", "connections 7")
    after = InForce.from_json(before.to_json())
    assert after == before
    after.take(Order(5, "k", "ann", UNDO, "", "3"), 5.0)
    assert shown(after) == ["pause", "slow a.example 9s", "connections 7"]
    assert InForce.from_json({}) == InForce()


def test_what_is_kept_is_bounded() -> None:
    many = orders(*(f"slow a.example {n}s" for n in range(1, KEYS + KEPT)))
    assert many.given(many.last) is not None
    assert many.given(many.last - KEPT) is None
    assert many.number_of("key 1") is None
    assert many.number_of(f"key {many.last}") == many.last


def test_settings_are_those_of_the_run_with_what_is_ordered_in_their_place() -> None:
    given = override(Settings(), ["harvester.bandwidth_by_hour={'08-18'='1MB/s'}", "harvester.connections=9"])
    found = orders("bandwidth 2MB/s", "connections 7", "workers 3", "block a.example").settings(given).harvester
    assert (found.bandwidth, found.connections, found.workers) == (2_000_000, 7, 3)
    assert found.bandwidth_by_hour == {}
    assert orders("connections 7", "undo 1").settings(given) == given
    weights = orders("weight depth 2", "weight completed 0").settings(given).manager.weights
    assert {name: weight for name, weight in weights.items() if weight} == {"depth": 2.0}
    assert orders("weight completed 0").settings(given) == given, "something must count"


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("dance", "Orders: pause"),
        ("block", "block SITE"),
        ("pause now", "pause"),
        ("block http://a.example/", "block SITE"),
        ("block a.example/x", "block SITE"),
        ("slow a.example soon", "slow SITE TIME"),
        ("slow a.example 0s", "slow SITE TIME"),
        ("pages 0", "pages COUNT"),
        ("pages -1", "pages COUNT"),
        ("bandwidth fast", "bandwidth SPEED"),
        ("weight pagerank 1", "weight SCORE WEIGHT"),
        ("weight beauty 1", "weight SCORE WEIGHT"),
        ("weight depth -1", "weight SCORE WEIGHT"),
        ("weight depth much", "weight SCORE WEIGHT"),
        (f"block {'a.' * 200}example", "At most 255"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_cure(text: str, cure: str) -> None:
    name, *words = text.split()
    with pytest.raises(UsageError) as error:
        read(name, words, SCOPE)
    assert cure in error.value.cure


def test_arguments_are_brought_into_one_form() -> None:
    assert read("slow", ["WWW.A.Example", "90s"], SCOPE) == ("a.example", "90s")
    assert read("bandwidth", ["2MB"], SCOPE) == ("", "2MB/s")
    assert read("pages", ["007"], SCOPE) == ("", "7")
    assert all(kind.name == name for name, kind in KINDS.items())
