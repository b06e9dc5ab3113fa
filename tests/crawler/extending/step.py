"""A step in one file: after each commit, the number of visits of the tick is noted."""

from __future__ import annotations

from gossamer.crawler.tick import Phase, Stages, Step, Tick

NOTED: list[int] = []


def note(stages: Stages, tick: Tick) -> None:
    NOTED.append(len(tick.effects.visits))


NOTING = Step("the size of the tick is noted", note, Phase.AFTER, "tests/crawler/extending/step.py")
