"""Explains a site: collects everything that is known about it in one `SiteAnswer`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, cast

from gossamer import urls
from gossamer.base.model import NONE
from gossamer.collection.forgetting import tombstones
from gossamer.collection.layout import shard_folder
from gossamer.collection.runs import stored_settings
from gossamer.observe.status import site_standing
from gossamer.read.explain.answers import ChangeHours, SiteAnswer, SiteState
from gossamer.read.explain.collection import Opened, opened, steadily
from gossamer.read.explain.hours import change_hours
from gossamer.read.explain.visits import addresses_of, outcomes_of, probes_of, robots_of, sitemaps_of

_SITE: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^/?#@:\s]+)(:[0-9]+)?")


def is_site(target: str) -> bool:
    """Whether the text is a host name, possibly with a port, and not a URL: it has no scheme and no path."""
    return _SITE.fullmatch(target.strip()) is not None


def explain_site(folder: Path, given: str, unchecked: bool = False) -> SiteAnswer:
    """Everything that the collection knows about a site."""
    return steadily(lambda: _explain(folder, given, unchecked))


def _explain(folder: Path, given: str, unchecked: bool) -> SiteAnswer:
    settings = stored_settings(folder)
    scope = urls.Scope.of(settings.seeder)
    canonical = scope.canonical(f"http://{given.strip()}/")
    answer: SiteAnswer = {"given": given, "site": None if canonical is None else urls.host(canonical)}
    if canonical is None:
        answer |= {"known": False, "why_not": ["It is not the name of a host."]}
        return answer
    name = urls.host(canonical)
    if (tombstone := tombstones.read(shard_folder(folder)).of_site(name)) is not None:
        answer |= {"known": False, "why_not": [tombstone.told()]}
        return answer
    accepted = scope.accepts(name)
    collection = opened(folder, settings, {"site": name}, unchecked)
    answer |= {"as_of": collection.as_of, "in_scope": accepted}
    live = collection.live
    number = collection.site_number(name) if live is None else NONE if live["site"] is None else int(live["site"])
    if number == NONE:
        outside = f"It is not in seeder.domains ({', '.join(settings.seeder.domains[:5])})."
        answer |= {"known": False, "why_not": ["No page of it is known." if accepted else outside]}
        return answer
    answer |= {"known": True, "number": number}
    answer |= _known(collection, number)
    return answer


def _known(collection: Opened, site: int) -> SiteAnswer:
    files, live, image = collection.files, collection.live, collection.image
    outcomes, received = outcomes_of(files, site)
    answer: SiteAnswer = {"visits": outcomes, "bytes": received, "robots": robots_of(files, site)}
    answer["addresses"] = addresses_of(files, site)
    answer["sitemaps"] = sitemaps_of(files, site)
    answer["probes"] = probes_of(files, site)
    hours = change_hours(files, site)
    answer["change_hours"] = None if hours is None else cast(ChangeHours, hours.as_json())
    if live is not None:
        answer |= cast(
            SiteAnswer, {name: live.get(name) for name in ("standing", "planned", "queue", "next_turn", "quiet_until")}
        )
    elif image is not None and site < image.columns.site.count:
        state = site_standing(image, collection.settings, image.issued, collection.wall, site)
        answer["standing"] = cast(SiteState, state)
    return answer
