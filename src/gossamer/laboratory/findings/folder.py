"""The folder of `--out`: CSV, SVG and PNG files, and a page that shows all findings ever added to the folder.

    NAME.json                    a finding; the page is made from all of them
    TABLE.csv  PLOT.csv          all numbers
    PLOT.svg  PLOT.png
    index.html  report.md        all findings; written again each time, last

Invariant: `an_interrupted_write_leaves_the_old_file_and_no_other`: a file is complete or absent, whenever the program
is interrupted. A finding is written after the files it refers to, the pages after the findings.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.base.escape import for_file, for_json
from gossamer.laboratory.findings import page, plot, table
from gossamer.laboratory.findings.finding import Finding, as_json, from_json

PAGE: Final = "index.html"
REPORT: Final = "report.md"


def prepare(folder: Path) -> None:
    """Checks, before a long run, that findings can be written to the folder."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", "Name a folder: a new one, or one with earlier findings.")
    plot.check()
    disk.make_directory(folder.absolute())


def add(folder: Path, finding: Finding) -> None:
    """Writes the files of a finding. Call `finish` to update the pages."""
    for each in finding.tables:
        write(folder / f"{for_file(each.name)}.csv", table.as_csv(each))
    for drawn in finding.plots:
        name = for_file(drawn.name)
        write(folder / f"{name}.csv", plot.as_csv(drawn))
        write(folder / f"{name}.svg", plot.as_svg(drawn))
        write(folder / f"{name}.png", plot.as_png(drawn))
    write(folder / f"{for_file(finding.name)}.json", for_json(as_json(finding), indent=1))


def finish(folder: Path, title: str, order: Sequence[str] = ()) -> None:
    """Writes the pages of all findings in the folder; the findings named in `order` come first, in that order."""
    found = read(folder)
    place = {name: number for number, name in enumerate(order)}
    found.sort(key=lambda f: (place.get(f.name, len(place)), f.name))
    write(folder / REPORT, page.as_markdown(title, found))
    write(folder / PAGE, page.as_html(title, found, lambda name: _read(folder / f"{for_file(name)}.svg")))


def read(folder: Path) -> list[Finding]:
    """All findings in the folder; other files are ignored."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(from_json(json.loads(path.read_bytes())))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def write(path: Path, content: str | bytes) -> None:
    """Writes a file atomically."""
    path = path.absolute()
    try:
        disk.write_atomic(path, content.encode() if isinstance(content, str) else content)
    except BaseException:
        disk.remove(path.with_name(path.name + disk.TEMPORARY))
        raise


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
