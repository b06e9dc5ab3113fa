"""Whole crawls of the hostile Web, or of its friendly version, over real sockets, observed from outside."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from gossamer import config
from gossamer.webs import coverage, demo
from gossamer.webs.coverage import Ends
from gossamer.webs.hostile.web import HostileWeb
from gossamer.webs.local import demo_settings
from tests.support.crawling import Crawling, Ended, children
from tests.support.reading import rows
from tests.support.timing import COMMAND, WITHIN

PATIENCE: Final = "6s"
HASTE: Final = ("harvester.connect_timeout=4s", "harvester.first_byte_timeout=4s")
"""Timeouts that a good page keeps even on a busy machine."""
ENDING: Final = """
import gc, os, sys, time
from gossamer.cli import main
def opened():
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            pass
    return found
before, code = opened(), 0
try:
    main()
except SystemExit as ended:
    code = ended.code
gc.collect()
until = time.monotonic() + WITHIN  # c-ares closes its descriptors in its own thread
while (left := [name for fd, name in opened().items() if fd not in before]) and time.monotonic() < until:
    time.sleep(0.02)
print("left:", left, file=sys.stderr)
sys.exit(code)
""".replace("WITHIN", f"{WITHIN}")
"""Runs the command, then prints which files it has left open."""


@dataclass
class Crawled:
    web: HostileWeb
    folder: Path
    ended: Ended
    log: Path
    seconds: float
    processes: set[int]
    """All processes that were ever seen."""
    connections: int
    """Open connections of the crawl after its end."""
    memory: int
    """Sum of the peak memory of desk and workers, in bytes."""

    @cached_property
    def ends(self) -> Ends:
        return coverage.compare_ends(self.web, coverage.ends(self.folder))

    @cached_property
    def pages(self) -> dict[str, str]:
        return coverage.ends(self.folder)

    @cached_property
    def visits(self) -> dict[str, list[dict[str, Any]]]:
        urls = {row["page"]: row["url"] for row in rows(self.folder, "pages")}
        found: dict[str, list[dict[str, Any]]] = {}
        for row in rows(self.folder, "visits"):
            if row["outcome"] != "returned":
                found.setdefault(urls.get(row["page"], f"{row['ask']} of {row['site']}"), []).append(row)
        return found


def crawl(web: HostileWeb, folder: Path, *changes: str) -> Crawled:
    log, toml, seeds = folder / "access.log", folder / "web.toml", folder / "web.seeds"
    with demo.start(web, log=log) as running:
        settings = demo_settings(running.resolve, tuple(running.domains), running.trusted, hostile=True)
        small = ("collection.max_pages=100000", "collection.max_sites=1000")
        toml.write_text(config.dump(config.override(settings, (*small, *HASTE, *changes))))
        seeds.write_text("".join(f"{url}\n" for url in running.seeds))
        begun, processes, peaks = time.monotonic(), set[int](), dict[int, int]()
        usual = ("--config", toml, "--seeds", seeds, "--patience", PATIENCE, "--json")
        with Crawling(folder / "crawl", usual, {}, ENDING) as crawling:
            while not crawling.over:
                processes |= {crawling.pid, *children(crawling.pid)}
                for pid in (crawling.pid, *crawling.workers()):
                    peaks[pid] = max(peaks.get(pid, 0), peak_of(pid))
                assert time.monotonic() - begun < COMMAND, "the crawl does not end by itself"
                time.sleep(0.05)
            ended = crawling.ended()
        seconds, left = time.monotonic() - begun, connections_to(running.port)
        return Crawled(web, folder / "crawl", ended, log, seconds, processes, left, sum(peaks.values()))


def connections_to(port: int) -> int:
    """Number of open client connections to a port, from the kernel's table."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines)


def peak_of(pid: int) -> int:
    """Peak memory of a process in bytes; 0 if it is gone."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0
