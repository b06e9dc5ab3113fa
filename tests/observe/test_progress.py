"""Progress and `status` for people: the same figures, readable on a terminal, in a log, and without any crawl."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from gossamer.accounting import sentence
from gossamer.base.ending import Ending
from gossamer.base.model import Reason
from gossamer.base.outcomes import Aside, Outcome
from gossamer.cli.progress import Progress, block, errors_of, left_of, line_of
from gossamer.cli.status import BARS, lines, plot, scores_line, value_line
from gossamer.report import Report
from tests.support.timing import takes_less

FIGURES: dict[str, Any] = {
    "seconds": 725.0,
    "visits": 12_345,
    "stored": 11_000,
    "bytes": 3_400_000_000,
    "known": 1_234_567,
    "pending": 800_000,
    "waiting": 12_000,
    "done": 400_000,
    "excluded": 22_567,
    "sites": 4_321,
    "sites_active": 300,
    "open": 290,
    "rss": 1_200_000_000,
    "outcomes": {"ok": 11_000, "not_found": 900, "server_error": 20, "timed_out": 3, "refused": 2, "broken_off": 1},
    "rates": {"visits": 17.25, "bytes": 4_000_000, "known": 3.0, "settled": 16.0},
    "left": {"seconds": 11_220.0, "why": "a.example: 2244 pages, one every 5 s"},
    "why": {
        "waiting": {
            "server_error": {"pages": 11_990, "first_due": 1_000.0, "last_due": 4_000_000_000.0},
            "site: name_failed": {"pages": 10, "first_due": 4_000_000_000.0, "last_due": 4_000_000_000.0},
        },
        "done": {"ok": 399_000, "not_found": 1_000},
        "excluded": {"robots": 22_000, "depth": 567},
    },
    "time": 1_600_000_000.0,
}


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
        progress.show(FIGURES)
        progress.show(FIGURES | {"visits": 54_321, "outcomes": {}})
    shown = screen(stream.getvalue())
    assert "54,321 visits" in shown[0]
    assert len([row for row in shown if row]) == len(block(FIGURES | {"outcomes": {}}))
    assert "12,345" not in "".join(shown)


def test_a_message_stays_above_the_block() -> None:
    stream = Terminal()
    with Progress(stream) as progress:
        progress.show(FIGURES)
        progress.say("warning: something")
        progress.show(FIGURES)
    shown = screen(stream.getvalue())
    assert shown[0] == "warning: something"
    assert sum("known" in row for row in shown) == 1


def test_the_block_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    Progress(stream).show(FIGURES)
    assert all(len(row) < 40 for row in screen(stream.getvalue()))


def test_without_a_terminal_each_report_is_one_plain_line() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.show(FIGURES)
    progress.say("resumed")
    progress.show(FIGURES)
    written = stream.getvalue()
    assert "\x1b" not in written
    assert written.count("\n") == 3
    assert re.findall(r"pending ([0-9,]+)", written) == ["800,000"] * 2
    assert not progress.due()


def test_every_number_of_the_issue_is_in_both_forms() -> None:
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
    for text in ("\n".join(block(FIGURES)), line_of(FIGURES)):
        assert [word for word in wanted if word not in text] == []


def test_errors_are_named_by_kind_and_the_rare_ones_added_up() -> None:
    assert errors_of(FIGURES) == [
        ("not_found", 900),
        ("server_error", 20),
        ("timed_out", 3),
        ("refused", 2),
        ("other", 1),
    ]
    assert errors_of({"outcomes": {"ok": 5, "duplicate": 2}}) == []


def test_what_is_not_known_about_the_time_left_is_said() -> None:
    assert left_of({"left": {"seconds": None, "why": "pages become known faster than they get done"}}).startswith("unk")
    assert left_of({}).startswith("unknown")


def test_drawing_costs_less_than_a_hundredth_of_a_core() -> None:
    progress = Progress(Terminal())
    assert takes_less(lambda: progress.show(FIGURES), than=0.005)  # twice a second


def test_status_says_each_part_with_its_reason_and_sentence() -> None:
    said = FIGURES | {"running": True, "pid": 7, "value": [[1.6e9, 1.0, 10], [1.6e9 + 60, 2.5, 25]]}
    text = "\n".join(lines(said, Path("crawl"), 1_600_000_060.0))
    assert "known 1,234,567 = pending 800,000 + waiting 12,000 + done 400,000 + excluded 22,567" in text
    for word in ("server_error", "site: name_failed", "ok", "not_found", "robots", "depth"):
        assert sentence(word) in text
    assert "from now to" in text
    assert "2.5 with 25 pages" in text
    assert "at least 3 h 07 min" in text


def test_every_word_of_the_accounting_has_a_sentence() -> None:
    words = [o.word for o in Outcome] + [f"site: {a.word}" for a in Aside] + [r.name.lower() for r in Reason]
    assert all(sentence(word).endswith(".") for word in words)


def test_the_value_is_plotted_from_the_lowest_to_the_highest_bar() -> None:
    rising = [(float(i), float(i)) for i in range(64)]
    drawn = plot(rising)
    assert (drawn[0], drawn[-1], len(drawn)) == (BARS[0], BARS[-1], 48)
    assert list(drawn) == sorted(drawn, key=BARS.index)
    assert plot([(1.0, 5.0)]) == BARS[-1]
    assert plot([(1.0, 0.0), (2.0, 0.0)]) == BARS[0] * 2
    assert "▁" in value_line([[0.0, 0.0, 0], [10.0, 3.0, 4]], {})
    assert "V(I) (minimum):" in value_line([[10.0, 3.0, 4]], {"index_value": "minimum"})


def test_status_says_when_link_scores_were_made_or_why_there_are_none() -> None:
    made = {"made": 1.6e9, "visits": 900, "pages": 5000, "links": 70_000, "cpu": 0.8, "cpu_since": 1.0, "why": ""}
    assert "of 5,000 pages and 70,000 links, made at 20" in scores_line(made, 1234)
    assert scores_line(made, 1234).endswith("334 visits since")
    none = dict.fromkeys(made) | {"why": "they have no weight"}
    assert scores_line(none, 10) == "link scores: none yet: they have no weight"


def test_status_imports_neither_numba_nor_pyarrow() -> None:
    import subprocess

    code = "import sys, gossamer.cli.status, gossamer.cli.progress; print({'numba', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def test_the_end_of_a_crawl_accounts_for_every_page_in_the_words_of_status() -> None:
    waiting = FIGURES["why"]["waiting"] | {
        "site: forbidden_address": {"pages": 5, "first_due": 1_000.0, "last_due": 4_000_000_000.0},
        "site: delay_too_long": {"pages": 4, "first_due": None, "last_due": None},
    }
    ended = FIGURES | {
        "run_visits": 10,
        "cpu_seconds": 1.0,
        "waits_until": "",
        "why": FIGURES["why"] | {"waiting": waiting},
    }
    said = list(Report(ended, Ending.DONE, False, "crawl", ended).lines())
    account = list(lines(ended | {"running": True, "pid": 7}, Path("crawl"), ended["time"]))
    begin = next(i for i, line in enumerate(account) if "known " in line)
    end = next(i for i, line in enumerate(account) if "outcomes of visits" in line)
    assert set(account[begin:end]) <= set(said)
    assert len(account[begin:end]) == 1 + 3 + 4 + 2 + 2
    assert any("for good" in line for line in said)
    assert any("allow_private" in line for line in said)
    assert any("max_delay" in line for line in said)


def test_name_servers_at_fault_are_said_everywhere_and_nothing_is_said_of_those_that_work(tmp_path: Path) -> None:
    fault = {"names_fault": "the name servers (192.0.2.53:53) seem to be at fault"}
    standing = {"running": True, "pid": 1, "ending": None, "waits_until": ""}
    for given, said in ((FIGURES | fault, True), (FIGURES | {"names_fault": ""}, False)):
        ended = {**given, **standing, "run_visits": 0, "cpu_seconds": 1.0}
        report = Report(ended, Ending.TIME, False, str(tmp_path), ended)
        for shown in (block(given), [line_of(given)], lines(given | standing, tmp_path, 1e9), report.lines()):
            assert any("192.0.2.53:53" in line for line in shown) == said
