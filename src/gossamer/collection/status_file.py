"""Where a crawl stands, in one small JSON file that the commit thread renews: what `status` and `stop` read.

A cache for people, never read by recovery; a run goes on with its curve of V(I) and with what was spent since link
scores were last computed, and does without if the file is lost. Whether the crawl still runs is decided by the lock's
holder, not by what the file says.
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
    """The figures as last written, with `running` and `pid` as they are now."""
    require_collection(folder)
    shard = shard_folder(folder)
    try:
        standing: dict[str, Any] = json.loads((shard / STANDING).read_bytes())
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        why = "it was never crawled for a second" if missing else "it is damaged; the next run writes it anew"
        raise GossamerError(
            f"{folder} has no readable {STANDING}: {why}",
            f"Start or resume the crawl: gossamer crawl {folder}",
        ) from error
    found = holder(shard)
    standing["running"] = found is not None and found.alive
    standing["pid"] = found.pid if found is not None else None
    if not standing["running"] and not standing.get("ending"):
        standing["ending"] = "it was killed; what was committed is intact, and `gossamer crawl` goes on from there"
    return standing


def read_before(shard: Path) -> dict[str, Any]:
    """What the last run wrote, for a run that goes on from it; empty if that cannot be read: nothing depends on it."""
    try:
        found = json.loads((shard / STANDING).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
