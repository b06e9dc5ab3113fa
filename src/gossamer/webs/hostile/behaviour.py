"""A behaviour: one way in which a server misbehaves, how its pages must end, and the function that serves it.

`serve` gets a request and the client to answer, and returns whether the connection may be used again. It needs nothing
of the site around it, so that it works behind any host and path.
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
    """A request to the hostile Web."""

    host: str
    """Lower case, without port."""
    target: str
    fields: dict[str, str]
    """By lower-case name."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


Serve = Callable[[HostileRequest, Client], Awaitable[bool]]
"""Answers a request, or does not; returns whether the connection may be used again."""
End = str
"""How a page ends, in words: the outcome of its last try (`Outcome`), "site: " and why its whole site waits (`Aside`),
or "excluded: " and why (`Reason`)."""


class Door(Enum):
    """How a site accepts connections."""

    OPEN = "http"
    UNANSWERED = "accepted by the kernel, but never read"
    EXPIRED = "https with an expired certificate"
    SELF_SIGNED = "https with a self-signed certificate"
    WRONG_NAME = "https with the certificate of another site"
    OLD_TLS = "TLS 1.1 at most"
    STUCK = "https, but the TLS handshake is never answered"
    DRIPPING = "https, but the TLS handshake is answered by a byte now and then"

    @property
    def scheme(self) -> str:
        return "http" if self in (Door.OPEN, Door.UNANSWERED) else "https"

    @property
    def handshake(self) -> bool:
        """Whether the site completes a TLS handshake, and so needs a certificate."""
        return self.scheme == "https" and self not in (Door.STUCK, Door.DRIPPING)


@dataclass(frozen=True)
class Behaviour:
    """One row of the table of behaviours: a site of the hostile Web."""

    name: str
    """Also the name of its site: NAME.hostile.test."""
    what: str
    """A sentence for users."""
    ends: dict[str, tuple[End, ...]]
    """By target: how each page that a crawl comes to know may end after all tries. A * at the end of a target stands
    for all targets with this beginning. Start page and good pages are not included."""
    serve: Serve
    section: str = ""
    """Section of the thesis."""
    starts: tuple[str, ...] = ()
    """Targets that its start page links to; (): the targets of `ends`."""
    door: Door = Door.OPEN
    whole: bool = False
    """The whole site behaves like this, including robots.txt and start page."""
    wild: bool = False
    """Every name below its own is its, too."""
    robots: str = ""
    """Its robots.txt; "": it has none."""
    places: dict[str, str] = field(default_factory=dict)
    """Names of further sites that no crawl may visit, and their addresses."""

    @cached_property
    def targets(self) -> tuple[str, ...]:
        return self.starts or tuple(target for target in self.ends if not target.endswith("*"))

    @property
    def words(self) -> list[str]:
        """The distinct ends of all its pages."""
        return list(dict.fromkeys(end for ends in self.ends.values() for end in ends))

    def ends_of(self, target: str) -> tuple[End, ...]:
        """How a page may end; (): the site has no such page. The longest matching beginning counts."""
        if target in self.ends:
            return self.ends[target]
        fitting = (known for known in self.ends if known.endswith("*") and target.startswith(known[:-1]))
        return self.ends.get(max(fitting, key=len, default=""), ())


def says(made: bytes | Callable[[], bytes], *, close: bool = False) -> Serve:
    """Serves always the same bytes, made when first needed."""

    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(made if isinstance(made, bytes) else made())
        return not close

    return serve


def by_path(answers: dict[str, bytes]) -> Serve:
    """Serves bytes by path; the last ones for all other paths."""
    others = list(answers.values())[-1]
    return made(lambda request: answers.get(request.path, others))


def made(answer: Callable[[HostileRequest], bytes]) -> Serve:
    """Serves bytes that depend on the request."""

    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(answer(request))
        return True

    return serve


def endless(before: bytes, again: bytes, pause: float = 0) -> Serve:
    """Serves `before`, then the same bytes again and again, as long as the client reads. `pause`: seconds between."""

    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(before)
        while not client.left:
            client.write(again)
            await client.drain()
            await asyncio.sleep(pause)
        return False

    return serve


async def silence(request: HostileRequest, client: Client) -> bool:
    """Sends nothing until the client leaves."""
    await client.gone()
    return False


def one(name: str, what: str, end: End, serve: Serve, section: str = "") -> Behaviour:
    """A site with one bad page."""
    return Behaviour(name, what, {"/page": (end,)}, serve, section)


def several(name: str, what: str, end: End, answers: dict[str, bytes], section: str = "") -> Behaviour:
    """A site with a bad page at each of these paths; all have the same end."""
    return Behaviour(name, what, dict.fromkeys(answers, (end,)), by_path(answers), section)
