"""The files about runs: runs.jsonl, clock.json, standing.json. Each is replaced as a whole, so it is never torn.

*runs.jsonl* has a line for every run, with its settings and their differences from the run before (`settings_of` a run,
of the last run, or of crawl.toml). Recovery never reads it. Lines end in a checksum like those of the manifest; lines
of old versions have none. A run is *settled* once the effects of its changed settings on known pages and sites are
committed. A run that was killed before that is not settled, so the next start compares its settings with those of all
runs back to the last settled one.

*clock.json* says how the collection computes wall time since the last boot of the machine (`clock.Reckoning`). It is
written at the start, before the first request, and after a correction; the state, too, knows the sum of corrections, so
a kill loses nothing. After a power cut there is a new boot, and the file is not valid. A missing or unreadable file is
treated like a new boot.

*standing.json* has the statistics of the crawl, and a checksum; the commit thread rewrites it. It is a cache for
people; recovery never reads it. A resumed run continues its curve of V(I) and its account of link scores from it, and
does without them if the file is lost. The lock's holder decides whether the crawl still runs, not this file. Only
`observe/statistics.py` knows what the keys mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from gossamer import __version__, config
from gossamer.base import disk
from gossamer.base.clock import Clock, Reckoning
from gossamer.base.errors import GossamerError, UsageError
from gossamer.collection import manifest
from gossamer.collection.layout import SETTINGS, require_collection, shard_folder
from gossamer.config.settings import Settings

RUNS: Final = "runs.jsonl"
CLOCK: Final = "clock.json"
STANDING: Final = "standing.json"
CURE: Final = "Restore it from a backup, or remove it: then only the settings of former runs are lost."
ANOTHER_VERSION: Final = "settings of another version"
Run = dict[str, Any]
_FIELDS: Final = {"run", "started", "version", "settled", "differences", "settings"}


def begin_run(
    shard: Path,
    settings: Settings,
    wall: float,
    differences: Sequence[str] | None = None,
    tables: Mapping[str, str] | None = None,
) -> list[str]:
    """Adds a line for this run; returns the differences stored in it: the given ones, or those computed here. The first
    run of a collection is settled from the start. `tables`: those that plug-ins fill, with their columns."""
    before = runs(shard)
    found = changes(before, settings) if differences is None else list(differences)
    line = {
        "run": len(before) + 1,
        "started": wall,
        "version": __version__,
        "settled": not before,
        "differences": found,
        "settings": json.loads(config.to_json(settings)),
        **({"tables": dict(tables)} if tables else {}),
    }
    _write(shard, [*before, line])
    return found


def settle_run(shard: Path) -> None:
    """Marks the last run as settled: the effects of its changed settings are committed."""
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
    """A line for each setting that differs from the last run, or from an earlier one back to the last settled run.

    `stored` replaces runs that cannot be read or were not recorded; `adapt` is applied to former settings.
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
    """The name of the setting in a line of `changes`, or `ANOTHER_VERSION`."""
    return line.partition(":")[0]


def runs(shard: Path) -> list[Run]:
    """All runs, in order; empty if none was recorded."""
    path = shard / RUNS
    if not path.exists():
        return []
    with disk.naming("read", path):
        lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        if not sound(line):
            raise GossamerError(f"{path} is damaged in line {number}", CURE)
    return [json.loads(line) for line in lines]


def tables_before(shard: Path) -> list[dict[str, str]]:
    """The tables that plug-ins filled in each run, with their columns (`plugins/rows.py`)."""
    return [run.get("tables", {}) for run in runs(shard)]


def sound(line: bytes) -> bool:
    """Whether a line of the file is as it was written."""
    if b',"checksum":"' in line:
        return manifest.decode(line.rstrip(b"\n") + b"\n") is not None
    try:
        run = json.loads(line)  # of an earlier version, without a checksum
        return isinstance(run.get("settings"), dict) and set(run) <= _FIELDS
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
    """The settings in the collection's crawl.toml, which the next run uses; the defaults if it has none. The canonical
    form of URLs is that of the collection."""
    require_collection(folder)
    path = folder / SETTINGS
    return in_form(config.load(path) if path.exists() else Settings(), manifest.url_form(shard_folder(folder)))


def in_form(settings: Settings, form: int) -> Settings:
    """The settings with the canonical form of URLs that a collection began with."""
    return replace(settings, seeder=replace(settings.seeder, url_form=form))


def read_reckoning(shard: Path) -> Reckoning | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        fields = json.loads((shard / CLOCK).read_bytes())
        return Reckoning(str(fields["boot"]), float(fields["ahead"]), float(fields.get("corrected", 0.0)))
    return None


def write_reckoning(shard: Path, reckoning: Reckoning) -> None:
    disk.write_atomic(shard / CLOCK, json.dumps(reckoning._asdict()).encode())


def go_on(shard: Path, clock: Clock, least: float, corrected: float = 0.0) -> bool:
    """Makes the clock continue the collection's wall time, whose latest value is `least`, and whose corrections add up
    to `corrected`. Returns False after a boot: then it is unknown whether stored times have passed."""
    before = read_reckoning(shard)
    found = clock.go_on(before, least, corrected)
    write_reckoning(shard, found)
    return before is not None and found.boot == before.boot != ""


def write_status(shard: Path, statistics: Mapping[str, Any]) -> None:
    disk.write_atomic(shard / STANDING, manifest.encode(dict(statistics)))


def read_status(shard: Path) -> Any:
    """What was last written. OSError if there is no such file, ValueError if it is damaged."""
    raw = (shard / STANDING).read_bytes()
    if not raw.endswith(b"\n"):  # an earlier version wrote it, without a checksum
        return json.loads(raw)
    found = manifest.decode(raw)
    if found is None:
        raise ValueError("its checksum is wrong")
    return found


def _differences(
    before: Run, now: Settings, stored: Settings | None, adapt: Callable[[Settings], Settings]
) -> list[str]:
    try:
        return config.differences(adapt(settings_of(before)), now)
    except UsageError as error:
        known = [] if stored is None else config.differences(adapt(stored), now)
        return [f"{ANOTHER_VERSION}: {error.message}", *known]


def _settled(run: Run) -> bool:
    """Old versions did not record this; their runs count as settled."""
    return bool(run.get("settled", True))


def _write(shard: Path, lines: Iterable[Run]) -> None:
    unsigned = ({name: value for name, value in line.items() if name != "checksum"} for line in lines)
    disk.write_atomic(shard / RUNS, b"".join(manifest.encode(line) for line in unsigned))
