"""Figure 6.5 of 000: Optimal, Depth, Length, Batch and Partial with three sizes of batch; Optimal is overtaken late."""

from __future__ import annotations

import numpy as np

from gossamer.laboratory import Measured
from gossamer.laboratory.findings.finding import Column, Finding, Plot, Sentence, Table
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.curves import CLOSE, LATE
from gossamer.laboratory.reproduce.lab import PAGERANK, PAGES, Lab, curve, number, percent, says
from gossamer.laboratory.reproduce.orders import IN_BATCHES, job, setting


def fig_000_6_5(lab: Lab) -> Finding:
    subject = lab.subject
    plain = tuple(n for n in paper.NAMES_OF_000 if n not in IN_BATCHES)
    wanted = [(_name_000(n), job(n, subject.graph.pages, lab.random_seed)) for n in plain]
    wanted += [
        (f"{_name_000(n)}, K = 1/{k}", job(n, subject.graph.pages, lab.random_seed, k))
        for n in IN_BATCHES
        for k in paper.BATCHES_OF_000
    ]
    found = dict(zip([label for label, _ in wanted], lab.run(subject, (j for _, j in wanted)), strict=True))
    plot = Plot(
        "fig-000-6.5",
        f"Cumulative PageRank by pages, one robot, {subject.name}",
        PAGES,
        PAGERANK,
        tuple(curve(each, label) for label, each in found.items()),
        diagonal=True,
    )
    columns = (Column("strategy"), Column("average", ".4f"), Column("at 80 % of pages", ".4f"))
    table = Table(
        "fig-000-6.5-scores",
        subject.name,
        columns,
        tuple((label, each.average, each.at(LATE)) for label, each in found.items()),
    )
    return Finding(
        "fig-000-6.5",
        "Figure 6.5 of 000: Optimal, Depth, Length, Batch, Partial",
        "000, figure 6.5, 6.3",
        setting(subject),
        (table,),
        (plot,),
        tuple(_of_000(found)),
    )


def _name_000(strategy: str) -> str:
    return paper.NAMES_OF_000[strategy]


def _of_000(found: dict[str, Measured]) -> list[Sentence]:
    length, optimal = found["Length"], found["Optimal"]
    others = {label: each for label, each in found.items() if label not in ("Length", "Optimal")}
    best = max(others, key=lambda label: others[label].average)
    sentences = [
        says(
            "Length is more efficient than Depth and all strategies that compute PageRank",
            f"Length has {number(length.average)}; the best other strategy, {best}, has {number(others[best].average)}",
            length.average > others[best].average,
        ),
        overtaken(optimal, {label: each for label, each in found.items() if label != "Optimal"}),
    ]
    late = np.array([each.curve[round(LATE * (len(each.curve) - 1)) :] for each in others.values()])
    apart = float((late.max(axis=0) - late.min(axis=0)).max())
    ours = f"over the last fifth of the pages they differ by up to {number(apart)}"
    return [*sentences, says("all except Length and Optimal perform alike at the end", ours, apart < 2 * CLOSE)]


def overtaken(optimal: Measured, others: dict[str, Measured]) -> Sentence:
    """The claim that Optimal is too greedy and is overtaken late."""
    lead = {label: each.curve - optimal.curve for label, each in others.items()}
    passed = {label: np.flatnonzero(over > 1e-4) for label, over in lead.items()}
    there = {label: at for label, at in passed.items() if len(at)}
    if not there:
        return says("Optimal is overtaken late", "nothing overtakes it", False)
    first = min(there, key=lambda label: int(there[label][0]))
    top = max(there, key=lambda label: float(lead[label].max()))
    share = there[first][0] / (len(optimal.curve) - 1)
    return says(
        "Optimal is too greedy and is overtaken late",
        f"{first} is ahead of it from {percent(share)} of the pages on; the largest lead is "
        f"{number(float(lead[top].max()))}, by {top}",
        share > 0.3,
    )
