"""The picture of a crawl: lines for a terminal, made with rich from statistics and an activity, and nothing else.

The window decides how much is shown. Lines are cut at its width; rows go, the least important first, until they are
fewer than its lines. Every glyph of the bar is different, so that it can be read without colours (NO_COLOR).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TextIO

from rich.console import Console
from rich.text import Text

from gossamer.base.escape import for_screen
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.cli.history import History
from gossamer.cli.status_text import awaited_of, bandwidth_of, errors_of, left_of, next_of
from gossamer.cli.view import Activity, View
from gossamer.observe.statistics import PageCounts, Statistics

PARTS: Final = {
    "done": ("█", "green"),
    "excluded": ("▓", "blue"),
    "waiting": ("▒", "yellow"),
    "pending": ("░", "bright_black"),
}
"""The states of known pages, in the order of the bar, with their glyphs and colours."""
WIDEST: Final = 100
"""Columns: bars and sparklines do not grow beyond."""
SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MARGIN: Final = 8
"""Columns of the labels, with the space behind."""


LONG: Final = 60.0
"""Seconds: a site that lasts less is not worth a line."""


class Row(NamedTuple):
    label: str
    text: Text
    rank: int
    """0: shown in the smallest window."""


class Painter:
    """Makes the lines for one terminal, in the colours that it has."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False)

    def size(self) -> tuple[int, int]:
        """Columns and lines of the window now."""
        return self._console.size.width, self._console.size.height

    def lines(self, view: View, history: History, width: int, height: int) -> list[Text]:
        """Each narrower than `width`, and fewer than `height`."""
        rows = [*rows_of(view, history, max(MARGIN, width - 1 - MARGIN))]
        kept = sorted(range(len(rows)), key=lambda i: rows[i].rank)[: max(0, height - 1)]
        lines = [Text.assemble((f"{rows[i].label:>{MARGIN - 1}} ", "dim"), rows[i].text) for i in sorted(kept)]
        for line in lines:
            line.truncate(max(1, width - 1), overflow="ellipsis")
        return lines

    def painted(self, lines: list[Text]) -> list[str]:
        """With the control sequences for their colours."""
        if not lines:
            return []
        with self._console.capture() as captured:
            self._console.print(*lines, sep="\n", soft_wrap=True)
        return captured.get().splitlines()


def rows_of(view: View, history: History, width: int) -> Iterator[Row]:
    """`width`: columns of the texts."""
    if view.statistics is not None:
        yield from _counts(view.statistics, history, width)
        yield from _details(view.statistics)
    if view.activity is not None:
        yield Row("now", activity_of(view.activity, view.now, width), 0)
    elif view.statistics is not None:
        yield Row("now", Text(for_screen(awaited_of(view.statistics)), "bold"), 0)
        if following := next_of(view.statistics):
            yield Row("", Text(for_screen(following), "bold"), 1)


def _counts(statistics: Statistics, history: History, width: int) -> Iterator[Row]:
    pages, requests, run, rates = statistics.pages, statistics.requests, statistics.run, statistics.progress.rates
    yield Row("pages", bar_of(pages, min(width, WIDEST)), 1)
    yield Row("", legend_of(pages), 3)
    visits = Text(f"{thousands(requests.visits):<12}{rates.visits:>7.1f}/s    ")
    yield Row("visits", _with_bars(visits, history.visits, width), 1)
    size = f"{human_size(requests.bytes):<10}{human_size(max(0, rates.bytes)):>9}/s    "
    yield Row("bytes", _with_bars(Text(size), history.bytes, width), 4)
    if run.bandwidth is not None:
        yield Row("granted", Text(bandwidth_of(run.bandwidth)), 5)


def _details(statistics: Statistics) -> Iterator[Row]:
    sites, run = statistics.sites, statistics.run
    active = "" if run.sites_active is None else f", {thousands(run.sites_active)} active"
    slowed = f", {thousands(sites.slowed)} slowed" if sites.slowed else ""
    yield Row("sites", Text(f"{thousands(sites.known)}{active}{slowed}"), 5)
    yield Row("run", Text(", ".join(_run(statistics))), 4)
    for number, site in enumerate(site for site in sites.longest if site.seconds >= LONG):
        each = f"{plural(site.pages, 'page')}, one every {site.each:g} s: {human_time(site.seconds)}"
        yield Row("" if number else "slowest", Text(f"{for_screen(site.site)}: {each}"), 6 + 2 * number)
    if errors := errors_of(statistics.requests.outcomes):
        yield Row("errors", Text(", ".join(f"{thousands(count)} {word}" for word, count in errors), "red"), 2)
    yield Row("left", Text(for_screen(left_of(statistics.progress.left))), 2)


def _run(statistics: Statistics) -> Iterator[str]:
    uses = statistics.run.resources
    yield human_time(statistics.run.seconds)
    yield f"{thousands(statistics.requests.stored)} pages stored"
    yield plural(uses.open, "connection")
    if uses.rss is not None:
        yield f"{human_size(uses.rss)} of memory"


def bar_of(pages: PageCounts, width: int) -> Text:
    """The known pages by state, and the share of them for which nothing remains to be done."""
    settled = pages.done + pages.excluded
    share = f" {100 * settled // pages.known} %" if pages.known else ""
    said = f"{share} of {thousands(pages.known)} known"
    cells, bar = max(4, width - len(said)), Text()
    counts, drawn, so_far = dict(pages.parts()), 0, 0
    for state, (glyph, style) in PARTS.items():
        so_far += counts[state]
        until = round(cells * so_far / pages.known) if pages.known else 0
        bar.append(glyph * (until - drawn), style)
        drawn = until
    return bar.append(said)


def legend_of(pages: PageCounts) -> Text:
    counts, legend = dict(pages.parts()), Text()
    for state, (glyph, style) in PARTS.items():
        if counts[state]:
            legend.append("  " if legend else "").append(glyph, style).append(f" {_short(counts[state])} {state}")
    return legend


def activity_of(activity: Activity, now: float, width: int) -> Text:
    """A spinner, what is being done, how far it is, and for how long."""
    spin = SPINNER[int(5 * (now - activity.since)) % len(SPINNER)]
    text = Text(f"{spin} {activity.text(now, width - 3)} ", "bold")
    room = min(40, width - len(text))
    if activity.part is not None and room >= 10:
        done = round(room * min(1.0, max(0.0, activity.part)))
        text.append("█" * done, "green").append("░" * (room - done), "bright_black")
    return text


def _with_bars(text: Text, bars: Callable[[int], str], width: int) -> Text:
    room = min(width, WIDEST) - len(text)
    return text.append(bars(room), "cyan") if room >= 4 else text


def _short(n: int) -> str:
    return thousands(n) if n < 1_000_000 else f"{n / 1e6:.3g} M" if n < 999_500_000 else f"{n / 1e9:.3g} G"
