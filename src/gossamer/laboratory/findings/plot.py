"""Draws plots as SVG and PNG, without a display.

The same plot gives the same bytes: no date, fixed identifiers. The colours are those of Okabe and Ito (2008), which
colour-blind people can distinguish; the eighth series uses the first colour again with another dash. Values of the
paper are dashed lines and hollow marks, in the colour of our series of the same name, else black. Texts are never
interpreted as formulas.

Cost: 0.5 s to import matplotlib, 0.1 to 0.3 s per plot.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from gossamer.base.errors import GossamerError, to_install
from gossamer.base.escape import for_screen
from gossamer.laboratory.findings.finding import Plot, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F5F00")
DASHES: Final = ("-", (0, (6, 2)), (0, (2, 1.5)))
MARKS: Final = "osD^vPX"
_FEW_POWERS: Final = 200
"""Greatest ratio of the ends of an axis for which more than powers of ten are labelled."""
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MANY: Final = 500
"""Points of a series from which on they are small and let others shine through: each would hide its neighbours."""
_FAINT: Final = 0.4
_SIZE: Final = (8.0, 5.0)
_PER_INCH: Final = 120
_STYLE: Final[dict[Any, Any]] = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "gossamer",
    "font.size": 10.0,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
}


def as_svg(plot: Plot) -> bytes:
    return _draw(plot, "svg", {"Date": None, "Creator": None})


def as_png(plot: Plot) -> bytes:
    return _draw(plot, "png", {"Software": None})


def as_csv(plot: Plot) -> str:
    """All points of the plot: series, x, y."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(["series", plot.x, plot.y])
    for series in plot.series:
        label = f"{series.label} (paper)" if series.paper else series.label
        writer.writerows([label, f"{x:.9g}", f"{y:.9g}"] for x, y in zip(series.x, series.y, strict=True))
    return sink.getvalue()


def check() -> None:
    """Checks, before a long run, that plots can be made."""
    with _library():
        import matplotlib.figure  # noqa: F401


def _draw(plot: Plot, form: str, metadata: dict[str, str | None]) -> bytes:
    with _library():
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=_SIZE, dpi=_PER_INCH, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _fill(axes, plot)
        sink = io.BytesIO()
        figure.savefig(sink, format=form, metadata=metadata)
        return sink.getvalue()


@contextmanager
def _library() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise GossamerError(f"plots need matplotlib: {error}", to_install("lab")) from error


def _fill(axes: Axes, plot: Plot) -> None:
    axes.set_title(for_screen(plot.title))
    axes.set_xlabel(for_screen(plot.x))
    axes.set_ylabel(for_screen(plot.y))
    if plot.x_log:
        axes.set_xscale("log")
    if plot.y_log:
        axes.set_yscale("log")
    if plot.diagonal:
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=1.0, label="random (diagonal)", zorder=1)
    ours = [series for series in plot.series if not series.paper]
    for number, series in enumerate(ours):
        _add(axes, series, number, len(ours))
    colours = {series.label: COLOURS[number % len(COLOURS)] for number, series in enumerate(ours)}
    for number, series in enumerate(s for s in plot.series if s.paper):
        _add_paper(axes, series, number, colours.get(series.label, "black"))
    for axis, is_log in ((axes.xaxis, plot.x_log), (axes.yaxis, plot.y_log)):
        if is_log:
            _plain_powers(axis)
    if plot.diagonal or len(plot.series) > 1:
        axes.legend(loc="best")


def _add(axes: Axes, series: Series, number: int, count: int) -> None:
    style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "label": for_screen(series.label)}
    if series.kind == "bars":
        width = 0.8 / count
        axes.bar([x + (number + 0.5) * width - 0.4 for x in series.x], list(series.y), width, **style)
    elif series.kind == "points":
        dense = {"markersize": 3, "alpha": _FAINT} if len(series.x) > _MANY else {"markersize": 4}
        axes.plot(series.x, series.y, linestyle="none", marker=MARKS[number % len(MARKS)], **dense, **style)
    else:
        steps = "steps-post" if series.kind == "steps" else "default"
        dash = DASHES[number // len(COLOURS) % len(DASHES)]
        axes.plot(series.x, series.y, linestyle=dash, linewidth=1.6, drawstyle=steps, **style)


def _add_paper(axes: Axes, series: Series, number: int, colour: str) -> None:
    style: dict[str, Any] = {"color": colour, "label": for_screen(f"{series.label} (paper)"), "zorder": 5}
    style |= {"marker": MARKS[number % len(MARKS)], "markerfacecolor": "none"}
    if series.kind in ("points", "bars"):
        axes.plot(series.x, series.y, linestyle="none", markersize=8, **style)
    else:
        every = max(1, len(series.x) // 10)
        axes.plot(series.x, series.y, linestyle=(0, (4, 2)), linewidth=1.2, markersize=4, markevery=every, **style)


def _plain_powers(axis: Axis) -> None:
    """Labels such as 0.1, 10,000 and 10⁶; matplotlib's own labels would be formulas. An axis of few powers has labels
    at 2 and 5 times them, too, so that none has a single label."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if 0 < low < high < _FEW_POWERS * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
    axis.set_minor_formatter(NullFormatter())


def power(value: float) -> str:
    if 0.001 <= value <= 100_000:
        return f"{value:,g}"
    exponent = math.floor(math.log10(value) + 1e-9) if value > 0 else 0
    digit, power_of_ten = round(value / 10.0**exponent), f"10{str(exponent).translate(_RAISED)}"
    return power_of_ten if digit == 1 else f"{digit}·{power_of_ten}"
