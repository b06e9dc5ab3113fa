"""The status file of a crawl: its statistics as one small JSON object, which the commit thread rewrites.

It is a cache for people and is never read by recovery. A run resumes its curve of V(I) and its account of link scores
from it, and does without if the file is lost. Whether the crawl still runs is decided by the holder of the lock, not
by this file. What the keys mean is known to `observe/statistics.py` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gossamer.base import disk

STANDING: Final = "standing.json"


def write_status(shard: Path, statistics: Mapping[str, Any]) -> None:
    disk.write_atomic(shard / STANDING, json.dumps(statistics).encode())


def read_status(shard: Path) -> Any:
    """What was last written. OSError if there is no such file, ValueError if it is damaged."""
    return json.loads((shard / STANDING).read_bytes())
