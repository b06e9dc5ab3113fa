"""A collection that is open for reading. A crawl may run in it: each look sees what is committed at that moment."""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

from gossamer import config
from gossamer.base.dates import http_date
from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.units import Duration
from gossamer.collection.layout import SETTINGS, require_collection, shard_folder
from gossamer.collection.runs import settings_of_last_run
from gossamer.config import Settings
from gossamer.library.links import Links
from gossamer.library.lookups import State, mark_of
from gossamer.library.page import COLUMNS, Archive, Batch, Page
from gossamer.library.pages import Pages
from gossamer.library.result import Result
from gossamer.observe.crawl_status import read_crawl_status
from gossamer.read.changes.events import Choice, Event, reading
from gossamer.read.copies import copies
from gossamer.read.explain.answers import PageAnswer, SiteAnswer
from gossamer.read.sql.columns import VIEWS
from gossamer.read.sql.database import Database
from gossamer.read.sql.desk_columns import aside_of
from gossamer.read.sql.sources import find
from gossamer.read.steer.add import add
from gossamer.read.steer.again import Filter, again
from gossamer.urls import without_www

MEMORY: Final = "1GB"
"""What DuckDB may use; what is beyond is written to a temporary folder."""

When = str | datetime | float
"""A time ago ("7d"), a date ("2026-11-01"), a datetime, or seconds since 1970."""


class UnknownPageError(GossamerError, KeyError):
    """The collection has no copy of the page."""

    def __str__(self) -> str:
        return self.message


class Collection:
    """A collection, by its folder. `gossamer.open` makes one."""

    def __init__(self, folder: str | PathLike[str], memory: str = MEMORY, checked: bool = True) -> None:
        """`memory`: what DuckDB may use; `checked`: files are compared with their checksums, once each."""
        self.folder = Path(folder)
        require_collection(self.folder)
        self._memory, self._unchecked = memory, not checked
        self._kept: tuple[Any, State] | None = None
        self._spilled = Path(tempfile.mkdtemp(prefix="gossamer-"))
        self._closing = weakref.finalize(self, shutil.rmtree, self._spilled, ignore_errors=True)

    def close(self) -> None:
        """Removes its temporary files. A collection that is forgotten is closed by itself."""
        self._kept = None
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Collection {self.folder}>"

    @property
    def settings(self) -> Settings:
        """The settings of the last run."""
        return settings_of_last_run(self.folder)

    def database(self) -> Database:
        """The tables as they are now, for SQL that a program trusts; `sql` is for all other."""
        sources = find(self.folder, fresh=True, unchecked=self._unchecked)
        return Database(sources, config.load(self.folder / SETTINGS), self._memory, self._spilled)

    def _opened(self) -> tuple[Database, Archive]:
        return self.database(), Archive(shard_folder(self.folder), self.settings)

    def sql(self, query: str, *values: Any) -> Result:
        """The result of a DuckDB query on the views that `gossamer sql` lists. Each `?` stands for one value."""
        return Result(self.database, query, values)

    def table(self, name: str) -> Result:
        """All rows of a view: pages, visits, links, sites …, or of the table of a plug-in."""
        if name not in VIEWS and name not in (views := self.database().views()):
            raise UsageError(f"there is no view {name!r}", f"Views: {', '.join(views)}.")
        return self.sql(f"select * from {name}")

    def pages(
        self,
        *,
        language: str | None = None,
        site: str | Sequence[str] | None = None,
        since: When | None = None,
        until: When | None = None,
        like: str | None = None,
        mime: str | None = None,
        where: str | None = None,
        duplicates: bool = True,
    ) -> Pages:
        """The stored pages that meet all of these conditions, each with its last copy.

        `since`, `until`: when that was fetched; `like`: a pattern of URLs ("%/news/%"); `where`: any condition on the
        columns of the views `visits` and `pages`; `duplicates`: also pages whose text and links are those of others.
        """
        found = Pages(self._opened)
        if language is not None:
            found = found.filter("language = ?", language)
        if site is not None:
            names = [site] if isinstance(site, str) else list(site)
            found = found.filter(
                "site in (select site from stored.sites where list_contains(?, name))",
                [without_www(n.lower()) for n in names],
            )
        for moment, sign in ((since, ">="), (until, "<")):
            if moment is not None:
                found = found.filter(f"time {sign} make_timestamp({round(wall(moment) * 1e6):d})")
        if like is not None:
            found = found.filter("url like ?", like)
        if mime is not None:
            found = found.filter("mime = ?", mime)
        if where is not None:
            found = found.filter(where)
        return found if duplicates else found.filter("outcome = 'ok'")

    def __iter__(self) -> Iterator[Page]:
        return iter(self.pages())

    def __getitem__(self, url: str) -> Page:
        """The last copy of a page, by its URL in any spelling. UnknownPageError (a KeyError) if there is none."""
        canonical, print_ = self.fingerprint(url)
        found = self._state().page(canonical, print_)
        if isinstance(found, Page):
            return found
        known = "is known, and no copy of it is stored" if found else "is not known"
        raise UnknownPageError(f"{canonical} {known}", f"`gossamer explain {self.folder} {canonical}` says why.")

    def fingerprint(self, url: str) -> tuple[str, int]:
        """The canonical form of a URL, and the number by which tables know it. UsageError if it cannot be a page."""
        canonical, print_ = self._state().fingerprint(url)
        if canonical is None:
            raise UsageError(f"{url!r} is not an http or https URL", "Write it like https://example.org/page.")
        return canonical, print_

    def _state(self) -> State:
        """The collection as it is now: what was read of it is kept until it changes."""
        mark = mark_of(self.folder)
        if self._kept is None or self._kept[0] != mark:
            self._kept = mark, State(self.folder, self._opened)
        return self._kept[1]

    def after(self, tick: int, number: int, most: int = 5_000) -> Iterator[Page]:
        """The first copies that were committed after a mark (`Page.mark`), in order: every copy, not only the last."""
        database, archive = self._opened()
        later = f"(tick > {tick:d} or (tick = {tick:d} and number > {number:d}))"
        statement = f"{copies(later, every=True)} select {COLUMNS} from copies order by tick, number limit {most:d}"
        for rows in database.batches(statement):
            yield from Batch(archive, rows).pages()

    def get(self, url: str) -> Page | None:
        """The last copy of a page; None if there is none."""
        try:
            return self[url]
        except UnknownPageError:
            return None

    def __contains__(self, url: str) -> bool:
        return self.get(url) is not None

    @property
    def links(self) -> Links:
        """The links between known pages, as a table, a matrix or a graph."""
        return Links(self.database)

    def changes(
        self,
        *,
        since: When | None = None,
        until: When | None = None,
        site: str | Sequence[str] = (),
        kind: str | Sequence[str] = (),
        lines: bool = False,
        most: int = 1_000,
    ) -> list[Event]:
        """What became of pages, the newest first: new, changed, moved, gone, back. `lines`: also the lines that were
        added and removed."""
        sites, kinds = ((one,) if isinstance(one, str) else tuple(one) for one in (site, kind))
        first, last = (None if moment is None else wall(moment) for moment in (since, until))
        choice = Choice(first, last, sites, kinds)
        with reading(self.folder, self._unchecked) as events:
            events.choose(choice)
            newest = events.newest(most)
            return list(events.with_lines(newest)) if lines else newest

    def aside(self) -> list[tuple[int, str, float | None]]:
        """Number of each suspended site, why it waits, and until when, if that is known."""
        return aside_of(find(self.folder, unchecked=self._unchecked))

    def status(self) -> dict[str, Any]:
        """What `gossamer status --json` prints."""
        return read_crawl_status(self.folder).to_json()

    def explain(self, url_or_site: str) -> PageAnswer | SiteAnswer:
        """What `gossamer explain --json` prints: why a page was fetched or not, when a site may be requested."""
        from gossamer.read.explain.page import explain_page  # with pyarrow: 60 MB
        from gossamer.read.explain.site import explain_site, is_site

        if is_site(url_or_site):
            return explain_site(self.folder, url_or_site, self._unchecked)
        return explain_page(self.folder, url_or_site, self._unchecked)

    def add(self, *urls: str) -> dict[str, int]:
        """Adds URLs: to the crawl that runs, or else to its next run. Known pages are requested again. Returns what
        came of them, in pages; nothing is known of that while no crawl runs."""
        return add(self.folder, urls, ()).delivered.carried

    def again(
        self,
        *urls: str,
        site: str | Sequence[str] = (),
        outcome: str | Sequence[str] = (),
        older: str | float | None = None,
        where: str | None = None,
    ) -> dict[str, int]:
        """Asks again for the pages that meet all of these conditions."""
        sites, outcomes = ((one,) if isinstance(one, str) else tuple(one) for one in (site, outcome))
        if not (urls or sites or outcomes or older or where):
            raise UsageError(
                "again() without a condition means every page", 'To mean that, say so: again(where="true").'
            )
        seconds = Duration.parse(older) if isinstance(older, str) else older
        return again(self.folder, Filter(urls, sites, outcomes, seconds, where)).delivered.carried


def wall(moment: When) -> float:
    """Seconds since 1970."""
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not isinstance(moment, str):
        return float(moment)
    try:
        return time.time() - Duration.parse(moment)
    except ValueError:
        pass
    if (date := http_date(moment)) is None:
        raise UsageError(f"{moment!r} is neither a time ago nor a date", 'Write "10min", "12h", "7d" or "2026-11-01".')
    return date
