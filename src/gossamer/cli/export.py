"""`gossamer export`: writes a collection to one file, for other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

_MORE: Final = "left out: data that is committed and not sealed yet; --fresh includes it"


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    wacz: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write archive, index and pages, for replay.")
    ] = None,
    jsonl: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write one JSON object per page; .gz and .zst compress; - is standard output."
        ),
    ] = None,
    where: Annotated[str, typer.Option(metavar="SQL", help="With --jsonl: only pages that meet this condition.")] = "",
    links: Annotated[bool, typer.Option("--links", help="With --jsonl: include the links of each page.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --jsonl: include pages that say noindex or noarchive.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Include data that is committed and not sealed yet.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")] = False,
) -> None:
    """Export the sealed data of DIR as WACZ (--wacz) or as JSON lines (--jsonl)."""
    from gossamer.base.errors import UsageError
    from gossamer.base.units import human_size, plural
    from gossamer.cli.progress import Steps

    if (wacz is None) == (jsonl is None):
        raise UsageError("give either --wacz or --jsonl", "--wacz FILE for replay, --jsonl FILE for texts.")
    if wacz is not None:
        if where or links or everything:
            raise UsageError("--where, --links and --all need --jsonl", "A WACZ file contains the whole archive.")
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
        private = plural(made.private, "page that says", "pages that say")
        print(f"left out: {private} noindex or noarchive; --all includes them", file=sys.stderr)
    if made.unsealed:
        print(_MORE, file=sys.stderr)
