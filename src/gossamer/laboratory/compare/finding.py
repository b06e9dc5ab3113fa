"""Compares a real crawl with its simulation: cumulative PageRank by pages and by time (figures 4.12 to 4.16).

The simulation has the crawl's own settings (connections, waits, pages per turn, plans). Its servers answer as slowly as
those of the crawl did on average, the time of our own machine included. All sites get the same servers, as one slow
draw for the largest site would dominate the result. Not simulated: other behaviour of servers, robots.txt, failures,
Crawl-delay, and addresses that several sites share. The last run of the crawl is also compared with the shortest
possible time, and the difference is explained (`shortest`, `missing`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gossamer.base.arrays import F64
from gossamer.base.units import human_time, thousands
from gossamer.laboratory import Bench, Measured, Subject
from gossamer.laboratory.compare import missing
from gossamer.laboratory.compare.crawled import Crawled
from gossamer.laboratory.compare.requests import read_history
from gossamer.laboratory.findings.finding import Finding, Sentence
from gossamer.laboratory.findings.runs import by_pages, by_time, scores
from gossamer.laboratory.jobs import OwnJob
from gossamer.laboratory.measured import measure
from gossamer.laboratory.simulate import own
from gossamer.laboratory.simulate.run import Run, Totals
from gossamer.laboratory.simulate.scenario import Scenario, Servers


def scenario_of(crawled: Crawled, random_seed: int = 1) -> Scenario:
    return own.scenario_of(crawled.settings, servers_of(crawled.requests), random_seed)


def servers_of(requests: F64) -> Servers:
    """Servers whose answers take as long as those of the crawl, with the same variation."""
    seconds = np.maximum(requests[:, 1] - requests[:, 0], 0.0)
    mean = float(seconds.mean()) if len(seconds) else 0.0
    return Servers(latency=mean, latency_within=float(seconds.std()) / mean if mean > 0 else 0.0)


def as_run(crawled: Crawled) -> Run:
    """The crawl itself, as a simulation would have returned it."""
    begun, ended = crawled.requests.T
    return Run(
        strategy=f"{crawled.policy} (crawl)",
        scenario=scenario_of(crawled),
        order=crawled.order,
        time=crawled.time,
        active=active(begun, ended),
        totals=Totals(
            requests=len(begun),
            failed=max(0, len(begun) - len(crawled.order)),
            bytes=int(crawled.graph.size.astype(np.int64).sum()),
            seconds=float(ended.max()),
            cpu=0.0,
        ),
    )


def active(begun: F64, ended: F64) -> F64:
    """Open requests as a step function."""
    times = np.concatenate([begun, ended])
    change = np.concatenate([np.ones(len(begun)), -np.ones(len(ended))])
    order = np.lexsort((change, times))
    return np.stack([times[order], np.cumsum(change[order])], 1)


def runs(crawled: Crawled, bench: Bench, strategies: Sequence[str], random_seed: int = 1) -> list[Measured]:
    """The crawl, then the simulations."""
    subject = Subject(crawled.graph, seed=random_seed)
    mine = own.own_of(crawled.settings, crawled.policy, crawled.urls)
    scenario = scenario_of(crawled, random_seed)
    jobs = [OwnJob(name, scenario, own=mine if name == crawled.policy else own.NOBODY) for name in strategies]
    return [measure(as_run(crawled), crawled.worth), *bench.run(subject, jobs)]


def compare(crawled: Crawled, bench: Bench, strategies: Sequence[str], random_seed: int = 1) -> Finding:
    found = runs(crawled, bench, strategies, random_seed)
    names = [found[0].strategy, *(f"{each.strategy} (simulated)" for each in found[1:])]
    graph, scenario = crawled.graph, found[0].scenario
    setting = (
        f"{crawled.folder.name}: {thousands(graph.pages)} pages, {thousands(len(graph.links.targets))} links, "
        f"{thousands(graph.sites)} sites; r = {scenario.connections}, w = {scenario.wait:g} s; the crawl, and its "
        f"simulation: {own.described(crawled.settings)}"
    )
    history = read_history(crawled.folder)
    close = missing.closeness(history)
    tables = (scores("compare-scores", names, found), missing.table(history, close), missing.account(history, close))
    return Finding(
        "compare",
        "The crawl and its simulation",
        "Thesis 4.5",
        setting,
        tables,
        (by_pages("compare-pages", names, found), by_time("compare-time", names, found)),
        (*_said(names, found), *missing.sentences(history, close)),
    )


def _said(names: Sequence[str], found: Sequence[Measured]) -> list[Sentence]:
    real = found[0]
    sentences = []
    for name, each in zip(names[1:], found[1:], strict=True):
        apart = float(np.abs(real.curve - each.curve).mean())
        better = "above" if real.average > each.average else "below"
        sentences.append(
            Sentence(
                f"By pages the crawl is {abs(real.average - each.average):.3f} {better} {name} "
                f"({real.average:.3f} and {each.average:.3f}); the curves are {apart:.3f} apart on average. "
                f"It took {human_time(real.totals.seconds)}, the simulation {human_time(each.totals.seconds)}."
            )
        )
        if each.pages < real.pages:
            said = f"{name} reached {each.pages} of the {real.pages} pages: no link leads to the other pages."
            sentences.append(Sentence(said))
    return sentences
