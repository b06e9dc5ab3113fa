"""Bounded bandwidth (003): its figures 1 to 3 recomputed over real sockets, and our own way next to them.

Four crawls of the same queue (`limited.py`): our own way; 003's prediction alone, with its max_d of 6 and of 2, without
the hard limit and without adaptation; and fetchers started and stopped by the measured total (`Fetchers`). 003
measured servers of 2004 that it does not describe; ours are generated (`servers.py`). So means cannot be compared, but
the ranking can.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64
from gossamer.base.units import thousands
from gossamer.laboratory.findings.finding import Cell, Column, Finding, Plot, Sentence, Table
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.lab import Lab, percent, says, series, titled
from gossamer.laboratory.reproduce.limited import SETTLE, Ran, Way, warmed
from gossamer.laboratory.reproduce.servers import SITES

OURS: Final = "ours"
DEEP: Final = "prediction alone, max_d = 6"
SHALLOW: Final = "prediction alone, max_d = 2"
FETCHERS: Final = "control by fetchers"
_ALONE: Final = ("harvester.bandwidth_adapts=false", "harvester.bandwidth_enforced=false")
WAYS: Final = (
    Way(OURS),
    Way(DEEP, (*_ALONE, "harvester.bandwidth_depth=6")),
    Way(SHALLOW, (*_ALONE, "harvester.bandwidth_depth=2")),
    Way(FETCHERS, _ALONE, by_fetchers=True),
)
CLOSE: Final = 0.15
"""Share of the limit: predicted and measured bandwidth are called close if their mean difference is at most this."""
_KB: Final = 1000.0


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
        "fifteen at 250 KB/s, a sixth changing every 5 s; the same queue for all, with pages of 10 KB (median), and "
        "the same initial estimates: each server had been requested twice."
    )
    tables = (_compared(ran, limit), _means(ran))
    return titled("fig-003", setting, tables, _plots(ran, limit), sentences(ran, limit))


def _compared(ran: dict[str, Ran], limit: int) -> Table:
    columns = (
        Column("way"),
        Column("mean, bytes/s", ",.0f"),
        Column("share of L used", ".1%"),
        Column("largest 1 s window, share of L", ".1%"),
        Column("overshoot, bytes", ",.0f"),
        Column("seconds above L", "d"),
        Column("standard deviation, bytes/s", ",.0f"),
        Column("difference of predicted and measured, bytes/s", ",.0f"),
        Column("inversions", ",d"),
        Column("pages", ",d"),
    )
    rows: list[tuple[Cell, ...]] = []
    for label, each in ran.items():
        measured, most = each.measured_by_second(), each.most()
        difference = apart(each) if label != FETCHERS else None
        used = (each.mean, each.mean / limit, most / limit, max(0.0, most - limit), _above(measured, limit))
        rows.append((label, *used, float(measured.std()), difference, each.inversions, each.pages))
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
    """Mean difference of predicted and measured bandwidth, over the seconds."""
    return float(np.abs(ran.predicted_by_second() - ran.measured_by_second()).mean())


def _plots(ran: dict[str, Ran], limit: int) -> tuple[Plot, ...]:
    seconds = min(each.seconds for each in ran.values())
    at: F64 = np.arange(seconds, dtype=np.float64) + 0.5
    line = series(f"L = {limit / _KB:.0f} KB/s", np.array([0.0, seconds]), np.full(2, limit / _KB))

    def drawn(name: str, title: str, lines: dict[str, F64]) -> Plot:
        drawn = (series(label, at, y[:seconds] / _KB) for label, y in lines.items())
        return Plot(name, title, "second", "KB/s", (*drawn, line))

    def both(name: str, label: str) -> Plot:
        lines = {"measured": ran[label].measured_by_second(), "predicted": ran[label].predicted_by_second()}
        return drawn(name, f"Bandwidth each second: {label}", lines)

    depths = {"max_d = 6": ran[DEEP].measured_by_second(), "max_d = 2": ran[SHALLOW].measured_by_second()}
    return (
        both("fig-003-1", DEEP),
        drawn("fig-003-2", "Measured bandwidth each second: prediction alone", depths),
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
    close = f"their mean difference in a second is {_bytes(apart(deep))}, {percent(apart(deep) / limit)} of L"
    accurate = apart(deep) <= CLOSE * limit
    always, top = "the bandwidth is always below the limit (figure 1)", f"{_bytes(most)}; L is {_bytes(limit)}"
    return (
        says("the predicted bandwidth is close to the measured one (figure 1, max_d = 6)", close, accurate),
        says(f"{always}, if this means the predicted one", f"its maximum is {top}", most <= limit),
        says(
            f"{always}, if this means the measured one",
            f"it is above L in {above} of {deep.seconds} seconds; the fullest second has "
            f"{percent(deep.most() / limit)} of L",
            above == 0,
        ),
        says(
            f"a larger max_d improves the average bandwidth (71,788 for 6, 64,562 for 2: {said:+.0%})",
            f"{thousands(round(deep.mean))} and {thousands(round(shallow.mean))} bytes/s: {found:+.0%}",
            found > 0,
        ),
        says(
            "with a larger max_d more pages are fetched before better ones",
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
            f"the mean distance of a second from L is {_bytes(_off(measured[FETCHERS], limit))}, with prediction "
            f"(max_d = 6) {_bytes(_off(measured[DEEP], limit))}; the fullest second has "
            f"{percent(fetchers.most() / limit)} of L and {percent(deep.most() / limit)}",
            _off(measured[FETCHERS], limit) > _off(measured[DEEP], limit),
        ),
        Sentence(
            f"Our own way, prediction with an adaptive threshold and a hard limit, uses "
            f"{ours.mean / limit:.1%} of L, and {ours.most() / limit:.1%} in its fullest second; "
            f"its standard deviation is {_bytes(restless[OURS])}. It costs {thousands(ours.inversions)} inversions."
        ),
    )


def _off(measured: F64, limit: int) -> float:
    """Mean distance of a second from the limit, above or below."""
    return float(np.abs(measured - limit).mean())


def _bytes(speed: float) -> str:
    return f"{speed / _KB:.1f} KB/s"
