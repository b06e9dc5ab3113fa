"""`gossamer status`: where a crawl stands, from what it last wrote; never loads the collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gossamer.collection.standing import read_standing
from gossamer.units import human_size, human_time, thousands


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection.")],
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show where the crawl in DIR stands."""
    standing = read_standing(folder)
    if as_json:
        print(json.dumps(standing))
        return
    running = f"running (process {standing['pid']})" if standing["running"] else f"not running: {standing['ending']}"
    print(f"{folder}: {running}")
    print(
        f"  known {thousands(standing['known'])} = pending {thousands(standing['pending'])}"
        f" + waiting {thousands(standing['waiting'])} + done {thousands(standing['done'])}"
        f" + excluded {thousands(standing['excluded'])}"
    )
    print(
        f"  {thousands(standing['visits'])} visits, {thousands(standing['stored'])} pages stored, "
        f"{thousands(standing['sites'])} sites, {human_size(standing['bytes'])} in {human_time(standing['seconds'])}"
    )
    for word, count in standing["outcomes"].items():
        print(f"  {thousands(count):>12}  {word}")
    if standing.get("waits_until"):  # written when a crawl ends
        print(f"  next: something that waits is due at {standing['waits_until']}")
