"""A crawl that a Python program starts, watches and reads.

The crawl is a process of its own (`child.py`), the same as `gossamer crawl` runs: nothing that the program does slows
it down, and it stops cleanly when the program ends, however that ends. The program reads what is committed, like any
reader, so a page that it was given is never lost.

Between two looks at the collection it waits ten times as long as a look takes: reading costs a tenth of a core at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

from gossamer.base import errors
from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.units import Duration
from gossamer.collection.layout import is_collection
from gossamer.config.values import Texts, known, write
from gossamer.crawler.named import named_after
from gossamer.crawler.short import changes_of
from gossamer.library.collection import Collection
from gossamer.library.page import Page

LEAST: Final = 0.5
"""Seconds between two looks at the collection, at least."""
TIMES: Final = 10
"""The pause after a look, as a multiple of its duration."""
DRAWN: Final = 0.2
"""Seconds between two drawings of the progress, at least."""

Value = str | float | bool | Sequence[str] | Mapping[str, Any]


class Crawl:
    """A crawl: iterate over it for its pages as they are stored, or use it as a context, or `wait` for its end.

    Leaving the loop, or the context, stops it cleanly. The same call resumes it.
    """

    def __init__(self, request: Mapping[str, Any], progress: bool) -> None:
        self.folder = Path(request["folder"])
        self._request, self._progress = request, progress
        self._process: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()
        self.statistics = dict[str, Any]()
        """The figures of `gossamer status --json`, as of the last second."""
        self.messages = list[str]()
        """What the crawl has said: warnings, skipped seeds."""
        self.ending = ""
        """Why it has ended; empty while it runs."""
        self._error: GossamerError | None = None
        self._collection: Collection | None = None
        self._mark = (0, 0)

    @property
    def collection(self) -> Collection:
        """What it has stored. Before anything is committed, there is none."""
        if self._collection is None:
            self._collection = Collection(self.folder)
        return self._collection

    def start(self) -> Self:
        """Starts the crawl, if it has not been started."""
        if self._process is None:
            self._mark = self._last() if is_collection(self.folder) else (0, 0)
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "gossamer.library.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,  # Ctrl-C is for the program, which then stops the crawl
            )
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(dict(self._request)).encode() + b"\n")
            self._process.stdin.flush()
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        return self

    def _last(self) -> tuple[int, int]:
        query = "select coalesce(max(tick), 0), coalesce(arg_max(number, (tick, number)), 0) from visits"
        ((tick, number),) = self.collection.sql(query)
        return int(tick), int(number)

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        shown = _Line(self._progress)
        for line in process.stdout:
            message = json.loads(line)
            self.statistics = message.get("statistics") or message.get("ended") or self.statistics
            if "say" in message:
                self.messages.append(message["say"])
            self.ending = message.get("ending", self.ending)
            if "error" in message:
                kind = getattr(errors, message["class"], GossamerError)
                self._error = kind(message["error"], message["cure"])
            shown.show(message)
        process.stdout.close()
        process.wait()
        if self._error is None and not self.ending:
            self._errors.seek(0)
            last = self._errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            self._error = GossamerError(
                f"the process of the crawl has died (code {process.returncode}) {last}".strip(),
                f"What was committed is there: gossamer crawl {self.folder} resumes.",
            )
        self._errors.close()
        shown.end()
        self._over.set()

    @property
    def running(self) -> bool:
        return self._process is not None and not self._over.is_set()

    def stop(self) -> None:
        """Stops it cleanly, and waits until it has stopped."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._over.wait()

    def wait(self) -> Self:
        """Waits for its end; raises what has ended it, if that was an error."""
        self.start()
        try:
            while not self._over.wait(1.0):  # so that Ctrl-C is heard
                pass
        finally:
            self.stop()
        if self._error is not None:
            raise self._error
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop()
        if kind is None and self._error is not None:
            raise self._error

    def __iter__(self) -> Iterator[Page]:
        """The pages that this run stores, in the order in which they are committed."""
        self.start()
        try:
            yield from self._pages()
        finally:
            self.stop()
        if self._error is not None:
            raise self._error

    async def __aiter__(self) -> AsyncIterator[Page]:
        """The same for asynchronous programs."""
        pages = iter(self)
        try:
            while (page := await asyncio.to_thread(next, pages, None)) is not None:
                yield page
        finally:
            await asyncio.to_thread(self.stop)

    def _pages(self) -> Iterator[Page]:
        over = False
        while not over:
            over, began, found = self._over.is_set(), time.monotonic(), False
            if is_collection(self.folder):
                for page in self.collection.after(*self._mark):
                    found = True
                    yield page
                    self._mark = page.mark
            if found:
                over = False
            elif not over:
                self._over.wait(max(LEAST, TIMES * (time.monotonic() - began)))

    def __repr__(self) -> str:
        state = "running" if self.running else self.ending or "not started"
        return f"<Crawl {self.folder}: {state}>"


class _Line:
    """The progress of a crawl on one line of the terminal, or of a notebook's cell."""

    def __init__(self, wanted: bool) -> None:
        self._wanted, self._width = wanted, 0

    def show(self, message: Mapping[str, Any]) -> None:
        if not self._wanted:
            return
        if "say" in message:
            self._write(message["say"], "\n")
        elif message.get("doing"):
            part = "" if message.get("part") is None else f": {message['part']:.0%}"
            self._write(f"{message['doing']}{part}")
        elif figures := message.get("statistics"):
            rate = (figures.get("progress") or {}).get("rates", {}).get("visits", 0.0)
            self._write(
                f"{figures['visits']:,} visits, {figures['stored']:,} pages stored, {figures['known']:,} known,"
                f" {rate:.1f} visits/s"
            )

    def _write(self, text: str, end: str = "") -> None:
        print(f"\r{text:<{self._width}}", end=end, file=sys.stderr, flush=True)
        self._width, self._next = (0, 0.0) if end else (len(text), time.monotonic() + DRAWN)

    def end(self) -> None:
        if self._width:
            print(file=sys.stderr)


def crawl(
    *urls: str,
    folder: str | PathLike[str] | None = None,
    seeds: Iterable[str | PathLike[str]] = (),
    demo: bool | float = False,
    settings: Mapping[str, Value] | None = None,
    config: str | PathLike[str] | None = None,
    pages: int | None = None,
    seconds: str | float | None = None,
    patience: str | float = 60.0,
    log: str | PathLike[str] | None = None,
    progress: bool | None = None,
    contact: str | None = None,
    depth: int | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    only_list: bool = False,
    only_sitemaps: bool = False,
    continuous: bool = False,
    pace: str | None = None,
    mine: bool = False,
    workers: int | None = None,
    bandwidth: str | None = None,
) -> Crawl:
    """A crawl of the sites of these URLs, which starts when it is first used.

    `folder`: of the collection; without it, it is named after the host of the first URL. A collection that exists is
    resumed. `seeds`: files of URLs; `demo`: crawl the demonstration Web, whose pages change at this speed if it is a
    number; `settings`: by name, as in `{"manager.policy": "breadth-first"}`; `config`: a file of settings; `pages`,
    `seconds`: stop after so many stored pages, or that time ("10min"); `patience`: end when no request is due within
    this time; `log`: a file for events; `progress`: show it; default: on a terminal and in a notebook. The other
    arguments are the options of `gossamer crawl` with the same names.
    """
    short = {
        "contact": contact,
        "depth": depth,
        "include": _listed(include),
        "exclude": _listed(exclude),
        "only_list": only_list,
        "only_sitemaps": only_sitemaps,
        "continuous": continuous,
        "pace": pace,
        "mine": mine,
        "workers": workers,
        "bandwidth": bandwidth,
    }
    request = {
        "folder": str(_folder(urls, folder, bool(demo))),
        "seeds": list(urls),
        "seed_files": [str(path) for path in seeds],
        "demo": float(demo if demo is not True else 0.0) if demo is not False else None,
        "changes": _changes(settings or {}, short),
        "config": None if config is None else str(config),
        "pages": pages,
        "seconds": None if seconds is None else _seconds("seconds", seconds),
        "patience": _seconds("patience", patience),
        "log": None if log is None else str(log),
    }
    return Crawl(request, _shown() if progress is None else progress)


def _changes(settings: Mapping[str, Value], short: Mapping[str, Any]) -> list[str]:
    """Settings by name, and those that options have set, as the command line takes them."""
    changes = [f"{name}={write(_several(name, value))}" for name, value in settings.items()]
    return changes + list(changes_of(short, lambda each, value: f"{each.name}={value!r}"))


def _several(name: str, value: Value) -> Value:
    """The value of a setting; one text for a setting that takes several is a list of one."""
    return [value] if isinstance(value, str) and known().get(name) == Texts else value


def _listed(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _folder(urls: Sequence[str], folder: str | PathLike[str] | None, demo: bool) -> Path:
    if folder is not None:
        return Path(folder)
    if urls:
        return named_after(urls[0])
    if demo:
        return Path("demo-crawl")
    raise UsageError("a crawl needs a URL, or the folder of a collection", 'gossamer.crawl("https://example.org")')


def _seconds(name: str, given: str | float) -> float:
    try:
        return float(Duration.parse(given)) if isinstance(given, str) else float(given)
    except ValueError as error:
        raise UsageError(f"{name}={given!r} is not a time", 'Write "10min", "1h" or a number of seconds.') from error


def _shown() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
