"""The order of pages that collects PageRank soonest (4.3): table 4.1, and the claim of the abstract.

The same setting for all: r = 1, w = 15 s, c = 1, bandwidth not binding, servers as measured in 3.3; K = 1/35 of the
pages for the two strategies that compute PageRank in batches. All others update their order after every page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gossamer.laboratory import Job, Measured, Subject
from gossamer.laboratory.findings.finding import Cell, Column, Finding, Sentence, Table, compared
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import Lab, number, percent, says, titled
from gossamer.laboratory.simulate.scenario import Scenario, Servers

OWN: Final = "completed-pagerank"
"""Our own strategy, shown next to those of the paper."""
WITHOUT_HISTORY: Final = tuple(n for n in paper.TABLE_4_1 if not n.startswith("historical"))
HISTORICAL: Final = tuple(n for n in paper.TABLE_4_1 if n.startswith("historical"))
NO_INFORMATION: Final = tuple(n for n in WITHOUT_HISTORY if n != "omniscient")
"""Strategies that use no information from outside the crawl."""
IN_BATCHES: Final = ("batch-pagerank", "partial-pagerank")
GOOD: Final = ("batch-pagerank", "larger-sites-first", "opic")
SETTING: Final = "r = 1, w = 15 s, c = 1, bandwidth not binding, servers as in 3.3, K = 1/35 of the pages"


def job(strategy: str, pages: int, seed: int, batches: int = paper.COLLECTION_BATCHES) -> Job:
    """The simulation of a strategy, with batches of K = `pages` / `batches`: batch-pagerank plans K pages at a time;
    partial-pagerank computes PageRank every K pages and otherwise proceeds page by page, as all others do."""
    size = max(1, pages // batches)
    scenario = Scenario(connections=1, wait=paper.WAIT, servers=Servers.measured(), random_seed=seed)
    if strategy == "batch-pagerank":
        scenario = replace(scenario, batch=size)
    elif strategy == "partial-pagerank":
        scenario = replace(scenario, rank_every=size)
    return Job(strategy, scenario)


def runs(lab: Lab, subject: Subject, strategies: tuple[str, ...]) -> dict[str, Measured]:
    found = lab.run(subject, (job(name, subject.graph.pages, lab.random_seed) for name in strategies))
    return dict(zip(strategies, found, strict=True))


def setting(*subjects: Subject) -> str:
    return f"{SETTING}. {'; '.join(each.described for each in subjects)}."


def table_4_1(lab: Lab) -> Finding:
    strategies = (*paper.TABLE_4_1, OWN)
    by_graph = {s.name: runs(lab, s, strategies) for s in lab.subjects}
    means = {}
    for name in strategies:
        scores = [(each[name].average, each[name].tau) for each in by_graph.values()]
        means[name] = paper.Score(*np.mean(scores, axis=0).tolist())
    averages = compared("table-4.1-average", "Average cumulative PageRank", "strategy", _rows(means, 0), ".4f")
    taus = compared("table-4.1-tau", "Kendall's tau over 5,000 pages", "strategy", _rows(means, 1), ".4f")
    tables = (averages, taus, *(detail(f"table-4.1-{name}", name, each) for name, each in by_graph.items()))
    return titled("table-4.1", setting(*lab.subjects), tables, (), (*_of_table(means), *_one_site(lab.subjects)))


def _one_site(subjects: Sequence[Subject]) -> list[Sentence]:
    named = [subject.name for subject in subjects if subject.graph.sites == 1]
    said = "only one site: there larger-sites-first equals breadth-first, which lowers the mean of larger-sites-first."
    return [Sentence(f"{' and '.join(named)} {'has' if len(named) == 1 else 'have'} {said}")] if named else []


def _rows(means: dict[str, paper.Score], column: int) -> list[tuple[str, float | None, float | None]]:
    said = paper.TABLE_4_1
    return [(name, said[name][column] if name in said else None, ours[column]) for name, ours in means.items()]


def detail(name: str, graph: str, found: dict[str, Measured]) -> Table:
    reach = (Column(f"pages for {percent(share)}", ".3f") for share in (0.5, 0.8, 0.9))
    columns = (Column("strategy"), Column("average", ".4f"), Column("tau", ".4f"), *reach)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.strategy, each.average, each.tau, *each.reach.values()) for each in found.values()
    )
    return Table(name, graph, columns, rows)


def _of_table(means: dict[str, paper.Score]) -> list[Sentence]:
    named = list(paper.TABLE_4_1)
    from_paper, ours = [paper.TABLE_4_1[n].average for n in named], [means[n][0] for n in named]
    order = concordance(from_paper, ours)
    largest = max(named, key=lambda n: abs(means[n][0] - paper.TABLE_4_1[n].average))
    ranking = f"a ranking with a Kendall's tau of {number(order, 2)} to the paper's"
    sentences = [
        says("a ranking of eleven strategies", ranking, order > 0.5),
        Sentence(
            f"The largest difference: {largest}, ours {number(means[largest][0])}, the paper "
            f"{number(paper.TABLE_4_1[largest].average)}."
        ),
    ]
    sentences += [_above(means, better, worse) for better, worse in _PAIRS]
    best = max((n for n in NO_INFORMATION), key=lambda n: means[n][0])
    sentences.append(
        says(
            "without outside information, larger-sites-first is best (.675), then OPIC (.671)",
            f"{best} is best ({number(means[best][0])}); larger-sites-first has "
            f"{number(means['larger-sites-first'][0])}, OPIC {number(means['opic'][0])}",
            best == "larger-sites-first",
        )
    )
    return [*sentences, _own(means, best)]


_PAIRS: Final = (
    ("breadth-first", "batch-pagerank"),
    ("larger-sites-first", "breadth-first"),
    ("historical-pagerank-zero", "opic"),
    ("historical-pagerank-omniscient", "omniscient"),
)
"""Pairs of strategies: in the table, the first is above the second."""


def _above(means: dict[str, paper.Score], better: str, worse: str) -> Sentence:
    table, high, low = paper.TABLE_4_1, means[better].average, means[worse].average
    said = f"{better} ({number(table[better].average)}) is above {worse} ({number(table[worse].average)})"
    return says(said, f"{number(high)} and {number(low)}", high > low)


def _own(means: dict[str, paper.Score], best: str) -> Sentence:
    own, omniscient = means[OWN][0], means["omniscient"][0]
    return Sentence(
        f"Our own strategy has {number(own)}: {own - means[best][0]:+.3f} compared with {best}, the best strategy of "
        f"the paper without outside information, and {own - omniscient:+.3f} compared with omniscient."
    )


def concordance(a: list[float], b: list[float]) -> float:
    """Kendall's tau between two lists of scores."""
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    signs = [np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i, j in pairs]
    return float(np.mean(signs)) if pairs else 0.0


def abstract(lab: Lab) -> Finding:
    """Half of the pages, four fifths of the PageRank: simulated. Figure 4.12 is about the real crawl."""
    strategies, rows, sentences = (*GOOD, "breadth-first", OWN), [], []
    for subject in lab.subjects:
        found = runs(lab, subject, strategies)
        at = {name: each.at(paper.ABSTRACT.pages) for name, each in found.items()}
        rows += [(f"{subject.name}, {name}", paper.ABSTRACT.pagerank, share) for name, share in at.items()]
        best = max(at, key=lambda n: at[n])
        ours = f"on {subject.name} {percent(at[best])} at most, by {best}; larger-sites-first "
        ours += percent(at["larger-sites-first"])
        agrees = at[best] >= paper.ABSTRACT.pagerank - 0.01
        sentences.append(says("half of the pages bring 80 % of the PageRank", ours, agrees))
    table = compared("abstract-half", "PageRank after half of the pages", "graph, strategy", rows)
    return titled("abstract", setting(*lab.subjects), [table], (), sentences)
