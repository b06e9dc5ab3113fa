"""Real crawls (4.5): figures 4.12 to 4.16, and 6.10 to 6.13 of 000, on crawls of the demonstration Web.

A *day* is an eighth of the crawl's time, as the paper's crawl took eight days. PageRank is computed over the fetched
pages and the links between them. Connections and waits are those of the demonstration Web, some hundred times as fast
as the paper's.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64
from gossamer.base.units import human_time, thousands
from gossamer.laboratory import Job, Measured, Subject
from gossamer.laboratory.compare.crawled import Crawled
from gossamer.laboratory.compare.finding import as_run, scenario_of
from gossamer.laboratory.findings.finding import Cell, Column, Finding, Plot, Sentence, Series, Table, compared
from gossamer.laboratory.measured import measure
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import DEPTH, LENGTH, Lab, by_pages, curve, number, percent, says, series, titled

_DAY: Final = "day (eighths of the crawl)"
_AVERAGE: Final = "average PageRank (1: mean of all pages)"
CONSISTENT: Final = 0.05
"""Curves whose mean difference is at most this are called consistent."""


def setting(*crawls: Crawled) -> str:
    said = (
        f"{c.policy}: {thousands(c.graph.pages)} pages of {thousands(c.graph.sites)} sites in "
        f"{human_time(float(c.time[-1]))}, r = {c.settings.harvester.connections}, "
        f"w = {c.settings.harvester.wait} ({c.settings.harvester.wait_large} at large sites)"
        for c in crawls
    )
    return f"Crawls of the demonstration Web. {'; '.join(said)}."


def days(crawled: Crawled) -> F64:
    """When each page was fetched, in eighths of the crawl."""
    return paper.DAYS * crawled.time / max(float(crawled.time.max()), 1e-9)


def got(crawled: Crawled) -> F64:
    """Cumulative PageRank after each page."""
    found: F64 = np.cumsum(crawled.worth[crawled.order]) / crawled.worth.sum()
    return found


def measured(crawled: Crawled) -> Measured:
    return measure(as_run(crawled), crawled.worth)


# --- figures 4.12 to 4.14 ------------------------------------------------------------------------------------


def fig_4_12(lab: Lab) -> Finding:
    name = "fig-4.12"
    crawled = lab.crawls.get(LENGTH)
    run, day = measured(crawled), days(crawled)
    grid = np.linspace(0, paper.DAYS, 161)
    done = np.searchsorted(np.sort(day), grid, side="right")
    pagerank, documents = np.concatenate([[0.0], got(crawled)])[done], done / len(day)
    marks = (
        Series("pages", [2, 4], [m.pages for m in paper.REAL], "points", paper=True),
        Series("PageRank", [2, 4], [m.pagerank for m in paper.REAL], "points", paper=True),
    )
    lines = (series("PageRank", grid, pagerank), series("pages", grid, documents), *marks)
    plot = Plot(name, "Cumulative PageRank and pages by day", _DAY, "share", lines)
    rows = [(f"PageRank at {percent(m.pages)} of the pages", m.pagerank, run.at(m.pages)) for m in paper.REAL]
    ahead = float((run.curve - run.share_of_pages).min())
    sentences = []
    for m in paper.REAL:
        said = f"{percent(m.pages)} of the pages bring about {percent(m.pagerank)} of the PageRank ({m.when})"
        sentences.append(says(said, percent(run.at(m.pages)), run.at(m.pages) >= m.pagerank - 0.02))
    ours = "it is" if ahead >= -1e-9 else f"it falls behind by up to {number(-ahead)}"
    said = "the share of PageRank is above the share of documents during the whole crawl"
    sentences.append(says(said, ours, ahead >= -1e-9))
    return titled(name, setting(crawled), [compared(f"{name}-shares", "", "", rows)], [plot], sentences)


def fig_4_13(lab: Lab) -> Finding:
    name = "fig-4.13"
    crawled = lab.crawls.get(LENGTH)
    day = np.minimum(days(crawled).astype(np.int64), paper.DAYS - 1)
    worth = crawled.worth[crawled.order] * crawled.graph.pages
    counts = np.bincount(day, minlength=paper.DAYS)
    means = np.bincount(day, worth, minlength=paper.DAYS) / np.maximum(counts, 1)
    label = [d + 1 for d in range(paper.DAYS)]
    bars = Series(LENGTH, label, means.tolist(), "bars")
    plot = Plot(name, "Average PageRank of the pages of a day", _DAY, _AVERAGE, (bars,))
    columns = (Column("day", "d"), Column("pages", ",d"), Column("average PageRank", ".3f"))
    rows = tuple((d, int(counts[d - 1]), float(means[d - 1])) for d in label)
    late = float(means[counts > 0][-1])
    ours = f"from {means[0]:.2f} on the first day to {means[2]:.2f} on the third and {late:.2f} on the last"
    sentence = says("the average falls dramatically after a few days", ours, late < 0.5 * means[0])
    return titled(name, setting(crawled), [Table(f"{name}-days", "", columns, rows)], [plot], [sentence])


def fig_4_14(lab: Lab) -> Finding:
    name = "fig-4.14"
    crawled = lab.crawls.get(LENGTH)
    depth, worth = crawled.depth.astype(np.int64), crawled.worth * crawled.graph.pages
    counts = np.bincount(depth)
    means = np.bincount(depth, worth) / np.maximum(counts, 1)
    levels = np.flatnonzero(counts)
    bars = Series(LENGTH, levels.tolist(), means[levels].tolist(), "bars")
    plot = Plot(name, "Average PageRank by depth", "clicks from the start page of the site", _AVERAGE, (bars,))
    columns = (Column("depth", "d"), Column("pages", ",d"), Column("average PageRank", ".3f"))
    rows = tuple((int(d), int(counts[d]), float(means[d])) for d in levels)
    near = depth < paper.LEVELS
    first, rest = correlation(depth[near], worth[near]), correlation(depth[~near], worth[~near])
    ours = f"depth and the logarithm of PageRank have a correlation of {first:+.2f} on the first {paper.LEVELS} levels"
    said = "3 to 4 clicks from the home page the correlation is very low"
    sentences = (
        says("in the first levels PageRank falls with depth", ours, first < -0.1),
        says(said, f"on deeper levels it is {rest:+.2f}", abs(rest) < 0.1),
    )
    return titled(name, setting(crawled), [Table(f"{name}-levels", "", columns, rows)], [plot], sentences)


def correlation(depth: I64, worth: F64) -> float:
    if len(depth) < 2 or depth.min() == depth.max():
        return 0.0
    return float(np.corrcoef(depth, np.log(worth))[0, 1])


# --- figures 4.15 and 4.16 -----------------------------------------------------------------------------------


def fig_4_15(lab: Lab) -> Finding:
    name = "fig-4.15"
    crawled = lab.crawls.get(LENGTH)
    real = measured(crawled)
    subject = Subject(crawled.graph, seed=lab.random_seed)
    (simulated,) = lab.run(subject, [Job(LENGTH, scenario_of(crawled, lab.random_seed))])
    both = {"crawl": real, "simulation": simulated}
    plot = by_pages(name, "Cumulative PageRank by pages", (curve(each, label) for label, each in both.items()))
    apart, better = float(np.abs(real.curve - simulated.curve).mean()), real.average - simulated.average
    close = f"the mean difference of their curves is {number(apart)}"
    averages = f"averages {number(real.average)} and {number(simulated.average)}"
    sentences = (
        says("crawl and simulation are consistent", close, apart <= CONSISTENT),
        says("the crawl is slightly better than the simulation", averages, 0 <= better <= CONSISTENT),
    )
    columns = (Column(""), Column("average", ".4f"), Column("tau", ".4f"), Column("time"))
    rows = tuple((label, run.average, run.tau, human_time(run.totals.seconds)) for label, run in both.items())
    return titled(name, setting(crawled), [Table(f"{name}-scores", "", columns, rows)], [plot], sentences)


def fig_4_16(lab: Lab) -> Finding:
    crawls = {strategy: lab.crawls.get(strategy) for strategy in (DEPTH, LENGTH)}
    lines, halves = [], {}
    for strategy, crawled in crawls.items():
        at = np.unique(np.linspace(0, len(crawled.time) - 1, 600).astype(np.int64))
        time, pagerank = np.sort(crawled.time)[at], got(crawled)[at]
        lines += [
            series(f"{strategy}, PageRank", time, pagerank),
            series(f"{strategy}, documents", time, (at + 1) / len(crawled.time)),
        ]
        halves[strategy] = reaching(crawled)
    plot = Plot("fig-4.16", "PageRank and documents by time", "seconds", "share", tuple(lines))
    named = ("seconds to half of the documents", "to 80 %", "to half of the PageRank", "to 80 %")
    columns = (Column("strategy"), *(Column(each, ".2f") for each in named))
    rows: tuple[tuple[Cell, ...], ...] = tuple((strategy, *halves[strategy]) for strategy in crawls)
    table = Table("fig-4.16-times", "", columns, rows)
    return titled("fig-4.16", setting(*crawls.values()), [table], [plot], _faster(halves))


def reaching(crawled: Crawled) -> tuple[float, ...]:
    """Seconds to half and to 80 % of the documents, then of the PageRank."""
    time, pagerank = np.sort(crawled.time), got(crawled)
    documents = np.arange(1, len(time) + 1) / len(time)
    return tuple(
        float(time[np.searchsorted(each, share - 1e-12)]) for each in (documents, pagerank) for share in (0.5, 0.8)
    )


def _faster(halves: dict[str, tuple[float, ...]]) -> list[Sentence]:
    what = ("half of the documents", "80 % of the documents", "half of the PageRank", "80 % of the PageRank")
    return [
        says(
            f"larger-sites-first reaches {each} sooner than breadth-first",
            f"after {length:.2f} s, breadth-first after {depth:.2f} s",
            length <= depth,
        )
        for each, length, depth in zip(what, halves[LENGTH], halves[DEPTH], strict=True)
    ]
