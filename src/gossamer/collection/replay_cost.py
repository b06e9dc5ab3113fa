"""An estimate of the time that a replay takes, without loading the compiler."""

from __future__ import annotations

from typing import Final

from gossamer.collection.manifest import Contents

PER_VISIT: Final = 30e-6
PER_PAGE: Final = 3e-6
"""Approximate seconds to replay a visit and a new page."""
PER_BYTE: Final = 1e-9
"""Approximate seconds to load a byte of an image."""


def replay_seconds(contents: Contents, image: bool = True) -> float:
    """Approximate seconds to replay the segments after the last image, or all segments if `image` is false."""
    record = contents.image["record"] if contents.image and image else 0
    rows = {"visits": 0, "pages": 0}
    for line in contents.segments.values():
        if line["last_record"] > record:
            for path, file in line["files"].items():
                table = path.partition("/")[0]
                if table in rows:
                    rows[table] += file["rows"]
    return PER_VISIT * rows["visits"] + PER_PAGE * rows["pages"]
