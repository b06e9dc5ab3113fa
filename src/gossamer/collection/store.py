"""The collection, open for a crawl: the desk appends, a thread commits every second, a process seals.

The loop only hands bytes to the kernel (`append`) and takes snapshots (`turn`). The commit thread does the rest, one
task at a time: it syncs, writes the figures for `status` and appends lines to the manifest. An error there is raised in
the loop at its next turn, and the crawl stops: what was committed before stays on disk.

Its parts are its own: `Commits` (journal, commits, back-pressure), `Sealing` (segments), the block files, the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gossamer.base.arrays import U32, Array, Records
from gossamer.base.clock import Clock
from gossamer.collection import image
from gossamer.collection.blocks import BlockFile, Offsets, TextsAhead
from gossamer.collection.commits import Archive, Commits
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.journal import Journal
from gossamer.collection.layout import STOPPED
from gossamer.collection.lock import Lock
from gossamer.collection.manifest import Contents, Manifest
from gossamer.collection.merging import Merger, Merging
from gossamer.collection.recovery import Recovered
from gossamer.collection.sealing import Sealer, Sealing, seal_in_process
from gossamer.collection.versions import VersionFile
from gossamer.config.settings import CollectionSettings


class Store:
    def __init__(
        self,
        recovered: Recovered,
        lock: Lock,
        manifest: Manifest,
        journal: Journal,
        urls: BlockFile,
        versions: VersionFile,
        settings: CollectionSettings,
        clock: Clock,
        stopped: bool = False,
        sealer: Sealer = seal_in_process,
        merger: Merger | None = None,
    ) -> None:
        """`stopped`: the last run ended with a clean stop, so all its requests are known. `sealer` starts the sealing
        of a journal file, `merger` the merging of segments; None: they are not merged."""
        self.shard, self.stopped, self._lock, self._urls = recovered.shard, stopped, lock, urls
        self._versions = versions
        self.warnings, self.next_archive = recovered.warnings, recovered.next_archive
        self._manifest = manifest
        self._thread = thread = ThreadPoolExecutor(1, "commit")
        self._commits = Commits(self.shard, journal, urls, versions, clock, thread, lock.check)
        waiting = recovered.unsealed
        self._sealing = Sealing(self.shard, lock.fileno(), manifest, settings, clock, thread, waiting, sealer)
        fd = lock.fileno()
        self._merging = Merging(self.shard, fd, manifest, clock, thread, merger) if merger is not None else None
        self._texts, self._last_seen = TextsAhead(urls.read_many), TextsAhead(versions.read)
        self._imaged: Future[None] | None = None

    def append(self, effects: Effects) -> None:
        """Hands one record to the kernel; the next commit covers it."""
        self._commits.append(effects)

    def behind(self) -> bool:
        """Whether the disk is too slow for the crawl: no assignment may leave."""
        return self._commits.behind()

    def turn(self) -> None:
        """Once per turn of the loop: begins a commit, a rotation or a sealing when it is time, and takes over what has
        ended."""
        closed = self._commits.turn(self._sealing.rotates)
        if closed is not None:
            self._sealing.waiting.append(closed)
        if self._imaged is not None and self._imaged.done():
            self._imaged.result()
            self._imaged = None
        self._sealing.turn()
        if self._merging is not None:
            self._merging.turn(self._sealing.segments)

    def may_merge(self, room: bool) -> None:
        """Whether there is memory to merge segments."""
        if self._merging is not None:
            self._merging.may_begin = room

    def give_up_merging(self) -> bool:
        """Returns whether segments were being merged."""
        return self._merging is not None and self._merging.kill()

    def url(self, page: int) -> bytes:
        return self._urls.read(page)

    def urls(self, pages: Sequence[int] | Array) -> list[bytes]:
        return self._urls.read_many(pages)

    def urls_soon(self, pages: U32) -> list[bytes]:
        """The URLs of these pages, most of which `read_ahead` has read."""
        return self._texts.get(pages)

    def read_ahead(self, pages: U32, versions: U32) -> None:
        """Begins to read the URLs of these pages, and these versions, which will be needed soon."""
        self._texts.read(pages)
        if len(versions):
            self._last_seen.read(versions)

    def versions_soon(self, numbers: U32) -> list[bytes]:
        """The versions with these numbers, most of which `read_ahead` has read; b"" for one that is not kept."""
        return self._last_seen.get(numbers)

    def ends(self) -> dict[str, tuple[Offsets, list[bytes]]]:
        """What an image holds of URLs and versions: the offsets of their blocks, and the texts that do not fill a block
        yet."""
        files = {"url": self._urls, "version": self._versions.blocks}
        return {kind: (file.offsets(), file.tail()) for kind, file in files.items()}

    def cover(self, archive: Archive) -> None:
        """Every commit covers these archive files from now on."""
        self._commits.archive = archive

    def tell_visits(self, committed: Callable[[Records], None]) -> None:
        """`committed` is called with the visits of every commit, once they are synced."""
        self._commits.committed = committed

    def show(self, standing: Callable[[], dict[str, Any]]) -> None:
        """`standing` returns the figures for `gossamer status`; every commit writes them."""
        self._commits.standing = standing

    @property
    def commits(self) -> int:
        """Commits of this run."""
        return self._commits.count

    @property
    def segments(self) -> int:
        """Journal files that this run has sealed."""
        return self._sealing.segments

    @property
    def unsealed(self) -> bool:
        return self._sealing.busy

    @property
    def notes(self) -> list[str]:
        """Warnings of sealing and merging, for the log; the caller clears them."""
        if self._merging is not None:
            self._sealing.notes += self._merging.notes
            self._merging.notes.clear()
        return self._sealing.notes

    @property
    def lock_fd(self) -> int:
        return self._lock.fileno()

    @property
    def locked_since(self) -> float:
        return self._lock.since

    def manifest(self) -> Contents:
        """The present contents. Only the commit thread changes them, and it replaces them whole."""
        return self._manifest.contents

    @property
    def taking_image(self) -> bool:
        return self._imaged is not None

    def take_image(self, line: dict[str, Any]) -> None:
        """Adds an image that was made in the background; `line` is its line of the manifest."""
        self._imaged = self._thread.submit(image.finish, self.shard, self._manifest, line)

    def commit(self, rotate: bool = False) -> None:
        """Commits everything, and returns when it is done. `rotate` closes the journal file."""
        self._sealing.waiting.extend(self._commits.now(rotate))

    def commit_soon(self) -> int:
        """Begins a commit at the next turn; when `commits` reaches the number returned, all that was appended is
        durable."""
        return self._commits.soon()

    def seal_all(self) -> None:
        """Returns when everything is sealed."""
        self._sealing.finish()

    def finish(self, arrays: dict[str, Array | image.Parts], meta: dict[str, Any], seal: bool = True) -> None:
        """A clean stop: commits and seals everything, and writes an image. Without `seal`, which takes memory, the next
        start seals."""
        if not self._commits.all_closed:
            self.commit(rotate=True)
        if seal:
            self.seal_all()
        journal = self._commits.journal
        stopped = meta | {STOPPED: journal.number}
        image.finish(self.shard, self._manifest, image.write(self.shard, journal.tick, journal.last, arrays, stopped))

    def close(self) -> None:
        """Also after an error: nothing more is written."""
        self._thread.shutdown(wait=True)
        self._texts.close()
        self._last_seen.close()
        self._sealing.kill()
        self.give_up_merging()
        for file in (self._commits.journal, self._urls, self._versions.blocks, self._manifest):
            file.close()
        self._lock.release()
