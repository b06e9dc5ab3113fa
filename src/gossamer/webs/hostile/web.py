"""The hostile Web: one site for each behaviour, NAME.hostile.test, with its own address.

The start page of a site is good. It links to the bad pages and to some good ones, so that a test can see whether the
crawl of the site continues. robots.txt is missing, or allows everything except what a behaviour forbids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from gossamer.base.units import Duration

if TYPE_CHECKING:
    from gossamer.webs.hostile.behaviour import Behaviour, End

DOMAIN: Final = "hostile.test"
FORBIDDEN: Final = "127.66.0.0/16"
"""Stands for a private network: no crawl may send requests there."""
LIMITS: Final[dict[str, Any]] = {
    "connect_timeout": Duration(2),
    "first_byte_timeout": Duration(2),
    "whole_timeout": Duration(20),
    "slow_time": Duration(2),
    "retry": Duration(1),
    "tries": 2,
    "forbidden": (FORBIDDEN,),
}
"""Settings of the harvester with which a crawl of the hostile Web ends soon."""


def all_behaviours() -> dict[str, Behaviour]:
    """The table of behaviours, imported when it is needed: most crawls do not need it."""
    from gossamer.webs.hostile.table import BEHAVIOURS

    return BEHAVIOURS


@dataclass(frozen=True)
class HostileWeb:
    """The options of a hostile Web, and its sites."""

    names: tuple[str, ...] = ()
    """Names of its behaviours; (): all."""
    good: int = 2
    """Number of good pages of each site, without the start page."""
    friendly: bool = False
    """Whether it has only good pages, for comparison."""
    tls: bool = True
    """Whether there are certificates, and so https sites."""

    changing = False
    """None of its robots.txt files changes."""

    @classmethod
    def described(cls, fields: dict[str, Any]) -> Self:
        """The Web from the JSON of an access log."""
        return cls(**{**fields, "names": tuple(fields["names"])})

    @cached_property
    def behaviours(self) -> list[Behaviour]:
        kept = (all_behaviours()[name] for name in self.names or all_behaviours())
        return [b for b in kept if (self.tls or not b.door.handshake) and not (self.friendly and b.whole)]

    @cached_property
    def by_host(self) -> dict[str, Behaviour]:
        return {f"{b.name}.{DOMAIN}": b for b in self.behaviours}

    def behaviour_of(self, host: str) -> Behaviour | None:
        """The behaviour of a site; None: there is no such site."""
        above = self.by_host.get(host.partition(".")[2])
        return above if above is not None and above.wild else self.by_host.get(host)

    @cached_property
    def addresses(self) -> dict[str, str]:
        """By host; the address of a name does not depend on the other names."""
        all_hosts = {name: f"127.77.{n // 250}.{n % 250 + 1}" for n, name in enumerate(all_behaviours())}
        return {host: all_hosts[b.name] for host, b in self.by_host.items()}

    @cached_property
    def places(self) -> dict[str, str]:
        """Hosts that must not be requested, and their addresses."""
        kept = () if self.friendly else self.behaviours
        return {f"{name}.{DOMAIN}": address for b in kept for name, address in b.places.items()}

    @property
    def seeds(self) -> list[str]:
        return [f"{b.door.scheme}://{host}/" for host, b in self.by_host.items()]

    @property
    def domains(self) -> list[str]:
        return [DOMAIN]

    def resolve(self, port: int) -> dict[str, str]:
        """For the setting `harvester.resolve`."""
        wild = {f"*.{host}": self.addresses[host] for host, b in self.by_host.items() if b.wild}
        return {host: f"{address}:{port}" for host, address in {**self.addresses, **self.places, **wild}.items()}

    def links(self, behaviour: Behaviour) -> list[str]:
        """The links of a start page."""
        return [*(() if self.friendly else behaviour.targets), *(f"/good/{n}" for n in range(self.good))]

    def known(self) -> Iterator[str]:
        """URLs that a complete crawl must know; it knows more where a behaviour has endless pages."""
        for host, b in self.by_host.items():
            root = f"{b.door.scheme}://{host}"
            yield root + "/"
            if not b.whole:
                yield from (f"{root}/good/{n}" for n in range(self.good))
            if not self.friendly:
                yield from (root + target for target in b.ends if not target.endswith("*") and target != "/")

    def is_good(self, url: str) -> bool:
        """Whether a URL is a start page or another good page."""
        host, slash, rest = url.partition("://")[2].partition("/")
        behaviour = self.behaviour_of(host)
        if behaviour is None or (behaviour.whole and not self.friendly):
            return False
        return not rest or slash + rest in self.links(behaviour)[-self.good :]

    def ends_of(self, url: str) -> tuple[End, ...]:
        """How a page may end; (): a crawl should not know it."""
        if self.is_good(url):
            return ("ok",)
        host, slash, rest = url.partition("://")[2].partition("/")
        if host in self.places:
            return ("site: forbidden_address",)
        behaviour = None if self.friendly else self.behaviour_of(host)
        return behaviour.ends_of(slash + rest) if behaviour else ()

    def robots_of(self, origin: str, at: float | None = None) -> bytes | None:
        """The robots.txt that an origin serves with status 200; None if it serves none."""
        behaviour = self.by_host.get(origin.partition("://")[2].partition("/")[0].partition(":")[0].lower())
        return behaviour.robots.encode() if behaviour is not None and behaviour.robots else None
