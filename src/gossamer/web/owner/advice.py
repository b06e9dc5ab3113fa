"""What `gossamer mine` tells: for each site the line that proves it, and where the line may stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gossamer.web.owner.key import Key
from gossamer.web.owner.proof import WELL_KNOWN, line


def lines(key: Key, path: Path, sites: Iterable[str]) -> Iterator[str]:
    """For people."""
    shown = list(sites)
    if not shown:
        yield "No site is claimed."
        return
    for site in shown:
        yield site
        yield f"  Add this line to https://{site}/robots.txt, or make it the file https://{site}{WELL_KNOWN}:"
        yield ""
        yield f"    {line(key.proof(site))}"
        yield ""
    yield f"Then crawl with `gossamer crawl URL --mine`. The key is {path}: keep it to yourself."


def as_json(key: Key, path: Path, sites: Iterable[str]) -> dict[str, Any]:
    """For programs."""
    return {
        "key": str(path),
        "sites": {
            site: {
                "line": line(key.proof(site)),
                "robots": f"https://{site}/robots.txt",
                "well_known": f"https://{site}{WELL_KNOWN}",
            }
            for site in sites
        },
    }
