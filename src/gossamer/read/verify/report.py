"""What `verify` finds: each with its place, what it means, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

MOST: Final = 1_000
"""Findings that are kept; all are counted."""

BACKUP: Final = "Restore the file from a backup."
REPORT: Final = "Nothing can be mended by hand: keep the folder, and report this as a fault of Gossamer."


@dataclass(frozen=True, slots=True)
class Finding:
    file: str
    """Relative to the shard's folder."""
    place: str
    """A line, an offset, a row; "" for the whole file."""
    wrong: str
    """What is wrong, and what it means."""
    cure: str

    def __str__(self) -> str:
        return f"{self.file}{', ' + self.place if self.place else ''}: {self.wrong}\n    {self.cure}"


@dataclass(slots=True)
class Report:
    findings: list[Finding] = field(default_factory=list)
    wrong: int = 0
    notes: list[str] = field(default_factory=list)
    """What was left out, and why: no fault."""
    checked: dict[str, int] = field(default_factory=dict)

    def add(self, *found: Finding) -> None:
        self.wrong += len(found)
        self.findings += found[: max(0, MOST - len(self.findings))]

    def add_some(self, found: Sequence[Finding], all_of_them: int) -> None:
        """Those that are told of `all_of_them`, all of one kind; and that there are more, if so."""
        self.add(*found)
        more = all_of_them - len(found)
        if more > 0 and found:
            self.add(Finding(found[-1].file, "", f"and {more:,} more of this kind", found[-1].cure))
            self.wrong += more - 1

    def count(self, what: str, number: int = 1) -> None:
        self.checked[what] = self.checked.get(what, 0) + number

    @property
    def good(self) -> bool:
        return not self.wrong

    def as_json(self) -> dict[str, Any]:
        found = [{"file": f.file, "place": f.place, "wrong": f.wrong, "cure": f.cure} for f in self.findings]
        return {"good": self.good, "wrong": self.wrong, "checked": self.checked, "notes": self.notes, "findings": found}
