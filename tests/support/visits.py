"""Random visits for the tests of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from gossamer.base.model import NONE, VISIT, Ask, Outcome

Array = npt.NDArray[Any]

SITES, PAGES = 8, 40
SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.integers(0, 12)


def made_visits(random: np.random.Generator, count: int) -> Array:
    """Visits of few sites and pages, so that several visits share one."""
    visits = np.zeros(count, VISIT)
    visits["ask"] = random.choice([Ask.PAGE, Ask.PAGE, Ask.PAGE, Ask.ROBOTS, Ask.SITEMAP, Ask.PROBE], count)
    visits["page"] = np.where(visits["ask"] == Ask.PAGE, random.integers(0, PAGES, count), NONE)
    visits["site"], visits["origin"] = random.integers(0, SITES, count), random.integers(0, SITES, count)
    visits["outcome"] = random.choice([Outcome.OK, Outcome.OK, *Outcome], count)
    visits["status"] = random.choice([0, 200, 404], count)
    visits["flags"] = random.integers(0, 1 << 13, count) & random.integers(0, 1 << 13, count)
    visits["time"], visits["start"] = random.uniform(1e9, 2e9, count), random.uniform(0, 1e3, count)
    visits["end"], visits["first"] = visits["start"] + random.uniform(0, 9, count), random.uniform(0, 5, count)
    visits["received"], visits["out_degree"] = random.integers(0, 1 << 20, count), random.integers(0, 99, count)
    visits["retry_after"] = random.choice([-1.0, 0.0, 30.0, 1e9], count)
    visits["digest"], visits["sketch"] = (
        random.integers(0, 4, count),
        random.integers(0, 2, count) * random.integers(0, 1 << 62, count),
    )
    visits["payload"] = random.integers(0, 2, (count, 1)) * random.integers(0, 256, (count, 20))
    visits["duplicate_of"] = np.where(random.integers(0, 2, count) == 0, NONE, random.integers(0, PAGES, count))
    visits["texts"] = random.integers(0, 2, visits["texts"].shape) * random.integers(0, 9, visits["texts"].shape)
    return visits
