"""What a check is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from gossamer.base.errors import GossamerError
from gossamer.config.settings import Settings


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Something that may matter."""
    WRONG = "wrong"
    """Something that will hurt a crawl."""


class Found(NamedTuple):
    level: Level
    said: str


def ok(said: str) -> Found:
    return Found(Level.OK, said)


def note(said: str) -> Found:
    return Found(Level.NOTE, said)


def wrong(said: str) -> Found:
    return Found(Level.WRONG, said)


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at."""

    settings: Settings = field(default_factory=Settings)
    """Settings of the collection, or the defaults with the user's contact."""
    folder: Path | None = None
    """The folder of a collection."""
    url: str = ""
    """What to request once; empty: nothing is requested."""

    @property
    def place(self) -> Path:
        """Where a crawl writes, or would."""
        return self.folder or Path.cwd()


class Check(NamedTuple):
    name: str
    function: Callable[[Patient], Found]
    cure: str
    """What to do unless it is ok."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check."""

    name: str
    level: Level
    said: str
    cure: str
    """Empty if it is ok."""

    def to_json(self) -> dict[str, Any]:
        return {"check": self.name, "level": self.level.value, "said": self.said, "cure": self.cure}


def examine(checks: Sequence[Check], patient: Patient) -> Iterator[Diagnosis]:
    """Runs the checks. A check that cannot be made is a note: it says nothing about a crawl."""
    for check in checks:
        try:
            level, said = check.function(patient)
        except (OSError, ValueError) as error:
            level, said = note(f"cannot be found out: {error}")
        except GossamerError as error:
            level, said = wrong(error.message)
        yield Diagnosis(check.name, level, said, "" if level is Level.OK else check.cure)
