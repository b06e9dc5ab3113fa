"""clock.json: how the collection computes wall time since the last boot of the machine (`clock.Reckoning`).

It is written at the start, before the first request, and not changed during the run, so a kill cannot lose it. After a
power cut there is a new boot, and the file is not valid. A missing or unreadable file is treated like a new boot.
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
        fields = json.loads((shard / CLOCK).read_bytes())
        return Reckoning(str(fields["boot"]), float(fields["ahead"]))
    return None


def go_on(shard: Path, clock: Clock, least: float) -> bool:
    """Makes the clock continue the collection's wall time, whose latest value is `least`. Returns False after a boot:
    then it is unknown whether stored times have passed."""
    before = read_reckoning(shard)
    found = clock.go_on(before, least)
    disk.write_atomic(shard / CLOCK, json.dumps(found._asdict()).encode())
    return before is not None and found.boot == before.boot != ""
