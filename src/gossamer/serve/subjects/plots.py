"""The plots of the last report about a collection (`gossamer report`), if there is one where the command puts it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gossamer.serve.question import Asked

FRESH: Final = 10.0
MOST: Final = 40
LARGEST: Final = 4 << 20
"""Bytes of a plot that is shown, at most."""
SVG_HEADERS: Final = {"content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
"""Shown as a picture, nothing of it can run; opened alone, neither."""


def plots_of(asked: Asked) -> dict[str, Path]:
    """The files by name. They are listed, never made from what a request says."""
    return asked.seen.once("plots", FRESH, lambda: _listed(asked.web.folder))


def _listed(folder: Path) -> dict[str, Path]:
    whole = folder.resolve()
    for place in (whole.with_name(f"{whole.name}-report"), Path(f"{whole.name}-report")):
        if (place / "report.json").is_file():
            found = sorted(path for path in place.glob("*.svg") if _is_plain(path))
            return {path.stem: path for path in found[:MOST]}
    return {}


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST
