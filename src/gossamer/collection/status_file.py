"""standing.json: the statistics of a crawl, one small JSON object that the commit thread rewrites.

It is a cache for people; recovery never reads it. A resumed run continues its curve of V(I) and its account of link
scores from it, and does without them if the file is lost. The lock's holder decides whether the crawl still runs, not
this file. Only `observe/statistics.py` knows what the keys mean.
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
