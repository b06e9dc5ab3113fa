"""Commands on a collection as files: `config`, `stop`, `files`, `verify`, `compact` and `export`."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Final

import click

from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.escape import for_json, for_programs
from gossamer.base.units import human_size, plural, thousands
from gossamer.cli.command import PATH, argument, command, flag, unchecked


@command
@argument("place", "[DIR]", "Collection or settings file; without it, the defaults.", required=False)
@flag("--changes", help="Print only what differs from the defaults.")
@flag("--json", "as_json", help="Print JSON: durations in seconds, sizes in bytes.")
def config(place: Path | None, changes: bool, as_json: bool) -> None:
    """Print all settings, each with its meaning, range and default. The output is a valid crawl.toml."""
    from gossamer.collection.layout import SETTINGS
    from gossamer.config import Settings, dump, load, to_json

    if changes and place is None:
        raise UsageError("--changes needs a collection or a settings file", "Name it: gossamer config --changes DIR")
    if changes and as_json:
        raise UsageError("--changes and --json cannot be combined", "Leave one of them out.")
    path = place / SETTINGS if place is not None and place.is_dir() else place
    if path is not None and not path.exists():
        raise UsageError(f"{path}: no such file", "Name the folder of a collection or a settings file.")
    settings = Settings() if path is None else load(path)
    print(to_json(settings, indent=2) + "\n" if as_json else dump(settings, whole=not changes), end="")


@command
@argument("folder", "DIR", "Folder of the collection.")
@click.option("--wait", metavar="TIME", default="2min", help="Maximum time to wait for the stop.")
def stop(folder: Path, wait: str) -> None:
    """Stop the crawl in DIR cleanly: open requests end, and everything is committed and sealed."""
    from gossamer.cli.options import time_of
    from gossamer.collection.layout import require_collection, shard_folder
    from gossamer.collection.lock import holder, signalled

    require_collection(folder)
    patience = time_of("--wait", wait)
    shard = shard_folder(folder)
    try:
        process = signalled(shard, signal.SIGTERM)
    except PermissionError:
        found = holder(shard)
        cure = "Ask that user to stop it, or run this command as that user."
        raise UsageError(f"{folder}: process {found.pid if found else '?'} belongs to another user", cure) from None
    if process is None:
        print(f"{folder}: not running")
        return
    until = time.monotonic() + patience
    while time.monotonic() < until:
        running = holder(shard)
        if running is None or not running.alive:
            print(f"{folder}: stopped")
            return
        time.sleep(0.1)
    raise GossamerError(
        f"{folder}: process {process.pid} has not stopped within {wait}",
        f"Wait longer (--wait), or kill it with: kill -9 {process.pid}",
    )


@command
@argument("folder", "DIR", "Folder of the collection.")
@click.option("--table", help="Only this table, or warc (the archive), or cdx (its index).")
@flag("--json", "as_json", help="Print JSON.")
def files(folder: Path, table: str | None, as_json: bool) -> None:
    """List the files of DIR that its manifest names: with --table one path per line, else the tables with sizes."""
    from gossamer.collection.layout import ARCHIVE, INDEX
    from gossamer.read.sql.sources import File, find, nothing_sealed

    sources = find(folder)
    if note := nothing_sealed(sources):
        print(f"note: {note}; the next stop of the crawl seals it", file=sys.stderr)
    tables = sources.tables
    tables[ARCHIVE] = [
        File(path, 0, length, 0, "")
        for name, length in sources.archive_lengths().items()
        if (path := sources.shard / name).exists()
    ]
    if table is not None and table not in tables:
        raise UsageError(f"there is no table {table}", f"The tables are {', '.join(tables)}.")
    chosen = tables if table is None else {table: tables[table]}
    if as_json:
        described = {
            name: [{"path": str(f.path), "rows": f.rows, "bytes": f.bytes} for f in these]
            for name, these in chosen.items()
        }
        print(for_json(described if table is None else described[table]))
    elif table is not None:
        for file in chosen[table]:
            print(file.path, file=for_programs(sys.stdout))
    else:
        print(f"{'table':10}{'files':>8}{'rows':>16}{'bytes':>12}")
        for name, these in chosen.items():
            rows = "" if name in (ARCHIVE, INDEX) else thousands(sum(f.rows for f in these))
            print(f"{name:10}{len(these):>8}{rows:>16}{human_size(sum(f.bytes for f in these)):>12}")


SHOWN: Final = 50
"""Maximum number of errors that are printed."""


@command
@argument("folder", "DIR", "Folder of the collection; it may be running.")
@flag("--json", "as_json", help="Print one JSON object.")
@flag("--quick", help="Do not read the records of the archive.")
@flag("--repair", help="First cut off damage that prevents a resume.")
def verify(folder: Path, as_json: bool, quick: bool, repair: bool) -> None:
    """Check every checksum, reference and sum in DIR, and report what is wrong; exit code 1 if anything is."""
    from gossamer.cli.progress import Progress
    from gossamer.read.verify.verify import repaired
    from gossamer.read.verify.verify import verify as check

    if repair:
        for line in repaired(folder):
            print(f"Repaired: {line}.", file=sys.stderr)
    with Progress(sys.stderr) as progress:
        report = check(folder, quick, progress.doing)
    if as_json:
        print(for_json(report.as_json()))
    else:
        for fault in report.findings[:SHOWN]:
            print(fault)
        if report.wrong > SHOWN:
            print(f"… and {thousands(report.wrong - SHOWN)} more (--json prints up to a thousand).")
        for note in report.notes:
            print(f"Note: {note}")
        what = ", ".join(
            f"{human_size(n)} of {name.removesuffix(' bytes')}"
            if name.endswith(" bytes")
            else plural(n, name.removesuffix("s"))
            for name, n in report.checked.items()
        )
        verdict = "no errors" if report.good else plural(report.wrong, "error")
        print(f"{folder}: {verdict}. Checked {what}.")
    if not report.good:
        sys.exit(1)


@command
@argument("folder", "DIR", "Folder of the collection. It must not be running.")
def compact(folder: Path) -> None:
    """Merge the small segment files of DIR into larger ones, so that queries open fewer files. Every row stays."""
    from gossamer.read import compact as work

    done = work.compact(folder, lambda line: print(line, file=sys.stderr, flush=True))
    if done.segments == done.segments_before:
        print(f"{folder}: nothing to do; {plural(done.segments, 'segment')}, {human_size(done.bytes)}")
        return
    print(
        f"{folder}: {plural(done.segments_before, 'segment')} in {plural(done.files_before, 'file')} "
        f"({human_size(done.bytes_before)}) are now {thousands(done.segments)} in {thousands(done.files)} "
        f"({human_size(done.bytes)})"
    )


DEVICES: Final = (Path("/dev"), Path("/dev/fd"))
_MORE: Final = "left out: data that is committed and not sealed yet; --fresh includes it"


def _note_name(path: Path | None, endings: tuple[str, ...], kind: str) -> None:
    """Notes a name that promises another kind of file."""
    if path is None or str(path) == "-" or path.parent in DEVICES:
        return
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    if not name.endswith(endings):
        print(f"note: {path} will be {kind}, whatever its name says; usual is {endings[0]}", file=sys.stderr)


@command
@argument("folder", "DIR", "Folder of the collection.")
@click.option("--wacz", type=PATH, metavar="FILE", help="Write archive, index and pages, for replay.")
@click.option(
    "--jsonl",
    type=PATH,
    metavar="FILE",
    help="Write one JSON object per page; .gz and .zst compress; - is standard output.",
)
@click.option(
    "--where", metavar="SQL", default="", show_default=False, help="With --jsonl: only pages that meet this condition."
)
@flag("--links", help="With --jsonl: include the links of each page.")
@flag("--all", "everything", help="With --jsonl: include pages that say noindex or noarchive.")
@flag("--fresh", help="Include data that is committed and not sealed yet.")
@flag("--force", help="Overwrite FILE if it exists.")
@unchecked
def export(
    folder: Path,
    wacz: Path | None,
    jsonl: Path | None,
    where: str,
    links: bool,
    everything: bool,
    fresh: bool,
    force: bool,
    unchecked: bool,
) -> None:
    """Export the sealed data of DIR as WACZ (--wacz) or as JSON lines (--jsonl)."""
    from gossamer.cli.progress import Progress

    if (wacz is None) == (jsonl is None):
        raise UsageError("give either --wacz or --jsonl", "--wacz FILE for replay, --jsonl FILE for texts.")
    _note_name(wacz, (".wacz",), "a WACZ file")
    _note_name(jsonl, (".jsonl", ".ndjson"), "JSON lines")
    if wacz is not None:
        if where or links or everything:
            raise UsageError("--where, --links and --all need --jsonl", "A WACZ file contains the whole archive.")
        from gossamer.read.export import wacz as packing
        from gossamer.read.export.target import left_in_journal
        from gossamer.read.sql.sources import find

        with Progress(sys.stderr) as progress:
            described = packing.export(folder, wacz, force, progress=progress.doing, fresh=fresh, unchecked=unchecked)
        size = sum(int(one["bytes"]) for one in described["resources"])
        print(f"{wacz}: {plural(len(described['resources']), 'file')}, {human_size(size)}", file=sys.stderr)
        if left_in_journal(find(folder), fresh):
            print(_MORE, file=sys.stderr)
        return
    from gossamer.read.export import jsonl as writing

    assert jsonl is not None
    with Progress(sys.stderr) as progress:
        made = writing.export(folder, jsonl, where, links, force, progress.doing, everything, fresh, unchecked)
    print(f"{jsonl}: {plural(made.pages, 'page')}", file=sys.stderr)
    if made.private:
        private = plural(made.private, "page that says", "pages that say")
        print(f"left out: {private} noindex or noarchive; --all includes them", file=sys.stderr)
    if made.unsealed:
        print(_MORE, file=sys.stderr)
