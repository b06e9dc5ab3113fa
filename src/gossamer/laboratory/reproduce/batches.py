"""Batches (4.2.1, 4.4): figure 4.2, duration of downloads; 4.9, a batch by site; 4.10 and 4.11, active robots.

A *typical batch* is the one in the middle of a breadth-first crawl. For 4.10 and 4.11 the thesis does not give its
size: we take as many pages around the middle as can be received in 29 hours, the shortest of the thesis' runs at 2
KB/s. They are fetched as a separate Web, all known from the start. The number of robots is not given either; we use 64.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, U32
from gossamer.base.units import human_size, thousands
from gossamer.laboratory import Job, Measured, Subject
from gossamer.laboratory.findings.finding import Column, Finding, Plot, Sentence, Series, Table, compared
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import DEPTH, Lab, hours, number, percent, says, series, titled
from gossamer.laboratory.reproduce.robots import scenario, setting
from gossamer.laboratory.simulate.run import simulate
from gossamer.laboratory.simulate.scenario import Scenario, Servers
from gossamer.rank.graph import Csr

ROBOTS: Final = 64
TIMED: Final = 50_000
"""Number of downloads for figure 4.2."""
_KEPT_ALIVE: Final = 100


# --- figure 4.2 ----------------------------------------------------------------------------------------------


def fig_4_2(lab: Lab) -> Finding:
    """One robot that never waits: the time between two ends is the duration of a download."""
    subject = lab.with_sites
    most = min(TIMED, subject.graph.pages)
    alone = Scenario(most_pages=most, servers=Servers.measured(), random_seed=lab.random_seed)
    run = simulate(subject.graph, DEPTH, alone)
    seconds = np.diff(run.time, prepend=0.0)
    shorter = {limit: float((seconds < limit).mean()) for limit in paper.DOWNLOADS}
    rows = [(f"under {limit} s", share, shorter[limit]) for limit, share in paper.DOWNLOADS.items()]
    ordered = np.quantile(seconds, np.linspace(0, 1, 501))
    marks = Series("shorter", list(paper.DOWNLOADS), list(paper.DOWNLOADS.values()), "points", paper=True)
    lines = (series("simulated servers", ordered, np.linspace(0, 1, 501)), marks)
    title = "Share of sequential downloads by duration"
    plot = Plot("fig-4.2", title, "seconds", "share of downloads", lines, x_log=True)
    under = float((seconds < paper.ALMOST_ALL_DOWNLOADS).mean())
    sentences = []
    for limit, share in paper.DOWNLOADS.items():
        said, ours = f"{percent(share)} of the pages take less than {limit} s", shorter[limit]
        sentences.append(says(said, percent(ours), abs(ours - share) < 0.02))
    sentences.append(says("almost all take less than 10 s", f"{under:.1%} do", under > 0.97))
    ran = f"{thousands(len(seconds))} downloads in a row, w = 0, servers as in 3.3. {subject.described}."
    return titled("fig-4.2", ran, [compared("fig-4.2-shares", "", "downloads", rows)], [plot], sentences)


# --- figure 4.9 ----------------------------------------------------------------------------------------------


def fig_4_9(lab: Lab) -> Finding:
    name = "fig-4.9"
    subject = lab.with_sites
    graph, size = subject.graph, max(1, subject.graph.pages // paper.COLLECTION_BATCHES)
    order = _breadth_first(lab, subject)
    first = len(order) // 2 // size * size
    batch, whole = _by_site(graph, order[first : first + size]), _by_site(graph, order)
    both = {"batch": batch, "whole Web": whole}
    lines = tuple(series(label, *_ranked(counts)) for label, counts in both.items())
    title, x = f"Pages by site, {subject.name}", "rank of the site (share of sites)"
    plot = Plot(name, title, x, "share of pages", lines, x_log=True, y_log=True)
    counted = (Column("sites", ",d"), Column("pages", ",d"))
    columns = (Column(""), *counted, Column("Gini", ".3f"), Column("in the largest tenth of sites", ".3f"))
    rows = tuple((label, len(c), int(c.sum()), gini(c), top_tenth(c)) for label, c in both.items())
    less, top = f"Gini {number(gini(batch))} and {number(gini(whole))}", top_tenth(batch)
    sentences = (
        says("the batch is slightly less skewed than the whole Web", less, gini(batch) < gini(whole)),
        says("it is still very skewed", f"a tenth of its sites has {percent(top)} of its pages", top > 0.5),
    )
    ran = f"{DEPTH}, the batch in the middle of the crawl, K = 1/35 of all pages. {subject.described}."
    return titled(name, ran, [Table(f"{name}-skew", "", columns, rows)], [plot], sentences)


def _breadth_first(lab: Lab, subject: Subject) -> U32:
    """The order in which pages are chosen: politeness only decides when they are fetched."""
    job = Job(DEPTH, Scenario(random_seed=lab.random_seed), keep_order=True)
    return lab.run(subject, [job])[0].order


def _by_site(graph: WebGraph, pages: U32) -> F64:
    """Number of pages of each site, the largest first; sites without pages are left out."""
    counts = np.bincount(graph.site[pages])
    found: F64 = np.sort(counts[counts > 0])[::-1].astype(np.float64)
    return found


def _ranked(counts: F64) -> tuple[F64, F64]:
    """Share of sites and share of pages, at a few hundred ranks at most."""
    at = np.unique(np.geomspace(1, len(counts), 300).astype(np.int64)) - 1
    return (at + 1) / len(counts), counts[at] / counts.sum()


def gini(counts: F64) -> float:
    """Gini coefficient. 0: all sites have the same number of pages; near 1: one site has them all."""
    rising, n = np.sort(counts), len(counts)
    return float((2 * np.arange(1, n + 1) - n - 1) @ rising / (n * rising.sum()))


def top_tenth(counts: F64) -> float:
    ordered = np.sort(counts)[::-1]
    return float(ordered[: max(1, round(len(counts) / 10))].sum() / counts.sum())


# --- figures 4.10 and 4.11 -----------------------------------------------------------------------------------


def fig_4_10(lab: Lab) -> Finding:
    return _active(lab, "fig-4.10", 1)


def fig_4_11(lab: Lab) -> Finding:
    return _active(lab, "fig-4.11", _KEPT_ALIVE)


def middle_batch(subject: Subject, order: U32, volume: int) -> Subject:
    """Pages around the middle of the crawl, at most `volume` bytes, as a separate Web without links."""
    size = subject.graph.size[order].astype(np.int64)
    middle = len(order) // 2
    begin = int(np.searchsorted(np.cumsum(size[:middle][::-1]), volume // 2))
    end = int(np.searchsorted(np.cumsum(size[middle:]), volume // 2))
    pages = order[middle - begin : middle + end]
    _, site = np.unique(subject.graph.site[pages], return_inverse=True)
    links = Csr(np.zeros(len(pages) + 1, np.int64), np.zeros(0, np.uint32))
    start, name = np.arange(len(pages), dtype=np.uint32), f"a batch of {subject.name}"
    graph = WebGraph(links, site.astype(np.uint32), subject.graph.size[pages], start, name)
    return Subject(graph, "", subject.seed)


def _batch(lab: Lab) -> Subject:
    """The batch, the same for all figures."""
    if "batch" not in lab.made:
        subject = lab.with_sites
        lab.made["batch"] = middle_batch(subject, _breadth_first(lab, subject), paper.BATCH_BYTES)
    return lab.made["batch"]


def _active(lab: Lab, name: str, per_turn: int) -> Finding:
    batch = _batch(lab)
    keys = list(paper.BATCH_HOURS)
    jobs = (Job(DEPTH, replace(scenario(ROBOTS, lab.random_seed, b), per_turn=c)) for b, c in keys)
    found = dict(zip(keys, lab.run(batch, jobs), strict=True))
    shown = {b: found[b, c] for b, c in keys if c == per_turn}
    lines = tuple(
        Series(f"{human_size(b)}/s", (run.active[:, 0] / 3600).tolist(), run.active[:, 1].tolist(), "steps")
        for b, run in shown.items()
    )
    plot = Plot(name, f"Active robots out of {ROBOTS}, c = {per_turn}", "hours", "active robots", lines)
    said = paper.BATCH_HOURS
    rows = [(f"{human_size(b)}/s", said[b, per_turn], run.totals.seconds / 3600) for b, run in shown.items()]
    table = compared(f"{name}-hours", "Hours for the batch", "bandwidth", rows, ".1f")
    ran = setting(batch, f", r = {ROBOTS}, {DEPTH}, {human_size(int(batch.graph.size.sum()))}", per_turn)
    return titled(name, ran, [table], [plot], _of_batch(found, per_turn))


Runs = dict[tuple[int, int], Measured]


def _of_batch(found: Runs, per_turn: int) -> list[Sentence]:
    sentences = [_saved(found, b) for b in (2_000, 20_000)]
    if per_turn == 1:
        idle = {b: 1 - busy(found[b, 1].active) / ROBOTS for b in (2_000, 20_000)}
        ours = f"on average {percent(idle[2_000])} are idle at 2 KB/s and {percent(idle[20_000])} at 20 KB/s"
        return [*sentences, says("most robots are idle most of the time", ours, min(idle.values()) > 0.5)]
    alone, kept = (restless(found[20_000, c].active) for c in (1, per_turn))
    said = "the number of active robots varies much less than with one page per connection"
    ours = f"at 20 KB/s it changes by {kept:.1f} between two of 500 samples, compared with {alone:.1f}"
    return [*sentences, says(said, ours, kept < alone)]


def _saved(found: Runs, bandwidth: int) -> Sentence:
    said = paper.BATCH_HOURS
    theirs = 1 - said[bandwidth, _KEPT_ALIVE] / said[bandwidth, 1]
    one, many = found[bandwidth, 1].totals.seconds, found[bandwidth, _KEPT_ALIVE].totals.seconds
    ours = 1 - many / one if one > 0 else 0.0
    return says(
        f"100 pages per connection shorten the batch from {said[bandwidth, 1]:.0f} to "
        f"{said[bandwidth, _KEPT_ALIVE]:.0f} h at {bandwidth // 1000} KB/s, by {percent(theirs)}",
        f"from {hours(one)} to {hours(many)}, by {percent(ours)}",
        abs(ours - theirs) < 0.15,
    )


def busy(active: F64) -> float:
    """Mean of a step function over time."""
    span = active[-1, 0] - active[0, 0]
    return float(np.diff(active[:, 0]) @ active[:-1, 1] / span) if span > 0 else 0.0


def restless(active: F64) -> float:
    """Mean change of a step function between two of 500 evenly spaced samples."""
    looks = np.linspace(active[0, 0], active[-1, 0], 500)
    seen = active[np.maximum(0, np.searchsorted(active[:, 0], looks, side="right") - 1), 1]
    return float(np.abs(np.diff(seen)).mean())
