"""The invariants of `desk/rulebook.py`, and that the rules of a desk survive a stop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import StorageError
from gossamer.base.model import Reason, State
from gossamer.collection import manifest
from gossamer.collection.checked import Checked
from gossamer.collection.layout import BIG_RULES, shard_folder
from gossamer.desk import rulebook
from gossamer.desk.places import Places
from gossamer.desk.rulebook import LARGE, SLACK, RuleBook
from gossamer.desk.rules import Rules as DeskRules
from gossamer.observe.image_view import open_image
from gossamer.observe.listener import DeskView
from gossamer.robots import Rules
from gossamer.robots.match import verdicts_many
from gossamer.robots.rules import TOO_MANY
from gossamer.webs.simulated import Reply
from tests.support.world import World, state_of

_sets = st.binary(min_size=1, max_size=40) | st.binary(min_size=1, max_size=3).map(lambda b: b * 2000)


def read(book: RuleBook, start: int, end: int) -> bytes:
    return book.buffer[start:end].tobytes()


@given(st.lists(_sets, min_size=1, max_size=30))
@settings(deadline=None, max_examples=25)
def test_what_is_placed_can_be_read_and_equal_rules_are_placed_once(sets: list[bytes]) -> None:
    book = RuleBook(100)
    places = [book.place(each) for each in sets]
    assert [read(book, *place) for place in places] == sets
    assert len(set(places)) == len(set(sets))
    assert [start >= BIG_RULES for start, _ in places] == [len(each) > LARGE for each in sets]
    assert book.place(b"") == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 5), _sets), max_size=60))
@settings(deadline=None, max_examples=25)
def test_rules_that_nobody_has_any_more_are_forgotten(changes: list[tuple[int, bytes]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rulebook, "SLACK", 100)
        book, starts, ends = RuleBook(6), np.zeros(6, np.uint32), np.zeros(6, np.uint32)
        has, kept = dict.fromkeys(range(6), b""), 0
        for origin, compiled in changes:
            has[origin] = compiled
            starts[origin], ends[origin] = book.place(compiled)
            in_use = sum(len(each) + 16 for each in set(has.values()) if each)
            if book.wasteful:
                starts[:], ends[:] = book.pack(starts, ends)
                kept = book._held()
                assert kept == in_use, "and nothing else"
            assert [read(book, int(a), int(b)) for a, b in zip(starts, ends, strict=True)] == list(has.values())
            assert book._held() <= kept + max(100, kept)
        places = [(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
        assert [book.place(each) for each in has.values()] == places, "rules in use are still known"


def test_forgotten_rules_use_neither_memory_nor_disk() -> None:
    book = RuleBook(10)
    for number in range(3 * SLACK // 1000):
        compiled = b"%09d" % number * (111 + 1000 * (number % 2))
        starts, ends = (np.array([each], np.uint32) for each in book.place(compiled))
        if book.wasteful:
            book.pack(starts, ends)
    assert book.in_memory < 2 * SLACK
    assert book.on_disk < 2 * SLACK


def test_the_kernel_matches_rules_on_disk_and_in_memory_alike(tmp_path: Path) -> None:
    files = [b"User-agent: *\n" + b"".join(b"Disallow: /%d/\n" % i for i in range(n)) for n in (3, 3000)]
    book = RuleBook(2, 7, tmp_path)
    places = np.array([book.place(Rules.parse(file, "x").compiled()) for file in files], np.uint32)
    assert places[1, 0] >= BIG_RULES
    assert list(tmp_path.iterdir()) == [], "the file has no name"
    texts = [b"http://a.example/2/x", b"http://a.example/2999/x"]
    offsets = np.cumsum([0, *map(len, texts), *map(len, texts)]).astype(np.int64)
    buffer = np.frombuffer(b"".join(texts) * 2, np.uint8)
    found = verdicts_many(
        book.buffer, places[:, 0].copy(), places[:, 1].copy(), buffer, offsets, np.array([0, 0, 1, 1], np.uint32)
    )
    assert found.tolist() == [0, 1, 0, 0]


def test_a_full_disk_is_an_error_with_a_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(StorageError, match="No space left"):
        RuleBook(1, 0, tmp_path).place(b"x" * (LARGE + 1))


def _file(number: int, size: int) -> bytes:
    """Rules of a robots.txt: about so many bytes."""
    lines = (b"Disallow: /%d/%d/\n" % (number, line) for line in range(size // 14))
    return Rules.parse(b"User-agent: *\n" + b"".join(lines), "x").compiled()


@given(st.lists(st.integers(1, 200_000), max_size=40), st.integers(0, 150_000))
@settings(deadline=None, max_examples=25)
def test_rules_that_do_not_fit_forbid_everything(sizes: list[int], of_site: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rulebook, "ROOM", 1 << 20)
        patch.setattr(rulebook, "A_SITE", 150_000)
        book = RuleBook(100)
        for number, size in enumerate(sizes):
            compiled = number.to_bytes(4) * -(-size // 4)
            place, left = book.place(compiled, of_site), (1 << 20) - (book.on_disk if size > LARGE else book._ends[0])
            if read(book, *place) != compiled:
                assert read(book, *place) == TOO_MANY
                assert len(compiled) > min(150_000 - of_site, left // rulebook.SHARE)
        assert book.on_disk < 1 << 20
        assert read(book, *book.place(b"few")) == b"few", "small rules always fit"


def test_a_thirty_second_of_2_gib_of_large_files_does_not_end_a_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some 1,400 hosts with files of 500 KB did."""
    monkeypatch.setattr(rulebook, "ROOM", 64 << 20)
    book, kept = RuleBook(100), 0
    for number in range(1_400 // 32 + 10):
        compiled = number.to_bytes(4) * 375_000
        kept += read(book, *book.place(compiled)) == compiled
    assert 20 < kept < 44
    assert read(book, *book.place(b"x" * 200_000)) == b"x" * 200_000, "there is room for other sites"


def test_rules_that_nobody_has_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rulebook, "ROOM", 1 << 20)
    book, starts, ends = RuleBook(10), np.zeros(10, np.uint32), np.zeros(10, np.uint32)
    for number in range(60):
        compiled = number.to_bytes(4) * 10_000
        if book.crowded(len(compiled)):
            starts[:], ends[:] = book.pack(starts, ends)
        starts[0], ends[0] = book.place(compiled)
        assert read(book, int(starts[0]), int(ends[0])) == compiled


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_sites_whose_rules_do_not_fit_are_excluded_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(rulebook, "ROOM", 1 << 20)
    hosts = [f"h{number}.example" for number in range(30)]
    web = {f"http://{host}/robots.txt": Reply(rules=_file(n, 60_000)) for n, host in enumerate(hosts)}
    web |= {f"http://{host}/": Reply(digest=n + 1) for n, host in enumerate(hosts)}
    world = World(tmp_path, web)
    ran = world.run([f"http://{host}/" for host in hosts], clean=how == "stopped", commit=True)
    desk = ran.crawl.desk
    refused = desk[DeskRules].statistics()["too_many"]
    assert 0 < refused < len(hosts)
    page = desk.columns.page
    excluded = page.reason[: page.count][page.state[: page.count] == State.EXCLUDED]
    assert excluded.tolist() == [Reason.ROBOTS] * int(refused), "and all others are fetched"
    warnings = desk[DeskRules].warnings
    assert len(warnings) == int(refused).bit_length()
    assert "has more rules than can be kept" in warnings[0]
    assert state_of(world.replayed()) | {"site.resolved": 0} == state_of(desk) | {"site.resolved": 0}
    assert world.run().crawl.desk[DeskRules].statistics()["too_many"] == refused


def test_the_origins_of_a_site_share_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rulebook, "A_SITE", 80_000)
    places = [f"http://a.example:{port}" for port in range(8000, 8004)]
    web = {f"{place}/robots.txt": Reply(rules=_file(n, 60_000)) for n, place in enumerate(places)}
    world = World(tmp_path, web | {f"{place}/": Reply(digest=n + 1) for n, place in enumerate(places)})
    desk = world.run([f"{place}/" for place in places]).crawl.desk
    assert desk[DeskRules].statistics() == {"too_many": 3}


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_large_and_small_rules_survive_a_run(tmp_path: Path, how: str) -> None:
    large = b"User-agent: *\n" + b"".join(b"Disallow: /%d/\n" % i for i in range(2000))
    files = {"a": large, "b": b"User-agent: *\nDisallow: /9"}
    compiled = {host: Rules.parse(file, "x").compiled() for host, file in files.items()}
    web = {f"http://{h}.example/robots.txt": Reply(rules=rules) for h, rules in compiled.items()}
    world = World(tmp_path, web | {f"http://{h}.example/": Reply(digest=ord(h)) for h in "ab"})
    world.run(["http://a.example/", "http://b.example/"], clean=how == "stopped", commit=True)
    desk = world.run().crawl.desk
    view = DeskView(desk)
    assert {desk[Places].names[int(desk.columns.origin.site[o])][0]: view.rules_of(o) for o in range(2)} == compiled
    assert state_of(world.replayed()) | {"site.resolved": 0} == state_of(desk) | {"site.resolved": 0}
    shard = shard_folder(tmp_path)
    image = open_image(shard, manifest.read(shard).image, Checked(shard))
    assert image is not None
    assert {image.site_name(int(image.columns.origin.site[o]))[0]: image.rules_of(o) for o in range(2)} == compiled
