"""Standard streams that cannot be written to, in processes of their own."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawling import command

START = "import sys; from gossamer.base.escape import guard; guard(); from gossamer.cli.progress import Progress; "


def run(arguments: list[str], buffered: bool = True, **streams: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"}
    pipes: dict[str, Any] = {name: subprocess.PIPE for name in ("stdout", "stderr") if name not in streams}
    return subprocess.run(arguments, text=True, env=environment, **pipes, **streams)


def unread() -> int:
    """A pipe whose reader has ended."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", [["config"], ["--help"]])
def test_a_reader_that_ends_early_ends_the_command_and_nothing_else(arguments: list[str], buffered: bool) -> None:
    pipe = unread()
    done = run(command(*arguments), buffered, stdout=pipe)
    os.close(pipe)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("buffered", [True, False])
def test_output_that_cannot_be_written_is_an_error_with_a_cure(buffered: bool) -> None:
    with open("/dev/full", "w") as full:
        done = run(command("config"), buffered, stdout=full)
    assert done.returncode == 4
    assert f"cannot write to standard output: {os.strerror(errno.ENOSPC)}" in done.stderr
    assert "The disk is full" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("full", [False, True])
def test_messages_that_cannot_be_written_do_not_end_a_crawl(full: bool) -> None:
    """The stages of a crawl say everything through Progress; the end is printed."""
    stream = os.open("/dev/full", os.O_WRONLY) if full else unread()
    talk = "p = Progress(sys.stderr)\nfor n in range(2_000): p.say('message')\nprint('end', file=sys.stderr)"
    done = run([sys.executable, "-c", f"{START}{talk}\nprint('done')"], stderr=stream)
    os.close(stream)
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_closed_standard_streams_are_given_to_no_other_file(tmp_path: Path) -> None:
    program = f"{START}file = open({str(tmp_path / 'journal')!r}, 'w'); print('message', file=sys.stderr); "
    program += "sys.exit(0 if file.fileno() > 2 else 1)"
    shell = 'exec "$0" -c "$1" <&- >&- 2>&-'
    done = run(["sh", "-c", shell, sys.executable, program])
    assert done.returncode == 0
    assert (tmp_path / "journal").read_text() == ""
