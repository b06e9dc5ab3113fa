"""Session parameters that are proven: sites at which a parameter of `seeder.session_ids` makes no difference.

`seeder/pairs.py` says how it is proven. From then on, workers remove the parameter from links inside the site, whatever
its value is: every assignment has the parameters of its site.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gossamer.collection.image import Image
from gossamer.desk.desk import Desk, Part

MOST: Final = 64
"""Parameters that can be proven: the first of the list. Each has a bit."""


class Proven(Part):
    """The proven session parameters of all sites. Few sites have any."""

    name = "proven"

    def __init__(self, desk: Desk) -> None:
        self.parameters: dict[int, int] = {}
        """By site: a bit for each place in `seeder.session_ids`."""
        self._names = desk.settings.seeder.session_ids

    def meta(self) -> dict[str, Any]:
        return {"proven": dict(sorted(self.parameters.items()))}

    def load(self, image: Image) -> None:
        self.parameters.update((int(site), bits) for site, bits in image.meta.get("proven", {}).items())

    def explain_site(self, site: int) -> Mapping[str, object]:
        bits = self.parameters.get(site, 0)
        names = [name for i, name in enumerate(self._names) if bits >> i & 1]
        return {"session_parameters": names} if names else {}


def prove(desk: Desk, event: Any) -> None:
    """SESSION_PROVEN: the parameter carries a session at this site."""
    known, site = desk[Proven].parameters, int(event["site"])
    known[site] = known.get(site, 0) | 1 << int(event["port"]) % MOST
