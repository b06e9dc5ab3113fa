"""Commands that steer a crawl, also while it runs: `add`, `again` and `steer`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.base.units import plural, thousands
from gossamer.cli.command import PATH, argument, command, flag

_COUNTS: Final = {
    "new": "new",
    "opened": "requested again",
    "open": "pending already",
    "forbidden": "not requested: robots.txt forbids it",
    "robots": "not requested: robots.txt forbids it",
    "excluded": "not requested: excluded by the settings (gossamer explain)",
    "full": "not taken: the site or the collection is full",
    "forgotten": "not taken: forgotten, and kept out (gossamer forget DIR --list)",
    "unusable": "not taken: unknown, or its URL cannot be a page",
}
"""The words for the counts of an order. Other names are reasons why pages are excluded."""


def _told(counts: dict[str, int]) -> str:
    parts = [(_COUNTS.get(name, f"not requested: {name}"), count) for name, count in counts.items() if count]
    return "; ".join(f"{thousands(count)} {words}" for words, count in parts) or "no page"


@command
@argument("folder", "DIR", "Folder of the collection; its crawl may be running.")
@argument("given", "[URL]…", "URLs to request.", nargs=-1, type=str)
@click.option("--seeds", type=PATH, multiple=True, help="File with one URL per line.")
@flag("--now", help="Wait for the answer of each page, and print its outcome.")
@click.option("--wait", metavar="TIME", default="5min", help="With --now: maximum time to wait.")
@flag("--json", "as_json", help="Print JSON: one object, or with --now one object per page and line.")
def add(folder: Path, given: tuple[str, ...], seeds: tuple[Path, ...], now: bool, wait: str, as_json: bool) -> None:
    """Add URLs to the crawl in DIR, now if it runs, otherwise for its next run. Known pages are requested again."""
    from gossamer.cli.options import time_of
    from gossamer.cli.progress import Progress
    from gossamer.read.steer.add import add, answers

    patience = time_of("--wait", wait)
    with Progress(sys.stderr) as progress:
        progress.doing("reading URLs")
        added = add(folder, given, seeds, progress.say, lambda part: progress.doing("adding", part), running=now)
    urls, (running, carried) = added.seeds.urls, added.delivered
    if as_json and not now:
        print(for_json({"urls": len(urls), "running": running, **carried, "skipped": list(added.seeds.complaints)}))
    elif not as_json:
        what = f": {_told(carried)}" if running else f"; the next run requests them: gossamer crawl {folder}"
        print(f"added {plural(len(urls), 'URL')}{what}", file=sys.stderr if now else sys.stdout)
    if not now:
        return
    try:
        for each in answers(folder, urls, patience):
            print(for_json(each._asdict()) if as_json else f"{each.outcome or each.state}  {each.url}", flush=True)
    except KeyboardInterrupt:
        print("the pages stay added, and are requested in their turn", file=sys.stderr)
        raise


@command
@argument("folder", "DIR", "Folder of the collection; its crawl may be running.")
@click.option("--url", "urls", metavar="URL", multiple=True, help="This page.")
@click.option("--site", "sites", metavar="SITE", multiple=True, help="Pages of this site.")
@click.option("--outcome", "outcomes", metavar="OUTCOME", multiple=True, help="Pages with this last outcome.")
@click.option("--older", metavar="TIME", help="Pages last visited longer ago than this, like 30d.")
@click.option("--where", metavar="SQL", help="Pages for which this condition on the view `pages` holds.")
@flag("--yes", help="Do not ask, if no filter is given.")
@flag("--json", "as_json", help="Print one JSON object.")
def again(
    folder: Path,
    urls: tuple[str, ...],
    sites: tuple[str, ...],
    outcomes: tuple[str, ...],
    older: str | None,
    where: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Request finished pages of DIR again: the pages that match all filters. robots.txt is still obeyed."""
    from gossamer.cli.options import time_of
    from gossamer.cli.progress import Progress
    from gossamer.read.steer.again import OUTCOMES, Filter, again

    for word in outcomes:
        if word not in OUTCOMES:
            raise UsageError(f"--outcome {word}: no such outcome", f"Outcomes: {', '.join(OUTCOMES)}.")
    which = Filter(urls, sites, outcomes, None if older is None else time_of("--older", older), where)
    if which == Filter() and not yes:
        _confirm(folder)
    with Progress(sys.stderr) as progress:
        progress.doing("choosing pages")
        (ended, others), (running, carried) = again(folder, which, lambda part: progress.doing("opening pages", part))
    for name, count in others.items():
        carried[name] = carried.get(name, 0) + count
    if as_json:
        print(for_json({"pages": len(ended), "running": running, **carried}))
    elif ended and not running:
        also = f"; {_told(carried)}" if carried else ""
        print(f"{plural(len(ended), 'page')} for the next run: gossamer crawl {folder}{also}")
    elif any(carried.values()):
        print(_told(carried))
    else:
        print(f"no page of {folder} matches")


def _confirm(folder: Path) -> None:
    if not sys.stdin.isatty():
        cure = "Give --yes to do that, or a filter such as --outcome or --older."
        raise UsageError(f"without a filter, all finished pages of {folder} are requested again", cure)
    click.confirm(f"Request all finished pages of {folder} again?", abort=True, err=True)


@command
@argument("folder", "DIR", "Folder of the collection; its crawl may be running.")
@argument("words", "[ORDER]…", "What is ordered; without it, orders are listed.", nargs=-1, type=str)
@flag("--all", "every", help="List also orders that are no longer in force.")
@flag("--json", "as_json", help="Print JSON: one object for an order, or one for each order that is listed.")
def steer(folder: Path, words: tuple[str, ...], every: bool, as_json: bool) -> None:
    """Give an order to the crawl in DIR, which holds until it is undone; or list the orders in force.

    \b
    pause, go, stop        request nothing; go on; end the run cleanly
    pages COUNT            end each run when it has stored so many pages
    time TIME              end each run after this time
    connections COUNT      have at most so many requests under way
    bandwidth SPEED        use at most this bandwidth; 0: no limit
    workers COUNT          have so many worker processes
    weight SCORE WEIGHT    give a score this weight in the value of pages
    block SITE             request nothing from a site
    slow SITE TIME         let at least this time pass between two requests to a site
    prefer SITE            plan pages of a site before all others
    free SITE              end all orders about a site
    undo NUMBER            undo an order: what was in force before it holds again
    """
    from gossamer.collection.steering import KINDS, since
    from gossamer.read.steer.order import order, orders_of, waiting_of

    if words:
        found = order(folder, words[0], words[1:], "gossamer steer")
        if as_json:
            print(for_json(found._asdict()))
        else:
            number = f"order {found.number}" if found.number else "the order"
            why = f": {found.words}" if found.words else ""
            print(f"{number} holds {found.holds}{why}")
        return
    rows = [*(row for row in orders_of(folder) if every or row.in_force), *waiting_of(folder)]
    for row in rows:
        text = " ".join(filter(None, (row.name, row.target, row.value)))
        when = since(row.time) if row.number else "for the next run"
        ended = "  (no longer)" if row.number and not row.in_force else ""
        line = f"{row.number or '-':>4}  {text:<40}  {row.who}, {when}{ended}"
        print(for_json(row._asdict()) if as_json else line)
    if not rows and not as_json:
        print(f"nothing is ordered in {folder}; orders: {', '.join(KINDS)}")
