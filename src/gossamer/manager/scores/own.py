"""Scores and orders of plug-ins (`plugins.score`, `plugins.strategy`), from a process of their own, which may fail.

The process (`read/plugin_scores.py`) reads the collection, like any reader: it is above this layer, and nothing of it
is imported here. It may raise, hang or crash: that is told, and the numbers of before stay in force.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, Array
from gossamer.base.units import human_time
from gossamer.config.settings import PluginSettings
from gossamer.manager.scores.stored import PLUGIN, newest_scores, stored_table
from gossamer.plugins.find import Plugin

PROCESS: Final = "gossamer.read.plugin_scores"
LONGEST: Final = 600.0
"""Seconds that a plug-in may take for all pages."""


class Own(NamedTuple):
    """The plug-ins of link scores. `Own(*json)` is the same."""

    score: Plugin | None = None
    strategy: Plugin | None = None
    memory: int = 0

    @classmethod
    def of(cls, plugins: Sequence[Plugin], settings: PluginSettings) -> Own:
        """The plug-ins that the settings name: one of each kind at most."""
        by_kind = {each.kind: each for each in plugins}
        return cls(by_kind.get("score"), by_kind.get("strategy"), int(settings.memory))

    @classmethod
    def parse(cls, text: str) -> Own:
        score, strategy, memory = json.loads(text)
        return cls(score and Plugin(*score), strategy and Plugin(*strategy), memory)


NOBODY: Final = Own()


class Said(NamedTuple):
    """What a plug-in said of the pages."""

    values: F64 | None
    """A number for each page; None: something went wrong."""
    wrong: str = ""


def ask(shard: Path, plugin: Plugin, memory: int, pages: int, longest: float = LONGEST) -> Said:
    """Asks a plug-in for a number for each of the first `pages` pages; pages that it does not know of have 0."""
    with tempfile.TemporaryDirectory(prefix="gossamer-plugin-") as spilled:
        command = [sys.executable, "-P", "-m", PROCESS, str(shard), str(memory), spilled]
        given = json.dumps(plugin).encode()
        try:
            done = subprocess.run(command, input=given, stdout=subprocess.PIPE, timeout=longest, check=False)
        except subprocess.TimeoutExpired:
            return Said(None, f"{plugin.told()}: it took longer than {human_time(longest)}, and was ended")
    head, _, raw = done.stdout.partition(b"\n")
    if done.returncode or not head:
        how = f"by signal {-done.returncode}" if done.returncode < 0 else f"with exit code {done.returncode}"
        return Said(None, f"{plugin.told()}: its process ended {how}")
    if wrong := json.loads(head)["wrong"]:
        return Said(None, wrong)
    values = np.zeros(pages)
    found = np.frombuffer(raw, "<f8")[:pages]
    values[: len(found)] = found
    return Said(values)


class Asked:
    """What the plug-ins of a computation say. Where one fails, what it said before holds."""

    def __init__(self, shard: Path, own: Own, pages: int) -> None:
        self._shard, self._own, self._pages = shard, own, pages
        self.wrong: list[str] = []

    def score(self) -> F64:
        """The score of each page."""
        assert self._own.score is not None
        return self._asked(self._own.score, self._score_before)

    def order(self) -> tuple[F32, float]:
        """The number of each page in the order of the strategy, and that of pages found since."""
        if self._own.strategy is None:
            return np.zeros(0, np.float32), 0.0
        return self._asked(self._own.strategy, self._order_before).astype(np.float32), 0.0

    def _asked(self, plugin: Plugin, before: Callable[[], Array | None]) -> F64:
        said = ask(self._shard, plugin, self._own.memory, self._pages)
        if said.values is not None:
            return said.values
        self.wrong.append(said.wrong)
        values, known = np.zeros(self._pages), before()
        if known is not None:
            values[: len(known)] = known[: self._pages]
        return values

    def _score_before(self) -> Array | None:
        newest = newest_scores(self._shard)
        return stored_table(self._shard, newest.number, None).get(PLUGIN) if newest else None

    def _order_before(self) -> Array | None:
        newest = newest_scores(self._shard)
        return newest.scored.prepared if newest and newest.scored.prepare == PLUGIN else None
