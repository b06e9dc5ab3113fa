"""`gossamer compact`: merges many small segments into few."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def compact(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection. It must not be running.")],
) -> None:
    """Merge the small segment files of DIR into larger ones, so that queries open fewer files. Every row stays."""
    from gossamer.base.units import human_size, plural, thousands
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
