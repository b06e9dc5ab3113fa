"""The measurements, in one file: parts can be measured separately, and one page is made of all.

{"machine", "versions", "pages", "sizes", "wait", "runs": [a run of a crawler], "growth": {name: [a point]}}
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any, Final

RESULTS: Final = Path("bench/results/beside.json")


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"runs": [], "growth": {}}
    return found


def add(path: Path, runs: list[dict[str, Any]], growth: dict[str, list[dict[str, Any]]], **told: Any) -> None:
    """Adds results. They replace earlier runs of the same crawler on the same Web, and points of the same name."""
    found = load(path)
    new = {(run["web"], run["crawler"]) for run in runs}
    found["runs"] = [run for run in found["runs"] if (run["web"], run["crawler"]) not in new] + runs
    found["growth"] |= growth
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found | told, indent=1) + "\n")


def of(found: dict[str, Any], web: str, crawler: str) -> list[dict[str, Any]]:
    return [run for run in found["runs"] if (run["web"], run["crawler"]) == (web, crawler) and run["pages"]]


def middle(found: dict[str, Any], web: str, crawler: str, what: str) -> float | None:
    """The median over the repeats."""
    runs = of(found, web, crawler)
    return median(run[what] for run in runs) if runs else None
