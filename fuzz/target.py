"""What a target is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar


class Target(ABC):
    """Something that reads bytes from outside. Made once for many inputs."""

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]
    """Files and folders of `gossamer` whose lines are to be reached."""
    words: ClassVar[tuple[bytes, ...]]
    """What means something to the reader: put in here and there."""
    longest: ClassVar[int] = 1 << 17
    """Bytes of an input."""
    seconds: ClassVar[float] = 2.0
    """Of processor time that an input may take."""
    megabytes: ClassVar[int] = 64
    """By which the peak of memory may outgrow that of the seeds."""

    @abstractmethod
    def seeds(self) -> list[bytes]: ...

    @abstractmethod
    def check(self, data: bytes) -> None:
        """Returns if all is as it must be; raises whatever it raises if not."""

    def close(self) -> None:  # noqa: B027  # most have nothing to close
        pass
