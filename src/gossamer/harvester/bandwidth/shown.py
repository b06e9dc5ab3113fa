"""What the part `speeds` shows in `gossamer sql`: a view of its own."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.config.settings import Settings
from gossamer.desk.shown import ImageView, Shown, columns_of
from gossamer.web.addresses import unpack


def _of_speeds(image: ImageView, settings: Settings) -> tuple[Array, ...]:
    """A row for each address that has answered, for each hour and kind of day."""
    rows, packed = np.asarray(image.array("speeds")).reshape(-1, 48), image.array("addresses").tobytes()
    known = np.flatnonzero(rows[:, 0])
    names = [unpack(packed[16 * row - 16 : 16 * row]) if row else None for row in known.tolist()]
    hours = np.arange(48)
    return (
        np.repeat(np.array(names, object), 48),
        np.tile(hours >= 24, len(known)),
        np.tile(hours % 24, len(known)),
        rows[known].reshape(-1),
    )


SHOWN: Final = (
    Shown(
        "speeds",
        columns_of("""
address VARCHAR IP address; null: all addresses together.
holiday BOOLEAN true: Saturdays, Sundays and the days of harvester.holidays; false: working days.
hour UTINYINT Full hour, 0 to 23; between two hours the speed is interpolated.
speed DOUBLE Bytes per second from the start of a request to the end of its answer.
"""),
        _of_speeds,
    ),
)
