"""The orders that are in force (`collection/steering.py`), and which sites they concern.

A blocked site counts as refused, like one that asks for a longer delay than is honoured: it is not planned, its name is
not looked up, and what its queue still has is not handed out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.base.askable import BLOCKED
from gossamer.base.model import NONE
from gossamer.collection.image import Image
from gossamer.collection.journal.order import Order
from gossamer.collection.steering import OF_SITES, InForce, told
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Desk, Part, fingerprints
from gossamer.desk.places import Places


class Orders(Part):
    """What is in force. The crawl follows it (`crawler/steering.py`) when `changed` is set."""

    name = "orders"

    def __init__(self, desk: Desk) -> None:
        self._desk, self.in_force = desk, InForce()
        self.changed = True
        """Orders were given, or a site has become known that they concern. Volatile: true after a start."""

    def meta(self) -> dict[str, Any]:
        return {"orders": self.in_force.to_json()}

    def load(self, image: Image) -> None:
        self.in_force = InForce.from_json(image.meta.get("orders", {}))
        self.mark()

    def statistics(self) -> Mapping[str, float]:
        return {"in_force": len(self.in_force.all())}

    def explain_page(self, page: int) -> Mapping[str, object]:
        origin = self._desk.columns.page.origin[page]
        return self.explain_site(int(self._desk.columns.origin.site[origin]))

    def explain_site(self, site: int) -> Mapping[str, object]:
        return told(self.in_force.about(self._desk[Places].names[site]))

    def sites(self, name: str) -> dict[int, str]:
        """The known sites that an order of this kind concerns, with its value for each."""
        targets = self.in_force.targets(name)
        if not targets:
            return {}
        numbers = self._desk.columns.hosts.find(fingerprints(list(targets), self._desk.seed)).tolist()
        return {site: value for site, value in zip(numbers, targets.values(), strict=True) if site != NONE}

    def mark(self) -> None:
        """Marks the sites that are blocked, and no others."""
        site = self._desk.columns.site
        site.refused[: site.count] &= 0xFF ^ BLOCKED
        for number in self.sites("block"):
            site.refused[number] |= BLOCKED
        self.changed = True


def take(desk: Desk, applied: Applied) -> None:
    """Orders were given."""
    part = desk[Orders]
    for text in applied.effects.orders.split():
        part.in_force.take(Order.decode(text), applied.effects.wall)
    part.mark()


def add_sites(desk: Desk, applied: Applied) -> None:
    """Orders may concern sites before these are known."""
    part = desk[Orders]
    targets = {target for name in OF_SITES for target in part.in_force.targets(name)}
    if targets and not targets.isdisjoint(name.decode() for name in applied.effects.sites.split()):
        part.mark()
