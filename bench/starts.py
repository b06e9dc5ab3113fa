"""How soon a crawl asks for its first page, cold and warm, and how soon `--help` and `status` answer.

    python -m bench.starts

The package is copied into a folder of its own, with an empty home: the first crawl of the demonstration Web compiles
its kernels, the second finds them. Bounds are for two quiet cores: 60 s to the tenth page cold, 3 s to the first
request warm, never 5 s without a line, 45 s of processor time to compile all that a crawl needs, 0.3 s for small
commands.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Final

from bench.bounds import Figure, judge
from gossamer.base.compiled import PACKAGE

LONGEST: Final = 600.0
TIMES: Final = 5
PAGES: Final = 10


class Installed:
    """A copy of the package, and a home without kernels."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(PACKAGE, root / "gossamer", ignore=shutil.ignore_patterns("__pycache__"))
        (root / "gossamer" / "__pycache__").touch()  # no folder: kernels go into the user's cache
        self.home = root / "home"
        self.home.mkdir()

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        environment = {"PYTHONPATH": str(self.root), "HOME": str(self.home), "PATH": os.environ["PATH"]}
        command = [sys.executable, "-m", *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def seconds(self, *arguments: str | Path) -> tuple[float, float]:
        """Elapsed and processor seconds of a command."""
        start, cpu = time.perf_counter(), _cpu()
        with self.start(*arguments) as process:
            said, complaint = process.communicate(timeout=LONGEST)
            if process.returncode:
                raise SystemExit(f"{arguments}: {complaint or said}")
        return time.perf_counter() - start, _cpu() - cpu


@dataclass(slots=True)
class Started:
    """When a crawl made its requests and said its lines, in seconds after its start."""

    requests: list[float] = field(default_factory=list)
    lines: list[float] = field(default_factory=list)

    @property
    def silence(self) -> float:
        """The longest time without a line, up to the last request."""
        at = [0.0, *(line for line in self.lines if line < self.requests[-1]), self.requests[-1]]
        return max(after - before for before, after in pairwise(at))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def crawl(installed: Installed, folder: str) -> Started:
    """Crawls `PAGES` pages of the demonstration Web, and watches its access log."""
    log, found, start = installed.root / f"{folder}.log", Started(), time.perf_counter()

    def listen(stream: IO[str]) -> None:
        for _ in stream:
            found.lines.append(time.perf_counter() - start)

    arguments = ("crawl", folder, "--demo", "--demo-log", log, "--pages", str(PAGES))
    with installed.start("gossamer", *arguments) as process:
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            threading.Thread(target=listen, args=(stream,), daemon=True).start()
        while process.poll() is None and time.perf_counter() - start < LONGEST:
            lines = log.read_bytes().count(b"\n") if log.exists() else 0
            found.requests += [time.perf_counter() - start] * (lines - len(found.requests))
            time.sleep(0.02)
        if process.wait(LONGEST):
            raise SystemExit(f"the crawl ended with {process.returncode}")
    return found


def main() -> None:
    figures = []
    with tempfile.TemporaryDirectory() as root:
        installed = Installed(Path(root))
        cold = crawl(installed, "cold")
        figures.append(Figure("cold, to the tenth page", cold.requests[-1], "s", 60.0))
        figures.append(Figure("cold, longest silence", cold.silence, "s", 5.0))
        warm = [crawl(installed, f"warm-{i}") for i in range(TIMES)]
        first = statistics.median(each.requests[0] for each in warm)
        figures.append(Figure("warm, to the first request", first, "s", 3.0))
        figures.append(Figure("warm, longest silence", max(each.silence for each in warm), "s", 5.0))
        small = {"--help": ("gossamer", "--help"), "status": ("gossamer", "status", "cold")}
        for name, arguments in small.items():
            took = statistics.median(installed.seconds(*arguments)[0] for _ in range(TIMES))
            figures.append(Figure(name, took, "s", 0.3))
    with tempfile.TemporaryDirectory() as root:
        elapsed, cpu = Installed(Path(root)).seconds("gossamer.tools.compile")
        aside = f"{elapsed:.0f} s on {len(os.sched_getaffinity(0))} cores"
        figures.append(Figure("compiling, for a crawl and link scores", cpu, "s of processor time", 45.0, aside=aside))
    judge(figures)


if __name__ == "__main__":
    main()
