"""The duration of answers: latency and speed of a site vary from answer to answer (3.3, ERRATA).

The relative deviations are those of the thesis: 96 % for latency, 42 % for speed; both log-normal, with mean 1.
"""

from __future__ import annotations

import math
from itertools import cycle
from typing import Final

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import Site
from gossamer.webs.demo.sites import normal

DEVIATIONS: Final = (0.96, 0.42)
"""Standard deviations of latency and speed, relative to the mean of the site."""
DIFFERENT: Final = 4_093
"""Number of pairs of factors, which are used in turn; a prime."""
STEP: Final = 0.003
"""Seconds between the parts of a body that is sent slowly; a body that takes less is sent at once."""


def factors(seed: int) -> list[tuple[float, float]]:
    dice, out = Dice(seed, "factors"), []
    spread = [math.sqrt(math.log(1 + d * d)) for d in DEVIATIONS]
    for _ in range(DIFFERENT):
        both = zip(normal(dice), spread, strict=True)
        latency, speed = (math.exp(z * s - s * s / 2) for z, s in both)
        out.append((latency, speed))
    return out


class AnswerPace:
    """For each answer: the seconds before it, and the bytes of its body per `STEP` (0: all at once)."""

    def __init__(self, shape: Shape) -> None:
        self._next = cycle(factors(shape.seed) if shape.pace else [(1.0, 1.0)]).__next__

    def __call__(self, site: Site) -> tuple[float, int]:
        latency, speed = self._next()
        return site.timing.latency * latency, int(site.timing.speed * speed * STEP)
