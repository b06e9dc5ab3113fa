"""More robots (4.3.5): figure 4.7 (figure 6.6 of 000), table 4.2 (table 6.1 of 000) and figure 4.8.

Table 4.2 does not say how long the crawls ran. They cannot have run to the end: a site of 25,000 pages alone takes 104
hours at w = 15 s, a ninth of what one robot needs for 3.5 million pages at one second each, and the table has a
speed-up of 220. So we give the speed-up for the first tenth of the pages, to be compared with the table, and for the
whole crawl.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.units import human_size, thousands
from gossamer.laboratory import Job, Measured, Subject
from gossamer.laboratory.findings.finding import Column, Finding, Plot, Sentence, Series, Table, compared
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import DEPTH, LENGTH, Lab, by_pages, curve, number, percent, says, titled
from gossamer.laboratory.simulate.scenario import Scenario, Servers

NOT_AFFECTED: Final = 0.01
"""Averages that differ by at most this count as equal."""
COMPARED: Final = 0.1
"""Share of the pages whose time is compared with table 4.2."""
_TOP: Final = max(paper.TABLE_4_2)


def scenario(robots: int, seed: int, bandwidth: float = float("inf")) -> Scenario:
    return Scenario(
        connections=robots, wait=paper.WAIT, bandwidth=bandwidth, servers=Servers.measured(), random_seed=seed
    )


def setting(subject: Subject, more: str = "", per_turn: int = 1) -> str:
    return f"w = 15 s, c = {per_turn}, servers as in 3.3{more}. {subject.described}."


def fig_4_7(lab: Lab) -> Finding:
    name = "fig-4.7"
    subject = lab.with_sites
    jobs = [Job(s, scenario(r, lab.random_seed)) for s in (LENGTH, DEPTH) for r in paper.ROBOTS]
    found = lab.run(subject, jobs)
    lines = (curve(each, f"{each.strategy}, r = {each.scenario.connections}") for each in found)
    plot = by_pages(name, f"Cumulative PageRank by pages, {subject.name}", lines)
    columns = (Column("strategy"), Column("r", "d"), Column("average", ".4f"), Column("at half of the pages", ".4f"))
    rows = tuple((each.strategy, each.scenario.connections, each.average, each.at(0.5)) for each in found)
    table = Table(f"{name}-scores", subject.name, columns, rows)
    return titled(name, setting(subject, ", bandwidth not binding"), [table], [plot], _affected(found))


def _affected(found: list[Measured]) -> list[Sentence]:
    averages = {s: [each.average for each in found if each.strategy == s] for s in (LENGTH, DEPTH)}
    spread = max(averages[LENGTH]) - min(averages[LENGTH])
    rise = averages[DEPTH][-1] - averages[DEPTH][0]
    ours = {s: f"averages {', '.join(map(number, each))} with 1, 64 and 256 robots" for s, each in averages.items()}
    return [
        says("larger-sites-first is not affected by the number of robots", ours[LENGTH], spread <= NOT_AFFECTED),
        says("breadth-first improves with the number of robots", ours[DEPTH], rise > 0),
    ]


# --- speed-ups -----------------------------------------------------------------------------------------------

Speedups = dict[tuple[int, int], float]
"""Speed-up by bandwidth and number of robots."""


def _runs(lab: Lab, subject: Subject) -> dict[tuple[int, int], Measured]:
    keys = [(bandwidth, r) for bandwidth in paper.TABLE_4_2 for r in paper.ROBOTS]
    found = lab.run(subject, (Job(LENGTH, scenario(r, lab.random_seed, b)) for b, r in keys))
    return dict(zip(keys, found, strict=True))


def speedups(found: dict[tuple[int, int], Measured], share: float = 1.0) -> Speedups:
    """Speed-ups over the first `share` of the pages."""
    seconds = {k: float(np.interp(share, each.share_of_pages, each.clock)) for k, each in found.items()}
    return {k: seconds[_TOP, 1] / each if each else float("nan") for k, each in seconds.items()}


def table_4_2(lab: Lab) -> Finding:
    name = "table-4.2"
    subject = lab.with_sites
    found = _runs(lab, subject)
    first, whole = speedups(found, COMPARED), speedups(found)
    tables = (
        _compared(f"{name}-first", f"The first {percent(COMPARED)} of the pages", first),
        _compared(f"{name}-whole", "The whole crawl", whole),
    )
    sentences = (*_of_speedups(first), _limited(subject, whole), _full_line(found))
    return titled(name, setting(subject, f", {LENGTH}"), tables, (), sentences)


def _compared(name: str, title: str, ours: Speedups) -> Table:
    rows = [
        (f"{human_size(b)}/s, r = {r}", paper.TABLE_4_2[b][column], ours[b, r])
        for b in sorted(paper.TABLE_4_2, reverse=True)
        for column, r in enumerate(paper.ROBOTS)
    ]
    return compared(name, title, "bandwidth, robots", rows, ".3g")


def _of_speedups(ours: Speedups) -> list[Sentence]:
    many = paper.ROBOTS[-1]
    said = paper.TABLE_4_2
    grows = all(ours[b, a] <= ours[b, c] * 1.02 for b in said for a, c in ((1, 64), (64, 256)))
    saturated = ours[min(said), many] < ours[_TOP, many] / 4
    return [
        says(
            f"{said[_TOP][1]} with 64 robots and {said[_TOP][2]} with 256 at {human_size(_TOP)}/s",
            f"{ours[_TOP, 64]:.1f} and {ours[_TOP, many]:.1f}",
            _near(ours[_TOP, 64], said[_TOP][1]) and _near(ours[_TOP, many], said[_TOP][2]),
        ),
        says("more robots never slow a crawl down", "the same here" if grows else "they do in some cases", grows),
        says(
            "when the bandwidth is saturated, more robots are pointless",
            f"256 robots are {ours[_TOP, many]:.1f} times as fast as one at {human_size(_TOP)}/s, and "
            f"{ours[min(said), many]:.2g} times at {min(said)} B/s",
            saturated,
        ),
    ]


def _near(ours: float, said: float) -> bool:
    """Whether they differ by at most a quarter."""
    return 0.75 * said <= ours <= 1.25 * said


def _limited(subject: Subject, whole: Speedups) -> Sentence:
    """The limit of politeness: the largest site takes its pages times w, and nothing shortens it."""
    largest = int(np.bincount(subject.graph.site).max())
    return Sentence(
        f"Over the whole crawl the largest site is the limit: {thousands(largest)} pages at {paper.WAIT:.0f} s take "
        f"{largest * paper.WAIT / 3600:.0f} h, so 256 robots are {whole[_TOP, 256]:.1f} times as fast as one."
    )


def _full_line(found: dict[tuple[int, int], Measured]) -> Sentence:
    """The optimum T* of 3.1 as a speed-up, which no number of robots can exceed."""
    slowest, base = min(paper.TABLE_4_2), found[_TOP, 1]
    ceiling = base.totals.seconds / (base.totals.bytes / slowest) if base.totals.bytes else float("inf")
    _, some, many = paper.TABLE_4_2[slowest]
    said = f"A bandwidth of {slowest} B/s, always fully used, gives a speed-up of {ceiling:.2g} (T* of 3.1)"
    if ceiling < some:
        said += f"; the paper has {some} and {many}, which this bandwidth does not allow"
    return Sentence(f"{said}.")


def fig_4_8(lab: Lab) -> Finding:
    subject = lab.with_sites
    ours = speedups(_runs(lab, subject), COMPARED)
    bandwidths = sorted(paper.TABLE_4_2)
    lines = [Series(f"r = {r}", bandwidths, [ours[b, r] for b in bandwidths]) for r in paper.ROBOTS]
    lines += [
        Series(f"r = {r}", bandwidths, [paper.TABLE_4_2[b][column] for b in bandwidths], paper=True)
        for column, r in enumerate(paper.ROBOTS)
    ]
    title = f"Speed-up by bandwidth, {subject.name}"
    plot = Plot("fig-4.8", title, "bytes per second", "speed-up", tuple(lines), x_log=True, y_log=True)
    sublinear = ours[_TOP, 256] < 256 and ours[_TOP, 64] < 64
    flat = ours[_TOP, 256] / ours[_TOP // 10, 256]
    rise = f"{ours[_TOP // 10, 256]:.1f} to {ours[_TOP, 256]:.1f}"
    sentences = (
        says("growth is sub-linear", f"{ours[_TOP, 64]:.1f} with 64 robots, {ours[_TOP, 256]:.1f} with 256", sublinear),
        says("speed-up saturates with bandwidth (204 to 220 from 2 to 20 MB/s)", rise, flat < 1.25),
    )
    ran = setting(subject, f", {LENGTH}, the first {percent(COMPARED)} of the pages")
    return titled("fig-4.8", ran, (), [plot], sentences)
