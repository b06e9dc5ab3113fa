"""Makes docs/benchmarks.md and its plots of the results: `python -m bench.beside.write [RESULTS] [FOLDER]`"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.beside.bound import figures
from bench.beside.results import RESULTS, load, middle, of
from gossamer.laboratory.findings import plot
from gossamer.laboratory.findings.finding import Column, Plot, Series, Table
from gossamer.laboratory.findings.table import as_markdown

WEBS: Final = {
    "a": "(a) the demonstration Web with the page sizes of the HTTP Archive",
    "b": "(b) real pages",
    "c10": "(c) real pages over TLS, ten pages per connection",
    "c1": "(c) real pages over TLS, one page per connection",
}
CRAWLERS: Final = {"gossamer": "Gossamer", "scrapy": "Scrapy", "crawlee": "Crawlee", "wget2": "wget2"}
HOW: Final = """\
All crawlers get the same pages from the same seeds on the same machine, one after the other, and discover the pages
themselves. All are configured with the same politeness: one request at a time to a site, {wait} ms apart, robots.txt
obeyed. `gossamer check` judges the server's log by the same rule for all: no two requests at a time to a site or
address, {wait} ms from the end of an answer to the next request (with a tolerance of 5 ms), robots.txt first and
obeyed.

- *CPU per page* is the CPU time of the crawler's processes, children included, without the server; from the time when
  a third of the pages was served to the last page. *With start and end* is that of the whole run.
- *Memory* is the peak of all its processes together (PSS).
- *Pages* are distinct pages, out of those that links lead to. A run ends after {most:.0f} s, finished or not (*).
- **Gossamer** does everything that it does by default: it archives, keeps link texts, detects languages, duplicates and
  soft 404, reads sitemaps, commits every second, and makes its tables when it stops. **The others store nothing.**
- **Scrapy** has the settings of its page "Broad Crawls": `DownloaderAwarePriorityQueue`, 100 requests at a time, no
  cookies, retries or redirects, log level INFO; and a `DOWNLOAD_DELAY` with one request to a domain at a time. The
  delay counts from the start of a request.
- **Crawlee** is its `ParselCrawler`, up to 100 tasks, storage in memory, and a `ThrottlingRequestManager` for the
  delay. It does not verify certificates here: its client knows only those of the system.
- **wget2** has 100 threads. Its `--wait` is per thread, not per site: it cannot be configured to be polite to many
  sites.

The Webs:

- (a) {sizes}; served by `gossamer web` without the features that only wait or have no end.
- (b) {pages}: documentation packages of Debian, each a site, unchanged; served by nginx at 127.7.x.y, compressed.
- (c) the same over TLS, with an authority made for the run; the server closes a connection after ten requests, or after
  one."""


def page(found: dict[str, Any]) -> str:
    told = found["machine"]
    lines = [
        "# Benchmarks",
        "",
        "Gossamer compared with other crawlers, and how its cost grows. Made by `make bench`; do not edit.",
        "",
        f"{told['processor']}, {told['memory']}, {told['system']}; {told['date']}, load {told['load']} at the start. "
        + ", ".join(f"{CRAWLERS[name]} {version}" for name, version in found["versions"].items())
        + "."
        + (" *Quick: a fifth of the sites, one repeat.*" if found.get("quick") else ""),
        *(["", found["note"]] if found.get("note") else []),
        "",
        "## Comparison",
        "",
        HOW.format(wait=round(1000 * found["wait"]), most=found["most"], sizes=found["sizes"], pages=found["pages"]),
    ]
    for web, name in WEBS.items():
        if any(of(found, web, crawler) for crawler in CRAWLERS):
            lines += ["", f"### {name}", "", as_markdown(beside(found, web))]
    if found["runs"]:
        lines += ["", "![CPU per page](benchmarks/beside.svg)"]
    if found["growth"]:
        lines += ["", "## How the cost of a page grows", "", *grown(found["growth"])]
    lines += ["", "## Bounds", "", as_markdown(bounds(found))]
    return "\n".join(lines) + "\n"


def beside(found: dict[str, Any], web: str) -> Table:
    columns = (
        Column("crawler"),
        Column("CPU ms per page", ".2f"),
        Column("from – to"),
        Column("with start and end", ".2f"),
        Column("pages/s", ",.0f"),
        Column("memory, MB", ",.0f"),
        Column("pages"),
        Column("impolite requests"),
        Column("runs"),
    )
    rows = []
    for crawler, name in CRAWLERS.items():
        if runs := of(found, web, crawler):
            ms = [run["ms"] for run in runs]
            best = max(runs, key=lambda run: run["found"])
            stopped = "*" if any(run["stopped"] for run in runs) else ""
            rows.append(
                (
                    name,
                    middle(found, web, crawler, "ms"),
                    f"{min(ms):.2f} – {max(ms):.2f}",
                    middle(found, web, crawler, "whole_ms"),
                    middle(found, web, crawler, "rate"),
                    max(run["peak"] for run in runs) / 1e6,
                    f"{best['found']:,} of {best['there']:,}{stopped}",
                    f"{max(r['impolite'] for r in runs):,} of {max(r['requests'] for r in runs):,}",
                    len(runs),
                )
            )
    return Table(f"beside-{web}", "", columns, tuple(rows))


def grown(growth: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    for name, what, more, label in (
        ("known", "Known pages", "plan_ms", "a plan, ms of CPU"),
        ("sites", "Sites", "queue_us", "site queue, µs per request"),
    ):
        if points := growth.get(name):
            columns = [
                (what.lower(), ",", name),
                ("desk, µs per page", ".1f", "us"),
                ("relative to the smallest", ".2f", "ratio"),
                (label, ".1f", more),
            ]
            yield f"### {what}\n\n{as_markdown(_table(columns, points))}\n\n![{what}](benchmarks/{name}.svg)\n"
    if points := growth.get("workers"):
        columns = [("workers", "", "workers"), ("CPU ms per page", ".2f", "ms"), ("relative to one", ".2f", "ratio")]
        yield f"### Workers\n\nOn (b).\n\n{as_markdown(_table(columns, points))}\n"
    if points := growth.get("connections"):
        columns = [
            ("connections", ",", "connections"),
            ("open, on average", ",.0f", "open"),
            ("CPU ms per page", ".2f", "ms"),
            ("pages/s", ".0f", "rate"),
            ("pause p99.9, ms", ".0f", "pause_p99.9"),
            ("longest", ".0f", "pause_longest"),
            ("its CPU", ".0f", "pause_cpu"),
            ("memory by thirds, MB", "", "thirds"),
        ]
        points = [p | {"thirds": ", ".join(f"{m / 1e6:.0f}" for m in p["memory"])} for p in points]
        yield (
            "### Connections\n\nServers answer more slowly the more connections there are: pages arrive at the same "
            "rate. Pauses of the loop are elapsed times; *its CPU* is the most CPU time that one of them took."
            f"\n\n{as_markdown(_table(columns, points))}\n\n![Connections](benchmarks/connections.svg)"
        )


def _table(columns: list[tuple[str, str, str]], points: list[dict[str, Any]]) -> Table:
    """A table with one row per point; each column has a title, a format, and the name of its figure."""
    rows = tuple(tuple(point[key] for _, _, key in columns) for point in points)
    return Table("", "", tuple(Column(title, form) for title, form, _ in columns), rows)


def bounds(found: dict[str, Any]) -> Table:
    columns = (Column("figure"), Column("measured"), Column("bound"), Column("kept"))
    rows = tuple(
        (
            f.name,
            f"{f.value:,.3g} {f.unit}" + (f"; {f.aside}" if f.aside else ""),
            f"{f.bound:,.4g} {f.unit}",
            "yes" if f.is_good else "**no**",
        )
        for f in figures(found)
    )
    return Table("bounds", "", columns, rows)


def plots(found: dict[str, Any]) -> Iterator[Plot]:
    webs = [web for web in WEBS if any(of(found, web, crawler) for crawler in CRAWLERS)]
    series = tuple(
        Series(
            name,
            [i for i, w in enumerate(webs) if of(found, w, crawler)],
            [middle(found, w, crawler, "ms") or 0.0 for w in webs if of(found, w, crawler)],
            "bars",
        )
        for crawler, name in CRAWLERS.items()
    )
    if webs:
        which = ", ".join(f"{i}: {web}" for i, web in enumerate(webs))
        yield Plot("beside", "CPU time per page", which, "ms", tuple(s for s in series if s.x), y_log=True)
    growth = found["growth"]
    for name, what in (("known", "Known pages"), ("sites", "Sites")):
        if points := growth.get(name):
            desk = Series("desk", [p[name] for p in points], [p["us"] for p in points])
            yield Plot(name, f"{what}: the desk's time per page", what, "µs", (desk,), x_log=True)
    if points := growth.get("connections"):
        x = [p["connections"] for p in points]
        cost = Series("CPU per page, ms", x, [p["ms"] for p in points])
        pause = Series("pause of the loop p99.9, ms", x, [p["pause_p99.9"] for p in points])
        yield Plot("connections", "Connections open", "connections", "ms", (cost, pause), x_log=True, y_log=True)


def main(results: Path, folder: Path) -> None:
    found = load(results)
    (folder / "benchmarks").mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.md").write_text(page(found))
    for made in plots(found):
        (folder / "benchmarks" / f"{made.name}.svg").write_bytes(plot.as_svg(made))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS, Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs"))
