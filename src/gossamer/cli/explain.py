"""`gossamer explain`: explains the state of a URL or of a site."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.escape import for_json


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    target: Annotated[str, typer.Argument(metavar="URL|SITE", help="A URL, or the name of a site.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Explain a URL or a site: whether it is known or why not, how it was found, its state, rank and visits."""
    from gossamer.base.errors import UsageError
    from gossamer.read.explain.answers import PageAnswer, SiteAnswer
    from gossamer.read.explain.page import explain_page
    from gossamer.read.explain.site import explain_site, is_site
    from gossamer.read.explain.text import lines_of

    answer: PageAnswer | SiteAnswer = explain_site(folder, target) if is_site(target) else explain_page(folder, target)
    if answer.get("url", answer.get("site")) is None:
        cure = "Give a URL like https://example.org/page, or a site like example.org."
        raise UsageError(f"{target!r} is neither an http or https URL nor the name of a site", cure)
    if as_json:
        print(for_json(answer))
        return
    for line in lines_of(answer, time.time()):
        print(line)
