"""The faults that `verify` finds: each with its place, its meaning, and the cure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

MOST: Final = 1_000
"""Maximum number of faults that are kept. All are counted."""

BACKUP: Final = "Restore the file from a backup."
REPAIR: Final = "Rebuild it: gossamer verify DIR --repair"
REPORT: Final = "This cannot be repaired by hand: keep the folder, and report this as a fault of Gossamer."


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a file."""

    file: str
    """Relative to the shard's folder."""
    place: str
    """A line, an offset or a row; "" for the whole file."""
    wrong: str
    """What is wrong, and what it means."""
    cure: str

    def __str__(self) -> str:
        return f"{self.file}{', ' + self.place if self.place else ''}: {self.wrong}\n    {self.cure}"


@dataclass(slots=True)
class VerifyReport:
    """What `verify` has checked, and the faults that it found."""

    findings: list[Fault] = field(default_factory=list)
    wrong: int = 0
    """Number of all faults."""
    notes: list[str] = field(default_factory=list)
    """What was not checked, and why. These are not faults."""
    checked: dict[str, int] = field(default_factory=dict)
    """How many things of each kind were checked."""

    def add(self, *faults: Fault) -> None:
        self.wrong += len(faults)
        self.findings += faults[: max(0, MOST - len(self.findings))]

    def add_some(self, faults: Sequence[Fault], total: int) -> None:
        """Adds the first faults of `total` of the same kind and, if there are more, a line with their number."""
        self.add(*faults)
        more = total - len(faults)
        if more > 0 and faults:
            self.add(Fault(faults[-1].file, "", f"and {more:,} more of this kind", faults[-1].cure))
            self.wrong += more - 1

    def count(self, what: str, number: int = 1) -> None:
        self.checked[what] = self.checked.get(what, 0) + number

    @property
    def good(self) -> bool:
        return not self.wrong

    def as_json(self) -> dict[str, Any]:
        faults = [asdict(fault) for fault in self.findings]
        told = {"good": self.good, "wrong": self.wrong, "checked": self.checked, "notes": self.notes}
        return told | {"findings": faults}
