"""`gossamer config`: every setting with its default, or those of a collection, as a crawl.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.errors import UsageError
from gossamer.collection.layout import SETTINGS
from gossamer.config import Settings, dump, load, to_json


def config(
    place: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A collection, or a settings file; default: the defaults.")
    ] = None,
    changes: Annotated[bool, typer.Option("--changes", help="Only what differs from the defaults.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON: durations in seconds, sizes in bytes.")] = False,
) -> None:
    """Print all settings, each with its meaning, range and default; it can be fed back as crawl.toml."""
    if changes and place is None:
        raise UsageError("--changes: of what?", "Name a collection: gossamer config --changes DIR")
    if changes and as_json:
        raise UsageError("--changes and --json do not go together", "Leave one of them out.")
    settings = Settings() if place is None else _settings_of(place)
    print(to_json(settings, indent=2) + "\n" if as_json else dump(settings, whole=not changes), end="")


def _settings_of(place: Path) -> Settings:
    path = place / SETTINGS if place.is_dir() else place
    if not path.exists():
        raise UsageError(f"{path}: no such file", "Name the folder of a collection, or a settings file.")
    return load(path)
