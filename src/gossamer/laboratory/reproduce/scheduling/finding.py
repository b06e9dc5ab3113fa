"""Tables 1 and 2 and figures 5 to 7 of 001: dynamic and static scheduling, and a growing number of processes.

The paper's experiment took hours. Ours has the same processes, sites and proportions; times are divided by `SCALE`, and
pages by `PART` unless the full experiment is requested. Figures are converted to the paper's clock: seconds times both.
One number is calibrated, the mean time of a page, by the dynamic run of 20,000 pages; speed-ups are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.units import plural, thousands
from gossamer.laboratory.findings.finding import Column, Finding, Plot, Sentence, Series, Table
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import Lab, says, titled
from gossamer.laboratory.reproduce.scheduling.modes import DYNAMIC, STATIC, Crew, RunResult
from gossamer.laboratory.reproduce.scheduling.server import ServerProcess
from gossamer.laboratory.reproduce.scheduling.web import ExperimentWeb

NAME: Final = "table-001"
SCALE: Final = 15.0
"""With it a page takes 22 ms of a process, and 5 processes request 230 pages per second: CPU is not the limit."""
PART: Final = 10
RUNS: Final = 2
PROCESSES: Final = (1, 2, 4, 8, 12, 16, 20, 24)
TIMEOUTS: Final = (5.0, 15.0, 45.0)
"""Seconds on the paper's clock; all other runs use the second."""
MODES: Final = (DYNAMIC, STATIC)


@dataclass(frozen=True, slots=True)
class ExperimentSize:
    """How large the experiment is."""

    part: int = PART
    runs: int = RUNS
    scale: float = SCALE
    processes: tuple[int, ...] = PROCESSES

    def web(self, pages: int, seed: int) -> ExperimentWeb:
        return ExperimentWeb(pages // self.part, self.scale, seed=seed)

    def minutes(self, seconds: float) -> float:
        """Converts seconds to minutes on the paper's clock."""
        return seconds * self.scale * self.part / 60

    def seconds(self, minutes: float) -> float:
        return minutes * 60 / self.scale / self.part


WHOLE: Final = ExperimentSize(part=1)
Runs = dict[str, list[RunResult]]


class Experiment:
    """Runs the modes, and shows progress."""

    def __init__(self, lab: Lab, size: ExperimentSize) -> None:
        self._lab, self.size = lab, size

    def both(
        self, what: str, web: ExperimentWeb, runs: int, timeout: float | None = None, seconds: float = np.inf
    ) -> Runs:
        """Runs each mode `runs` times, alternately, with the same server and the same processes."""
        found: Runs = {mode: [] for mode in MODES}
        processes = paper.PROCESSES_001
        with closing(ServerProcess(web)) as server, closing(Crew(web, server.port, processes, timeout)) as crew:
            for number in range(runs):
                for mode in MODES:

                    def tell(done: int, before: int = number, mode: str = mode) -> None:
                        self._show(f"{what}, {mode}", (before + done / web.urls) / runs)

                    found[mode].append(crew.run(mode, seconds=seconds, tell=tell))
        return found

    def by_processes(self, web: ExperimentWeb) -> list[RunResult]:
        found = []
        with closing(ServerProcess(web)) as server:
            for number, processes in enumerate(self.size.processes):
                self._show(f"dynamic, {plural(processes, 'process', 'processes')}", number / len(self.size.processes))
                with closing(Crew(web, server.port, processes)) as crew:
                    found.append(crew.run(DYNAMIC))
        return found

    def _show(self, what: str, part: float) -> None:
        self._lab.bench.show(what, part)


def table_001(lab: Lab) -> Finding:
    return reproduced(lab, WHOLE if lab.full else ExperimentSize())


def reproduced(lab: Lab, size: ExperimentSize) -> Finding:
    experiment, seed = Experiment(lab, size), lab.random_seed
    small, large = size.web(paper.PAGES_001, seed), size.web(paper.PAGES_001_TABLE_1, seed)
    time = experiment.both("table 2", small, size.runs)
    rate = experiment.both("table 1", large, size.runs, seconds=size.seconds(max(paper.TABLE_001_1)))
    fewer = size.web(paper.PAGES_001 // 4, seed)
    limits = {t: experiment.both(f"time-out {t:g} s", fewer, 1, t / size.scale) for t in TIMEOUTS}
    many = experiment.by_processes(fewer)
    steps = {n: {mode: _time_at(time[mode], n * 1000 / paper.PAGES_001) for mode in MODES} for n in paper.TABLE_001_2}
    sentences = (*_of_time(steps, time), *_of_processes(size, many), _of_limits(limits))
    tables = (
        _table_2(size, steps),
        _table_1(size, rate),
        _efficiency(time, small),
        _components(time),
        _time_outs(size, limits),
        _processes(size, many),
    )
    plots = (_plot(size, time), *_plots(size, many))
    return titled(NAME, _setting(size, small, large), tables, plots, sentences)


def _setting(size: ExperimentSize, small: ExperimentWeb, large: ExperimentWeb) -> str:
    part = "" if size.part == 1 else f", pages divided by {size.part} (--full: all pages)"
    return (
        f"{paper.PROCESSES_001} processes with one request each, {small.sites} sites, {thousands(small.pages)} pages "
        f"({thousands(large.pages)} for table 1), {small.dead} sites dead, timeout {TIMEOUTS[1]:g} s; over sockets on "
        f"this machine, times divided by {size.scale:g}{part}; means of {plural(size.runs, 'run')}. All times are "
        "converted to the paper's clock."
    )


# --- what was measured ---------------------------------------------------------------------------------------


def _time_at(runs: Sequence[RunResult], share: float) -> float:
    """Mean seconds until this share of the pages was collected, or all that were collected if fewer."""
    times = [each.collected for each in runs]
    return float(np.mean([each[min(len(each), max(1, round(share * len(each)))) - 1] for each in times]))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


Steps = dict[int, dict[str, float]]


def _columns(first: str, paper: str, ours: str) -> tuple[Column, ...]:
    """The columns of both tables; `paper` and `ours` are the number formats of each mode."""
    forms = {"dynamic": (paper, ours), "static": (paper, ours), "speed-up": (".1f", ".1f")}
    both = ((Column(f"{what}, paper", said), Column(f"{what}, ours", own)) for what, (said, own) in forms.items())
    return (Column(first, "d"), *(column for pair in both for column in pair))


def _table_2(size: ExperimentSize, steps: Steps) -> Table:
    columns = _columns("thousands of pages", ".1f", ".1f")
    rows = []
    for n, (dynamic, static) in paper.TABLE_001_2.items():
        ours, theirs = size.minutes(steps[n][DYNAMIC]), size.minutes(steps[n][STATIC])
        rows.append((n, dynamic, ours, static, theirs, static / dynamic, theirs / ours))
    return Table(f"{NAME}-time", "Table 2: minutes by pages collected", columns, tuple(rows))


def _table_1(size: ExperimentSize, runs: Runs) -> Table:
    columns = _columns("minutes", ",d", ",.0f")
    rows = []
    for minutes, (dynamic, static) in paper.TABLE_001_1.items():
        at = size.seconds(minutes)
        ours, theirs = (
            size.part * _mean([float(np.searchsorted(each.collected, at, "right")) for each in runs[mode]])
            for mode in MODES
        )
        rows.append((minutes, dynamic, ours, static, theirs, dynamic / static, ours / theirs if theirs else None))
    return Table(f"{NAME}-rate", "Table 1: pages collected by minutes", columns, tuple(rows))


def _efficiency(runs: Runs, web: ExperimentWeb) -> Table:
    counted = (Column("URLs", ",d"), Column("collected", ",.1f"), Column("failed", ",.1f"))
    columns = (Column("mode"), *counted, Column("efficiency", ".2%"))
    rows = []
    for mode in MODES:
        collected = _mean([len(each.collected) for each in runs[mode]])
        failed = _mean([each.failed for each in runs[mode]])
        rows.append((mode, web.urls, collected, failed, collected / web.urls))
    title = "Collection efficiency: share of the pages that were collected"
    return Table(f"{NAME}-efficiency", title, columns, tuple(rows))


def _components(runs: Runs) -> Table:
    shares = (Column(part, ".1%") for part in ("network", "extraction", "waiting"))
    columns = (Column("mode"), *shares, Column("uniqueness (share of the scheduler's time)", ".2%"))
    rows = tuple((mode, *_shares(runs[mode])) for mode in MODES)
    return Table(f"{NAME}-components", "Where the time of the processes went", columns, rows)


def _shares(runs: Sequence[RunResult]) -> tuple[float, float, float, float]:
    def share(part: Callable[[RunResult], float]) -> float:
        return _mean([part(each) / (each.processes * each.seconds) for each in runs])

    parts = share(lambda each: each.network), share(lambda each: each.extraction), share(lambda each: each.waiting)
    return (*parts, _mean([each.uniqueness / each.seconds for each in runs]))


def _time_outs(size: ExperimentSize, limits: dict[float, Runs]) -> Table:
    minutes = (Column("dynamic, min", ".1f"), Column("static, min", ".1f"))
    columns = (Column("timeout, s", "g"), *minutes, Column("speed-up", ".2f"))
    rows = []
    for limit, runs in limits.items():
        ours, theirs = (size.minutes(_mean([each.seconds for each in runs[mode]])) for mode in MODES)
        rows.append((limit, ours, theirs, theirs / ours))
    title = "The effect of the timeout, which 001 leaves to future work: a quarter of the pages, one run"
    return Table(f"{NAME}-timeouts", title, columns, tuple(rows))


def _rates(size: ExperimentSize, outcome: RunResult) -> tuple[float, float]:
    """Bytes and pages per second, on the paper's clock."""
    return outcome.bytes / outcome.seconds / size.scale, len(outcome.collected) / outcome.seconds / size.scale


def _processes(size: ExperimentSize, many: Sequence[RunResult]) -> Table:
    rates = (Column("bytes per second", ",.0f"), Column("pages per second", ".2f"))
    columns = (Column("processes", "d"), *rates, Column("speed-up over one process", ".2f"))
    base = _rates(size, many[0])[1]
    rows = tuple((each.processes, *_rates(size, each), _rates(size, each)[1] / base) for each in many)
    return Table(f"{NAME}-processes", "Figures 6 and 7: more processes, dynamic", columns, rows)


# --- plots and sentences -------------------------------------------------------------------------------------


def _plot(size: ExperimentSize, runs: Runs) -> Plot:
    points = np.linspace(0.02, 1.0, 50)
    lines = []
    for column, mode in enumerate(MODES):
        minutes = [size.minutes(_time_at(runs[mode], float(share))) for share in points]
        lines.append(Series(mode, (points * paper.PAGES_001).tolist(), minutes))
        said = [row[column] for row in paper.TABLE_001_2.values()]
        lines.append(Series(mode, [1000.0 * n for n in paper.TABLE_001_2], said, paper=True))
    return Plot("fig-001-5", "Collection time by pages (figure 5 of 001)", "pages", "minutes", tuple(lines), y_log=True)


def _plots(size: ExperimentSize, many: Sequence[RunResult]) -> tuple[Plot, Plot]:
    x = [each.processes for each in many]
    raw, pages = zip(*(_rates(size, each) for each in many), strict=True)
    ideal = [pages[0] * n / x[0] for n in x]
    rate, rates = Series("dynamic", x, raw), (Series("dynamic", x, pages), Series("linear speed-up", x, ideal))
    return (
        Plot("fig-001-6", "Raw download rate (figure 6 of 001)", "processes", "bytes per second", (rate,)),
        Plot("fig-001-7", "Document rate (figure 7 of 001)", "processes", "pages per second", rates),
    )


def _of_time(steps: Steps, runs: Runs) -> list[Sentence]:
    ours = {n: each[STATIC] / each[DYNAMIC] for n, each in steps.items()}
    said = {n: static / dynamic for n, (dynamic, static) in paper.TABLE_001_2.items()}
    first, last = min(ours), max(ours)
    begin, end, low, high = ours[first], ours[last], min(ours.values()), max(ours.values())
    waits = {mode: _shares(runs[mode])[2] for mode in MODES}
    most = paper.PROCESSES_001
    return [
        says(
            f"dynamic scheduling is {said[first]:.1f} times as fast at {first},000 pages and {said[last]:.1f} times "
            f"at {last},000",
            f"{begin:.1f} and {end:.1f}",
            abs(end / said[last] - 1) < 0.25,
        ),
        says("dynamic scheduling is faster at every step", f"from {low:.1f} to {high:.1f} times as fast", low > 1),
        says("the speed-up grows with the pages collected", f"{begin:.1f} to {end:.1f}", end > begin),
        says(
            "the processes of a static schedule idle",
            f"they wait {waits[STATIC]:.0%} of their time, those of the dynamic schedule {waits[DYNAMIC]:.0%}",
            waits[STATIC] > 2 * waits[DYNAMIC],
        ),
        Sentence(
            f"Idle time alone explains a speed-up of at most {most}, as one of {most} processes is always busy. The "
            f"paper's {said[last]:.1f} must have other causes, which it does not name; our two modes share one kernel."
        ),
    ]


def _of_processes(size: ExperimentSize, many: Sequence[RunResult]) -> list[Sentence]:
    rate = {each.processes: _rates(size, each)[1] for each in many}
    if not {1, 8, 20, 24} <= rate.keys():
        return []
    few, some, many_more = rate[8] / rate[1], rate[20] / rate[8], rate[24] / rate[20]
    grows, stays = f"8 are {few:.1f} times as fast as one", f"20 are {some:.2f} times as fast as 8"
    return [
        says("the rate grows almost linearly from 1 to 8 processes", grows, few > 6),
        says("from 8 to 20 processes the rate hardly changes", stays, 0.85 < some < 1.15),
        says("beyond 20 processes the rate falls", f"24 are {many_more:.2f} times as fast as 20", rate[24] < rate[20]),
    ]


def _of_limits(limits: dict[float, Runs]) -> Sentence:
    short, long = min(limits), max(limits)
    grew = {mode: limits[long][mode][0].seconds / limits[short][mode][0].seconds for mode in MODES}
    return Sentence(
        f"With a timeout of {long:g} s instead of {short:g} s, dynamic takes {grew[DYNAMIC]:.2f} times as long, "
        f"static {grew[STATIC]:.2f} times."
    )
