"""Pairs of pages prove session parameters, and never the numbers of stories."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config.settings import CollectionSettings, SeederSettings, Settings
from gossamer.crawler.parts import new_desk
from gossamer.seeder.pairs import ENOUGH, Pairs

NAMES = ("cfid", "cftoken", "sid", "asp*")
SID = 2


def sketch(*of: object) -> int:
    """A sketch of a text: those of two texts differ in many bits."""
    return (hash(of) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) or 1


def fresh(names: tuple[str, ...] = NAMES) -> Pairs:
    limits = CollectionSettings(max_pages=100, max_sites=10)
    return new_desk(Settings(collection=limits, seeder=SeederSettings(session_ids=names)), 7)[Pairs]


def looked(*pages: tuple[str, int], pairs: Pairs | None = None, site: int = 0) -> list[int]:
    """What these pages prove, given by target and sketch."""
    seen = pairs or fresh()
    urls = [(f"http://a.example{target}".encode(), text) for target, text in pages]
    return [place for url, text in urls if seen.occur(url) for place in seen.look(site, url, text, 100)]


def session(pages: int, name: str = "sid") -> list[tuple[str, int]]:
    """Each of so many pages, with two sessions."""
    return [(f"/{n}?a=1&{name}={2 * n + s}&b", sketch("page", n)) for n in range(pages) for s in range(2)]


def test_pairs_with_enough_texts_prove_a_parameter_once() -> None:
    assert looked(*session(ENOUGH - 1)) == []
    assert looked(*session(ENOUGH)) == [SID]
    assert looked(*session(ENOUGH + 5)) == [SID]
    assert looked(*session(ENOUGH, "SID")) == [SID]
    assert looked(*session(ENOUGH, "aspXY")) == [3]
    assert looked(*session(ENOUGH, "other")) == []


def test_pairs_count_for_their_site_alone() -> None:
    pairs = fresh()
    assert looked(*session(2), pairs=pairs) == []
    assert looked(*session(2), pairs=pairs, site=1) == []
    assert looked(*session(ENOUGH)[4:], pairs=pairs) == [SID]


def test_texts_that_differ_a_little_prove_nothing_and_refute_nothing() -> None:
    nearly = [(target, text ^ (0b111 if i % 2 else 0)) for i, (target, text) in enumerate(session(9))]
    assert looked(*nearly) == []
    assert looked(*nearly, *((f"/other{target}", text) for target, text in session(3))) == [SID]
    pairs, text = fresh(), sketch("x")
    for n in range(9):
        assert pairs.look(0, b"http://a.example/%d?sid=1" % n, text + n, 100) == []
        assert pairs.look(0, b"http://a.example/%d?sid=2" % n, text + n, 101) == [], "of another length"


def test_two_parameters_that_always_change_together_are_both_proven() -> None:
    pages = [(f"/{n}?cfid={n}{s}&cftoken={s}{n}", sketch(n)) for n in range(3) for s in range(2)]
    assert looked(*pages) == [0, 1]


def test_a_page_that_is_fetched_again_proves_and_refutes_nothing() -> None:
    again = [("/0?sid=1", sketch(n)) for n in range(5)]
    assert looked(*again, *session(3)) == [SID]
    assert looked(*(("/0?sid=1", sketch(0)) for _ in range(9))) == []


def test_one_pair_with_two_texts_refutes_a_parameter() -> None:
    assert looked(("/?sid=1", sketch("a")), ("/?sid=2", sketch("b")), *session(5)) == []


def test_a_parameter_in_the_path_or_in_the_middle_of_a_word_is_none() -> None:
    pairs = fresh()
    assert not any(pairs.occur(url) for url in (b"http://a.example/sid=1", b"http://a.example/?aside=1", b"http://a/"))
    assert not fresh(()).occur(b"http://a.example/?sid=1")


_visits = st.lists(st.tuples(st.sampled_from(("", "print", "comments", "mail")), st.integers(0, 30)), max_size=200)


@given(_visits, st.sets(st.integers(0, 30)))
@settings(max_examples=200, deadline=None)
def test_numbers_of_stories_are_never_proven(visits: list[tuple[str, int]], gone: set[int]) -> None:
    """Whatever stories are gone: the site has one apology for them."""
    pages = [
        (f"/{script}?sid={story}", sketch("sorry") if story in gone else sketch(script, story))
        for script, story in visits
    ]
    assert looked(*pages) == []
