"""Collections as earlier versions left them."""

from __future__ import annotations

import json
from pathlib import Path

from gossamer.base import disk
from gossamer.collection import manifest
from gossamer.collection.layout import MANIFEST, SETTINGS, shard_folder
from gossamer.collection.runs import RUNS


def forget_form(folder: Path) -> None:
    """Removes the number of the canonical form from manifest, runs and settings: earlier versions did not write it."""
    shard = shard_folder(folder)
    for name in (MANIFEST, RUNS):
        lines = [json.loads(line) for line in (shard / name).read_bytes().splitlines()]
        for line in lines:
            line.pop("url_form", None)
            line.get("settings", {}).get("seeder", {}).pop("url_form", None)
            del line["checksum"]
        disk.write_atomic(shard / name, b"".join(map(manifest.encode, lines)))
    toml = folder / SETTINGS
    if toml.exists():
        kept = [line for line in toml.read_text().splitlines() if not line.startswith("url_form")]
        toml.write_text("\n".join(kept) + "\n")
