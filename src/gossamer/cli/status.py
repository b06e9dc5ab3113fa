"""`gossamer status`: the status of a crawl, from the statistics that it last wrote; never loads the collection."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.escape import for_json


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the status of the crawl in DIR."""
    from gossamer.cli.status_text import lines
    from gossamer.observe.crawl_status import read_crawl_status

    found = read_crawl_status(folder)
    if as_json:
        print(for_json(found.to_json()))
        return
    for line in lines(found, folder, time.time()):
        print(line)
