"""standing.json: the status of a crawl, one small file that the commit thread rewrites; `status` and `stop` read it.

It is for people; recovery never reads it. A resumed run continues its curve of V(I) and the processor time spent since
the last link scores from it, and does without them if the file is lost. The lock's holder decides whether the crawl
still runs, not this file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from gossamer.base import disk
from gossamer.base.errors import GossamerError
from gossamer.collection.layout import require_collection, shard_folder
from gossamer.collection.lock import holder

STANDING: Final = "standing.json"


def write_standing(shard: Path, figures: dict[str, Any]) -> None:
    disk.write_atomic(shard / STANDING, json.dumps(figures).encode())


def read_standing(folder: Path) -> dict[str, Any]:
    """The figures as last written, with the present `running` and `pid`."""
    require_collection(folder)
    shard = shard_folder(folder)
    try:
        standing: dict[str, Any] = json.loads((shard / STANDING).read_bytes())
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        why = "no crawl has run for a second yet" if missing else "it is damaged; the next run writes it again"
        raise GossamerError(
            f"{folder} has no readable {STANDING}: {why}",
            f"Start or resume the crawl: gossamer crawl {folder}",
        ) from error
    process = holder(shard)
    standing["running"] = process is not None and process.alive
    standing["pid"] = process.pid if process is not None else None
    if not standing["running"] and not standing.get("ending"):
        standing["ending"] = "it was killed; what was committed is intact, and `gossamer crawl` resumes from there"
    return standing


def read_before(shard: Path) -> dict[str, Any]:
    """The figures of the last run, for a resumed run; empty if they cannot be read: nothing depends on them."""
    try:
        figures = json.loads((shard / STANDING).read_bytes())
    except (OSError, ValueError):
        return {}
    return figures if isinstance(figures, dict) else {}
