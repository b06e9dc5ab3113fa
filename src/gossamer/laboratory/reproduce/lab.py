"""What a reproduction works with: graphs, a bench for simulations, crawls of the demonstration Web; and its wording.

The graphs are those that the user names, else those found on disk, else a generated one. `debian-docs.npz` and
`cnr-2000.npz` are looked for in the folder of the variable GOSSAMER_DATA, then in `../shared/data/graphs`.

Curves are read at the same thousand points everywhere (`laboratory.measured`), so two curves can be compared point by
point.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.arrays import F64
from gossamer.laboratory import Bench, Job, Measured, Subject
from gossamer.laboratory.bench import with_start
from gossamer.laboratory.collection_graph import open_graph
from gossamer.laboratory.findings.finding import Finding, Kind, Plot, Sentence, Series, Table
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.crawls import Crawls
from gossamer.laboratory.sessions.present import Site

KNOWN: Final = ("debian-docs.npz", "cnr-2000.npz")
SHARED: Final = Path("../shared/data/graphs")
STARTS: Final = 50
MADE: Final = 100_000
"""Pages of a generated graph."""
LENGTH: Final = "larger-sites-first"
DEPTH: Final = "breadth-first"


@dataclass(frozen=True, slots=True)
class Lab:
    """The equipment of a reproduction."""

    bench: Bench
    subjects: Sequence[Subject]
    crawls: Crawls
    random_seed: int = 1
    seconds: float = paper.BANDWIDTH_SECONDS
    """Duration of each crawl with limited bandwidth (003)."""
    full: bool = False
    """Whether long experiments are run in full."""
    logs: Sequence[Path] = ()
    """Access logs, each of a site; those found on disk if there are none."""
    made: dict[str, Subject] = field(default_factory=dict)
    """Subjects that several figures share."""
    reported: dict[str, Finding] = field(default_factory=dict)
    """Sections of the report that several figures share."""
    sites: list[Site] = field(default_factory=list)
    """The sites of the logs, once they are read."""

    @property
    def subject(self) -> Subject:
        """The graph for experiments that need one."""
        return self.subjects[0]

    @property
    def with_sites(self) -> Subject:
        """The graph for experiments on sites: the first with many sites, or else the one with the most."""
        return max(self.subjects, key=lambda s: min(s.graph.sites, 256))

    def run(self, subject: Subject, jobs: Iterable[Job]) -> list[Measured]:
        return self.bench.run(subject, list(jobs))


def subjects(paths: Sequence[Path], seed: int, made: int = MADE) -> list[Subject]:
    found = list(paths) or known()
    if found:
        return [subject(open_graph(path), seed) for path in found]
    from gossamer.laboratory.graphs.make import make

    return [Subject(make(pages=made, seed=seed), "generated, as no graph was named or found", seed)]


def known() -> list[Path]:
    folders = [Path(os.environ["GOSSAMER_DATA"])] if os.environ.get("GOSSAMER_DATA") else []
    for folder in (*folders, SHARED):
        there = [folder / name for name in KNOWN if (folder / name).is_file()]
        if there:
            return there
    return []


def subject(graph: WebGraph, seed: int) -> Subject:
    """A graph of one site whose only start page is page 0 names no start pages: it gets STARTS at random."""
    if graph.sites > 1 or graph.start.tolist() != [0]:
        return Subject(graph, "", seed)
    count = min(STARTS, graph.pages)
    start = np.random.default_rng(seed).choice(graph.pages, count, replace=False).astype(np.uint32)
    return Subject(with_start(graph, start), f"{count} random start pages, as it names none", seed)


def titled(
    name: str, setting: str, tables: Sequence[Table], plots: Sequence[Plot], sentences: Iterable[Sentence]
) -> Finding:
    """A finding with the title and the source that `paper` has for its name."""
    return Finding(name, *paper.TITLES[name], setting, tuple(tables), tuple(plots), tuple(sentences))


def by_pages(name: str, title: str, lines: Iterable[Series]) -> Plot:
    return Plot(name, title, "share of pages", "share of PageRank", tuple(lines), diagonal=True)


def says(paper: str, ours: str, agrees: bool) -> Sentence:
    return Sentence(f"The paper: {paper}. Ours: {ours}.", bool(agrees))


def curve(run: Measured, label: str = "") -> Series:
    """Cumulative PageRank by pages."""
    return series(label or run.strategy, run.share_of_pages, run.curve)


def series(label: str, x: F64, y: F64, kind: Kind = "line", paper: bool = False) -> Series:
    return Series(label, x.tolist(), y.tolist(), kind, paper)


def bend(values: F64, begin: float) -> float:
    """How far a curve rises above the chord of its last part, as a share of the chord's height; 0 for a random order.

    This is the mean over that part. A curve that takes the best remaining pages first has up to 1.
    """
    part = values[round(begin * (len(values) - 1)) :]
    height = part[-1] - part[0]
    if len(part) < 3 or height <= 0:
        return 0.0
    chord = np.linspace(part[0], part[-1], len(part))
    return float((part - chord).mean() / height)


def number(x: float, digits: int = 3) -> str:
    """A number such as .682, in the style of the tables."""
    return f"{x:.{digits}f}".replace("0.", ".", 1) if 0 <= x < 1 else f"{x:.{digits}f}"


def percent(x: float) -> str:
    return f"{100 * x:.0f} %" if x >= 0.1 or x == 0 else f"{100 * x:.1f} %"


def hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h"
