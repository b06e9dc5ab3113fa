"""clock.json: how wall time is reckoned in this collection since the machine was booted (`clock.Reckoning`).

It is written at a start, before anything is asked, and stays as it is: a kill cannot lose it. After a power cut there
is another boot, and it does not count. Without it, or when it cannot be read, it is as after a boot.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.clock import Clock, Reckoning

CLOCK: Final = "clock.json"


def read_reckoning(shard: Path) -> Reckoning | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        said = json.loads((shard / CLOCK).read_bytes())
        return Reckoning(str(said["boot"]), float(said["ahead"]))
    return None


def go_on(shard: Path, clock: Clock, least: float) -> bool:
    """From now on the clock is the collection's, whose last time is `least`. False: as after a boot, nobody can tell
    whether stored times have passed."""
    before = read_reckoning(shard)
    found = clock.go_on(before, least)
    disk.write_atomic(shard / CLOCK, json.dumps(found._asdict()).encode())
    return before is not None and found.boot == before.boot != ""
