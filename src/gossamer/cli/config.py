"""`gossamer config`: prints all settings, the defaults or those of a collection, in the form of crawl.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.errors import UsageError


def config(
    place: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Collection or settings file; without it, the defaults.")
    ] = None,
    changes: Annotated[bool, typer.Option("--changes", help="Print only what differs from the defaults.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: durations in seconds, sizes in bytes.")] = False,
) -> None:
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
