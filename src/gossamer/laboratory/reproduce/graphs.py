"""The graphs for reproductions: those that the user names, else those found on disk, else a generated one.

It looks for `debian-docs.npz` and `cnr-2000.npz` in the folder of the variable GOSSAMER_DATA, then in
`../shared/data/graphs`. A graph of one site whose only start page is page 0 names no start pages: it gets 50 at random.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.laboratory import Subject
from gossamer.laboratory.bench import with_start
from gossamer.laboratory.collection_graph import open_graph
from gossamer.laboratory.graphs.webgraph import WebGraph

KNOWN: Final = ("debian-docs.npz", "cnr-2000.npz")
SHARED: Final = Path("../shared/data/graphs")
STARTS: Final = 50
MADE: Final = 100_000
"""Pages of a generated graph."""


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
    if graph.sites > 1 or graph.start.tolist() != [0]:
        return Subject(graph, "", seed)
    count = min(STARTS, graph.pages)
    start = np.random.default_rng(seed).choice(graph.pages, count, replace=False).astype(np.uint32)
    return Subject(with_start(graph, start), f"{count} random start pages, as it names none", seed)
