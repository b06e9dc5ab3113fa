"""Finds the sites and origins that answers name; unknown sites and origins become known with the tick."""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer import urls
from gossamer.base.model import NONE, Texts
from gossamer.collection.journal.effects import ORIGIN, Effects
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places, number_in


def site_in(desk: Desk, name: str, www: bool, effects: Effects) -> int:
    """The number of a site. If it is neither known nor new in this tick, it is added to the effects. NONE: no room, or
    it was forgotten."""
    site = desk[Places].site(name)
    if site == NONE and not desk.forgotten.has_site(name):
        new = effects.sites.split()
        if name.encode() in new:
            return effects.first_site + new.index(name.encode())
        site = number_in(new, name.encode(), effects.first_site, desk.columns.site.limit)
        if site != NONE:
            effects.sites = Texts.join(new, "<u2")
            effects.sites_www = np.append(effects.sites_www, np.uint8(www and desk.scope.www))
    return site


def origin_in(desk: Desk, url: str, site: int, effects: Effects) -> int:
    """The number of the origin of a canonical URL of this site; added to the effects if unknown. NONE: no room."""
    parts, fingerprint = urls.split(url), urls.fingerprint(urls.origin(url), desk.seed)
    known = int(desk.columns.origins.find(np.array([fingerprint], np.uint64))[0])
    if known != NONE:
        return known
    record = (site, parts.port, int(parts.scheme == "https"))
    new: list[Any] = effects.origins.tolist()
    if record in new:
        return effects.first_origin + new.index(record)
    number = number_in(new, record, effects.first_origin, desk.columns.origin.limit)
    effects.origins = np.array(new, ORIGIN)
    return number
