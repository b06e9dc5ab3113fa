"""Sessions as tables, plots and sentences: tables 5.1 to 5.4, figures 5.11 to 5.19, and how deep to crawl."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64
from gossamer.laboratory.findings.finding import Cell, Column, Finding, Plot, Sentence, Series, Table
from gossamer.laboratory.graphs.powerlaw import exponent
from gossamer.laboratory.sessions.fit import MOST, Fitted, Score, by_likelihood, least_squares, scored
from gossamer.laboratory.sessions.gather import OF_CLIENTS, Client, Gathered
from gossamer.laboratory.sessions.judge import WHY, Left
from gossamer.laboratory.sessions.trace import (
    ACTIONS,
    ADDED_BACK,
    ADDED_FIRST,
    ENTERED,
    EXPIRED,
    FRAMED,
    JUMP,
    RELOADED,
    UNTOLD,
)  # fmt: skip
from gossamer.rank.surfers import MODELS, same_depths

SHARE: Final = 0.9
QS: Final = tuple(round(0.1 * n, 1) for n in range(1, 10))
_SHOWN_LEVELS: Final = 16
"""Rows of table 5.4."""
_FEW: Final = 10
"""Observations of a level below which nothing is plotted."""
_TOLD: Final = (
    (RELOADED, "pages loaded again: no view (rule 5)"),
    (FRAMED, "frames: no view (rule 6)"),
    (ADDED_BACK, "views added, by Referer: steps back from the cache (rule 8)"),
    (ADDED_FIRST, "views added, by Referer: first pages from the cache (rule 8)"),
    (EXPIRED, "sessions begun, as the last view is over 30 minutes old (rule 3)"),
    (ENTERED, "sessions begun, as the Referer is outside"),
    (UNTOLD, "sessions begun, as there is no Referer"),
)


@dataclass(frozen=True)
class Site:
    """What was found of one site, and the models fitted to it."""

    found: Gathered

    @property
    def name(self) -> str:
        return self.found.name

    @cached_property
    def visits(self) -> I64:
        return np.asarray(self.found.counts.visits.sum(0))

    @cached_property
    def squares(self) -> dict[str, Fitted]:
        """The models of the thesis, by least squares."""
        return {name: least_squares(MODELS[name], self.visits) for name in "ABC"}

    @cached_property
    def likely(self) -> dict[str, Fitted]:
        return {name: by_likelihood(MODELS[name], self.visits) for name in "ABC"}

    @cached_property
    def scores(self) -> list[Score]:
        return scored(self.found.counts)

    @property
    def best(self) -> Score:
        return self.scores[0]


def sites(found: Sequence[Gathered]) -> list[Site]:
    return [Site(each) for each in found]


def findings(found: Sequence[Gathered], share: float = SHARE) -> list[Finding]:
    """All that is shown of the logs of one or several sites."""
    shown = sites(found)
    full = [site for site in shown if site.found.counts.sessions]
    made = [summary(shown, share)]
    if full:
        made += [depths(full), fits(full, share), actions(full), entries(full)]
    return [*made, predicted()]


# --- what the logs hold, and how deep to crawl --------------------------------------------------------------------


def summary(shown: Sequence[Site], share: float) -> Finding:
    said = [sentence for site in shown for sentence in _about(site, share)]
    tables = (table_5_2(shown), rules(shown))
    return Finding(
        "sessions", "Sessions", "thesis 5.3, table 5.2", _setting(shown), tables, (), tuple(map(Sentence, said))
    )


def _setting(shown: Sequence[Site]) -> str:
    lines, size = sum(s.found.lines for s in shown), sum(s.found.bytes for s in shown)
    first = min((s.found.first for s in shown if s.found.first), default=0)
    last = max((s.found.last for s in shown), default=0)
    when = f", views from {_day(first)} to {_day(last)} (UTC)" if first else ""
    forms = sorted({form for site in shown for form in site.found.formats})
    return f"{lines:,} lines ({', '.join(forms)}; {size:,} bytes){when}"


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def _about(site: Site, share: float) -> Iterator[str]:
    found, counts = site.found, site.found.counts
    if not counts.sessions:
        yield f"{site.name}: no session of a user is left; the table of rules says where the lines went."
        return
    deep, model = counts.depth_for(share), site.best.fitted
    yield (
        f"{site.name}: crawl to depth {deep} for {share:.0%} of the visits "
        f"({counts.cumulated[deep]:.1%} of {counts.visited:,} visits lie there)."
    )
    depth = model.model.depth_for(model.values, share)
    b = site.squares["B"]
    yield (
        f"{site.name}: the model that foretells best is {model.model.title} ({_values(model)}); it says depth "
        f"{depth if depth is not None else 'without end'}. Model B of the thesis, q = {b.q:.2f}, says "
        f"{b.model.depth_for(b.values, share)}."
    )
    if found.hosts:
        yield f"{site.name}: pages of {', '.join(found.hosts)} are the site's own; other Referers are outside (--host)."
    if not found.has_referers:
        yield f"{site.name}: no Referers: each page counts as clicked on the one before, so depths are too great."
    if found.only_one_minute:
        yield (
            f"{site.name}: all times have the same minute, so no session ends by them: try --precision 1h --timeout 1h."
        )
    if found.left[Left.BAD]:
        yield f"{site.name}: {found.left[Left.BAD]:,} lines cannot be read: {'; '.join(found.bad)} …"
    for text in found.cut:
        yield f"{text}: read as far as it goes."
    if found.shared:
        yield (
            f"{site.name}: {found.shared:,} of {found.addresses:,} addresses of users have several User-Agents, which "
            "are told apart (rule 4): users behind proxies."
        )


def _values(fitted: Fitted) -> str:
    return ", ".join(f"{p.name} = {v:.3g}" for p, v in zip(fitted.model.parameters, fitted.values, strict=True))


def table_5_2(shown: Sequence[Site]) -> Table:
    columns = (
        Column("site"), Column("sessions", ",d"), Column("mean length", ".2f"), Column("mean maximum depth", ".2f"),
        Column("root entry", ".0%", bar=True), Column("one page only", ".0%", bar=True), Column("visits", ",d"),
        Column("clients", ",d"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for site in shown:
        counts = site.found.counts
        n = counts.sessions
        there = (
            (counts.length, counts.depth, counts.home / n, int(counts.lengths[:, 1].sum()) / n) if n else (None,) * 4
        )
        rows.append((site.name, n, *there, counts.visited, int(site.found.clients[Client.USER])))
    return Table("table-5.2", "Sites and sessions (table 5.2)", columns, tuple(rows))


def rules(shown: Sequence[Site]) -> Table:
    """Each line is in one row; then each view is."""
    rows: list[tuple[Cell, ...]] = [("lines", *(s.found.lines for s in shown))]
    rows += [(f"– {text}", *(int(s.found.left[why]) for s in shown)) for why, text in WHY.items()]
    rows.append(("page views", *(int(s.found.views.sum()) for s in shown)))
    rows += [(f"– of {text}", *(int(s.found.views[who]) for s in shown)) for who, text in OF_CLIENTS.items()]
    rows += [(text, *(int(s.found.counts.told[at]) for s in shown)) for at, text in _TOLD]
    rows.append(("visits in sessions", *(s.found.counts.visited for s in shown)))
    columns = (Column("what"), *(Column(site.name, ",d") for site in shown))
    return Table("rules", "What each rule left out", columns, tuple(rows))


# --- how deep visits are ----------------------------------------------------------------------------------------------


def depths(shown: Sequence[Site]) -> Finding:
    tables = (_by_level(shown), _laws(shown))
    plots = (fig_5_11(shown), fig_5_12(shown), fig_5_13(shown), fig_5_14(shown))
    return Finding(
        "depths", "Visits by level, lengths of sessions", "thesis 5.3.2, figures 5.11 to 5.14", "", tables, plots
    )


def _by_level(shown: Sequence[Site]) -> Table:
    deepest = min(max(site.found.counts.deepest for site in shown), MOST)
    columns = [Column("level")]
    for site in shown:
        columns += [Column(f"{site.name}: visits", ",d"), Column(f"{site.name}: cumulated", ".1%", bar=True)]
    rows = tuple(
        (str(level), *(c for s in shown for c in (int(s.visits[level]), float(s.found.counts.cumulated[level]))))
        for level in range(deepest + 1)
    )
    return Table("levels", "Visits by level", tuple(columns), rows)


def _laws(shown: Sequence[Site]) -> Table:
    columns = (
        Column("site"),
        Column("what"),
        Column("exponent", ".2f"),
        Column("error", ".2f"),
        Column("number", ",d"),
    )
    rows: list[tuple[Cell, ...]] = []
    for site in shown:
        for what, counted in (("session length", _lengths(site)), ("visits by level, from 1", site.visits)):
            fit = exponent(np.arange(1, len(counted)), 1, None, counted[1:])
            law = (fit.exponent, fit.error, fit.number) if fit is not None else (None,) * 3
            rows.append((site.name, what, *law))
    return Table("laws", "Power laws, by maximum likelihood", columns, tuple(rows))


def _lengths(site: Site) -> I64:
    return np.asarray(site.found.counts.lengths.sum(0))


def fig_5_11(shown: Sequence[Site]) -> Plot:
    series = (_line(s.name, s.found.counts.cumulated[: MOST + 1]) for s in shown)
    return Plot("fig-5.11", "Cumulated visits by level (figure 5.11)", "level", "share of the visits", tuple(series))


def fig_5_12(shown: Sequence[Site]) -> Plot:
    series = (_points(s.name, s.visits / s.visits.sum(), 0) for s in shown)
    return Plot("fig-5.12", "Visits by level (figure 5.12)", "level", "share of the visits", tuple(series), y_log=True)


def fig_5_13(shown: Sequence[Site]) -> Plot:
    series = []
    for site in shown:
        lengths = _lengths(site)
        there = lengths > 0
        mean = np.divide(site.found.counts.depth_by_length, lengths, out=np.zeros(len(lengths)), where=there)
        series.append(Series(site.name, np.flatnonzero(there).tolist(), mean[there].tolist(), "points"))
    title = "Length and mean depth of sessions (figure 5.13)"
    return Plot("fig-5.13", title, "visits of a session", "mean of the deepest levels", tuple(series))


def fig_5_14(shown: Sequence[Site]) -> Plot:
    series = (_points(s.name, _lengths(s) / _lengths(s).sum(), 1) for s in shown)
    title = "Length of sessions (figure 5.14)"
    return Plot(
        "fig-5.14", title, "visits of a session", "share of the sessions", tuple(series), x_log=True, y_log=True
    )


def _line(label: str, y: F64) -> Series:
    return Series(label, list(range(len(y))), y.tolist())


def _points(label: str, shares: F64, first: int) -> Series:
    there = np.flatnonzero(shares > 0)
    there = there[there >= first]
    return Series(label, there.tolist(), shares[there].tolist(), "points")


# --- models ---------------------------------------------------------------------------------------------------------


def fits(shown: Sequence[Site], share: float) -> Finding:
    said = []
    for site in shown:
        second = site.scores[1]
        said.append(
            f"{site.name}: {site.best.fitted.model.title} needs {site.best.visits:.4f} bits for a visit of "
            f"clients that it was not fitted to, the next ({second.fitted.model.title}) "
            f"{second.visits - site.best.visits:.4f} more."
        )
    tables = (table_5_3(shown), *(rivals(site, share, len(shown) > 1) for site in shown))
    plots = tuple(fig_5_18(site, len(shown) > 1) for site in shown)
    title, source = (
        "Models fitted to the visits",
        "thesis 5.4, table 5.3, figures 5.18 and 5.19; 2.1.4 and 9.2 for the rivals",
    )
    return Finding("fits", title, source, "", tables, plots, tuple(map(Sentence, said)))


def table_5_3(shown: Sequence[Site]) -> Table:
    columns = [Column("site")]
    for name in "BC":
        columns += [
            Column(f"{name}: q", ".3f"),
            Column(f"{name}: error", ".2%"),
            Column(f"{name}: q by likelihood", ".3f"),
        ]
    columns.append(Column("A: q as B", ".3f"))
    rows: list[tuple[Cell, ...]] = []
    for site in shown:
        cells: list[Cell] = [site.name]
        for name in "BC":
            cells += [site.squares[name].q, site.squares[name].error, site.likely[name].q]
        rows.append((*cells, same_depths(site.squares["B"].q)))
    return Table(
        "table-5.3", "Models B (and A) and C, fitted to cumulated visits (table 5.3)", tuple(columns), tuple(rows)
    )


def rivals(site: Site, share: float, many: bool) -> Table:
    counts = site.found.counts
    columns = (
        Column("model"), Column("parameters"), Column("bits per visit", ".4f"), Column("bits per session", ".4f"),
        Column("greatest distance", ".2%"), Column("mean length", ".2f"), Column(f"depth for {share:.0%}", "d"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        ("the log", "", None, None, None, counts.length, counts.depth_for(share)),
    ]
    number = counts.deepest + 1
    for each in site.scores:
        model, values = each.fitted.model, each.fitted.values
        far = float(np.abs(model.cumulated(values, number) - counts.cumulated[:number]).max())
        deep = model.depth_for(values, share)
        rows.append((model.title, _values(each.fitted), each.visits, each.sessions, far, model.length(values), deep))
    title = "Models, judged by the clients that they were not fitted to"
    name = f"models-{site.name}" if many else "models"
    return Table(name, f"{title}: {site.name}" if many else title, columns, tuple(rows))


def fig_5_18(site: Site, many: bool) -> Plot:
    number = max(min(site.found.counts.deepest, MOST), 3) + 1
    series = [Series(site.name, list(range(number)), site.found.counts.cumulated[:number].tolist(), "points")]
    for name in "BC":
        fitted = site.squares[name]
        series.append(_line(f"{name}, q = {fitted.q:.2f}", fitted.model.cumulated(fitted.values, number)))
    best = site.best.fitted
    if best.model.name not in "ABC":
        series.append(_line(best.model.title, best.model.cumulated(best.values, number)))
    title = "Models and visits (figures 5.18 and 5.19)"
    name = f"fig-5.18-{site.name}" if many else "fig-5.18"
    return Plot(name, f"{title}: {site.name}" if many else title, "level", "share of the visits", tuple(series))


# --- what users do next -------------------------------------------------------------------------------------------


def actions(shown: Sequence[Site]) -> Finding:
    title = "What users do next, by level"
    return Finding(
        "actions", title, "thesis 5.4, table 5.4 and figure 5.15", _mean(shown), (table_5_4(shown),), (fig_5_15(shown),)
    )


def _mean(shown: Sequence[Site]) -> str:
    return f"Mean of the shares of {len(shown)} sites." if len(shown) > 1 else ""


def shares_of_actions(shown: Sequence[Site]) -> tuple[I64, F64]:
    """By level how often users were there, and the share of each action: the mean over sites that have the level."""
    counted = [np.asarray(site.found.counts.actions.sum(0)) for site in shown]
    totals = np.asarray([each.sum(1) for each in counted])
    shares = [
        np.divide(e, t[:, None], out=np.zeros(e.shape), where=t[:, None] > 0)
        for e, t in zip(counted, totals, strict=True)
    ]
    there = (totals > 0).sum(0)
    return totals.sum(0), np.sum(shares, axis=0) / np.maximum(there, 1)[:, None]


def table_5_4(shown: Sequence[Site]) -> Table:
    number, shares = shares_of_actions(shown)
    levels = [level for level in range(_SHOWN_LEVELS) if number[level]]
    columns = (Column("level"), Column("observations", ",d"), *(Column(name, ".3f", bar=True) for name in ACTIONS))
    rows: list[tuple[Cell, ...]] = [(str(level), int(number[level]), *shares[level].tolist()) for level in levels]
    return Table("table-5.4", "Actions by level (table 5.4)", columns, tuple(rows))


def fig_5_15(shown: Sequence[Site]) -> Plot:
    number, shares = shares_of_actions(shown)
    levels = [level for level in range(_SHOWN_LEVELS) if number[level] >= _FEW]
    order = (0, JUMP, 3, 1, 4, 5, 6)
    series = (Series(ACTIONS[a], levels, shares[levels, a].tolist()) for a in order)
    return Plot("fig-5.15", "What users do next, by level (figure 5.15)", "level", "share", tuple(series))


# --- where sessions begin -----------------------------------------------------------------------------------------


def entries(shown: Sequence[Site]) -> Finding:
    series = []
    for site in shown:
        counts, many = site.found.counts, len(shown) > 1
        for what, sample in (("pages", counts.pages), ("entry pages", counts.entries)):
            found = sample.by_directories / max(1.0, float(counts.pages.by_directories.sum()))
            series.append(_line(f"{site.name}: {what}" if many else what, found))
    plot = Plot(
        "fig-5.16", "Pages and entry pages by directories (figure 5.16)", "directories in the path",
        "share of all different pages", tuple(series),
    )  # fmt: skip
    deepest = range(max(len(each.y) for each in series))
    rows: list[tuple[Cell, ...]] = [
        (each.label, *(float(each.y[d]) if d < len(each.y) else 0.0 for d in deepest)) for each in series
    ]
    columns = (Column("what"), *(Column(str(d), ".1%") for d in deepest))
    table = Table("entries", "Share of all different pages, by directories in the path", columns, tuple(rows))
    return Finding("entries", "Where sessions begin", "thesis 5.5, figure 5.16", "", (table,), (plot,))


# --- what the models say ----------------------------------------------------------------------------------------------


def predicted() -> Finding:
    plots = []
    for figure, name in (("5.6", "A"), ("5.8", "B"), ("5.10", "C")):
        model = MODELS[name]
        qs = [q for q in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7) if q < model.parameters[0].most]
        series = tuple(_line(f"q = {q}", model.cumulated((q,), 11)) for q in qs)
        plots.append(
            Plot(
                f"fig-{figure}",
                f"Model {name}: cumulated visits (figure {figure})",
                "level",
                "share of the visits",
                series,
            )
        )
    return Finding(
        "predicted",
        "What the models say",
        "thesis 5.2, table 5.1, figures 5.6, 5.8 and 5.10",
        "",
        (table_5_1(), _deep()),
        tuple(plots),
    )


def table_5_1() -> Table:
    names = "ABC"
    rows = tuple(
        (f"{q}", *(MODELS[n].length((q,)) if q < MODELS[n].parameters[0].most else None for n in names)) for q in QS
    )
    columns = (Column("q"), *(Column(f"model {name}", ".2f") for name in names))
    return Table("table-5.1", "Mean length of sessions (table 5.1)", columns, rows)


def _deep() -> Table:
    names = "ABC"
    rows = tuple(
        (f"{q}", *(MODELS[n].depth_for((q,), SHARE) if q < MODELS[n].parameters[0].most else None for n in names))
        for q in QS
    )
    return Table(
        "depths-5.2.4",
        "Depth for 90 % of the visits (5.2.4)",
        (Column("q"), *(Column(f"model {n}", "d") for n in names)),
        rows,
    )
