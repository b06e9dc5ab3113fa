"""Tells watches, and asks again for their pages, as long as it runs: `gossamer watch --follow`, or beside a crawl.

    python -m gossamer.read.tell.follow DIR SECONDS PIPE

is what a crawl starts (`beside.py`). When the other end of the pipe is closed, it tells what is left, and ends.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gossamer.base.errors import GossamerError, UsageError
from gossamer.read.tell.beside import LAST
from gossamer.read.tell.crawl import CrawlTeller
from gossamer.read.tell.teller import Only, Teller
from gossamer.read.tell.within import Within


def once(folder: Path, say: Callable[[str], None]) -> None:
    """Tells everything that is due."""
    only = Only(folder)
    try:
        teller, crawl = Teller(folder, time.time, say), CrawlTeller(folder, time.time, say)
        while teller.turn():
            pass
        crawl.turn(teller.watches)
    finally:
        only.close()


def follow(folder: Path, every: float, stopped: Callable[[float], bool], say: Callable[[str], None]) -> None:
    """Tells until `stopped`, which waits for so many seconds, says so; then what is left. What cannot be read now is
    read in the next turn."""
    only = Only(folder)
    try:
        teller, within, said, over = Teller(folder, time.time, say), Within(folder, time.time), "", False
        crawl = CrawlTeller(folder, time.time, say)
        while not over:
            said = _turn(teller, crawl, within, said, say)
            over = stopped(every)
        until = time.monotonic() + LAST
        with suppress(GossamerError):  # pages are told all the same
            crawl.turn(teller.watches)
        while teller.turn() and time.monotonic() < until:
            pass
    finally:
        only.close()


def _turn(teller: Teller, crawl: CrawlTeller, within: Within, said: str, say: Callable[[str], None]) -> str:
    """One turn; returns what went wrong, and says it unless it was `said` before."""
    try:
        crawl.turn(teller.watches)
        teller.turn()
        within.turn(teller.watches)
    except GossamerError as error:
        if error.message != said:
            say(f"{error.message}; it is tried again. {error.cure}")
        return error.message
    return ""


def main() -> None:
    folder, every, pipe = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    with suppress(UsageError):  # another process tells
        follow(folder, every, lambda seconds: bool(select.select([pipe], [], [], seconds)[0]), lambda line: None)


if __name__ == "__main__":
    main()
