"""Progress and `status` for people: the same statistics, readable on a terminal, in a log, and without any crawl."""

from __future__ import annotations

import io
import re
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import ConsoleDimensions

from gossamer.base.model import Reason
from gossamer.base.outcomes import Aside, Outcome
from gossamer.cli.history import BARS, History
from gossamer.cli.progress import Progress
from gossamer.cli.status_text import (
    awaited_of,
    errors_of,
    left_of,
    line_of,
    lines,
    next_of,
    plot,
    revisit_lines,
    scores_line,
    value_line,
)
from gossamer.cli.view import folded
from gossamer.manager.scores.made import LinkScores
from gossamer.observe.account import sentence, stamp
from gossamer.observe.crawl_status import CrawlStatus
from gossamer.observe.statistics import IndexValue, Statistics, TimeLeft, ValuePoint
from tests.support.crawling import command
from tests.support.statistics import statistics
from tests.support.terminal import Screen, Session, Terminal
from tests.support.timing import COMMAND, takes_less

STATISTICS = statistics()


FULL = statistics(
    slowed=12,
    longest=[
        {"site": "www.uni.example", "pages": 2244, "each": 15.0, "seconds": 33_660.0},
        {"site": "b.example", "pages": 244, "each": 15.0, "seconds": 3_660.0},
        {"site": "short.example", "pages": 2, "each": 15.0, "seconds": 30.0},
    ],
    awaited={"names": 5, "sites": 300, "site": "example.org", "seconds": 12.3},
    bandwidth={"granted": 4_200_000, "used": 4_000_000, "inversions": 3},
)


LATER: dict[str, Any] = {
    "waiting": {
        "server_error": {"pages": 2, "first_due": 1.8e9, "last_due": 1.9e9},
        "broken_off": {"pages": 2, "first_due": 1.7e9, "last_due": 1.9e9},
        "site: delay_too_long": {"pages": 2, "first_due": None, "last_due": None},
    }
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window of 80 x 24, whatever runs the tests."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    window(monkeypatch, 80, 24)


def window(monkeypatch: pytest.MonkeyPatch, width: int, height: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("LINES", str(height))


def shown(stream: io.StringIO, width: int = 80) -> list[str]:
    return [row for row in Screen(width).feed(stream.getvalue()).rows if row]


def sample(seconds: int) -> Statistics:
    """After so many seconds of a crawl whose rate rises and falls once a minute."""
    visits = sum(20 + 15 * (i % 60) // 60 for i in range(seconds))
    return statistics(seconds=float(seconds), visits=visits, bytes=20_000 * visits)


# --- on a terminal ------------------------------------------------------------------------------------------------


def test_on_a_terminal_the_block_is_redrawn_in_place() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.show(STATISTICS)
    before = shown(stream)
    progress.show(statistics(visits=54_321, outcomes={}))
    rows = shown(stream)
    assert any("54,321" in row for row in rows)
    assert len(rows) == len(before) - 1, "there are no errors any more"
    assert "12,345" not in "".join(rows)


def test_the_block_says_all_that_there_is_in_80_by_24() -> None:
    stream = Terminal()
    Progress(stream).show(FULL)
    rows = shown(stream)
    assert rows == [
        "  pages ███████████████▓▒░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 34 % of 1,234,567 known",
        "        █ 400,000 done  ▓ 22,567 excluded  ▒ 12,000 waiting  ░ 800,000 pending",
        " visits 12,345         17.2/s    ",
        "  bytes 3.40 GB     4.00 MB/s    ",
        "granted 4.00 MB/s of 4.20 MB/s (95%), 3 inversions",
        "  sites 4,321, 300 active, 12 slowed",
        "    run 12 min 05 s, 11,000 pages stored, 290 connections, 1.20 GB of memory",
        "slowest www.uni.example: 2,244 pages, one every 15 s: 9 h 21 min",
        "        b.example: 244 pages, one every 15 s: 1 h 01 min",
        " errors 900 not_found, 20 server_error, 3 timed_out, 2 refused, 1 other",
        "   left at least 3 h 07 min (a.example: 2244 pages, one every 5 s)",
        "    now waiting for 290 answers, 5 names and 300 sites",
        "        next request in 12.3 s: example.org",
    ]


def test_rates_are_sparklines_of_the_whole_run() -> None:
    stream = Terminal()
    progress = Progress(stream)
    for seconds in range(181):
        progress.show(sample(seconds))
    (row,) = [row for row in shown(stream) if "visits" in row]
    bars = row.rpartition(" ")[2]
    assert set(bars) <= set(BARS)
    assert len(bars) > 30
    assert [i for i in range(1, len(bars)) if BARS.index(bars[i]) < BARS.index(bars[i - 1])], "the rate fell"


@pytest.mark.parametrize(("width", "height"), [(40, 24), (80, 24), (200, 50), (80, 6), (20, 4), (5, 2), (1, 1)])
def test_a_block_never_wraps_and_never_fills_the_window(
    width: int, height: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    window(monkeypatch, width, height)
    stream = Terminal()
    progress = Progress(stream)
    for _ in range(3):
        progress.show(FULL)
        progress.doing("compiling the kernels", 0.4)
    screen = Screen(width, height).feed(stream.getvalue())
    assert screen.wrapped == 0
    assert len(screen.rows) <= height, "the cursor is below the block"
    assert height == 1 or any("com" in row or width < 20 for row in screen.rows), "what goes on is always shown"


def test_rows_that_do_not_fit_go_by_their_importance(monkeypatch: pytest.MonkeyPatch) -> None:
    window(monkeypatch, 80, 5)
    stream = Terminal()
    Progress(stream).show(FULL)
    assert [row[:7].strip() for row in shown(stream)] == ["pages", "visits", "now", ""]


def test_after_the_window_became_narrower_no_old_line_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.say("above")
    progress.show(FULL)
    folded = Screen(50).feed("".join(f"{row}\n" for row in shown(stream)))  # as the terminal folds what it shows
    before = len(stream.getvalue())
    monkeypatch.setattr("rich.console.Console.size", ConsoleDimensions(50, 24))
    progress.show(FULL)
    rows = [row for row in folded.feed(stream.getvalue()[before:]).rows if row]
    assert rows[0] == "above"
    assert sum("pages" in row and "known" in row for row in rows) == 1
    assert len(rows) == 1 + 13


def test_without_colours_every_state_has_its_own_glyph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    Progress(stream).show(FULL)
    used = set(re.findall(r"\x1b\[([\d;]*)m", stream.getvalue()))
    assert used <= {"0", "1", "2"}, "bold and dim are no colours"
    assert all(glyph in stream.getvalue() for glyph in "█▓▒░")


def test_a_message_stays_above_the_block() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.show(STATISTICS)
    progress.say("warning: something")
    progress.show(STATISTICS)
    rows = shown(stream)
    assert rows[0] == "warning: something"
    assert sum("known" in row for row in rows) == 1


@pytest.mark.parametrize("fails", [False, True])
def test_at_the_end_the_block_goes_and_after_an_error_it_stays(fails: bool) -> None:
    stream = Terminal()
    with suppress(RuntimeError), Progress(stream) as progress:
        progress.say("said")
        progress.show(STATISTICS)
        progress.doing("sealing")
        if fails:
            raise RuntimeError
    rows = shown(stream)
    assert rows[0] == "said"
    assert any("1,234,567 known" in row for row in rows) == fails
    assert not any("sealing" in row for row in rows)
    assert stream.getvalue().endswith("\x1b[J"), "the cursor is below"


def test_what_goes_on_is_shown_before_there_are_statistics() -> None:
    now, stream = [0.0], Terminal()
    progress = Progress(stream, lambda: now[0])
    progress.doing("compiling the kernels", 0.0)
    now[0] = 12.0
    progress.doing("compiling the kernels", 0.4)
    (row,) = shown(stream)
    assert "compiling the kernels: 40 %, 12.0 s" in row
    assert row.count("█") / row.count("░") == pytest.approx(0.4 / 0.6, abs=0.05)
    progress.doing("")
    assert shown(stream) == []


def test_how_far_it_is_is_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    what = "compiling the kernels of a crawl, once for this version and processor, on two cores"
    for width in (40, 60, 80, 200):
        window(monkeypatch, width, 24)
        stream = Terminal()
        Progress(stream, lambda: 5.0).doing(what, 0.4)
        (row,) = shown(stream, width)
        assert ": 40 %, 0.00 s" in row
        assert row.startswith("    now ⠋ compiling the")


def test_after_a_pause_the_terminal_is_clear_for_other_output() -> None:
    stream = Terminal()
    with Progress(stream) as progress:
        progress.doing("thinking", 0.5)
        progress.pause()
        stream.write("a table\n")
        progress.doing("thinking", 0.6)
    assert shown(stream) == ["a table"]


@pytest.mark.parametrize(("term", "encoding"), [("dumb", "utf-8"), ("", "utf-8"), ("xterm", "latin-1")])
def test_a_terminal_that_cannot_show_it_gets_plain_lines(
    term: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(Terminal, "encoding", encoding)
    stream = Terminal()
    Progress(stream).show(FULL)
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


# --- elsewhere ----------------------------------------------------------------------------------------------------


def test_what_is_written_elsewhere_has_no_control_sequences() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.show(FULL)
    progress.say("resumed")
    progress.show(statistics())
    written = stream.getvalue()
    assert "\x1b" not in written
    assert "\r" not in written
    assert written.count("\n") == 3
    assert re.findall(r"pending ([0-9,]+)", written) == ["800,000"] * 2
    assert "waiting for 290 answers, 5 names and 300 sites; next request in 12.3 s: example.org" in written
    assert not progress.due()


def test_elsewhere_an_activity_is_told_after_a_second_and_then_before_five_more_have_passed() -> None:
    now, stream = [100.0], io.StringIO()
    progress = Progress(stream, lambda: now[0])
    told = []
    for tenth in range(200):
        now[0] = 100.0 + tenth / 10
        before = len(stream.getvalue())
        progress.doing("compiling the kernels", tenth / 200)
        told += [tenth / 10] * (len(stream.getvalue()) > before)
    assert told == pytest.approx([1.0, 4.0, 7.0, 10.0, 13.0, 16.0, 19.0])
    assert stream.getvalue().splitlines()[1] == "compiling the kernels: 20 %, 4.0 s"


def test_elsewhere_statistics_are_due_every_four_seconds_in_the_first_minute_then_every_ten() -> None:
    now, due = [0.0], []
    progress = Progress(io.StringIO(), lambda: now[0])
    for second in range(100):
        now[0] = float(second)
        if progress.due():
            due.append(second)
            progress.show(sample(second))
    assert due == [*range(1, 58, 4), 61, 71, 81, 91]


def test_a_short_activity_is_not_worth_a_line() -> None:
    now, stream = [0.0], io.StringIO()
    progress = Progress(stream, lambda: now[0])
    for what in ("reading", "opening", "sealing"):
        progress.doing(what)
        now[0] += 0.9
    assert stream.getvalue() == ""


def test_activities_that_follow_one_another_are_no_silence() -> None:
    now, stream = [0.0], io.StringIO()
    progress = Progress(stream, lambda: now[0])
    for number in range(80):
        progress.doing(f"step {number}")
        progress.doing(f"step {number}", 0.9)
        now[0] += 0.25
    assert len(stream.getvalue().splitlines()) >= 20 / 5


# --- the thread ---------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["say", "show", "doing"]), max_size=40), st.booleans())
def test_every_message_is_written_once_and_in_order(calls: list[str], terminal: bool) -> None:
    stream = Terminal() if terminal else io.StringIO()
    said = []
    with Progress(stream) as progress:
        for number, call in enumerate(calls):
            if call == "say":
                said.append(f"message {number}")
                progress.say(said[-1])
            elif call == "show":
                progress.show(STATISTICS)
            else:
                progress.doing("something", number / 40)
    rows = shown(stream) if terminal else stream.getvalue().splitlines()
    assert [row for row in rows if row.startswith("message")] == said


def test_a_terminal_that_takes_nothing_stops_nobody() -> None:
    taken, held = threading.Event(), threading.Event()

    class Stopped(Terminal):
        def write(self, text: str) -> int:
            held.set()
            assert taken.wait(COMMAND)
            return super().write(text)

    stream = Stopped()
    with Progress(stream) as progress:
        progress.say("first")
        assert held.wait(COMMAND)
        for number in range(1000):
            progress.say(f"message {number}")
            progress.show(STATISTICS)
        taken.set()
    assert [row for row in shown(stream) if row.startswith("message")] == [f"message {n}" for n in range(1000)]


def test_a_fault_of_the_display_does_not_end_a_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("of the display")

    monkeypatch.setattr("gossamer.cli.picture.rows_of", fails)
    stream = Terminal()
    with Progress(stream) as progress:
        progress.say("first")
        progress.show(STATISTICS)
        progress.say("last")
    rows = shown(stream, 1_000)
    assert rows[0] == "first"
    assert "last" in rows
    assert sum("the display has failed, plain lines follow: ZeroDivisionError" in row for row in rows) == 1


def test_without_a_word_from_the_caller_the_block_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.cli.progress.MOST", 0.01)
    monkeypatch.setattr("gossamer.cli.progress.LEAST", 0.01)
    drawn = threading.Semaphore(0)

    class Counted(Terminal):
        def flush(self) -> None:
            drawn.release()

    with Progress(Counted()) as progress:
        progress.doing("thinking")
        for _ in range(5):
            assert drawn.acquire(timeout=COMMAND)


# --- what both say ------------------------------------------------------------------------------------------------


def test_both_forms_have_every_number() -> None:
    wanted = (
        "12,345",
        "17.2",
        "3.40 GB",
        "4.00 MB/s",
        "1,234,567",
        "800,000",
        "12,000",
        "400,000",
        "22,567",
        "4,321",
        "300",
        "290",
        "1.20 GB",
        "not_found",
        "server_error",
        "at least 3 h 07 min",
    )
    stream = Terminal()
    Progress(stream).show(FULL)
    for text in ("\n".join(shown(stream)), line_of(FULL)):
        assert [word for word in wanted if word not in text] == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"open": 0, "awaited": {"sites": 3, "site": "a.example", "seconds": 12.0}}, "waiting for 3 sites"),
        ({"open": 1, "awaited": {}}, "waiting for 1 answer"),
        ({"open": 0, "awaited": {"names": 2}}, "waiting for 2 names"),
        ({"open": 0, "awaited": {}}, "planning"),
        ({"open": 0, "awaited": {}, "pending": 0, "why": {}}, "nothing is due"),
        ({"open": 0, "awaited": {}, "pending": 0, "why": LATER}, f"waiting for the next page, due at {stamp(1.7e9)}"),
        ({"names_fault": "no server answers"}, "waiting for the name servers: no server answers"),
    ],
)
def test_what_is_waited_for_is_told(changed: dict[str, Any], told: str) -> None:
    assert awaited_of(statistics(**changed)) == told


def test_the_next_request_is_told_unless_it_follows_at_once() -> None:
    waits = {"sites": 3, "site": "a.example", "seconds": 12.0}
    assert next_of(statistics(awaited=waits)) == "next request in 12.0 s: a.example"
    assert next_of(statistics(awaited=waits | {"seconds": 0.4})) == ""
    assert next_of(statistics(awaited={})) == ""


@given(st.lists(st.integers(0, 10**6), max_size=400), st.integers(1, 200))
def test_a_sparkline_fits_and_its_highest_bar_is_the_largest_rate(counts: list[int], width: int) -> None:
    history, visits = History(), 0
    for second, count in enumerate(counts):
        visits += count
        history.add(statistics(seconds=float(second), visits=visits))
    drawn = history.visits(width)
    assert len(drawn) <= width
    assert set(drawn) <= set(BARS)
    assert not any(counts[1:]) or BARS[-1] in drawn


def test_errors_are_named_by_kind_and_the_rare_ones_added_up() -> None:
    assert errors_of(STATISTICS.requests.outcomes) == [
        ("not_found", 900),
        ("server_error", 20),
        ("timed_out", 3),
        ("refused", 2),
        ("other", 1),
    ]
    assert errors_of({"ok": 5, "duplicate": 2}) == []


def test_an_unknown_time_left_is_shown_with_its_reason() -> None:
    assert left_of(TimeLeft(None, "pages become known faster than they get done")).startswith("unknown (pages")
    assert left_of(TimeLeft()).startswith("unknown")


def test_drawing_costs_less_than_a_hundredth_of_a_core() -> None:
    progress = Progress(Terminal())
    assert takes_less(lambda: progress.show(FULL), than=0.01)  # once a second


def test_status_shows_each_state_with_its_reasons_and_their_sentences() -> None:
    told = CrawlStatus(statistics(value=[[1.6e9, 1.0, 10], [1.6e9 + 60, 2.5, 25]]), True, 7)
    text = "\n".join(lines(told, Path("crawl"), 1_600_000_060.0))
    assert "known 1,234,567 = pending 800,000 + waiting 12,000 + done 400,000 + excluded 22,567" in text
    for word in ("server_error", "site: name_failed", "ok", "not_found", "robots", "depth"):
        assert sentence(word) in text
    assert "from now to" in text
    assert "2.5 with 25 pages" in text
    assert "at least 3 h 07 min" in text


def test_status_counts_all_runs_and_times_only_the_last() -> None:
    resumed = statistics(run_visits=345)
    running = list(lines(CrawlStatus(resumed, True, 7), Path("crawl"), 1.6e9))
    assert "  in all: 12,345 visits, 11,000 pages stored, 3.40 GB received, 4,321 sites" in running
    assert "  this run: 345 visits in 12 min 05 s" in running
    assert "  now: waiting for 290 answers" in running
    ended = list(lines(CrawlStatus(resumed, False, 7), Path("crawl"), 1.6e9))
    assert "  last run: 345 visits in 12 min 05 s" in ended
    assert not any("now:" in line for line in ended)


def test_every_word_of_the_account_has_a_sentence() -> None:
    words = [o.word for o in Outcome] + [f"site: {a.word}" for a in Aside] + [r.name.lower() for r in Reason]
    assert all(sentence(word).endswith(".") for word in words)


def test_the_value_is_plotted_from_the_lowest_to_the_highest_bar() -> None:
    rising = [(float(i), float(i)) for i in range(64)]
    drawn = plot(rising)
    assert (drawn[0], drawn[-1], len(drawn)) == (BARS[0], BARS[-1], 48)
    assert list(drawn) == sorted(drawn, key=BARS.index)
    assert plot([(1.0, 5.0)]) == BARS[-1]
    assert plot([(1.0, 0.0), (2.0, 0.0)]) == BARS[0] * 2
    assert "▁" in value_line(IndexValue((ValuePoint(0.0, 0.0, 0), ValuePoint(10.0, 3.0, 4))))
    assert "V(I) (minimum):" in value_line(IndexValue((ValuePoint(10.0, 3.0, 4),), {"index_value": "minimum"}))


def test_status_shows_when_link_scores_were_made_or_why_there_are_none() -> None:
    made = LinkScores(made=1.6e9, visits=900, pages=5000, links=70_000, cpu=0.8, cpu_since=1.0)
    assert "of 5,000 pages and 70,000 links, made at 20" in scores_line(made, 1234)
    assert scores_line(made, 1234).endswith("334 visits since")
    assert scores_line(LinkScores(why="they have no weight"), 10) == "link scores: none yet: they have no weight"


def test_status_imports_neither_numba_nor_pyarrow_nor_rich() -> None:
    import subprocess

    code = "import sys, gossamer.cli.status_text, gossamer.cli.progress, gossamer.cli.block"
    code += "; print({'numba', 'numpy', 'pyarrow', 'rich'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def test_lines_are_folded_at_spaces_below_their_text_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    window(monkeypatch, 40, 24)
    long = "           1,234  ok     The page was fetched and gathered, and stored unless it says noindex."
    assert list(folded(["short", long, ""], Terminal())) == [
        "short",
        "           1,234  ok     The page was",
        "                    fetched and",
        "                    gathered, and",
        "                    stored unless it",
        "                    says noindex.",
        "",
    ]
    assert list(folded([long], io.StringIO())) == [long]


# --- real crawls in a pseudo terminal -----------------------------------------------------------------------------


def crawling(folder: Path, *arguments: str, width: int = 80, **environment: str) -> Session:
    usual = ("--demo", "--workers", "1", "--patience", "5s")
    return Session(command("crawl", folder, *usual, *arguments), width, 24, **environment)


def on_screen(session: Session, width: int = 80) -> str:
    return Screen(width).feed(session.written.replace("\r\n", "\n")).text


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_crawl_in_a_terminal_shows_what_goes_on_and_leaves_its_summary(width: int, tmp_path: Path) -> None:
    with crawling(tmp_path / "crawl", width=width) as session:
        session.read(lambda: "visits" in on_screen(session, width))
        assert re.search("starting|reading settings|opening the collection", session.written)
        session.read(lambda: "waiting for" in session.written)
        block = [row for row in on_screen(session, width).split("\n") if re.match(r" {2}pages|  {7}now", row)]
        assert all(len(row) < width for row in block)
        session.press("\x03")
        assert session.ended() == 130
    screen = on_screen(session, width)
    assert "The crawl ended: " in screen
    assert "  pages " not in screen, "the block is gone"
    assert "\x1b[3" in session.written, "in colours"


@pytest.mark.slow
def test_ctrl_c_ends_a_crawl_in_a_terminal_with_its_summary(tmp_path: Path) -> None:
    with crawling(tmp_path / "crawl", NO_COLOR="1") as session:
        session.read(lambda: "waiting for" in session.written)
        session.resize(60, 12)
        session.press("\x03")
        assert session.ended() == 130
    screen = on_screen(session)
    assert screen.count("The crawl ended: stopped on request.") == 1
    assert "Traceback" not in screen
    assert not re.search(r"\x1b\[[\d;]*3\dm", session.written), "NO_COLOR"


@pytest.mark.slow
def test_a_crawl_that_is_refused_in_a_terminal_says_why_below_all_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with crawling(tmp_path, "--pages", "1", width=300) as session:
        assert session.ended() == 2
    assert on_screen(session, 300).rstrip().split("\n")[-2].startswith("gossamer: ")


def test_status_says_what_revisits_found() -> None:
    assert list(revisit_lines({})) == []
    assert list(revisit_lines({"re-visits": 0, "none": 0, "minor": 0, "major": 0, "not_modified": 0})) == []
    assert len(list(revisit_lines({"major": 1}))) == 1
    numbers = {"re-visits": 1200, "none": 900, "minor": 60, "major": 40, "not_modified": 800, "freshness": 0.9773}
    numbers |= {"days_behind": 0.5, "hourly": 0.0, "daily": 0.2, "weekly": 0.3, "monthly": 0.5, "rarely": 0.0}
    assert list(revisit_lines(numbers)) == [
        "  re-visits: 1,200; unchanged 90.0% (800 by 304), minor changes 6.0%, major changes 4.0%",
        "  expected freshness: 97.7% of the copies are up to date; on average they have been outdated for 12 h 00 min",
        "  copies change about: 20% daily, 30% weekly, 50% monthly",
    ]
    (_, saved) = revisit_lines({"none": 900, "not_modified": 800, "saved_bytes": 12_345_678})
    assert saved == "  answers 304 saved about 12.3 MB"
