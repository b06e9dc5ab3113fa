"""Sites that had shown, as the log and the key tell, that they belong to the operator (`harvester.mine`).

A log has no bodies: what robots.txt, or the file of proof, showed is known where the file is (`RobotsOf`). A proof that
the key does not confirm is none. An answer that a killed crawl may have lost ends nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from gossamer.web.owner.key import Key
from gossamer.web.owner.proof import PORTS, WELL_KNOWN, shown
from gossamer.webs.checker.kills import Kills
from gossamer.webs.checker.limits import DAY
from gossamer.webs.checker.report import Request
from gossamer.webs.checker.robots import NO_ANSWER, RobotsOf, was_left


class _Shown(NamedTuple):
    """A proof, where it was shown, and until when it counts."""

    place: tuple[str, str]
    until: float


class Owners:
    """The operator's sites, and which sites share an address with others."""

    def __init__(self, key: Key | None, served: RobotsOf, kills: Kills) -> None:
        self._key, self._served, self._kills = key, served, kills
        self._shown: dict[str, _Shown] = {}
        self._address: dict[str, str] = {}
        """By site: the address at which it was requested last."""
        self._there: dict[str, set[str]] = {}
        """By address: the sites that were requested there last."""

    def owns(self, site: str, at: float) -> bool:
        """Whether the site had proven to be the operator's."""
        found = self._shown.get(site)
        return found is not None and at < found.until

    def alone(self, site: str, request: Request) -> bool:
        """Whether the site, and all others at its address, are the operator's."""
        there = self._there.get(request.address, set()) | {site}
        return bool(self._shown) and all(self.owns(each, request.start) for each in there)

    def hear(self, site: str, request: Request) -> None:
        """Learns from a request, after it was judged."""
        if self._key is None:
            return
        before = self._address.get(site)
        if before != request.address:
            self._there.get(before or "", set()).discard(site)
            self._address[site] = request.address
            self._there.setdefault(request.address, set()).add(site)
        if request.target in ("/robots.txt", WELL_KNOWN) and self._speaks(request) and self._key.claims(site):
            self._hear(self._key, site, request)

    @staticmethod
    def _speaks(request: Request) -> bool:
        """Whether the answer says anything about a proof: it is not a failure, and of a port that counts."""
        port = request.host.rpartition(":")[2]
        failed = request.status >= 500 or request.status in (402, 429, NO_ANSWER) or was_left(request)
        return not failed and (not port.isdecimal() or int(port) in PORTS)

    def _hear(self, key: Key, site: str, request: Request) -> None:
        place, before = (request.target, request.scheme), self._shown.get(site)
        body = self._served(request) if 200 <= request.status < 300 else None
        if body is not None and key.proves(site, shown(body)):
            self._shown[site] = _Shown(place, request.end + DAY)
        elif before is not None and before.place == place and self._kills.is_certain(request):
            del self._shown[site]
