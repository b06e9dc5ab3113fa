"""CPU of plug-ins, in milliseconds per page of about 25 KB and 75 links: what a processor costs beside its own work, in
the worker and in the process beside it, what a filter of its links costs, and what extraction rules cost.

    python -m bench.plugins [--pages 4000] [--at-once 4] [--repeat 3]

Bound: a processor that returns one row costs at most 0.05 ms a page beside its own work. `--at-once` pages are given in
a turn, as by a busy worker. Without plug-ins a worker compares one field with None for each page.
"""

from __future__ import annotations

import argparse
import os
import select
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from bench.bounds import Figure, judge
from bench.gather import SCOPE, page
from gossamer.base.model import Ask, Outcome
from gossamer.config import loads
from gossamer.config.settings import GathererSettings, PluginSettings
from gossamer.crawler.processing.beside import Beside
from gossamer.gatherer.extract.named import extractor
from gossamer.gatherer.gather import gather
from gossamer.gatherer.result import Result, encode_links
from gossamer.plugins.find import Plugin, digest_of
from gossamer.robots import Rules

MOST: Final = 0.05
"""Milliseconds."""
CODE: Final = """
def one(page):
    return {"url": page.url, "size": 1}

def kept(url, page):
    return True
"""
KINDS: Final = {"process": ("one", "url:url,size:int"), "filter": ("kept", "left_out:int")}
"""Function and columns of the plug-in of each kind."""
RULES: Final = """
[[extract]]
table = "t"
column = "h1"
css = "h1"
[[extract]]
table = "t"
column = "links"
css = "li a"
attribute = "href"
type = "url"
many = true
"""


def results(count: int) -> list[Result]:
    found = []
    for seed in range(count):
        url, body = page(seed)
        gathered = gather(url, "text/html", (), body, GathererSettings(language=False), SCOPE, "Gossamer")
        headers = {"content-type": "text/html", "server": "x", "date": "Thu, 19 Nov 2026 10:00:00 GMT", "etag": '"1"'}
        assignment = SimpleNamespace(url=url.encode(), ask=Ask.PAGE, number=seed)
        fetched = SimpleNamespace(assignment=assignment, headers=headers, status=200)
        decoded: Any = SimpleNamespace(data=body)
        links = encode_links(gathered.links, 1, {})
        found.append(Result(cast(Any, fetched), Outcome.OK, 0, decoded, gathered, Rules(), (), "", links, True))
    return found


def processed(given: Sequence[Result], pages: int, at_once: int, kind: str) -> tuple[float, float]:
    """Seconds of CPU of this process, and of the process beside it."""
    with tempfile.TemporaryDirectory() as folder, select.epoll() as epoll:
        path = Path(folder) / "my.py"
        path.write_text(CODE)
        name, columns = KINDS[kind]
        plugin = Plugin(kind, f"my.py:{name}", str(path), digest_of(path))
        beside = Beside([(plugin, (name, columns))], 10.0, 1 << 30, epoll, lambda result, _: result)
        run(beside, given, 64, at_once, epoll)
        (child,) = {int(pid) for task in os.listdir("/proc/self/task") for pid in children(task)}
        before, own = cpu_of(child), time.process_time()
        run(beside, given, pages, at_once, epoll)
        used = time.process_time() - own, cpu_of(child) - before
        beside.close()
    return used


def run(beside: Beside, given: Sequence[Result], pages: int, at_once: int, epoll: select.epoll) -> None:
    done = sent = 0
    while done < pages:
        for _ in range(min(at_once, pages - sent) if sent - done < 64 else 0):
            beside.give(given[sent % len(given)])
            sent += 1
        found = beside.turn()
        assert all(not each.rows or each.rows.endswith(b"1]]\n") for each in found)
        done += len(found)
        if done < sent:
            epoll.poll(0.25)


def children(task: str) -> list[str]:
    return Path(f"/proc/self/task/{task}/children").read_text().split()


def cpu_of(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def extracted(settings: PluginSettings, count: int) -> Callable[[], float]:
    """Measures the CPU of `gather` in seconds for these settings."""
    pages = [page(seed) for seed in range(count)]
    of = extractor(settings, SCOPE)

    def measured() -> float:
        began = time.process_time()
        for url, body in pages:
            extract = of(url, 0) if of is not None else None
            gather(url, "text/html", (), body, GathererSettings(language=False), SCOPE, "Gossamer", extract=extract)
        return time.process_time() - began

    return measured


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=4_000)
    options.add_argument("--at-once", type=int, default=4)
    options.add_argument("--repeat", type=int, default=3)
    given = options.parse_args()
    pages = results(200)
    used = {}
    for kind in reversed(KINDS):
        own, beside = min((processed(pages, given.pages, given.at_once, kind) for _ in range(given.repeat)), key=sum)
        said = (
            f"worker {1e3 * own / given.pages:.4f} ms, process beside it {1e3 * beside / given.pages:.4f} ms per page"
        )
        print(f"{kind}: {said}")
        used[kind] = own + beside
    kinds = {
        "": PluginSettings(),
        "two rules": loads(RULES).plugins,
        "JSON-LD, OpenGraph, microdata": PluginSettings(process=("json-ld", "opengraph", "microdata")),
    }
    measures = {name: extracted(settings, 200) for name, settings in kinds.items()}
    best = dict.fromkeys(measures, float("inf"))
    for _ in range(2 * given.repeat):
        for name, measure in measures.items():
            best[name] = min(best[name], measure())
    for name in list(best)[1:]:
        print(f"{name}: {1e3 * (best[name] - best['']) / 200:.4f} ms per page")
    judge((Figure("a processor that returns one row", 1e3 * used["process"] / given.pages, "ms", MOST),))


if __name__ == "__main__":
    main()
