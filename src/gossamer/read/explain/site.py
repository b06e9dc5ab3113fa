"""All that is known about a site, as one dictionary: what `gossamer explain DIR SITE --json` prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from gossamer import urls
from gossamer.base.model import NONE
from gossamer.collection.runs import stored_settings
from gossamer.observe.status import site_standing
from gossamer.read.explain.collection import Opened, opened, steadily
from gossamer.read.explain.names import addresses_of
from gossamer.read.explain.visits import outcomes_of, probes_of, robots_of, sitemaps_of

Said = dict[str, Any]


_SITE: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^/?#@:\s]+)(:[0-9]+)?")


def is_site(target: str) -> bool:
    """A host name, perhaps with a port, not a URL: no scheme, no path."""
    return _SITE.fullmatch(target.strip()) is not None


def explain_site(folder: Path, given: str) -> Said:
    return steadily(lambda: _explain(folder, given))


def _explain(folder: Path, given: str) -> Said:
    settings = stored_settings(folder)
    scope = urls.Scope.of(settings.seeder)
    canonical = scope.canonical(f"http://{given.strip()}/")
    said: Said = {"given": given, "site": None if canonical is None else urls.host(canonical)}
    if canonical is None:
        return said | {"known": False, "why_not": ["It is no name of a host."]}
    name = urls.host(canonical)
    accepted = scope.accepts(name)
    collection = opened(folder, settings, {"site": name})
    said |= {"as_of": collection.as_of, "in_scope": accepted}
    number = _number(collection, name)
    if number == NONE:
        outside = f"It is not below seeder.domains ({', '.join(settings.seeder.domains[:5])})."
        return said | {"known": False, "why_not": ["No page of it is known." if accepted else outside]}
    return said | {"known": True, "number": number, **_known(collection, number)}


def _number(collection: Opened, name: str) -> int:
    if collection.live is not None:
        return NONE if collection.live["site"] is None else int(collection.live["site"])
    found = NONE if collection.image is None else collection.image.site_number(name)
    return found if found != NONE else collection.files.site_number(name)


def _known(collection: Opened, site: int) -> Said:
    files, live, image = collection.files, collection.live, collection.image
    outcomes, received = outcomes_of(files, site)
    said: Said = {"visits": outcomes, "bytes": received, "robots": robots_of(files, site)}
    said["addresses"] = addresses_of(files, site)
    said["sitemaps"] = sitemaps_of(files, site)
    said["probes"] = probes_of(files, site)
    if live is not None:
        said |= {name: live.get(name) for name in ("standing", "planned", "queue", "next_turn")}
    elif image is not None and site < image.columns.site.count:
        said["standing"] = site_standing(image, collection.settings, image.issued, collection.wall, site)
    return said
