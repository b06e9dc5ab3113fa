"""Whole crawls over real sockets: the demonstration Web is served, `gossamer crawl` runs as its own process, results
are read back.

with serve(DemoWeb(sites=30, pages=1500), tmp_path) as served:
    ended = served.crawl(tmp_path / "crawl", "--workers", "1")
assert served.verdict().violations == []
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from gossamer import config
from gossamer.webs import checker, demo
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import demo_settings
from tests.conftest import NO_CRAWLS
from tests.support.timing import COMMAND

SMALL: Final = ("collection.max_pages=100000", "collection.max_sites=1000", "harvester.pause=10ms")
LIGHT: Final = ("harvester.workers=1", "manager.weights={opic=1}")
"""For crawls that need neither two workers nor link scores: two processes less to start."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a command."""

    code: int
    output: str
    errors: str

    @property
    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.output)
        return found

    @property
    def outcomes(self) -> dict[str, int]:
        found: dict[str, int] = self.figures["outcomes"]
        return found


def gossamer(*arguments: str | Path, **environment: str) -> Ended:
    """Runs a command to its end."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=COMMAND, env=os.environ | environment
    )
    if arguments[0] == "crawl" and done.returncode == 0:
        is_marked_slow()
    return Ended(done.returncode, done.stdout, done.stderr)


def is_marked_slow() -> None:
    """Fails in `make quick`: called where a whole crawl begins or has run."""
    assert not os.environ.get(NO_CRAWLS), "a test that needs a whole crawl is marked `slow`: `make quick` leaves it out"


def command(*arguments: str | Path, program: str = "") -> list[str]:
    """The command line of a `gossamer` process; `program`: Python code that calls it in the end."""
    return [sys.executable, *(["-c", program] if program else ["-m", "gossamer"]), *map(str, arguments)]


class Crawling:
    """A running crawl. It leads its own process group, as under a shell."""

    def __init__(
        self, folder: Path, arguments: Sequence[str | Path], environment: dict[str, str], program: str = ""
    ) -> None:
        is_marked_slow()
        self.folder = folder
        self._files = [tempfile.TemporaryFile("w+") for _ in range(2)]  # noqa: SIM115
        self.process = subprocess.Popen(
            command("crawl", folder, *arguments, program=program),
            stdin=subprocess.DEVNULL,
            stdout=self._files[0],
            stderr=self._files[1],
            env=os.environ | environment,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def over(self) -> bool:
        return self.process.poll() is not None

    def workers(self) -> list[int]:
        return [pid for pid in children(self.pid) if "gossamer.crawler.worker" in command_line(pid)]

    def wait_for(self, what: Callable[[], object], seconds: float = COMMAND) -> bool:
        """Whether `what` became true before the crawl was over."""
        until = time.monotonic() + seconds
        while not self.over:
            if what():
                return True
            assert time.monotonic() < until, f"not within {seconds} s; standard error: {self._text(1)}"
            time.sleep(0.005)
        return bool(what())

    def signal(self, number: int, group: bool = False) -> None:
        """Sends a signal to the desk, or to its whole process group, as a terminal does at Ctrl-C."""
        (os.killpg if group else os.kill)(self.pid, number)

    def kill(self) -> None:
        if not self.over:
            self.process.kill()

    def ended(self, within: float = COMMAND) -> Ended:
        self.process.wait(within)
        return Ended(self.process.returncode, self._text(0), self._text(1))

    def _text(self, stream: int) -> str:
        self._files[stream].seek(0)
        return self._files[stream].read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.process.wait()
        for file in self._files:
            file.close()


@dataclass(frozen=True, slots=True)
class Served:
    """A served demonstration Web, with settings and seeds for a crawl of it."""

    web: DemoWeb
    running: demo.RunningWeb = field(repr=False)
    log: Path
    config: Path
    seeds: Path

    def begin(self, folder: Path, *arguments: str | Path, program: str = "", **environment: str) -> Crawling:
        usual = ("--config", self.config, "--seeds", self.seeds, "--patience", "30s", "--json")
        return Crawling(folder, (*usual, *arguments), environment, program)

    def crawl(self, folder: Path, *arguments: str | Path, **environment: str) -> Ended:
        with self.begin(folder, *arguments, **environment) as crawling:
            return crawling.ended()

    def has_grown(self) -> Callable[[], bool]:
        """A function that tells whether there were requests since now, by the log."""
        before = self.log.stat().st_size
        return lambda: self.log.stat().st_size > before

    def requests(self) -> list[checker.Request]:
        """All requests in order. Ends the server, so that its log is complete."""
        self.running.stop()
        return sorted(checker.read(self.log), key=lambda r: r.start)

    def verdict(self, kills: Sequence[float] = (), *changes: str) -> checker.PolitenessReport:
        settings = config.override(config.load(self.config), changes)
        return checker.check(self.requests(), settings, checker.robots_of_web(self.web), kills)


@contextmanager
def serve(web: DemoWeb, folder: Path, *changes: str) -> Iterator[Served]:
    """Serves a Web; `changes` are settings of the crawl. Waits are short by default."""
    log, toml, seeds = folder / "access.log", folder / "web.toml", folder / "web.seeds"
    with demo.start(web, log=log) as running:
        settings = demo_settings(running.resolve, tuple(running.domains), running.trusted)
        toml.write_text(config.dump(config.override(settings, (*SMALL, *changes))))
        seeds.write_text("".join(f"{url}\n" for url in web.seeds))
        yield Served(web, running, log, toml, seeds)


def children(pid: int) -> list[int]:
    """Child processes of all threads of a process; none if it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether a process is alive; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def kill(pid: int) -> None:
    """Sends SIGKILL; does nothing if the process is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
