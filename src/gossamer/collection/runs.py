"""runs.jsonl: a line for every run, with the settings that were in force and what was different from the run before.

Recovery never reads it. It is written whole, beside the old one, so it is never torn. Lines end in a checksum, as those
of the manifest do; lines of old have none.

A run is *settled* once what its settings change about known pages and sites is committed. One that was killed before
that is not, so the next start compares its own settings with those of all runs back to the last one that is settled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from gossamer import __version__, config
from gossamer.base import disk
from gossamer.base.errors import GossamerError, UsageError
from gossamer.collection import manifest
from gossamer.collection.layout import SETTINGS, require_collection, shard_folder
from gossamer.config.settings import Settings

RUNS: Final = "runs.jsonl"
CURE: Final = "Restore it from a backup, or remove it: only the settings of former runs are lost."
ANOTHER_VERSION: Final = "settings of another version"
Run = dict[str, Any]


def begin_run(shard: Path, settings: Settings, wall: float, differences: Sequence[str] | None = None) -> list[str]:
    """Adds this run; returns the differences that it stores: those given, or those that are found. The first run of a
    collection is settled from the start."""
    before = runs(shard)
    found = changes(before, settings) if differences is None else list(differences)
    line = {
        "run": len(before) + 1,
        "started": wall,
        "version": __version__,
        "settled": not before,
        "differences": found,
        "settings": json.loads(config.to_json(settings)),
    }
    _write(shard, [*before, line])
    return found


def settle_run(shard: Path) -> None:
    """All that the settings of the last run change is committed."""
    found = runs(shard)
    if found and not _settled(found[-1]):
        found[-1]["settled"] = True
        _write(shard, found)


def changes(
    recorded: Sequence[Run],
    now: Settings,
    stored: Settings | None = None,
    adapt: Callable[[Settings], Settings] = lambda settings: settings,
) -> list[str]:
    """A line for each setting that is not what it was in the last run, or in one before it back to the settled one.

    `stored` stands for runs that cannot be read, or that were not recorded; `adapt` is applied to what was.
    """
    found: dict[str, str] = {}
    if not recorded and stored is not None:
        return config.differences(adapt(stored), now)
    for run in reversed(recorded):
        for line in _differences(run, now, stored, adapt):
            found.setdefault(setting_of(line), line)
        if _settled(run):
            break
    return list(found.values())


def setting_of(line: str) -> str:
    """The setting that a line of `changes` is about, or `ANOTHER_VERSION`."""
    return line.partition(":")[0]


def runs(shard: Path) -> list[Run]:
    path = shard / RUNS
    if not path.exists():
        return []
    with disk.naming("read", path):
        lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        if not sound(line):
            raise GossamerError(f"{path} is damaged in line {number}", CURE)
    return [json.loads(line) for line in lines]


def sound(line: bytes) -> bool:
    if b',"checksum":"' in line:
        return manifest.decode(line.rstrip(b"\n") + b"\n") is not None
    try:
        return isinstance(json.loads(line).get("settings"), dict)
    except (ValueError, AttributeError):
        return False


def settings_of(run: Run) -> Settings:
    """The settings that were in force in this run. UsageError if another version wrote a setting that is unknown."""
    return config.from_json(json.dumps(run["settings"]))


def settings_of_last_run(folder: Path) -> Settings:
    """The settings of the collection's last run; crawl.toml if there is no run, or another version made it."""
    try:
        return settings_of(runs(shard_folder(folder))[-1])
    except (IndexError, UsageError):
        return config.load(folder / SETTINGS)


def stored_settings(folder: Path) -> Settings:
    """The settings in the collection's crawl.toml, which the next run uses; the defaults if it has none."""
    require_collection(folder)
    path = folder / SETTINGS
    return config.load(path) if path.exists() else Settings()


def _differences(
    before: Run, now: Settings, stored: Settings | None, adapt: Callable[[Settings], Settings]
) -> list[str]:
    try:
        return config.differences(adapt(settings_of(before)), now)
    except UsageError as error:
        known = [] if stored is None else config.differences(adapt(stored), now)
        return [f"{ANOTHER_VERSION}: {error.message}", *known]


def _settled(run: Run) -> bool:
    """Runs from before this was recorded are."""
    return bool(run.get("settled", True))


def _write(shard: Path, lines: Iterable[Run]) -> None:
    kept = ({name: value for name, value in each.items() if name != "checksum"} for each in lines)
    disk.write_atomic(shard / RUNS, b"".join(manifest.encode(each) for each in kept))
