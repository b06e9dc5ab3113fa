"""A way to misbehave: what it is, how its pages must end, and how it is served.

`serve` is called with a request and the connection to answer on; it says whether the connection may be used again. It
needs nothing of the site around it, so that it can be put behind any host and path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from gossamer.webs.hostile.client import Client


class HostileRequest(NamedTuple):
    """A request."""

    host: str
    """Lower case, without port."""
    target: str
    fields: dict[str, str]
    """By lower-case name."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


Serve = Callable[[HostileRequest, Client], Awaitable[bool]]
"""Answers, or does not; whether the connection may be used again."""
End = str
"""How a page ends, in words: the outcome of its last try (`Outcome`), "site: " and why its whole site waits (`Aside`),
or "excluded: " and why (`Reason`)."""


class Door(Enum):
    """How a connection is taken."""

    OPEN = "http"
    UNANSWERED = "accepted by the kernel, and by nobody else"
    EXPIRED = "https with a certificate that has expired"
    SELF_SIGNED = "https with a certificate that it has signed itself"
    WRONG_NAME = "https with another site's certificate"
    OLD_TLS = "TLS 1.1 at most"
    STUCK = "https, but the handshake is never answered"

    @property
    def scheme(self) -> str:
        return "http" if self in (Door.OPEN, Door.UNANSWERED) else "https"

    @property
    def handshake(self) -> bool:
        """Whether TLS is spoken."""
        return self.scheme == "https" and self is not Door.STUCK


@dataclass(frozen=True)
class Behaviour:
    name: str
    """It is the name of its site, too: NAME.hostile.test."""
    what: str
    """A sentence for users."""
    ends: dict[str, tuple[End, ...]]
    """Target of each page that a crawl comes to know (a * at its end: of all that begin so), and how it may end after
    all tries. Start page and good pages apart."""
    serve: Serve
    section: str = ""
    """Of the thesis."""
    starts: tuple[str, ...] = ()
    """Targets that its start page links to; (): those of `ends`."""
    door: Door = Door.OPEN
    whole: bool = False
    """All of the site is like that, robots.txt and start page included."""
    robots: str = ""
    """Its robots.txt; "": it has none."""
    places: dict[str, str] = field(default_factory=dict)
    """Names of further sites, and their addresses: nobody may come there."""

    @cached_property
    def targets(self) -> tuple[str, ...]:
        return self.starts or tuple(target for target in self.ends if not target.endswith("*"))

    @property
    def words(self) -> list[str]:
        """Of all its ends, each once."""
        return list(dict.fromkeys(end for ends in self.ends.values() for end in ends))

    def ends_of(self, target: str) -> tuple[End, ...]:
        """How a page may end; (): it is none of ours. The longest that fits counts."""
        if target in self.ends:
            return self.ends[target]
        fitting = (known for known in self.ends if known.endswith("*") and target.startswith(known[:-1]))
        return self.ends.get(max(fitting, key=len, default=""), ())


def says(made: bytes | Callable[[], bytes], *, close: bool = False) -> Serve:
    """Always the same bytes, made when first needed."""

    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(made if isinstance(made, bytes) else made())
        return not close

    return serve


def by_path(answers: dict[str, bytes]) -> Serve:
    """Bytes for each path; the last for all others."""
    others = list(answers.values())[-1]

    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(answers.get(request.path, others))
        return True

    return serve


def made(answer: Callable[[HostileRequest], bytes]) -> Serve:
    """Bytes that depend on the request."""

    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(answer(request))
        return True

    return serve


def endless(before: bytes, again: bytes) -> Serve:
    """The same again, as long as the client reads."""

    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(before)
        while not client.left:
            client.write(again)
            await client.drain()
            await asyncio.sleep(0)
        return False

    return serve


async def silence(request: HostileRequest, client: Client) -> bool:
    """Until the client leaves."""
    await client.gone()
    return False


def one(name: str, what: str, end: End, serve: Serve, section: str = "") -> Behaviour:
    """A site with one bad page."""
    return Behaviour(name, what, {"/page": (end,)}, serve, section)


def several(name: str, what: str, end: End, answers: dict[str, bytes], section: str = "") -> Behaviour:
    """A site with a bad page at each of these paths; all end alike."""
    return Behaviour(name, what, dict.fromkeys(answers, (end,)), by_path(answers), section)
