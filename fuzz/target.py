"""The interface of a target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar


class Target(ABC):
    """A reader of bytes from outside. It is made once for many inputs."""

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]
    """Files and folders of `gossamer` whose lines should be reached."""
    words: ClassVar[tuple[bytes, ...]]
    """Words with a meaning to the reader, inserted at random."""
    longest: ClassVar[int] = 1 << 17
    """Maximum bytes of an input."""
    seconds: ClassVar[float] = 2.0
    """CPU time that an input may take."""
    megabytes: ClassVar[int] = 64
    """By how much peak memory may exceed that of the seeds."""

    @abstractmethod
    def seeds(self) -> list[bytes]: ...

    @abstractmethod
    def check(self, data: bytes) -> None:
        """Returns if everything holds; raises any exception if not."""

    def close(self) -> None:  # noqa: B027  # most have nothing to close
        pass
