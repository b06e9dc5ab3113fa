"""The account: how many visits of each kind were made, how many pages are stored, how many bytes were received."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.base.outcomes import Outcome
from gossamer.collection.image import Image, Parts
from gossamer.desk.desk import Desk, Part
from gossamer.desk.kernels import Tally

Array = npt.NDArray[Any]
COUNTERS = ("visits", "robots_visits", "sitemap_visits", "probe_visits", "stored", "bytes")


class Account(Part):
    """Counters of the whole crawl."""

    name = "account"
    needs = ("outcomes",)

    def __init__(self, desk: Desk) -> None:
        self.outcomes = np.zeros(len(Outcome), np.int64)
        """Visits of pages, by outcome."""
        self.visits = 0
        self.robots_visits = 0
        self.sitemap_visits = 0
        self.probe_visits = 0
        self.stored = 0
        """Pages in the archive."""
        self.bytes = 0
        """Bytes received."""

    def arrays(self) -> dict[str, Array | Parts]:
        return {"outcomes": self.outcomes}

    def meta(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COUNTERS}

    def load(self, image: Image) -> None:
        image.into("outcomes", self.outcomes)
        for name in COUNTERS:
            setattr(self, name, image.meta[name])

    def count(self, tally: Tally) -> None:
        self.visits += tally.made
        self.robots_visits += tally.robots
        self.sitemap_visits += tally.sitemaps
        self.probe_visits += tally.probes
        self.stored += tally.stored
        self.bytes += tally.received
