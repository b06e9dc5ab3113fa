"""Sites that belong to the operator, as they have shown: they are requested without waits (`harvester.mine`).

A proof (`web/owner/proof.py`) counts for a day from the answer that showed it. It is looked for at four places: in the
robots.txt and in the file of its own, over http and over https. An answer of the place that showed it and that shows
it no more ends the pace at once; another place that does not show it says nothing. `errands/mine.py` reads the
answers; here is what follows from them.

Invariants, each a property test of the same name:

- no request to a site without a valid proof is earlier than at the usual pace
- sites of the operator get at most ten requests in a second
- the wait of an address that has other sites too stays
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.outcomes import DAY, Aside
from gossamer.collection.image import Image
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.harvester.backoff import Backoff

VALID: Final = DAY
"""Seconds for which a proof counts."""


def place_of(own_file: bool, secure: bool) -> int:
    """The number of a place: 1 and 2 are robots.txt over http and https, 3 and 4 the file of its own."""
    return 1 + secure + 2 * own_file


class Owned(Part):
    """Which sites belong to the operator, where they have shown it, and until when that counts."""

    name = "owned"
    columns: ClassVar[Declared] = {
        "site": {
            "owned": "u1",  # the place that showed the proof (`place_of`); 0: it does not belong to the operator
            "owned_until": "<f8",  # wall: until when the proof counts
        }
    }
    times = ("site.owned_until",)

    def __init__(self, desk: Desk) -> None:
        self._site = desk.columns.site
        self.proofs: dict[int, str] = {}
        """By site: the first half of its proof, in hexadecimal. All owned sites are here."""

    def meta(self) -> dict[str, Any]:
        return {"owned": dict(sorted(self.proofs.items()))}

    def load(self, image: Image) -> None:
        self.proofs.update((int(site), proof) for site, proof in image.meta.get("owned", {}).items())

    def at(self, address: int) -> tuple[Array, bool]:
        """The sites that have this address, and whether all of them belong to the operator."""
        sites = np.flatnonzero(self._site.address[: self._site.count] == address).astype(np.uint32)
        return sites, bool(self._site.owned[sites].all())


def own(desk: Desk, event: Any) -> None:
    """OWNED: from now on the site has its own wait. The rest that began with this answer ends with it, unless something
    else than the usual wait makes the site rest."""
    sites, site = desk.columns.site, int(event["site"])
    sites.owned[site], sites.owned_until[site] = event["failures"], event["until"]
    desk[Owned].proofs[site] = event["address"].tobytes().hex()
    if sites.why[site] == Aside.NONE:
        soon = float(event["time"]) + float(desk[Backoff].rests(np.array([site], np.uint32))[0])
        sites.next[site] = min(float(sites.next[site]), soon)


def disown(desk: Desk, event: Any) -> None:
    """DISOWNED: the site has the usual wait again, at once."""
    sites, site = desk.columns.site, int(event["site"])
    sites.owned[site], sites.owned_until[site] = 0, 0.0
    desk[Owned].proofs.pop(site, None)
    sites.next[site] = max(float(sites.next[site]), float(event["until"]))
