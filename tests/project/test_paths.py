"""Files that docstrings and documents name exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.support.paths import ROOT

NAMED: Final = re.compile(r"`([a-z_0-9/]+\.py)`")
SOURCE: Final = ROOT / "src" / "gossamer"
FILES: Final = sorted(
    [
        *(path for folder in ("src", "tests", "bench", "fuzz") for path in (ROOT / folder).rglob("*.py")),
        *(ROOT / "docs").glob("*.md"),
        *ROOT.glob("*.md"),
    ]
)


def exists(name: str, where: Path) -> bool:
    """As a path from the root, from the package, or beside the file that names it."""
    return any((place / name).is_file() for place in (ROOT, SOURCE, where.parent, SOURCE / where.parent.name))


def test_the_files_that_are_named_exist() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in FILES
        for name in NAMED.findall(path.read_text())
        if not exists(name, path)
    ]
    assert missing == []


def test_names_of_files_are_found() -> None:
    assert sum(len(NAMED.findall(path.read_text())) for path in FILES) > 100
