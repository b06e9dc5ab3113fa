"""runs.jsonl: a line for every run, with the settings that were in force and what was different from the run before.

For people and reports: recovery never reads it. It is written whole, beside the old one, so it is never torn.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from gossamer import __version__, config, disk
from gossamer.config.settings import Settings
from gossamer.errors import GossamerError, UsageError

RUNS: Final = "runs.jsonl"


def begin_run(shard: Path, settings: Settings, wall: float) -> list[str]:
    """Adds this run; returns the differences from the settings of the one before, one a line."""
    before = runs(shard)
    differences = _differences(before[-1]["settings"], settings) if before else []
    line = {
        "run": len(before) + 1, "started": wall, "version": __version__, "differences": differences,
        "settings": json.loads(config.to_json(settings)),
    }  # fmt: skip
    body = b"".join(json.dumps(each).encode() + b"\n" for each in [*before, line])
    disk.write_atomic(shard / RUNS, body)
    return differences


def _differences(before: dict[str, Any], settings: Settings) -> list[str]:
    try:
        return config.differences(config.from_json(json.dumps(before)), settings)
    except UsageError as error:  # a setting that another version had
        return [f"settings of another version: {error.message}"]


def runs(shard: Path) -> list[dict[str, Any]]:
    path = shard / RUNS
    if not path.exists():
        return []
    with disk.naming("read", path):
        lines = path.read_bytes().splitlines()
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        cure = "Remove it: only the settings of former runs are lost."
        raise GossamerError(f"{path} is damaged: {error}", cure) from error
