"""`gossamer files`: lists the files of a collection, for other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.escape import for_json, for_programs


def files(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    table: Annotated[
        str | None, typer.Option(help="Only this table, or warc (the archive), or cdx (its index).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the files of DIR that its manifest names: with --table one path per line, else the tables with sizes."""
    from gossamer.base.errors import UsageError
    from gossamer.base.units import human_size, thousands
    from gossamer.collection.layout import ARCHIVE, INDEX
    from gossamer.read.sql.sources import File, find, nothing_sealed

    sources = find(folder)
    if note := nothing_sealed(sources):
        print(f"note: {note}; the next stop of the crawl seals it", file=sys.stderr)
    tables = sources.tables
    tables[ARCHIVE] = [
        File(path, 0, length, 0, "")
        for name, length in sorted(sources.lengths().items())
        if name.startswith(f"{ARCHIVE}/") and (path := sources.shard / name).exists()
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
