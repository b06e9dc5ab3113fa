"""The file of watches, its targets, and how far each was told."""

from __future__ import annotations

import math
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import StorageError, UsageError
from gossamer.collection import watches
from gossamer.collection.watches import FILE, Noticed, Standing, Watch, Watches, like, target_of
from gossamer.config.settings import SeederSettings

SEEDER = SeederSettings()
TEXTS = st.text(max_size=12)
WATCHES = st.builds(
    Watch,
    st.just(0),
    TEXTS,
    TEXTS,
    st.lists(TEXTS, max_size=3).map(tuple),
    st.floats(0, 1e9),
    TEXTS,
    st.floats(0, 2e9),
    st.integers(0, 2**60),
)


@given(st.lists(WATCHES, max_size=4), st.data())
@settings(max_examples=30, deadline=None)
def test_a_watch_that_was_written_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, given_: list[Watch], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("w")
    added = [watches.add(folder, each) for each in given_]
    assert added == [replace(each, number=n) for n, each in enumerate(given_, 1)]
    assert watches.read(folder) == (Watches(len(added) + 1, tuple(added)) if added else Watches())
    if added:
        gone = data.draw(st.sampled_from(added))
        assert watches.remove(folder, gone.number) == gone
        assert watches.add(folder, gone).number == len(added) + 1, "numbers are not used again"
        assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600


@given(st.text("ab*", max_size=6), st.text("ab", max_size=8))
@settings(max_examples=300, deadline=None)
def test_a_pattern_matches_what_its_pieces_match_in_order(pattern: str, text: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text)
    assert like(pattern, text) == (expected is not None)


@pytest.mark.parametrize(
    ("given_", "stored"),
    [
        ("https://WWW.Example.org/a/../News#top", "https://example.org/News"),
        ("https://www.Example.org/News/*", "https://example.org/News/*"),
        ("*://*.example.org/*/press/*", "*://*.example.org/*/press/*"),
        ("www.Example.org", "example.org"),
        ("*.example.org", "*.example.org"),
        ("https://www.Exämple.org/ünï/*", "https://xn--exmple-cua.org/%C3%BCn%C3%AF/*"),
        ('*://*.example.org/a b"/*', "*://*.example.org/a%20b%22/*"),
    ],
)
def test_targets_are_stored_as_pages_are(given_: str, stored: str) -> None:
    assert target_of(given_, SEEDER) == stored
    assert target_of(stored, SEEDER) == stored


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "ftp://a.example/", "a b", "exa*mple.org", "http://", "https://a*.org", "a/b"),
        *("https://*.exämple.org/*", "https://example.org/\udcff/*", "a\0.example"),
    ],
)
def test_what_is_no_target_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"URL|http"):
        target_of(wrong, SEEDER)


def test_what_a_watch_matches_and_how_soon_it_is_visited() -> None:
    found = Watches(
        5,
        (
            Watch(1, "a.example", within=3600),
            Watch(2, "http://a.example/news/*", within=60),
            Watch(3, "*.b.example", within=30),
            Watch(4, "http://a.example/x"),
        ),
    )
    assert found.period("http://a.example/x") == 3600
    assert found.period("http://a.example/news/1") == 60
    assert found.period("https://deep.b.example:8443/") == 30
    assert found.period("http://b.example/") == math.inf
    assert [w.number for w in found.watches if w.matches("http://a.example/x")] == [1, 4]
    assert Watch(1, r"http://a.example/50%_\*").sql == r"http://a.example/50\%\_\\%"


def test_a_damaged_file_is_named_and_what_was_noticed_stays(tmp_path: Path) -> None:
    said: list[str] = []
    noticed = Noticed(tmp_path, said.append)
    assert noticed.now() == Watches()
    added = watches.add(tmp_path, Watch(0, "a.example"))
    assert noticed.now().watches == (added,)
    whole = (tmp_path / FILE).read_bytes()
    for damaged in (whole[:-9], whole.replace(b"a.ex", b"b.ex"), whole.splitlines(keepends=True)[0], b""):
        (tmp_path / FILE).write_bytes(damaged)
        with pytest.raises(StorageError, match="is damaged"):
            watches.read(tmp_path)
        assert noticed.now().watches == (added,)
    assert len(said) >= 1
    assert watches.failing(tmp_path, 1e9) == ()


def test_standings_are_kept_and_those_of_a_day_of_failures_are_found(tmp_path: Path) -> None:
    one = watches.add(tmp_path, Watch(0, "a.example", tick=7))
    assert (watches.read_standing(tmp_path, one).tick, watches.read_standing(tmp_path, one).told) == (7, 0)
    failed = Standing(8, 3, 5, failures=2, since=1e9, error="it answers 500")
    watches.write_standing(tmp_path, 1, failed)
    assert watches.read_standing(tmp_path, one) == failed
    assert watches.failing(tmp_path, 1e9 + 86_000) == ()
    assert watches.failing(tmp_path, 1e9 + 86_400) == ((one, failed),)
    watches.remove(tmp_path, 1)
    assert watches.failing(tmp_path, 2e9) == ()
