"""Progress and `status` for people: the same statistics, readable on a terminal, in a log, and without any crawl."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from gossamer.base.model import Reason
from gossamer.base.outcomes import Aside, Outcome
from gossamer.cli.progress import Progress
from gossamer.cli.status_text import BARS, block, errors_of, left_of, line_of, lines, plot, scores_line, value_line
from gossamer.manager.scores.made import LinkScores
from gossamer.observe.account import sentence
from gossamer.observe.crawl_status import CrawlStatus
from gossamer.observe.statistics import IndexValue, TimeLeft, ValuePoint
from tests.support.statistics import statistics
from tests.support.timing import takes_less

STATISTICS = statistics()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(written: str) -> list[str]:
    """What a terminal shows after these characters: only what `Progress` uses is understood."""
    rows, row = [""], 0
    for piece in re.split(r"(\x1b\[\d*[FJK]|\n)", written):
        if piece == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
        elif piece.endswith("F") and piece.startswith("\x1b"):
            row -= int(piece[2:-1])
        elif piece == "\x1b[J":
            del rows[row:]
            rows.append("")
        elif piece == "\x1b[K":
            rows[row] = ""
        else:
            rows[row] += piece
    return rows


def test_on_a_terminal_the_block_is_redrawn_in_place() -> None:
    stream = Terminal()
    with Progress(stream) as progress:
        progress.show(STATISTICS)
        progress.show(statistics(visits=54_321, outcomes={}))
    shown = screen(stream.getvalue())
    assert "54,321 visits" in shown[0]
    assert len([row for row in shown if row]) == len(block(statistics(outcomes={})))
    assert "12,345" not in "".join(shown)


def test_a_message_stays_above_the_block() -> None:
    stream = Terminal()
    with Progress(stream) as progress:
        progress.show(STATISTICS)
        progress.say("warning: something")
        progress.show(STATISTICS)
    shown = screen(stream.getvalue())
    assert shown[0] == "warning: something"
    assert sum("known" in row for row in shown) == 1


def test_the_block_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    Progress(stream).show(STATISTICS)
    assert all(len(row) < 40 for row in screen(stream.getvalue()))


def test_without_a_terminal_each_report_is_one_plain_line() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.show(STATISTICS)
    progress.say("resumed")
    progress.show(STATISTICS)
    written = stream.getvalue()
    assert "\x1b" not in written
    assert written.count("\n") == 3
    assert re.findall(r"pending ([0-9,]+)", written) == ["800,000"] * 2
    assert not progress.due()


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
    for text in ("\n".join(block(STATISTICS)), line_of(STATISTICS)):
        assert [word for word in wanted if word not in text] == []


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
    assert takes_less(lambda: progress.show(STATISTICS), than=0.005)  # twice a second


def test_status_shows_each_state_with_its_reasons_and_their_sentences() -> None:
    told = CrawlStatus(statistics(value=[[1.6e9, 1.0, 10], [1.6e9 + 60, 2.5, 25]]), True, 7)
    text = "\n".join(lines(told, Path("crawl"), 1_600_000_060.0))
    assert "known 1,234,567 = pending 800,000 + waiting 12,000 + done 400,000 + excluded 22,567" in text
    for word in ("server_error", "site: name_failed", "ok", "not_found", "robots", "depth"):
        assert sentence(word) in text
    assert "from now to" in text
    assert "2.5 with 25 pages" in text
    assert "at least 3 h 07 min" in text


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


def test_status_imports_neither_numba_nor_pyarrow() -> None:
    import subprocess

    code = "import sys, gossamer.cli.status_text, gossamer.cli.progress; print({'numba', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
