"""`gossamer doctor`: what to mend before a crawl."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.cli.command import argument, command, flag

if TYPE_CHECKING:
    from gossamer.doctor.check import Diagnosis, Patient


@command
@argument("folder", "[DIR]", "Folder of a collection, to look at it too.", required=False)
@click.option("--url", help="Request this URL once, to see whether the network reaches it.")
@flag("--json", "as_json", help="Print one JSON object.")
def doctor(folder: Path | None, url: str | None, as_json: bool) -> None:
    """Look for what would hurt a crawl, and say what to mend: machine, name servers, line, collection.

    Only your name servers are asked, for names that do not exist, and only the URL that you give is requested. Exit
    code 1: something is wrong.
    """
    from gossamer.cli.view import folded
    from gossamer.doctor.check import Level, examine
    from gossamer.doctor.table import CHECKS, OF_A_COLLECTION

    patient = _patient(folder, url)
    found: list[Diagnosis] = []
    for each in examine(CHECKS if folder is None else (*CHECKS, *OF_A_COLLECTION), patient):
        found.append(each)
        if not as_json:
            lines = [f"{each.level.value:>5}  {each.name}: {each.said}"] + [f"       {each.cure}"] * bool(each.cure)
            print("\n".join(folded(lines, sys.stdout)), flush=True)
    wrong = sum(each.level is Level.WRONG for each in found)
    if as_json:
        print(for_json({"wrong": wrong, "checks": [each.to_json() for each in found]}))
    sys.exit(1 if wrong else 0)


def _patient(folder: Path | None, url: str | None) -> Patient:
    from gossamer import config, urls
    from gossamer.collection.layout import SETTINGS, require_collection
    from gossamer.config.settings import Settings
    from gossamer.config.user import user_settings
    from gossamer.crawler.start import with_contact
    from gossamer.doctor.check import Patient

    canonical = urls.canonical(url) if url else ""
    if canonical is None:
        raise UsageError(f"--url {url}: not an http or https URL", "Write it like https://example.org/.")
    if folder is not None:
        require_collection(folder)
    path = None if folder is None else folder / SETTINGS
    settings = config.load(path) if path is not None and path.exists() else Settings()
    return Patient(with_contact(settings, user_settings()), folder, canonical)
