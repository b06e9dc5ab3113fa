"""The desk: the state of a crawl in memory, composed of parts.

A *part* owns some of the state: its columns, its form in an image, its statistics, and what it explains. The desk knows
no part by name: `crawler/parts.py` lists them, and code that needs a part gets it by its class, `desk[Places]`. So a
new part is a class in one file and a row of that list.

Only `crawler/apply.py` changes durable state, from the effects of a tick; its exceptions are listed there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.outcomes import FOR_GOOD
from gossamer.collection.forgetting.tombstones import Forgotten
from gossamer.collection.forgetting.tombstones import read as read_tombstones
from gossamer.collection.image import Image, Parts
from gossamer.collection.journal.effects import Effects
from gossamer.config.settings import Settings
from gossamer.desk.applied import Applied
from gossamer.desk.columns import Columns, Layout
from gossamer.desk.shown import Shown

Array = npt.NDArray[Any]
P = TypeVar("P", bound="Part")
_AT_ONCE = 1 << 20
Declared = Mapping[str, Mapping[str, str]]
"""Columns with their types: by group (`page`, `site`, `origin`), then by name."""


class Part:
    """A part of the state. A subclass overrides the methods that it needs."""

    name: ClassVar[str]
    columns: ClassVar[Declared] = {}
    """The columns that it owns."""
    times: ClassVar[tuple[str, ...]] = ()
    """Its columns that are wall times, as `group.column`: they move with the clock. 0 and times without end stay."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Arrays that an image must contain so that this part can be loaded."""
    shown: ClassVar[tuple[Shown, ...]] = ()
    """What `gossamer sql` shows of it, from an image."""

    def __init__(self, desk: Desk) -> None:
        """`desk` already has its settings, its columns, and the parts that come before this part in the list."""

    def arrays(self) -> dict[str, Array | Parts]:
        """What an image stores of it besides the columns: views of memory, by file name."""
        return {}

    def meta(self) -> dict[str, Any]:
        """Its entries in the metadata of an image: values that JSON can hold."""
        return {}

    def fits(self, image: Image) -> bool:
        """Whether it can be loaded from the image under the current settings."""
        return all(name in image.arrays for name in self.needs)

    def load(self, image: Image) -> None:
        """Fills the empty part from an image. The columns are already loaded."""

    def follow(self, applied: Applied) -> None:
        """Takes what it needs from a tick, after everything else was applied. Functions in the tables of
        `crawler/apply.py` change most parts; this method is for a part that no other part depends on."""

    def statistics(self) -> Mapping[str, float]:
        """Its numbers for `status` and `--json`, if they are not shown elsewhere."""
        return {}

    def explain_page(self, page: int) -> Mapping[str, object]:
        """What this part adds to `gossamer explain` for the page."""
        return {}

    def explain_site(self, site: int) -> Mapping[str, object]:
        """What this part adds to `gossamer explain` for the site."""
        return {}


class Desk:
    """The columns, the parts, and the number and time of the last tick."""

    def __init__(self, settings: Settings, seed: int, kinds: Sequence[type[Part]], folder: Path | None = None) -> None:
        """`kinds`: the parts, each after the parts that it needs. `folder`: for data that does not fit into memory."""
        self.settings = settings
        self.seed = seed
        self.folder = folder
        self.forgotten = Forgotten() if folder is None else read_tombstones(folder)
        """What is kept out of the collection."""
        self.scope = urls.Scope.of(settings.seeder)
        self.columns = Columns(settings.collection.max_pages, settings.collection.max_sites, layout_of(kinds))
        self.tick = 0
        """Number of the last applied tick."""
        self.wall = 0.0
        """Wall time of the last applied tick: the crawl's time never goes back behind it."""
        self.corrected = 0.0
        """Sum of all corrections of the clock, in seconds."""
        self._parts: dict[type[Part], Part] = {}
        for kind in kinds:
            self._parts[kind] = kind(self)
        self.followers = tuple(part for part in self._parts.values() if type(part).follow is not Part.follow)
        """Parts that follow every tick."""

    def __getitem__(self, kind: type[P]) -> P:
        return cast(P, self._parts[kind])

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(self._parts.values())

    def believed(self, wall: float) -> float:
        """The wall time that counts: `wall`, but never before the last tick, even if the system clock was set back."""
        return max(wall, self.wall)

    def correct(self, seconds: float) -> None:
        """The clock is corrected: moves all stored times as far, so that no wait changes."""
        self.wall, self.corrected = self.wall + seconds, self.corrected + seconds
        groups = self.columns.groups()
        for group, _, name in (time.partition(".") for part in self.parts for time in part.times):
            _move(groups[group].used()[name], seconds)

    def effects(self, wall: float, monotonic: float) -> Effects:
        """Empty effects for the next tick. Wall time is rounded to the microsecond, as in the tables."""
        columns = self.columns
        return Effects(
            self.tick + 1,
            max(round(wall, 6), self.wall),
            monotonic,
            columns.site.count,
            columns.origin.count,
            columns.page.count,
        )


def _move(times: Array, seconds: float) -> None:
    """Adds seconds to wall times, piece by piece; 0 and `FOR_GOOD` stay."""
    most = min(FOR_GOOD, np.iinfo(times.dtype).max) if times.dtype.kind == "u" else FOR_GOOD
    for at in range(0, len(times), _AT_ONCE):
        piece = times[at : at + _AT_ONCE]
        moved = piece.astype(np.float64)
        finite = (moved > 0) & (moved < FOR_GOOD)
        moved[finite] = np.clip(moved[finite] + seconds, 1, most)
        piece[:] = moved


def layout_of(kinds: Sequence[type[Part]]) -> Layout:
    """All columns that these parts own, by group."""
    layout: Layout = {"page": {}, "site": {}, "origin": {}}
    for kind in kinds:
        for group, columns in kind.columns.items():
            twice = layout[group].keys() & columns.keys()
            assert not twice, f"{kind.__name__}: {group}.{twice} belongs to another part"
            layout[group] |= columns
    return layout


def fingerprints(texts: list[str], seed: int) -> npt.NDArray[np.uint64]:
    """Fingerprints of these texts."""
    return np.array([urls.fingerprint(text, seed) for text in texts], np.uint64)
