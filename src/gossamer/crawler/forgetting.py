"""Orders to forget (`gossamer forget`): carried out while no crawl runs; until then, the page or the site is kept out.

A crawl that runs has in memory what is to be forgotten, and its workers have an index of it. So it takes an order in
part (`keep_out`): the page is excluded for good, the site suspended for good, and nothing brings them back. The order
waits in forgotten.jsonl. What was fetched goes as soon as no crawl runs: by `gossamer forget`, or by the next start,
before its first request (`carry_out`).

A crawl that was killed is brought to a clean stop first, without a request: so all that it knew is in segments, and
nothing that it had not committed is left. After that, segments, archive and texts are rewritten, and an image is made
of what is left, which proves that the collection can be opened. That image is not one of a clean stop: the next start
lets every site rest, as after a kill, because it no longer knows how the forgotten sites shared addresses with others.

Invariants, each a test of the same name: what a running crawl forgets is not requested any more; an order that waits
survives a kill.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gossamer import urls
from gossamer.base.clock import RealClock
from gossamer.base.errors import GossamerError, LockedError
from gossamer.base.model import NONE, Reason, State, VerdictFlag
from gossamer.collection import image, lock, manifest
from gossamer.collection.forgetting.tombstones import Forgotten, Tombstone, read, write
from gossamer.collection.journal.effects import SiteNews, Verdict
from gossamer.collection.layout import archive_files, is_collection, shard_folder
from gossamer.collection.manifest import Manifest
from gossamer.collection.recovery import Recovered, recover
from gossamer.collection.runs import in_form, settings_of_last_run
from gossamer.config.settings import Settings
from gossamer.crawler import imager
from gossamer.crawler.loop import Crawl
from gossamer.crawler.open import open_collection
from gossamer.desk import snapshot
from gossamer.desk.places import Places

if TYPE_CHECKING:
    from gossamer.collection.forgetting.carry_out import Progress

_DONE: Final = int(State.DONE)


# --- a crawl that runs ------------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """What came of an order that a running crawl has taken."""

    pages: int = 0
    """Known pages that are not requested any more."""
    sites: int = 0
    """The same of sites."""


def keep_out(crawl: Crawl, orders: Sequence[Tombstone]) -> Kept:
    """Writes the orders down, and keeps out what they name: from now on, whatever links, lists or asks for it."""
    shard, forgotten = crawl.store.shard, crawl.desk.forgotten
    new = [replace(each, waits=True) for each in orders if not forgotten.has(each)]
    if new:
        found = [*read(shard).tombstones, *new]
        write(shard, found)  # first: it holds after a kill, too
        forgotten.take(found, crawl.desk.seed)
    pages = sum(_page_is_shut(crawl, each.name) for each in orders if not each.site)
    sites = sum(_site_is_shut(crawl, each.name) for each in orders if each.site)
    return Kept(pages, sites)


def _page_is_shut(crawl: Crawl, url: str) -> bool:
    """Excludes a page; whether it is known."""
    columns = crawl.desk.columns
    page = int(columns.known.find(np.array([urls.fingerprint(url, crawl.desk.seed)], np.uint64))[0])
    if page == NONE:
        return False
    steps = [Verdict(page, State.EXCLUDED, Reason.FORGOTTEN, 0)]
    if columns.page.state[page] == _DONE:  # only what is open can be excluded
        steps[:0] = [
            Verdict(page, State.PENDING, Reason.NONE, 0),  # robots.txt may have forbidden to request it again
            Verdict(page, State.PENDING, Reason.NONE, VerdictFlag.AGAIN),
        ]
    for each in steps:
        crawl.judge_again([each])  # in ticks of their own: of two verdicts of one tick, the one that opens counts
    return True


def _site_is_shut(crawl: Crawl, name: str) -> bool:
    """Suspends a site for good; whether it is known."""
    site = crawl.desk[Places].site(name)
    if site == NONE:
        return False
    crawl.tell([SiteNews.forgotten(site, crawl.desk.believed(crawl.clock.wall()))])
    return True


# --- no crawl runs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Done:
    """What was forgotten."""

    tombstones: list[Tombstone]
    note: str = ""
    """Why no image could be made: the next start takes longer."""


def carry_out(folder: Path, new: Sequence[Tombstone] = (), progress: Progress = lambda what, part: None) -> Done:
    """Carries out these orders and those that wait, and finishes what was begun. LockedError if a crawl runs."""
    shard, settings = shard_folder(folder), last_settings(folder)
    while True:
        held = take(folder)
        try:
            before = read(shard)
            if not before.unfinished and not _is_stopped(recover(shard)):
                held.release()
                progress("bringing the crawl to a clean stop", 0.0)
                _stop(folder, settings)
                continue
            done = _carried_out(shard, before, new, progress)
            return Done(done, _with_image(shard, settings, progress) if done else "")
        finally:
            held.release()


def carry_out_waiting(folder: Path, progress: Progress = lambda what, part: None) -> Done:
    """Carries out what was ordered while a crawl ran. Before the start of another one."""
    waits = is_collection(folder) and bool(read(shard_folder(folder)).waiting)
    return carry_out(folder, (), progress) if waits else Done([])


def last_settings(folder: Path) -> Settings:
    return in_form(settings_of_last_run(folder), manifest.url_form(shard_folder(folder)))


def take(folder: Path) -> lock.Lock:
    """The lock of the collection; LockedError if a crawl runs."""
    try:
        return lock.take(shard_folder(folder))
    except LockedError as error:
        raise LockedError(
            f"{error.message}: a crawl that runs has in memory what is to be forgotten",
            f"Stop it first (gossamer stop {folder}), forget, and resume it: gossamer crawl {folder}",
        ) from error


def _is_stopped(recovered: Recovered) -> bool:
    """Whether all is sealed, and there is nothing that was never committed."""
    lengths = {path.relative_to(recovered.shard).as_posix(): path for path in archive_files(recovered.shard).values()}
    whole = all(path.stat().st_size <= recovered.mark.lengths.get(name, -1) for name, path in lengths.items())
    return whole and not recovered.unsealed and not recovered.patience


def _stop(folder: Path, settings: Settings) -> None:
    store, desk, _ = open_collection(folder, settings, RealClock())
    try:
        store.finish(*snapshot.dump(desk, store.ends()))
    finally:
        store.close()


def _carried_out(shard: Path, before: Forgotten, new: Sequence[Tombstone], progress: Progress) -> list[Tombstone]:
    """If it fails before anything was removed, such as by a damaged segment, the orders are withdrawn; those that
    waited wait on."""
    from gossamer.collection.forgetting.carry_out import carry_out as rewrite  # pyarrow takes a third of a second

    contents = manifest.read(shard)
    begun = [_begun(shard, each, contents) if each.waits else each for each in before.tombstones]
    write(shard, [*begun, *new])
    try:
        return rewrite(shard, progress)
    except Exception:
        with suppress(GossamerError):
            if manifest.read(shard).segments == contents.segments and not before.unfinished:
                write(shard, before.tombstones)
        raise


def _begun(shard: Path, order: Tombstone, contents: manifest.Contents) -> Tombstone:
    """The order that waited, with the number that the page or the site got meanwhile."""
    from gossamer.collection.forgetting.tables import number_of

    number = number_of(shard, contents, order) if order.number is None else order.number
    return replace(order, waits=False, number=number)


def _with_image(shard: Path, settings: Settings, progress: Progress) -> str:
    """Makes an image of what is left; why there is none, or empty."""
    progress("making an image", 0.0)
    opened = Manifest.open(shard)
    try:
        line = imager.make(shard, settings)
        if line is not None:
            image.finish(shard, opened, line)
    except GossamerError as error:
        return f"no image could be made, so the next start takes longer: {error.message}"
    finally:
        opened.close()
    return ""
