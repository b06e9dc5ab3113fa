"""Real crawls (4.5): figures 4.12 to 4.16, and 6.10 to 6.13 of 000, on crawls of the demonstration Web.

A *day* is an eighth of the crawl's time, as the paper's crawl took eight days. PageRank is computed over the fetched
pages and the links between them. Connections and waits are those of the demonstration Web, some hundred times as fast
as the paper's.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.units import human_time, thousands
from gossamer.laboratory import Job, Measured, Subject
from gossamer.laboratory.compare.crawled import F64, Crawled
from gossamer.laboratory.compare.finding import as_run, scenario_of
from gossamer.laboratory.findings.finding import Cell, Column, Finding, Plot, Sentence, Series, Table, compared
from gossamer.laboratory.measured import measure
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import PAGERANK, PAGES, Lab, curve, number, percent, says, series

LENGTH: Final = "larger-sites-first"
DEPTH: Final = "breadth-first"
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
    plot = Plot(
        name,
        "Cumulative PageRank and pages by day",
        "day (eighths of the crawl)",
        "share",
        (series("PageRank", grid, pagerank), series("pages", grid, documents), *marks),
    )
    rows = [(f"PageRank at {percent(m.pages)} of the pages", m.pagerank, run.at(m.pages)) for m in paper.REAL]
    ahead = float((run.curve - run.share_of_pages).min())
    sentences = [
        says(
            f"{percent(m.pages)} of the pages bring about {percent(m.pagerank)} of the PageRank ({m.when})",
            percent(run.at(m.pages)),
            run.at(m.pages) >= m.pagerank - 0.02,
        )
        for m in paper.REAL
    ]
    sentences.append(
        says(
            "the share of PageRank is above the share of documents during the whole crawl",
            "it is" if ahead >= -1e-9 else f"it falls behind by up to {number(-ahead)}",
            ahead >= -1e-9,
        )
    )
    return Finding(
        name,
        "Figure 4.12: PageRank by day",
        "Thesis, figure 4.12, page 70, and 4.5.1",
        setting(crawled),
        (compared(f"{name}-shares", "", "", rows),),
        (plot,),
        tuple(sentences),
    )


def fig_4_13(lab: Lab) -> Finding:
    name = "fig-4.13"
    crawled = lab.crawls.get(LENGTH)
    day = np.minimum(days(crawled).astype(np.int64), paper.DAYS - 1)
    worth = crawled.worth[crawled.order] * crawled.graph.pages
    counts = np.bincount(day, minlength=paper.DAYS)
    means = np.bincount(day, worth, minlength=paper.DAYS) / np.maximum(counts, 1)
    label = [d + 1 for d in range(paper.DAYS)]
    plot = Plot(
        name,
        "Average PageRank of the pages of a day",
        "day (eighths of the crawl)",
        "average PageRank (1: mean of all pages)",
        (Series("larger-sites-first", label, means.tolist(), "bars"),),
    )
    columns = (Column("day", "d"), Column("pages", ",d"), Column("average PageRank", ".3f"))
    rows = tuple((d, int(counts[d - 1]), float(means[d - 1])) for d in label)
    late = float(means[counts > 0][-1])
    sentence = says(
        "the average falls dramatically after a few days",
        f"from {means[0]:.2f} on the first day to {means[2]:.2f} on the third and {late:.2f} on the last",
        late < 0.5 * means[0],
    )
    return Finding(
        name,
        "Figure 4.13: average PageRank by day",
        "Thesis, figure 4.13, page 71",
        setting(crawled),
        (Table(f"{name}-days", "", columns, rows),),
        (plot,),
        (sentence,),
    )


def fig_4_14(lab: Lab) -> Finding:
    name = "fig-4.14"
    crawled = lab.crawls.get(LENGTH)
    depth, worth = crawled.depth.astype(np.int64), crawled.worth * crawled.graph.pages
    counts = np.bincount(depth)
    means = np.bincount(depth, worth) / np.maximum(counts, 1)
    levels = np.flatnonzero(counts)
    plot = Plot(
        name,
        "Average PageRank by depth",
        "clicks from the start page of the site",
        "average PageRank (1: mean of all pages)",
        (Series(LENGTH, levels.tolist(), means[levels].tolist(), "bars"),),
    )
    columns = (Column("depth", "d"), Column("pages", ",d"), Column("average PageRank", ".3f"))
    rows = tuple((int(d), int(counts[d]), float(means[d])) for d in levels)
    near = depth < paper.LEVELS
    first, rest = correlation(depth[near], worth[near]), correlation(depth[~near], worth[~near])
    sentences = (
        says(
            "in the first levels PageRank falls with depth",
            f"depth and the logarithm of PageRank have a correlation of {first:+.2f} on the first {paper.LEVELS} "
            "levels",
            first < -0.1,
        ),
        says(
            "3 to 4 clicks from the home page the correlation is very low",
            f"on deeper levels it is {rest:+.2f}",
            abs(rest) < 0.1,
        ),
    )
    return Finding(
        name,
        "Figure 4.14: average PageRank by depth",
        "Thesis, figure 4.14, page 71",
        setting(crawled),
        (Table(f"{name}-levels", "", columns, rows),),
        (plot,),
        sentences,
    )


def correlation(depth: np.ndarray[tuple[int], np.dtype[np.int64]], worth: F64) -> float:
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
    plot = Plot(
        name,
        "Cumulative PageRank by pages",
        PAGES,
        PAGERANK,
        (curve(real, "crawl"), curve(simulated, "simulation")),
        diagonal=True,
    )
    apart = float(np.abs(real.curve - simulated.curve).mean())
    sentences = (
        says(
            "crawl and simulation are consistent",
            f"the mean difference of their curves is {number(apart)}",
            apart <= CONSISTENT,
        ),
        says(
            "the crawl is slightly better than the simulation",
            f"averages {number(real.average)} and {number(simulated.average)}",
            0 <= real.average - simulated.average <= CONSISTENT,
        ),
    )
    columns = (Column(""), Column("average", ".4f"), Column("tau", ".4f"), Column("time"))
    rows = tuple(
        (label, each.average, each.tau, human_time(each.totals.seconds))
        for label, each in (("crawl", real), ("simulation", simulated))
    )
    return Finding(
        name,
        "Figure 4.15: crawl and simulation",
        "Thesis, figure 4.15, page 72",
        setting(crawled),
        (Table(f"{name}-scores", "", columns, rows),),
        (plot,),
        sentences,
    )


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
    columns = (
        Column("strategy"),
        Column("seconds to half of the documents", ".2f"),
        Column("to 80 %", ".2f"),
        Column("to half of the PageRank", ".2f"),
        Column("to 80 %", ".2f"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple((strategy, *halves[strategy]) for strategy in crawls)
    return Finding(
        "fig-4.16",
        "Figure 4.16: two crawls by time",
        "Thesis, figure 4.16, page 73, and 4.5.2",
        setting(*crawls.values()),
        (Table("fig-4.16-times", "", columns, rows),),
        (plot,),
        tuple(_faster(halves)),
    )


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
