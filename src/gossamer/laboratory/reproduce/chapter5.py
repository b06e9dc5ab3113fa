"""Chapter 5: sessions of users on a site, from access logs, and the models of surfers fitted to them.

The logs of the thesis are not public. Here are the logs that the user names, or one of a personal site with a blog that
is public (`semicomplete-2015.log.gz`), and logs that the models themselves make: there q must come back. Where there is
no log, the tables and figures that need one say so. Figure 5.17 is about a crawl of the demonstration Web.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gossamer.laboratory.findings.finding import Cell, Column, Finding, Plot, Sentence, Series, Table
from gossamer.laboratory.graphs.powerlaw import exponent
from gossamer.laboratory.report import make
from gossamer.laboratory.reproduce import chapter8
from gossamer.laboratory.reproduce.lab import Lab, number, percent, says
from gossamer.laboratory.sessions import made, present
from gossamer.laboratory.sessions.fit import by_likelihood, least_squares
from gossamer.laboratory.sessions.gather import Asked, Gathered, Show, gather, labels
from gossamer.laboratory.sessions.present import Site
from gossamer.laboratory.sessions.trace import ACTIONS
from gossamer.laboratory.sessions.walk import walk
from gossamer.rank.surfers import MODELS

SHARED: Final = Path("../shared/data/logs")
ENDINGS: Final = ("*.log", "*.log.gz")
TABLE_5_1: Final[dict[str, tuple[float, ...]]] = {
    "A": (1.13, 1.33, 1.75, 3.00),
    "B": (1.11, 1.25, 1.43, 1.67, 2.00, 2.50, 3.33, 5.00, 10.00),
    "C": (1.23, 1.56, 2.04, 2.78, 4.00, 6.25, 11.11, 25.00, 100.00),
}
"""For q = .1, .2 …; B at .7 is printed as 3.34."""
LENGTHS: Final = (2.08, 10.39)
"""Table 5.2: the least and the greatest mean length of the sessions of a site."""
DEPTHS: Final = (0.95, 3.56)
ROOT_ENTRY: Final = (0.01, 0.84)
QS_B: Final = (0.51, 0.79)
"""Table 5.3."""
QS_C: Final = (0.32, 0.63)
NEXT: Final = (0.457, 0.459, 0.462, 0.497, 0.514, 0.549, 0.555, 0.596)
"""Table 5.4: to go on, from level 0."""
MADE: Final = {"A": (0.2, 0.3, 0.4), "B": (0.3, 0.5, 0.7), "C": (0.2, 0.4, 0.6)}
HOUR: Final = 3600
SESSIONS: Final = 200_000
STEPS: Final = 100_000_000
WITHIN: Final = 0.01
THIRD: Final = 0.0005
NO_LOG: Final = (
    "There is no log, so nothing was computed: name one with --log FILE, or put NAME.log.gz into the folder that "
    "GOSSAMER_DATA names."
)

Statements = Callable[[Sequence[Site]], Sequence[Sentence]]


class Row(NamedTuple):
    """A table or figure of the chapter."""

    sentence: str
    source: str
    statements: Statements
    table: Callable[[Sequence[Site]], Table] | None = None
    plot: Callable[[Sequence[Site]], Plot] | None = None
    needs_log: bool = True


# --- statements ------------------------------------------------------------------------------------------------------


def _within(what: str, paper: tuple[float, float], ours: Sequence[tuple[str, float]], form: str) -> list[Sentence]:
    low, high = (format(each, form) for each in paper)
    return [
        says(f"{what} from {low} to {high}", f"{format(value, form)} ({name})", paper[0] <= value <= paper[1])
        for name, value in ours
    ]


def _lengths(sites: Sequence[Site]) -> list[Sentence]:
    return [
        *_within("mean length of sessions", LENGTHS, [(s.name, s.found.counts.length) for s in sites], ".2f"),
        *_within("mean maximum depth", DEPTHS, [(s.name, s.found.counts.depth) for s in sites], ".2f"),
        *_within(
            "root entry", ROOT_ENTRY, [(s.name, s.found.counts.home / s.found.counts.sessions) for s in sites], ".0%"
        ),
    ]


def _shallow(sites: Sequence[Site]) -> list[Sentence]:
    said = []
    for site in sites:
        counts = site.found.counts
        up_to_4, alone = float(counts.cumulated[4]), int(counts.lengths[:, 1].sum()) / counts.sessions
        said.append(says("80 to 95 % of the visits at depth 4 or less, at least", percent(up_to_4), up_to_4 >= 0.8))
        said.append(says("30 to 50 % of the sessions are one page only", percent(alone), 0.3 <= alone <= 0.5))
    return said


def _levels(sites: Sequence[Site]) -> list[Sentence]:
    said = []
    for site in sites:
        names = [score.fitted.model.name for score in site.scores]
        heavier = names.index("memory") < names.index("B")
        said.append(
            says(
                "visits by level follow a power law",
                f"the model whose levels do (memory) foretells {'better' if heavier else 'worse'} than model B",
                heavier,
            )
        )
    return said


def _not_deep(sites: Sequence[Site]) -> list[Sentence]:
    said = []
    for site in sites:
        lengths = site.found.counts.lengths.sum(0)
        many = int(lengths[10:].sum())
        if not many:
            said.append(Sentence("No session has ten visits."))
            continue
        mean = int(site.found.counts.depth_by_length[10:].sum()) / many
        long = float(lengths[10:] @ np.arange(10, len(lengths))) / many
        ours = f"sessions of ten visits or more have {long:.1f} visits and depth {mean:.1f}, in the mean"
        said.append(says("depth grows slower than length; even long sessions are not so deep", ours, mean < long / 2))
    return said


def _length_law(sites: Sequence[Site]) -> list[Sentence]:
    said = []
    for site in sites:
        lengths = site.found.counts.lengths.sum(0)
        fit = exponent(np.arange(1, len(lengths)), 1, None, lengths[1:])
        if fit is not None:
            ours = f"{fit.exponent:.2f} ± {fit.error:.2f}"
            said.append(
                says("session lengths are a power law with parameter almost -2", ours, abs(fit.exponent - 2) <= 0.2)
            )
    return said


def _fits(sites: Sequence[Site]) -> list[Sentence]:
    said = []
    for site in sites:
        b, c = site.squares["B"], site.squares["C"]
        said += _within("q of model B", QS_B, [(site.name, b.q)], ".2f")
        said += _within("q of model C", QS_C, [(site.name, c.q)], ".2f")
        worst = f"{100 * (b.error or 0):.2f} %"
        said.append(says("the error of model B is 5 % or less", worst, (b.error or 0) <= 0.0517))
        said.append(_b_or_c(site))
    return said


def _b_or_c(site: Site) -> Sentence:
    b, c = site.squares["B"].error or 0, site.squares["C"].error or 0
    ours = f"{100 * b:.2f} % and {100 * c:.2f} %"
    return says("model B has the smaller error, but for blogs", f"B and C: {ours}", b < c)


def _blogs(sites: Sequence[Site]) -> list[Sentence]:
    said = []
    for site in sites:
        b, c = site.squares["B"].error or 0, site.squares["C"].error or 0
        said.append(says("model C has the smaller error for blogs", f"B {100 * b:.2f} %, C {100 * c:.2f} %", c < b))
    return said


def _steps(sites: Sequence[Site]) -> list[Sentence]:
    observed, shares = present.shares_of_actions(sites)
    three = {ACTIONS[int(a)] for a in np.argsort(-shares[:5].sum(0))[:3]}
    said = [
        says(
            "next, jump and back are the most frequent",
            ", ".join(sorted(three)).lower(),
            three == {"Next", "Jump", "Back"},
        )
    ]
    for level in range(3):
        ours = float(shares[level, 0])
        said.append(
            says(
                f"to go on from level {level}: {number(NEXT[level])}",
                f"{number(ours)} of {observed[level]:,}",
                abs(ours - NEXT[level]) <= 0.05,
            )
        )
    return said


def _growing(sites: Sequence[Site]) -> list[Sentence]:
    observed, shares = present.shares_of_actions(sites)
    levels = np.flatnonzero(observed >= 30)[:8]
    if len(levels) < 3:
        return [
            Sentence(f"{len(levels)} levels were seen 30 times or more: too few to tell how the probability grows.")
        ]
    slope = float(np.polyfit(levels, shares[levels, 0], 1, w=np.sqrt(observed[levels]))[0])
    ours = f"{'rises' if slope > 0 else 'falls'} by {abs(slope):.3f} a level"
    low, high = float(shares[levels[:5], 0].min()), float(shares[levels[:5], 0].max())
    return [
        says("the probability to go on grows with the level", ours, slope > 0),
        says(
            "it lies between .45 and .6 in the first levels",
            f"{number(low)} to {number(high)}",
            low >= 0.45 and high <= 0.6,
        ),
    ]


def _entering(sites: Sequence[Site]) -> list[Sentence]:
    said = []
    for site in sites:
        found = site.found.counts.entries.by_directories
        top = float(found[:3].sum() / max(1.0, found.sum()))
        pages = site.found.counts.pages.by_directories
        all_top = float(pages[:3].sum() / max(1.0, pages.sum()))
        deepest = int(np.argmax(found)) if len(found) else 0
        ours = (
            f"{percent(top)} of the entry pages and {percent(all_top)} of all pages are in two directories or fewer, "
            f"most in {deepest}"
        )
        said.append(
            says("entry pages are in the first levels of directories only, fewer with each level", ours, top >= 0.9)
        )
    return said


# --- what needs no log --------------------------------------------------------------------------------------------


def _table_5_1(sites: Sequence[Site]) -> list[Sentence]:
    wrong = [
        f"{name} at {q}"
        for name, row in TABLE_5_1.items()
        for q, paper in zip(present.QS, row, strict=False)
        if abs(MODELS[name].length((q,)) - paper) > 0.00501
    ]
    return [says("22 mean lengths", "all the same" if not wrong else f"others for {', '.join(wrong)}", not wrong)]


def _of_models(name: str, q: float, depth: int) -> Statements:
    def said(sites: Sequence[Site]) -> list[Sentence]:
        ours = MODELS[name].depth_for((q,), 0.9)
        return [says(f"model {name}, q = {q}: 90 % of the visits up to depth {depth}", f"depth {ours}", ours == depth)]

    return said


def _figure(at: int) -> Callable[[Sequence[Site]], Plot]:
    return lambda sites: present.predicted().plots[at]


def simulated(lab: Lab) -> Finding:
    """Models in closed form and simulated, and fitted to logs that they make."""
    rows: list[tuple[Cell, ...]] = []
    back: list[tuple[Cell, ...]] = []
    series = []
    far, missed = 0.0, 0.0
    site = made.site()
    for at, (name, qs) in enumerate(MADE.items()):
        model = MODELS[name]
        for q in qs:
            lab.bench.show(f"model {name}, q = {q}", at / len(MADE))
            walked = walk(model, (q,), STEPS, lab.random_seed)
            exact = model.levels((q,), 31)
            distance = float(np.abs(walked.levels[:31] - exact).max())
            lengths = float(np.abs(walked.lengths[1:101] - model.lengths((q,), 100)).max())
            far = max(far, distance, lengths)
            rows.append((f"{name}, q = {q}", distance, lengths, model.length((q,)), walked.length))
            with tempfile.TemporaryDirectory(prefix="gossamer-made-") as folder:
                path = Path(folder) / "made.log"
                made.write(path, model, (q,), SESSIONS, lab.random_seed)
                found = gather([path], "made", Asked(site=lambda hosts: site))
            visits = found.counts.visits.sum(0)
            squares, likely = least_squares(model, visits), by_likelihood(model, visits)
            missed = max(missed, abs(squares.q / q - 1), abs(likely.q / q - 1))
            back.append(
                (
                    f"{name}, q = {q}",
                    found.counts.sessions,
                    found.counts.visited,
                    squares.q,
                    likely.q,
                    squares.q / q - 1,
                    likely.q / q - 1,
                )
            )
        series.append(
            Series(f"{name}, q = {qs[-1]}, simulated", list(range(21)), walked.levels[:21].tolist(), "points")
        )
        series.append(Series(f"{name}, q = {qs[-1]}", list(range(21)), exact[:21].tolist()))
    columns = (Column("model"), Column("greatest difference of a level", ".6f"), Column("of a length", ".6f"),
               Column("mean length", ".3f"), Column("simulated", ".3f"))  # fmt: skip
    fitted = (Column("model"), Column("sessions", ",d"), Column("visits", ",d"), Column("q, least squares", ".4f"),
              Column("q, likelihood", ".4f"),
              Column("difference", "+.2%"), Column("difference, likelihood", "+.2%"))  # fmt: skip
    return Finding(
        "models-5",
        "Models A, B and C, simulated, and found again in logs that they make",
        "Thesis, 5.2 and 5.4",
        f"{STEPS:,} visits of each model; logs of {SESSIONS:,} sessions, read like any log.",
        (Table("models-5-simulated", "Closed form and simulation", columns, tuple(rows)),
         Table("models-5-fitted", "q in logs made by the models", fitted, tuple(back))),
        (Plot("models-5", "Visits by level, in closed form and simulated", "level", "share of the visits",
              tuple(series), y_log=True),),
        (
            says("the closed forms of 5.2", f"simulations differ by {far:.5f} at most", far < THIRD),
            says("q, as the log was made", f"{100 * missed:.2f} % off at most", missed <= WITHIN),
        ),
    )  # fmt: skip


def ranked(lab: Lab) -> Finding:
    """Figure 5.17, of a crawl of a national demonstration Web or of given collections."""
    folder = lab.crawls.collection(0, chapter8.national(lab.random_seed))
    (found,) = make.report([folder], ["scores"], show=lab.bench.show)
    plots = [plot for plot in found.plots if plot.name == "scores-depth"]
    said: list[Sentence] = []
    for plot in plots:
        held = next(s for s in plot.series if "PageRank" in s.label)
        five = float(held.y[min(4, len(held.y) - 1)])
        said.append(says("the first five levels hold more than 80 % of the PageRank", percent(five), five > 0.8))
    return Finding(
        "fig-5.17", "Figure 5.17: PageRank by level", "Thesis, figure 5.17, page 94", found.setting,
        (), tuple(replace(plot, name="fig-5.17") for plot in plots), tuple(said),
    )  # fmt: skip


# --- parts of several tables and figures --------------------------------------------------------------------------


def _printed(sites: Sequence[Site]) -> Table:
    return present.table_5_1()


def _entries(sites: Sequence[Site]) -> Plot:
    return present.entries(sites).plots[0]


def _better(sites: Sequence[Site]) -> list[Sentence]:
    return [_b_or_c(site) for site in sites]


def _fitted(sites: Sequence[Site]) -> Plot:
    """The plot of the first site."""
    return present.fig_5_18(sites[0], False)


def _rivals(sites: Sequence[Site]) -> Table:
    return present.rivals(sites[0], present.SHARE, False)


# --- rows ------------------------------------------------------------------------------------------------------------

ROWS: Final[dict[str, Row]] = {
    "table-5.1": Row("Mean length of sessions by model.", "5.2.4", _table_5_1, _printed, None, False),
    "fig-5.6": Row("Model A: cumulated visits.", "5.2.1", _of_models("A", 0.4, 5), None, _figure(0), False),
    "fig-5.8": Row("Model B: cumulated visits.", "5.2.2", _of_models("B", 0.6, 4), None, _figure(1), False),
    "fig-5.10": Row("Model C: cumulated visits.", "5.2.3", _of_models("C", 0.6, 7), None, _figure(2), False),
    "table-5.2": Row("Sites and their sessions.", "5.3.1", _lengths, present.table_5_2),
    "fig-5.11": Row("Cumulated visits by level.", "5.3.2", _shallow, None, present.fig_5_11),
    "fig-5.12": Row("Visits by level.", "5.3.2", _levels, None, present.fig_5_12),
    "fig-5.13": Row("Length and depth of sessions.", "5.3.2", _not_deep, None, present.fig_5_13),
    "fig-5.14": Row("Length of sessions.", "5.3.2", _length_law, None, present.fig_5_14),
    "table-5.3": Row("Models B and C fitted.", "5.4", _fits, present.table_5_3),
    "table-5.4": Row("Actions by level.", "5.4", _steps, present.table_5_4),
    "fig-5.15": Row("Actions by level.", "5.4", _growing, None, present.fig_5_15),
    "fig-5.16": Row("Pages and entry pages by directories.", "5.5", _entering, None, _entries),
    "fig-5.18": Row("Models and visits.", "5.4", _better, None, _fitted),
    "fig-5.19": Row("Models and visits, of a blog.", "5.4", _blogs, _rivals, _fitted),
}  # fmt: skip


def reproduction(name: str) -> Callable[[Lab], Finding]:
    """The function that makes this table or figure."""
    return lambda lab: shown(name, lab)


def shown(name: str, lab: Lab) -> Finding:
    row = ROWS[name]
    kind, _, digits = name.partition("-")
    word = "Figure" if kind == "fig" else "Table"
    title, source = f"{word} {digits}: {row.sentence.rstrip('.')}", f"Thesis, {word.lower()} {digits}, {row.source}"
    if not row.needs_log:
        read: Sequence[Site] = ()
        setting = "In closed form."
    else:
        read = sites(lab)
        if not read:
            return Finding(name, title, source, "", (), (), (Sentence(NO_LOG),))
        setting = "; ".join(map(_about, read))
    return Finding(
        name,
        title,
        source,
        setting,
        (replace(row.table(read), name=name),) if row.table else (),
        (replace(row.plot(read), name=name),) if row.plot else (),
        tuple(row.statements(read)),
    )


def _about(site: Site) -> str:
    hourly = ", times exact to an hour, sessions end after an hour" if site.found.precision == HOUR else ""
    return f"{site.name}: {site.found.lines:,} lines, {site.found.counts.sessions:,} sessions{hourly}"


def sites(lab: Lab) -> Sequence[Site]:
    """The sites of the logs, read once; each log is of a site of its own."""
    paths = list(lab.logs) or known()
    if paths and not lab.sites:
        groups = [[path] for path in paths]
        found = [_gathered(group, name, lab.bench.show) for group, name in zip(groups, labels(groups), strict=True)]
        lab.sites.extend(site for site in present.sites(found) if site.found.counts.sessions)
    return lab.sites


def _gathered(group: Sequence[Path], name: str, show: Show) -> Gathered:
    """The sessions of a log; if its times have no minutes, lines of an hour keep their order."""
    found = gather(group, name, None, show)
    return gather(group, name, Asked(timeout=HOUR, precision=HOUR), show) if found.only_one_minute else found


def known() -> list[Path]:
    """Logs on disk: in the folder of the variable GOSSAMER_DATA, else in `../shared/data/logs`."""
    folder = Path(os.environ["GOSSAMER_DATA"]) if os.environ.get("GOSSAMER_DATA") else SHARED
    return sorted(path for ending in ENDINGS for path in folder.glob(ending))
