"""`gossamer cite`: a crawl for papers."""

from __future__ import annotations

from pathlib import Path

from gossamer.base.escape import for_json
from gossamer.cli.command import argument, command, flag, unchecked


@command
@argument("folder", "DIR", "Folder of the collection; it may be running.")
@flag("--json", "as_json", help="Print one JSON object.")
@unchecked
def cite(folder: Path, as_json: bool, unchecked: bool) -> None:
    """Describe the crawl in DIR for a paper: a paragraph of methods, and BibTeX."""
    from gossamer.read.cite import cite as cited

    found = cited(folder, unchecked)
    if as_json:
        print(for_json(found.to_json()))
    else:
        print(f"{found.paragraph()}\n\n{found.bibtex()}")
