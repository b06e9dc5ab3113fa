"""The command `forget`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.base.units import human_size, plural
from gossamer.cli.command import argument, command, flag

if TYPE_CHECKING:
    from gossamer.collection.forgetting.tombstones import Forgotten, Tombstone
    from gossamer.crawler.forgetting import Done
    from gossamer.read.forget import Planned


@command
@argument("folder", "DIR", "Folder of the collection; its crawl may be running.")
@argument("targets", "[URL|SITE]…", "Pages by their URLs, whole sites by their names.", nargs=-1, type=str)
@click.option("--reason", default="", show_default=False, help="Why: it is stored, and shown by `gossamer explain`.")
@flag("--dry-run", help="Print what would be removed, and change nothing.")
@flag("--list", "list_all", help="Print what was forgotten: when, why and how much.")
@flag("--yes", help="Do not ask; also keep out what is not known yet.")
@flag("--json", "as_json", help="Print one JSON object.")
def forget(
    folder: Path, targets: tuple[str, ...], reason: str, dry_run: bool, list_all: bool, yes: bool, as_json: bool
) -> None:
    """Remove pages or whole sites from DIR, from archive, texts and tables, and keep them out from then on.

    A crawl that runs keeps them out at once, and removes them at its next start. Without a URL or SITE, finish an order
    that was interrupted, or that waits for the end of a crawl.
    """
    from gossamer.base.compiled import CRAWL
    from gossamer.base.compiling import compile_ahead
    from gossamer.cli.progress import Progress
    from gossamer.read import forget as work

    if list_all:
        _list(work.listed(folder), as_json)
        return
    if not targets and not work.unfinished(folder):
        raise UsageError("nothing to forget is named", "Name pages or sites: gossamer forget DIR URL --reason TEXT")
    if targets and not reason and not dry_run:
        raise UsageError("--reason is missing", 'Say why, without a name: --reason "request of the owner, 2026-11-18"')
    with Progress(sys.stderr) as progress:
        progress.doing("reading the collection")
        planned = work.plan(folder, targets, reason) if targets else []
    if dry_run:
        if as_json:
            print(for_json({"would_remove": [each.as_json() for each in planned]}))
        else:
            _show(planned, sys.stdout)
        return
    if planned and not yes:
        _confirm(folder, planned)
    with Progress(sys.stderr) as progress:
        compile_ahead(CRAWL, progress.doing, progress.say)  # for the image, if no crawl has run with this version
        done = work.forget(folder, planned, progress.doing)
    _report(folder, planned, done, as_json)


def _show(planned: list[Planned], stream: TextIO) -> None:
    for each in planned:
        print(_sentence(each), file=stream)
        if each.linking:
            links = plural(each.linking, "other page links", "other pages link")
            print(f"  {links} to it: their archived copies name it, and stay as they are", file=stream)
        if each.outside is not None and each.outside.tombstone.number is not None:
            print(f"  checked as a link to another site: {_sentence(each.outside).rpartition(': ')[2]}", file=stream)
        for url in each.same:
            print(f"  the same content is also at {url}, and stays there", file=stream)


def _sentence(planned: Planned) -> str:
    tombstone, before = planned.tombstone, planned.before
    if before is not None:
        return f"{tombstone.name}: {before.told()}"
    if tombstone.number is None:
        return f"{tombstone.name}: not known; it is kept out"
    return f"{tombstone.name}: {_amount(tombstone)}"


def _amount(tombstone: Tombstone) -> str:
    records = plural(tombstone.records, "record")
    visits = plural(tombstone.visits, "visit")
    return f"{plural(tombstone.pages, 'page')}, {visits}, {records} ({human_size(tombstone.bytes)}) of the archive"


def _confirm(folder: Path, planned: list[Planned]) -> None:
    unknown = [each.tombstone.name for each in planned if each.tombstone.number is None and each.before is None]
    if not sys.stdin.isatty():
        if unknown:
            cure = "Check the spelling with `gossamer explain`. To keep it out all the same, give --yes."
            raise UsageError(f"{folder} does not know {unknown[0]}", cure)
        raise UsageError("what is forgotten is gone for good", "Look at it with --dry-run, then give --yes.")
    _show(planned, sys.stderr)
    click.confirm("Remove this for good?", abort=True, err=True)


def _report(folder: Path, planned: list[Planned], done: Done, as_json: bool) -> None:
    if as_json:
        said = {"forgotten": [_told(each) for each in done.tombstones], "note": done.note}
        print(for_json({**said, "planned": [each.as_json() for each in planned]}))
        return
    _show([each for each in planned if each.before is not None], sys.stdout)
    for each in done.tombstones:
        known = _amount(each) if each.number is not None else "it was not known, and is kept out"
        print(f"{'kept out from now on' if each.waits else 'forgotten'}: {known}")
    if any(each.waits for each in done.tombstones):
        print(
            "The crawl runs, and does not request this any more. What it has fetched is removed when it starts again: "
            f"gossamer stop {folder} && gossamer crawl {folder}"
        )
    if done.note:
        print(f"note: {done.note}", file=sys.stderr)


def _told(tombstone: Tombstone) -> dict[str, object]:
    names = ("time", "reason", "site", "number", "pages", "visits", "records", "bytes")
    said = {name: getattr(tombstone, name) for name in names} | {"fingerprint": f"{tombstone.fingerprint:016x}"}
    return said | {"waits": tombstone.waits}


def _list(forgotten: Forgotten, as_json: bool) -> None:
    if as_json:
        print(for_json({"forgotten": [_told(t) | {"finished": t.finished} for t in forgotten.tombstones]}))
        return
    if not forgotten:
        print("nothing was forgotten")
    for each in forgotten.tombstones:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.time))
        what = f"site {each.number}" if each.site else f"page {each.number}"
        what = what if each.number is not None else f"a {'site' if each.site else 'page'} that was not known"
        begun = "waits until the crawl stops" if each.waits else "not finished: gossamer forget DIR"
        state = "" if each.finished else f" ({begun})"
        print(f"{when}  {what}: {plural(each.pages, 'page')}, {plural(each.visits, 'visit')}; {each.reason}{state}")
