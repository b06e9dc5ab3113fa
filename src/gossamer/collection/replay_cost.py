"""What a replay costs, about: for those who ask whether one is worth it, and need no compiler for that."""

from __future__ import annotations

from typing import Final

from gossamer.collection.manifest import Contents

PER_VISIT: Final = 30e-6
PER_PAGE: Final = 3e-6
"""Seconds to replay a visit and a new page, about."""
PER_BYTE: Final = 1e-9
"""Seconds to load a byte of an image, about."""


def replay_seconds(contents: Contents, image: bool = True) -> float:
    """Of the segments after the last image; of all, without it."""
    record = contents.image["record"] if contents.image and image else 0
    rows = {"visits": 0, "pages": 0}
    for line in contents.segments.values():
        if line["last_record"] > record:
            for path, said in line["files"].items():
                table = path.partition("/")[0]
                if table in rows:
                    rows[table] += said["rows"]
    return PER_VISIT * rows["visits"] + PER_PAGE * rows["pages"]
