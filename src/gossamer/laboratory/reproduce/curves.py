"""The curves of 4.3.4: figure 4.3, the bound; 4.4 and 4.5, all strategies on two Webs; 4.6, with an earlier crawl.

Each statement of the text is compared with a number computed from the curves. What counts as close, early or late was
fixed here before any result was known.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.laboratory import Measured, Subject
from gossamer.laboratory.findings.finding import Finding, Plot, Sentence
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import PAGERANK, PAGES, Lab, bend, curve, number, percent, says, series
from gossamer.laboratory.reproduce.orders import (
    GOOD,
    HISTORICAL,
    NO_INFORMATION,
    OWN,
    WITHOUT_HISTORY,
    detail,
    runs,
    setting,
)

CLOSE: Final = 0.02
"""Curves that differ by at most this are called close."""
LATE: Final = 0.8
"""Share of the pages from which on a crawl is called late."""
_HIGH: Final = 0.85
"""Share of the pages that is called a high coverage."""


def fig_4_3(lab: Lab) -> Finding:
    """The bound over the pages that can be reached, as for all strategies."""
    found = {s.name: runs(lab, s, ("opic", "omniscient")) for s in lab.subjects}
    bounds = {name: each["omniscient"].bound for name, each in found.items()}
    x = np.linspace(0, 1, len(next(iter(bounds.values()))))
    plot = Plot(
        "fig-4.3",
        "Cumulative PageRank, pages in the order of PageRank",
        PAGES,
        PAGERANK,
        tuple(series(name, x, y) for name, y in bounds.items()),
        diagonal=True,
    )
    sentences = [_bound_holds(name, each) for name, each in found.items()]
    if len(bounds) > 1:
        first, second = list(bounds)[:2]
        apart = float(np.abs(bounds[first] - bounds[second]).max())
        ours = f"the curves of {first} and {second} differ by at most {number(apart)}"
        sentences.insert(0, says("the PageRank of two Webs has almost the same distribution", ours, apart < 0.1))
    return Finding(
        "fig-4.3",
        "Figure 4.3: the upper bound",
        "Thesis, figure 4.3, page 60",
        setting(*lab.subjects),
        (),
        (plot,),
        tuple(sentences),
    )


def _bound_holds(name: str, found: dict[str, Measured]) -> Sentence:
    over = max(float((each.curve - each.bound).max()) for each in found.values())
    gap = float((found["omniscient"].bound - found["omniscient"].curve).mean())
    return says(
        "it is an upper bound for any strategy",
        f"on {name} omniscient lies {number(gap)} below it on average",
        over < 1e-9,
    )


def fig_4_4(lab: Lab) -> Finding:
    return _curves(
        lab,
        lab.subjects[0],
        "fig-4.4",
        "Figure 4.4: all strategies, first Web",
        "Thesis, figure 4.4, page 61, and 4.3.4",
    )


def fig_4_5(lab: Lab) -> Finding:
    """The same on the second graph, if there is one."""
    return _curves(
        lab,
        lab.subjects[-1],
        "fig-4.5",
        "Figure 4.5: all strategies, second Web",
        "Thesis, figure 4.5, page 62, and 4.3.4",
    )


def _curves(lab: Lab, subject: Subject, name: str, title: str, source: str) -> Finding:
    found = runs(lab, subject, (*WITHOUT_HISTORY, OWN))
    best = found["omniscient"]
    lines = (*map(curve, found.values()), series("upper bound", best.share_of_pages, best.bound))
    plot = Plot(name, f"Cumulative PageRank by pages, {subject.name}", PAGES, PAGERANK, lines, diagonal=True)
    return Finding(
        name,
        title,
        source,
        setting(subject),
        (detail(f"{name}-scores", subject.name, found),),
        (plot,),
        tuple(_of_curves(found)),
    )


def _of_curves(found: dict[str, Measured]) -> list[Sentence]:
    known = {name: found[name] for name in WITHOUT_HISTORY}
    best = max(known, key=lambda n: known[n].average)
    sentences = [
        says("omniscient is best", f"{best} is best, with {number(known[best].average)}", best == "omniscient"),
        says(
            "by its last stages omniscient performs close to random",
            f"over the last fifth of the pages its curve lies {number(bend(known['omniscient'].curve, LATE))} of its "
            "height above a straight line",
            bend(known["omniscient"].curve, LATE) < 0.1,
        ),
    ]
    sentences += [
        says(
            f"{name} is worse than a random crawl (average below .5)",
            f"average {number(known[name].average)}",
            known[name].average < 0.5,
        )
        for name in ("backlink-count", "partial-pagerank")
    ]
    return [*sentences, _breadth_first(known), _half(known), _coverage(known)]


def _breadth_first(known: dict[str, Measured]) -> Sentence:
    def behind(share: float) -> float:
        return max(known[name].at(share) for name in NO_INFORMATION) - known["breadth-first"].at(share)

    early, later = behind(paper.BREADTH_FIRST_GOOD_UNTIL), max(behind(share) for share in (0.4, 0.5, 0.6))
    return says(
        "breadth-first is close to the best for the first 20 to 30 % of the pages, and less efficient after that",
        f"it is {number(early)} behind the best at 25 %, and up to {number(later)} between 40 and 60 %",
        early <= 2 * CLOSE and later > early,
    )


def _half(known: dict[str, Measured]) -> Sentence:
    low, high = paper.HALF_PAGERANK_WITHIN
    parts = {name: known[name].reach[0.5] for name in GOOD}
    return says(
        "batch-pagerank, larger-sites-first and OPIC reach half of the PageRank with 20 to 30 % of the pages",
        ", ".join(f"{name} {percent(part)}" for name, part in parts.items()),
        all(low - 0.05 <= part <= high + 0.05 for part in parts.values()),
    )


def _coverage(known: dict[str, Measured]) -> Sentence:
    at = {name: known[name].at(_HIGH) for name in NO_INFORMATION}
    best = max(at, key=lambda n: at[n])
    return says(
        "larger-sites-first is ahead when the coverage is high",
        f"at {percent(_HIGH)} of the pages {best} is ahead with {number(at[best])}; larger-sites-first has "
        f"{number(at['larger-sites-first'])}",
        at["larger-sites-first"] >= at[best] - 0.002,
    )


def fig_4_6(lab: Lab) -> Finding:
    subject = lab.subjects[-1]
    found = runs(lab, subject, (*HISTORICAL, "omniscient", "opic"))
    plot = Plot(
        "fig-4.6",
        f"Cumulative PageRank with an earlier crawl's PageRank, {subject.name}",
        PAGES,
        PAGERANK,
        tuple(map(curve, found.values())),
        diagonal=True,
    )
    old = ~np.isnan(subject.history)
    pages, held = float(old.mean()), float(subject.worth[old].sum() / subject.worth.sum())
    opic = found["opic"].average
    sentences = (
        says(
            f"{percent(paper.HISTORY_PAGES)} of the pages are old and hold {percent(paper.HISTORY_PAGERANK)} of the "
            "PageRank",
            f"{percent(pages)} hold {percent(held)}",
            abs(pages - paper.HISTORY_PAGES) < 0.01 and abs(held - paper.HISTORY_PAGERANK) < 0.02,
        ),
        *(
            says(
                f"{name} is no worse than OPIC ({number(paper.TABLE_4_1[name].average)} and "
                f"{number(paper.TABLE_4_1['opic'].average)})",
                f"{number(found[name].average)} and {number(opic)}",
                found[name].average >= opic - CLOSE / 2,
            )
            for name in HISTORICAL
        ),
    )
    return Finding(
        "fig-4.6",
        "Figure 4.6: with the PageRank of an earlier crawl",
        "Thesis, figure 4.6, page 63",
        setting(subject),
        (detail("fig-4.6-scores", subject.name, found),),
        (plot,),
        sentences,
    )
