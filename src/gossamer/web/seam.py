"""The two protocols by which a crawl reaches the outside: the Web, and names.

The real ones are `Pool` and `Resolver`; `webs.simulated` has others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gossamer.base.model import Assignment
from gossamer.web.message import Results


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of looking up a name."""

    site: int
    host: str
    address: str | None
    """IP address as text; None if the name has none, or none that may be visited."""
    port: int = 0
    """Port to use instead of the URL's (`harvester.resolve`); 0: use the URL's."""
    ttl: float = 0.0
    """Seconds for which the answer holds."""
    error: str = ""
    """"forbidden" if none of its addresses may be visited; otherwise what failed."""
    addresses: tuple[str, ...] = ()
    """All addresses of the name that may be visited."""
    server: str = ""
    """The name server that was asked, successfully or not; "": none was."""


class Web(Protocol):
    """Takes assignments, and returns their results later."""

    @property
    def open(self) -> int:
        """Assignments in flight."""

    def free(self) -> int:
        """How many more assignments it can take now."""

    def assign(self, assignments: list[Assignment]) -> None: ...

    def results(self, timeout: float, gather: float = 0.0) -> Results:
        """The results that came, in order of worker and arrival. Waits at most `timeout` seconds for them.

        `gather`: seconds that pass, at least, between two calls that return something, so that results that arrive
        together are returned together. What may lead to a request at once ends it sooner: the answer to a name lookup,
        a robots.txt or sitemap that leads to another.
        """

    def tell_time(self) -> None:
        """The clock was corrected: from now on, the archive has the corrected time."""

    def grant(self, speed: int) -> None:
        """Sets the bytes per second that may be read from now on; 0: no limit."""

    def received(self) -> int:
        """Bytes that were read so far, including those of open requests; 0 where they are not counted."""

    def warc_lengths(self) -> dict[str, int]:
        """Lengths of the archive files (relative to the shard folder) as of the results returned so far."""

    def stop(self, grace: float) -> Results:
        """Takes no more assignments: the open ones end within `grace` seconds or come back as RETURNED."""

    def cpu_seconds(self) -> float: ...


class Names(Protocol):
    """Takes names, and returns their answers later."""

    def ask(self, site: int, host: str, fresh: bool = False) -> None:
        """`fresh`: a name server is asked, whatever answer is kept."""

    def answers(self) -> list[Answer]: ...

    def forget(self) -> None:
        """Drops all answers: every question from now on goes to a name server."""

    @property
    def open(self) -> int:
        """Questions without an answer yet."""
