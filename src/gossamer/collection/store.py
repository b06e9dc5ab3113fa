"""The collection, open for a crawl: the desk appends, a thread commits every second, a process seals.

The loop only hands bytes to the kernel (`append`) and takes snapshots (`turn`). The commit thread does the rest, one
task at a time: it syncs, writes the figures for `status` and appends lines to the manifest. An error there is raised in
the loop at its next turn, and the crawl stops: what was committed before is intact.

The parts: `commits` (journal, commits, back-pressure), `sealing` (segments), and URLs read ahead.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gossamer.base.arrays import Array
from gossamer.base.clock import Clock
from gossamer.collection import image
from gossamer.collection.blocks import BlockFile, TextsAhead
from gossamer.collection.commits import Commits
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.journal import Journal
from gossamer.collection.layout import STOPPED
from gossamer.collection.lock import Lock
from gossamer.collection.manifest import Contents, Manifest
from gossamer.collection.recovery import Recovered
from gossamer.collection.sealing import Sealer, Sealing, seal_in_process
from gossamer.config.settings import CollectionSettings


class Store:
    def __init__(
        self,
        recovered: Recovered,
        lock: Lock,
        manifest: Manifest,
        journal: Journal,
        urls: BlockFile,
        settings: CollectionSettings,
        clock: Clock,
        stopped: bool = False,
        sealer: Sealer = seal_in_process,
    ) -> None:
        """`stopped`: the last run ended with a clean stop, so all its requests are known. `sealer` starts the sealing
        of a journal file."""
        self.shard, self.lock, self.urls, self.stopped = recovered.shard, lock, urls, stopped
        self.warnings, self.next_archive = recovered.warnings, recovered.next_archive
        self._manifest = manifest
        self._thread = thread = ThreadPoolExecutor(1, "commit")
        self.commits = Commits(self.shard, journal, urls, clock, thread)
        waiting = recovered.unsealed
        self.sealing = Sealing(self.shard, lock.fileno(), manifest, settings, clock, thread, waiting, sealer)
        self.texts = TextsAhead(urls)
        self._imaged: Future[None] | None = None

    def append(self, effects: Effects) -> None:
        """Hands one record to the kernel; the next commit covers it."""
        self.commits.append(effects)

    def behind(self) -> bool:
        """Whether the disk is too slow for the crawl: no assignment may leave."""
        return self.commits.behind()

    def turn(self) -> None:
        """Once per turn of the loop: begins a commit, a rotation or a sealing when it is time, and takes over what has
        ended."""
        closed = self.commits.turn(self.sealing.rotates)
        if closed is not None:
            self.sealing.waiting.append(closed)
        if self._imaged is not None and self._imaged.done():
            self._imaged.result()
            self._imaged = None
        self.sealing.turn()

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
        self.sealing.waiting.extend(self.commits.now(rotate))

    def seal_all(self) -> None:
        """Returns when everything is sealed."""
        self.sealing.finish()

    def finish(self, arrays: dict[str, Array | image.Parts], meta: dict[str, Any], seal: bool = True) -> None:
        """A clean stop: commits and seals everything, and writes an image. Without `seal`, which takes memory, the next
        start seals."""
        self.commit(rotate=True)
        if seal:
            self.seal_all()
        journal = self.commits.journal
        stopped = meta | {STOPPED: journal.number}
        image.finish(self.shard, self._manifest, image.write(self.shard, journal.tick, journal.last, arrays, stopped))

    def close(self) -> None:
        """Also after an error: nothing more is written."""
        self._thread.shutdown(wait=True)
        self.texts.close()
        self.sealing.kill()
        for file in (self.commits.journal, self.urls, self._manifest):
            file.close()
        self.lock.release()
