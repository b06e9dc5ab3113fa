"""The process of a crawl that a Python program has started (`crawl.py`).

    python -m gossamer.library.child

The first line of its input is the request, as JSON; when its input ends, because the program has ended, however it
did, the crawl stops cleanly. Its output is a line of JSON for each message:

    {"doing": what, "part": 0.3}     {"say": line}     {"statistics": {…}}     {"ended": {…}, "ending": words}
    {"error": message, "cure": cure, "class": name}

A program that does not read loses progress, and never holds the crawl up.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from functools import partial
from pathlib import Path
from typing import Any, Final

from gossamer.base.bus import explain_bus_errors
from gossamer.base.errors import GossamerError
from gossamer.config.user import user_settings
from gossamer.crawler.run import run
from gossamer.crawler.start import CrawlRequest
from gossamer.observe.statistics import Statistics
from gossamer.read.tell.beside import telling
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import served

EVERY: Final = 1.0
"""Seconds between two statistics."""
_PATHS: Final = ("folder", "config", "log")


class Told:
    """Tells the program what goes on: a `Watcher`."""

    def __init__(self, descriptor: int) -> None:
        self._out, self._next, self._lock, self._left = descriptor, 0.0, threading.Lock(), b""
        os.set_blocking(descriptor, False)

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def show(self, statistics: Statistics) -> None:
        self._next = time.monotonic() + EVERY
        self._tell({"statistics": statistics.to_json()})

    def say(self, line: str) -> None:
        self._tell({"say": line})

    def doing(self, what: str, part: float | None = None) -> None:
        self._tell({"doing": what, "part": part})

    def _tell(self, message: dict[str, Any]) -> None:
        """Sends what fits. While a message is on its way, others are dropped."""
        with self._lock:
            self._left = self._sent(self._left or _line_of(message))

    def _sent(self, line: bytes) -> bytes:
        """What is left of it."""
        try:
            return line[os.write(self._out, line) :]
        except BlockingIOError:
            return line
        except BrokenPipeError:
            return b""

    def last(self, message: dict[str, Any]) -> None:
        """A message that must arrive."""
        with self._lock:
            os.set_blocking(self._out, True)
            left = self._left + _line_of(message)
            while left:
                left = self._sent(left)


def _line_of(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _known(error: GossamerError) -> str:
    """The class of the error, or its nearest base, that the program knows."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == GossamerError.__module__)


def _stop_with_input() -> None:
    while os.read(0, 1 << 10):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _request(given: dict[str, Any]) -> CrawlRequest:
    speed = given.pop("demo")
    for name in _PATHS:
        given[name] = None if given[name] is None else Path(given[name])
    given["seed_files"] = tuple(map(Path, given["seed_files"]))
    given |= {name: tuple(given[name]) for name in ("seeds", "changes")}
    serve = None if speed is None else partial(served, DemoWeb(speed=speed))
    return CrawlRequest(**given, serve=serve, user_settings=user_settings())


def _line() -> bytes:
    """The first line of the input, and nothing behind it."""
    found = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        found += byte
    return bytes(found)


def main() -> int:
    """Exit codes as those of `gossamer crawl`."""
    explain_bus_errors()
    out = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed must not come between messages
    told, request = Told(out), _request(json.loads(_line()))
    threading.Thread(target=_stop_with_input, daemon=True).start()
    try:
        with telling(request.folder, told.say):
            report = run(request, told)
    except GossamerError as error:
        told.last({"error": error.message, "cure": error.cure, "class": _known(error)})
        return error.exit_code
    except Exception as error:
        told.last({"error": f"the crawl has failed: {error!r}", "cure": traceback.format_exc(), "class": ""})
        return GossamerError.exit_code
    told.last({"ended": report.statistics.to_json(), "ending": report.ending.value})
    return 0


if __name__ == "__main__":
    sys.exit(main())
