"""Bounded bandwidth (003): its figures 1 to 3 made again over real sockets, and our own way beside them.

Four crawls of the same queue (`limited.py`): ours; 003's prediction alone, with its max_d of 6 and of 2, without the
hard limit and without adapting; and fetchers started and stopped by the measured total (`fetchers.py`). 003 measured
servers of 2004 that it does not describe; ours are made (`servers.py`): means cannot be compared, but who is ahead can.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.units import thousands
from gossamer.laboratory.findings.finding import Cell, Column, Finding, Plot, Sentence, Table
from gossamer.laboratory.measured import F64
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import Lab, percent, says, series
from gossamer.laboratory.reproduce.limited import SETTLE, Ran, Way, warmed
from gossamer.laboratory.reproduce.servers import SITES

OURS: Final = "ours"
DEEP: Final = "prediction alone, max_d = 6"
SHALLOW: Final = "prediction alone, max_d = 2"
FETCHERS: Final = "fetchers by the measured total"
_ALONE: Final = ("harvester.bandwidth_adapts=false", "harvester.bandwidth_enforced=false")
WAYS: Final = (
    Way(OURS),
    Way(DEEP, (*_ALONE, "harvester.bandwidth_depth=6")),
    Way(SHALLOW, (*_ALONE, "harvester.bandwidth_depth=2")),
    Way(FETCHERS, _ALONE, by_fetchers=True),
)
CLOSE: Final = 0.15
"""Of the limit: predicted and measured bandwidth that are no further apart in the mean second are called close."""
_KB: Final = 1000.0
SECOND, BANDWIDTH = "second", "KB/s"


def fig_003(lab: Lab) -> Finding:
    limit, ran = paper.BANDWIDTH_LIMIT, dict[str, Ran]()
    with warmed(lab.crawls.show) as crawled:
        for way in WAYS:
            ran[way.label] = crawled(way, limit, lab.seconds)
    return finding(ran, limit)


def finding(ran: dict[str, Ran], limit: int) -> Finding:
    setting = (
        f"L = {limit / _KB:.0f} KB/s; {ran[OURS].seconds} s of each crawl, from {SETTLE:.0f} s after its first byte; "
        f"k = .3, sigma = 120 min, T = 5 s. {SITES} servers on loopback, a third of them at 5 to 13 KB/s, one in "
        "fifteen at 250 KB/s, a sixth changing every 5 s; for all the same queue of pages of 10 KB (median), and the "
        "same estimates to begin with: each server had been asked twice."
    )
    return Finding(
        "fig-003",
        "Figures 1 to 3 of 003: four ways to keep a bandwidth",
        "003, section 3, figures 1 to 3",
        setting,
        (_compared(ran, limit), _means(ran)),
        _plots(ran, limit),
        sentences(ran, limit),
    )


def _compared(ran: dict[str, Ran], limit: int) -> Table:
    columns = (
        Column("way"),
        Column("mean, bytes/s", ",.0f"),
        Column("used of L", ".1%"),
        Column("greatest 1 s window, of L", ".1%"),
        Column("overshoot, bytes", ",.0f"),
        Column("seconds above L", "d"),
        Column("standard deviation, bytes/s", ",.0f"),
        Column("predicted and measured apart, bytes/s", ",.0f"),
        Column("inversions", ",d"),
        Column("pages", ",d"),
    )
    rows: list[tuple[Cell, ...]] = []
    for label, each in ran.items():
        measured, most = each.measured_by_second(), each.most()
        rows.append(
            (
                label,
                each.mean,
                each.mean / limit,
                most / limit,
                max(0.0, most - limit),
                _above(measured, limit),
                float(measured.std()),
                apart(each) if label != FETCHERS else None,
                each.inversions,
                each.pages,
            )
        )
    return Table("fig-003-ways", "", columns, tuple(rows))


def _means(ran: dict[str, Ran]) -> Table:
    columns = (Column("max_d"), Column("paper (no unit)", ",.6g"), Column("ours, bytes/s", ",.6g"))
    deep, shallow = paper.BANDWIDTH_MEANS[6], paper.BANDWIDTH_MEANS[2]
    rows = (
        ("6", float(deep), ran[DEEP].mean),
        ("2", float(shallow), ran[SHALLOW].mean),
        ("ratio", deep / shallow, ran[DEEP].mean / max(1.0, ran[SHALLOW].mean)),
    )
    return Table("fig-003-means", "Average bandwidth", columns, rows)


def _above(measured: F64, limit: int) -> int:
    return int((measured > limit).sum())


def apart(ran: Ran) -> float:
    """How far predicted and measured bandwidth are apart, in the mean second."""
    return float(np.abs(ran.predicted_by_second() - ran.measured_by_second()).mean())


def _plots(ran: dict[str, Ran], limit: int) -> tuple[Plot, ...]:
    seconds = min(each.seconds for each in ran.values())
    at: F64 = np.arange(seconds, dtype=np.float64) + 0.5
    line = series(f"L = {limit / _KB:.0f} KB/s", np.array([0.0, seconds]), np.full(2, limit / _KB))

    def drawn(name: str, title: str, *lines: tuple[str, F64]) -> Plot:
        return Plot(
            name, title, SECOND, BANDWIDTH, (*(series(label, at, y[:seconds] / _KB) for label, y in lines), line)
        )

    def both(name: str, label: str) -> Plot:
        return drawn(
            name,
            f"Bandwidth each second: {label}",
            ("measured", ran[label].measured_by_second()),
            ("predicted", ran[label].predicted_by_second()),
        )

    return (
        both("fig-003-1", DEEP),
        drawn(
            "fig-003-2",
            "Measured bandwidth each second: prediction alone",
            ("max_d = 6", ran[DEEP].measured_by_second()),
            ("max_d = 2", ran[SHALLOW].measured_by_second()),
        ),
        both("fig-003-2-shallow", SHALLOW),
        both("fig-003-3", FETCHERS),
        both("fig-003-ours", OURS),
    )


def sentences(ran: dict[str, Ran], limit: int) -> tuple[Sentence, ...]:
    deep, shallow, fetchers, ours = (ran[label] for label in (DEEP, SHALLOW, FETCHERS, OURS))
    measured = {label: each.measured_by_second() for label, each in ran.items()}
    above, most = _above(measured[DEEP], limit), float(deep.predicted.max())
    said = paper.BANDWIDTH_MEANS[6] / paper.BANDWIDTH_MEANS[2] - 1
    found = deep.mean / max(1.0, shallow.mean) - 1
    restless = {label: float(each.std()) for label, each in measured.items()}
    return (
        says(
            "the predicted bandwidth is close to the measured one (figure 1, max_d = 6)",
            f"in the mean second they are {_bytes(apart(deep))} apart, {percent(apart(deep) / limit)} of L",
            apart(deep) <= CLOSE * limit,
        ),
        says(
            "it is always below the limit (figure 1), if the predicted one is meant",
            f"it is {_bytes(most)} at most, L is {_bytes(limit)}",
            most <= limit,
        ),
        says(
            "it is always below the limit (figure 1), if the measured one is meant",
            f"it is above it in {above} of {deep.seconds} seconds; the fullest has {percent(deep.most() / limit)} of L",
            above == 0,
        ),
        says(
            f"a larger max_d improves the average bandwidth (71,788 for 6, 64,562 for 2: {said:+.0%})",
            f"{thousands(round(deep.mean))} and {thousands(round(shallow.mean))} bytes/s: {found:+.0%}",
            found > 0,
        ),
        says(
            "with a larger max_d more pages come before better ones",
            f"{thousands(deep.inversions)} inversions with 6, {thousands(shallow.inversions)} with 2",
            deep.inversions > shallow.inversions,
        ),
        says(
            "with control by the number of fetchers the bandwidth oscillates considerably (figure 3)",
            f"its standard deviation is {_bytes(restless[FETCHERS])}, with prediction (max_d = 6) "
            f"{_bytes(restless[DEEP])}",
            restless[FETCHERS] > restless[DEEP],
        ),
        says(
            "control by the number of fetchers is less accurate than prediction",
            f"the mean second is {_bytes(_off(measured[FETCHERS], limit))} from L, with prediction (max_d = 6) "
            f"{_bytes(_off(measured[DEEP], limit))}; the fullest has {percent(fetchers.most() / limit)} of L and "
            f"{percent(deep.most() / limit)}",
            _off(measured[FETCHERS], limit) > _off(measured[DEEP], limit),
        ),
        Sentence(
            f"Our own way, prediction with a threshold that adapts over a hard limit, uses "
            f"{ours.mean / limit:.1%} of L and has {ours.most() / limit:.1%} of it in its fullest second; "
            f"its standard deviation is {_bytes(restless[OURS])}, at the price of {thousands(ours.inversions)} "
            "inversions."
        ),
    )


def _off(measured: F64, limit: int) -> float:
    """How far from the limit, in the mean second: too much and too little alike."""
    return float(np.abs(measured - limit).mean())


def _bytes(speed: float) -> str:
    return f"{speed / _KB:.1f} KB/s"
