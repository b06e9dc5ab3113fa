"""`gossamer export`: a collection as one file for others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

_MORE: Final = "left out: what is committed and not sealed yet; --fresh has it too"


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection.")],
    wacz: Annotated[Path | None, typer.Option(metavar="FILE", help="Archive, index and pages, for replay.")] = None,
    jsonl: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON object a page; .gz and .zst compress; - is the screen.")
    ] = None,
    where: Annotated[str, typer.Option(metavar="SQL", help="With --jsonl: only pages for which this holds.")] = "",
    links: Annotated[bool, typer.Option("--links", help="With --jsonl: the links of each page too.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --jsonl: also pages that say noindex or noarchive.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="With what is committed and not in a segment yet.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> None:
    """Export what is sealed of DIR, as WACZ (--wacz) or as JSON lines (--jsonl)."""
    from gossamer.base.errors import UsageError
    from gossamer.base.units import human_size, plural
    from gossamer.cli.verify import Steps

    if (wacz is None) == (jsonl is None):
        raise UsageError("name one kind of export", "--wacz FILE for replay, --jsonl FILE for texts.")
    if wacz is not None:
        if where or links or everything:
            raise UsageError("--where, --links and --all are for --jsonl", "WACZ has the whole archive.")
        from gossamer.read.export import wacz as packing
        from gossamer.read.export.target import left_in_journal
        from gossamer.read.sql.sources import find

        with Steps(sys.stderr) as steps:
            described = packing.export(folder, wacz, force, progress=steps.show, fresh=fresh)
        size = sum(int(one["bytes"]) for one in described["resources"])
        print(f"{wacz}: {plural(len(described['resources']), 'file')}, {human_size(size)}", file=sys.stderr)
        if left_in_journal(find(folder), fresh):
            print(_MORE, file=sys.stderr)
        return
    from gossamer.read.export import jsonl as writing

    assert jsonl is not None
    with Steps(sys.stderr) as steps:
        made = writing.export(folder, jsonl, where, links, force, steps.show, everything, fresh)
    print(f"{jsonl}: {plural(made.pages, 'page')}", file=sys.stderr)
    if made.private:
        left = plural(made.private, "page that says", "pages that say")
        print(f"left out: {left} noindex or noarchive; --all has them too", file=sys.stderr)
    if made.unsealed:
        print(_MORE, file=sys.stderr)
