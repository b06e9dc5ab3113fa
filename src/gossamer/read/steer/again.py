"""`gossamer again`: pages that had ended are requested once more."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from gossamer import config, urls
from gossamer.base.errors import UsageError
from gossamer.base.escape import for_sql
from gossamer.base.outcomes import Outcome
from gossamer.collection.layout import SETTINGS, require_collection
from gossamer.collection.runs import settings_of_last_run
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.steer.deliver import Delivered, Progress, deliver

OUTCOMES: Final = tuple(outcome.word for outcome in Outcome)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which pages are meant: those to which all of it applies."""

    pages: tuple[str, ...] = ()
    """URLs."""
    sites: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    older: float | None = None
    """Seconds since the last visit."""
    where: str | None = None
    """A condition on the view `pages`."""

    def sql(self, scope: urls.Scope, wall: float) -> str:
        """The query for their numbers, states and reasons."""
        tests = ["true"]
        if self.pages:
            tests.append(f"url in ({', '.join(for_sql(_canonical(url, scope)) for url in self.pages)})")
        if self.sites:
            names = ", ".join(for_sql(_site(site, scope)) for site in self.sites)
            tests.append(f"site in (select site from sites where name in ({names}))")
        if self.outcomes:
            tests.append(f"outcome in ({', '.join(map(for_sql, self.outcomes))})")
        if self.older is not None:
            tests.append(f"last_visit < make_timestamp({int((wall - self.older) * 1e6)})")
        if self.where is not None:
            tests.append(f"(\n{self.where}\n)")
        return f"select page, state, reason from pages where {' and '.join(tests)} order by page"


def _canonical(url: str, scope: urls.Scope) -> str:
    found = scope.canonical(url)
    if found is None:
        raise UsageError(f"--url {url!r} is not an http or https URL", "Write it like https://example.org/page.")
    return found


def _site(name: str, scope: urls.Scope) -> str:
    """The site as the collection names it."""
    found = scope.canonical(f"http://{name}/")
    if found is None or "/" in name:
        raise UsageError(f"--site {name!r} is not the name of a site", "Write it like example.org.")
    return urls.host(found)


class Chosen(NamedTuple):
    """The pages that a filter finds."""

    ended: list[int]
    others: dict[str, int]
    """How many have not ended, by state or reason: `open` are to be requested anyway."""


class Reopened(NamedTuple):
    chosen: Chosen
    delivered: Delivered


def choose(folder: Path, which: Filter) -> Chosen:
    """Reads the collection, including what is committed and not sealed yet."""
    require_collection(folder)
    scope = urls.Scope.of(settings_of_last_run(folder).seeder)
    database = Database(find(folder, fresh=True), config.load(folder / SETTINGS))
    ended, others = [], Counter[str]()
    for page, state, reason in database.query(which.sql(scope, time.time())).rows:
        if state in ("done", "waiting"):
            ended.append(int(page))
        else:
            others[str(reason) if state == "excluded" else "open"] += 1
    return Chosen(ended, dict(others))


def again(folder: Path, which: Filter, progress: Progress = lambda part: None) -> Reopened:
    """Opens the pages that the filter finds."""
    chosen = choose(folder, which)
    if not chosen.ended:
        return Reopened(chosen, Delivered(False, {}))
    return Reopened(chosen, deliver(folder, "again", chosen.ended, progress))
