"""`gossamer changes`: what became of pages."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag, unchecked

_KINDS = click.Choice(["new", "changed", "moved", "gone", "back"])


@command
@argument("folder", "DIR", "Folder of the collection; it may be running.")
@click.option("--since", metavar="TIME", help="Only events since then: a time ago (7d), or a date (2026-11-01).")
@click.option("--until", metavar="TIME", help="Only events before then, in the same form.")
@click.option("--site", "sites", metavar="SITE", multiple=True, help="Only pages of this site; repeatable.")
@click.option(
    "--kind",
    "kinds",
    type=_KINDS,
    metavar="KIND",
    multiple=True,
    help="Only events of this kind: new, changed, moved, gone or back; repeatable.",
)
@click.option("--rows", type=click.IntRange(min=1), default=100, help="Maximum number of events: the newest.")
@click.option("--lines", "most", type=click.IntRange(min=0), help="Maximum number of lines of a changed page; 0: none.")
@flag("--json", "as_json", help="Print one JSON object.")
@click.option("--atom", type=PATH, metavar="FILE", help="Write an Atom feed, for feed readers; - is standard output.")
@click.option("--html", type=PATH, metavar="FILE", help="Write a page that shows the lines; - is standard output.")
@unchecked
def changes(
    folder: Path,
    since: str | None,
    until: str | None,
    sites: tuple[str, ...],
    kinds: tuple[str, ...],
    rows: int,
    most: int | None,
    as_json: bool,
    atom: Path | None,
    html: Path | None,
    unchecked: bool,
) -> None:
    """Show which pages are new, changed (with the lines), moved, gone or back: the newest events first."""
    from gossamer.cli.view import folded
    from gossamer.read.changes import shown as showing
    from gossamer.read.changes.events import Choice, reading

    now = time.time()
    if as_json and (atom or html):
        raise UsageError("--json cannot be combined with --atom or --html", "Leave it out, or run the command twice.")
    choice = Choice(_moment("--since", since, now), _moment("--until", until, now), sites, kinds)
    if choice.since is not None and choice.until is not None and choice.since >= choice.until:
        raise UsageError(f"--since {since} is not before --until {until}", "Exchange the two.")
    words = " ".join(f"{name} {value}" for name, value in (("since", since), ("until", until)) if value)
    with reading(folder, unchecked) as events:
        counts = events.choose(choice)
        newest = events.newest(rows)
        if most != 0:
            newest = list(events.with_lines(newest, most or (100 if atom or html or as_json else 10)))
        shown = showing.Shown(folder.resolve().name, events.sources.contents.meta, words, counts, newest)
    if as_json:
        print(for_json(showing.as_json(shown)))
    for path, made in ((atom, showing.as_atom), (html, showing.as_html)):
        if path is not None:
            _write(path, made(shown, now))
    if not (as_json or atom or html):
        for line in folded(showing.lines(shown), sys.stdout):
            print(line)


def _write(path: Path, lines: Iterator[str]) -> None:
    """Replaces the file as a whole: a reader finds the old feed or the new one."""
    from gossamer.read.export.target import STANDARD, whole

    with whole(path, force=True) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
    if path != STANDARD:
        print(path, file=sys.stderr)


def _moment(option: str, text: str | None, now: float) -> float | None:
    """Seconds since 1970, from a time ago or a date."""
    from gossamer.base.dates import http_date
    from gossamer.base.units import Duration

    if text is None:
        return None
    try:
        return now - Duration.parse(text)
    except ValueError:
        pass
    if (date := http_date(text)) is None:
        raise UsageError(f"{option} {text} is neither a time ago nor a date", "Write 10min, 12h, 7d or 2026-11-01.")
    return date
