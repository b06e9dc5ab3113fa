"""The curves of 4.3.4: figure 4.3, the bound; 4.4 and 4.5, all strategies on two Webs; 4.6, with an earlier crawl.

Figure 6.5 of 000 has Optimal, Depth, Length, Batch and Partial with three sizes of batch; Optimal is overtaken late.

Each statement of the text is compared with a number computed from the curves. What counts as close, early or late was
fixed here before any result was known.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.laboratory import Measured, Subject
from gossamer.laboratory.findings.finding import Column, Finding, Sentence, Table
from gossamer.laboratory.reproduce import orders, paper
from gossamer.laboratory.reproduce.lab import Lab, bend, by_pages, curve, number, percent, says, series, titled

CLOSE: Final = 0.02
"""Curves that differ by at most this are called close."""
LATE: Final = 0.8
"""Share of the pages from which on a crawl is called late."""
_HIGH: Final = 0.85
"""Share of the pages that is called a high coverage."""


def fig_4_3(lab: Lab) -> Finding:
    """The bound over the pages that can be reached, as for all strategies."""
    found = {s.name: orders.runs(lab, s, ("opic", "omniscient")) for s in lab.subjects}
    bounds = {name: each["omniscient"].bound for name, each in found.items()}
    x = np.linspace(0, 1, len(next(iter(bounds.values()))))
    lines = (series(name, x, y) for name, y in bounds.items())
    plot = by_pages("fig-4.3", "Cumulative PageRank, pages in the order of PageRank", lines)
    sentences = [_bound_holds(name, each) for name, each in found.items()]
    if len(bounds) > 1:
        first, second = list(bounds)[:2]
        apart = float(np.abs(bounds[first] - bounds[second]).max())
        ours = f"the curves of {first} and {second} differ by at most {number(apart)}"
        sentences.insert(0, says("the PageRank of two Webs has almost the same distribution", ours, apart < 0.1))
    return titled("fig-4.3", orders.setting(*lab.subjects), (), [plot], sentences)


def _bound_holds(name: str, found: dict[str, Measured]) -> Sentence:
    over = max(float((each.curve - each.bound).max()) for each in found.values())
    gap = float((found["omniscient"].bound - found["omniscient"].curve).mean())
    ours = f"on {name} omniscient lies {number(gap)} below it on average"
    return says("it is an upper bound for any strategy", ours, over < 1e-9)


def fig_4_4(lab: Lab) -> Finding:
    return _curves(lab, lab.subjects[0], "fig-4.4")


def fig_4_5(lab: Lab) -> Finding:
    """The same on the second graph, if there is one."""
    return _curves(lab, lab.subjects[-1], "fig-4.5")


def _curves(lab: Lab, subject: Subject, name: str) -> Finding:
    found = orders.runs(lab, subject, (*orders.WITHOUT_HISTORY, orders.OWN))
    best = found["omniscient"]
    lines = (*map(curve, found.values()), series("upper bound", best.share_of_pages, best.bound))
    plot = by_pages(name, f"Cumulative PageRank by pages, {subject.name}", lines)
    table = orders.detail(f"{name}-scores", subject.name, found)
    return titled(name, orders.setting(subject), [table], [plot], _of_curves(found))


def _of_curves(found: dict[str, Measured]) -> list[Sentence]:
    known = {name: found[name] for name in orders.WITHOUT_HISTORY}
    best = max(known, key=lambda n: known[n].average)
    above = bend(known["omniscient"].curve, LATE)
    late = f"over the last fifth of the pages its curve lies {number(above)} of its height above a straight line"
    sentences = [
        says("omniscient is best", f"{best} is best, with {number(known[best].average)}", best == "omniscient"),
        says("by its last stages omniscient performs close to random", late, above < 0.1),
    ]
    for name in ("backlink-count", "partial-pagerank"):
        average = known[name].average
        said = f"{name} is worse than a random crawl (average below .5)"
        sentences.append(says(said, f"average {number(average)}", average < 0.5))
    return [*sentences, _breadth_first(known), _half(known), _coverage(known)]


def _breadth_first(known: dict[str, Measured]) -> Sentence:
    def behind(share: float) -> float:
        return max(known[name].at(share) for name in orders.NO_INFORMATION) - known["breadth-first"].at(share)

    early, later = behind(paper.BREADTH_FIRST_GOOD_UNTIL), max(behind(share) for share in (0.4, 0.5, 0.6))
    return says(
        "breadth-first is close to the best for the first 20 to 30 % of the pages, and less efficient after that",
        f"it is {number(early)} behind the best at 25 %, and up to {number(later)} between 40 and 60 %",
        early <= 2 * CLOSE and later > early,
    )


def _half(known: dict[str, Measured]) -> Sentence:
    low, high = paper.HALF_PAGERANK_WITHIN
    parts = {name: known[name].reach[0.5] for name in orders.GOOD}
    return says(
        "batch-pagerank, larger-sites-first and OPIC reach half of the PageRank with 20 to 30 % of the pages",
        ", ".join(f"{name} {percent(part)}" for name, part in parts.items()),
        all(low - 0.05 <= part <= high + 0.05 for part in parts.values()),
    )


def _coverage(known: dict[str, Measured]) -> Sentence:
    at = {name: known[name].at(_HIGH) for name in orders.NO_INFORMATION}
    best = max(at, key=lambda n: at[n])
    return says(
        "larger-sites-first is ahead when the coverage is high",
        f"at {percent(_HIGH)} of the pages {best} is ahead with {number(at[best])}; larger-sites-first has "
        f"{number(at['larger-sites-first'])}",
        at["larger-sites-first"] >= at[best] - 0.002,
    )


def fig_4_6(lab: Lab) -> Finding:
    subject = lab.subjects[-1]
    found = orders.runs(lab, subject, (*orders.HISTORICAL, "omniscient", "opic"))
    title = f"Cumulative PageRank with an earlier crawl's PageRank, {subject.name}"
    plot = by_pages("fig-4.6", title, map(curve, found.values()))
    old = ~np.isnan(subject.history)
    pages, held = float(old.mean()), float(subject.worth[old].sum() / subject.worth.sum())
    old_pages, old_worth = paper.HISTORY_PAGES, paper.HISTORY_PAGERANK
    said = f"{percent(old_pages)} of the pages are old and hold {percent(old_worth)} of the PageRank"
    close = abs(pages - old_pages) < 0.01 and abs(held - old_worth) < 0.02
    sentences = [says(said, f"{percent(pages)} hold {percent(held)}", close)]
    table, opic = paper.TABLE_4_1, found["opic"].average
    for name in orders.HISTORICAL:
        average = found[name].average
        said = f"{name} is no worse than OPIC ({number(table[name].average)} and {number(table['opic'].average)})"
        sentences.append(says(said, f"{number(average)} and {number(opic)}", average >= opic - CLOSE / 2))
    scores = orders.detail("fig-4.6-scores", subject.name, found)
    return titled("fig-4.6", orders.setting(subject), [scores], [plot], sentences)


# --- figure 6.5 of 000 ---------------------------------------------------------------------------------------


def fig_000_6_5(lab: Lab) -> Finding:
    subject = lab.subject
    pages, seed, names = subject.graph.pages, lab.random_seed, paper.NAMES_OF_000
    jobs = {names[n]: orders.job(n, pages, seed) for n in names if n not in orders.IN_BATCHES}
    for n in orders.IN_BATCHES:
        jobs |= {f"{names[n]}, K = 1/{k}": orders.job(n, pages, seed, k) for k in paper.BATCHES_OF_000}
    found = dict(zip(jobs, lab.run(subject, jobs.values()), strict=True))
    lines = (curve(each, label) for label, each in found.items())
    plot = by_pages("fig-000-6.5", f"Cumulative PageRank by pages, one robot, {subject.name}", lines)
    columns = (Column("strategy"), Column("average", ".4f"), Column("at 80 % of pages", ".4f"))
    rows = tuple((label, each.average, each.at(LATE)) for label, each in found.items())
    table = Table("fig-000-6.5-scores", subject.name, columns, rows)
    return titled("fig-000-6.5", orders.setting(subject), [table], [plot], _of_000(found))


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
