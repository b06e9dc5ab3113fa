"""`gossamer explain`: why a URL or a site is as it is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.escape import for_json


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection.")],
    target: Annotated[str, typer.Argument(metavar="URL|SITE", help="A URL, or the name of a site.")],
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Explain a URL or a site: known or why not, where it was found, its state, its rank, its visits."""
    from gossamer.base.errors import UsageError
    from gossamer.read.explain.page import explain_page
    from gossamer.read.explain.site import explain_site, is_site
    from gossamer.read.explain.text import lines_of

    said = explain_site(folder, target) if is_site(target) else explain_page(folder, target)
    if said.get("url", said.get("site")) is None:
        cure = "Give a URL as in https://example.org/page, or a site as in example.org."
        raise UsageError(f"{target!r} is no http or https URL, and no name of a site", cure)
    if as_json:
        print(for_json(said))
        return
    for line in lines_of(said, time.time()):
        print(line)
