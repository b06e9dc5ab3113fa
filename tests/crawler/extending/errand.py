"""An errand in one file: every site that has answered a page is asked for its icon, once."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.base.model import Ask
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.errand import Context, Errand, Errands, Request
from gossamer.web.message import Results


class IconErrand(Errand):
    name = "icons"

    def __init__(self, context: Context, others: Errands) -> None:
        self._desk, self._in_flight = context.desk, context.in_flight
        self._waiting: dict[int, int] = {}
        """Sites, and the origin whose icon it is."""
        self._known: set[int] = set()
        self.answered: list[bytes] = []

    def waits_at(self, site: int) -> bool:
        return site in self._waiting

    def any(self) -> bool:
        return bool(self._waiting)

    def next(self, site: int, begins: float) -> Request | None:
        origin = self._waiting.pop(site, None)
        if origin is None:
            return None
        url = self._desk[Places].origin_text(origin).removesuffix(":80") + "/icon"
        return Request(Ask.PROBE, origin, url, self) if self._desk[Rules].allows(origin, url) else None

    def give_up(self, site: int) -> None:
        self._waiting.pop(site, None)

    def settle(self, results: Results) -> set[int]:
        new = set[int]()
        for visit in results.visits:
            flight, site = self._in_flight.get(int(visit["number"])), int(visit["site"])
            if flight is not None and flight.errand is self:
                self.answered.append(flight.url)
            elif visit["ask"] == Ask.PAGE and site not in self._known:
                self._known.add(site)
                self._waiting[site] = int(visit["origin"])
                new.add(site)
        return new

    def statistics(self) -> Mapping[str, float]:
        return {"answered": len(self.answered)}

    def explain_site(self, site: int) -> Mapping[str, object]:
        return {"icon": "asked for" if site in self._known else "not asked for"}
