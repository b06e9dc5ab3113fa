"""Runs the crawlers one after another and stores the measurements; `bench.beside.write` makes a page of them.

    python -m bench.beside [--quick] [--webs a,b,c10,c1] [--crawlers gossamer,scrapy,crawlee,wget2] [--repeats 3]

The Webs: (a) the demonstration Web with the page sizes of the HTTP Archive; (b) real pages; (c10) the same over TLS,
ten pages per connection; (c1) one page per connection. All traffic is on 127.0.0.0/8. A crawler that has not finished
after `--most` seconds is stopped, and its figures are those up to then.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from bench.beside.crawlers import CRAWLERS, WAIT, available
from bench.beside.judge import Pages, judge
from bench.beside.machine import machine
from bench.beside.pages import prepare, told
from bench.beside.results import RESULTS, add
from bench.beside.serve import Served, serve, serve_demo
from bench.beside.watch import watch
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.render import render

WEBS: Final = ("a", "b", "c10", "c1")
DEMO: Final = DemoWeb(
    sites=100,
    pages=4_000,
    largest=120,
    heavy=True,
    pace=0.0,
    slow=0,
    delays=0,
    unavailable=0,
    calendars=0,
    sessions=0,
    redirects=0.0,
    tls=0,
    down=0,
    torn=0,
    errors=0.0,
    busy=0.0,
    old=0,
    twins=0,
)
"""Features switched off: those that only wait, those without end, and those that the settings of others exclude."""


@contextmanager
def served(web: str, pages: Path, folder: Path, quick: bool) -> Iterator[Served]:
    if web == "a":
        with serve_demo(DEMO, folder) as found:
            yield found
    else:
        sites = prepare(pages, 20 if quick else 100)
        with serve(sites, pages, folder, web != "b", int(web[1:] or 1000)) as found:
            yield found


def sizes(web: DemoWeb) -> str:
    """The distribution of the sizes of the pages that it serves."""
    found = sorted(len(render(web, s, n).plain) for s in web.all_sites for n in range(s.pages))
    at = (found[int(q * len(found))] / 1000 for q in (0.1, 0.5, 0.9, 0.99))
    return "{} pages: 10 % below {:.0f} KB, half below {:.0f}, 90 % below {:.0f}, 99 % below {:.0f}".format(
        f"{len(found):,}", *at
    )


def one(web: str, crawler: str, pages: Path, most: float, quick: bool) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(web, pages, folder / "web", quick) as found:
            start = CRAWLERS[crawler](found, folder)
            count = Pages(found.log, found.is_page).count
            cost = watch(start.command, count, folder, most, start.environment)
        verdict = judge(found, WAIT)
        if not cost.pages:
            print((folder / "output").read_text()[-2000:])
    print(
        f"{web:<4}{crawler:<9} {cost.ms:7.3f} ms of CPU per page ({cost.whole_ms:.3f} with start and end), "
        f"{cost.rate:6.1f} pages/s, {cost.peak / 1e6:5.0f} MB, {verdict.found:,} of {verdict.there:,} pages, "
        f"{verdict.impolite:,} of {verdict.requests:,} requests impolite {verdict.kinds or ''}"
        f"{' (stopped)' if cost.stopped else ''}",
        flush=True,
    )
    return {
        "web": web,
        "crawler": crawler,
        "ms": cost.ms,
        "first_ms": cost.first_ms,
        "whole_ms": cost.whole_ms,
        "rate": cost.rate,
        **asdict(cost),
        **asdict(verdict),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--webs", default=",".join(WEBS))
    parser.add_argument("--crawlers", default=",".join(CRAWLERS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most", type=float, default=60.0, help="maximum seconds of a run")
    parser.add_argument("--quick", action="store_true", help="a fifth of the sites, one repeat")
    parser.add_argument("--pages", type=Path, default=Path(".bench-pages"), help="folder of the real pages")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file to which figures are added")
    given = parser.parse_args()
    given.pages.mkdir(parents=True, exist_ok=True)
    versions = available()
    for name in CRAWLERS:
        if name not in versions:
            print(f"{name} is not installed, and is left out")
    runs: list[dict[str, object]] = []
    about = {
        "machine": machine(),
        "versions": versions,
        "pages": told(prepare(given.pages)),
        "sizes": sizes(DEMO),
        "wait": WAIT,
        "most": given.most,
        "quick": given.quick,
    }
    print(f"(a) {about['sizes']}\n(b) {about['pages']}", flush=True)
    for repeat in range(1 if given.quick else given.repeats):
        for web in given.webs.split(","):
            for crawler in given.crawlers.split(","):
                if crawler in versions:
                    runs.append({"repeat": repeat, **one(web, crawler, given.pages, given.most, given.quick)})
                    add(given.results, runs, {}, **about)


if __name__ == "__main__":
    main()
