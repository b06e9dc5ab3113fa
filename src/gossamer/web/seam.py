"""What a crawl needs of the outside: the Web, and names. Real ones in `pool` and `resolver`, others simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gossamer.base.model import Assignment
from gossamer.web.message import Results


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a name."""

    site: int
    host: str
    address: str | None
    """IP address in text form; None when there is none, or none that may be visited."""
    port: int = 0
    """Port to use instead of the URL's (`harvester.resolve`); 0: the URL's."""
    ttl: float = 0.0
    """Seconds for which the address holds."""
    error: str = ""
    """"forbidden" when the only addresses are ones that must not be visited; else what failed."""
    addresses: tuple[str, ...] = ()
    """All that the name has and that may be visited."""
    server: str = ""
    """The name server that was asked for it, with success or without; "": none was."""


class Web(Protocol):
    @property
    def open(self) -> int:
        """Assignments in flight."""

    def free(self) -> int:
        """How many more may be assigned now."""

    def assign(self, assignments: list[Assignment]) -> None: ...

    def results(self, timeout: float, gather: float = 0.0) -> Results:
        """What came back, in order of worker and arrival. Waits at most `timeout` seconds for something to happen.

        `gather`: at least so many seconds pass between one call and the next that returns something, so that what
        arrives together is returned together.
        """

    def grant(self, speed: int) -> None:
        """Bytes a second that may be read from now on; 0: no limit."""

    def received(self) -> int:
        """Bytes that were read so far, by open requests too; 0 where nobody counts."""

    def warc_lengths(self) -> dict[str, int]:
        """Lengths of the archive files (relative to the shard folder) as of the results returned so far."""

    def stop(self, grace: float) -> Results:
        """No more assignments: open ones end within `grace` seconds or come back as RETURNED."""

    def cpu_seconds(self) -> float: ...


class Names(Protocol):
    def ask(self, site: int, host: str) -> None: ...

    def answers(self) -> list[Answer]: ...

    def forget(self) -> None:
        """Nothing that was said so far is kept: whatever is asked from now on goes to a name server."""

    @property
    def open(self) -> int:
        """Names asked for and not answered."""
