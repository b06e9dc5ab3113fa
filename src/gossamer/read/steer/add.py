"""`gossamer add`: seeds for a crawl that runs, or for its next run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from gossamer import urls
from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.units import thousands
from gossamer.collection.forgetting import tombstones
from gossamer.collection.layout import require_collection, shard_folder
from gossamer.collection.runs import settings_of_last_run
from gossamer.config.settings import Settings
from gossamer.crawler.start import check_contact, note_outside
from gossamer.observe.socket import Said, ask
from gossamer.read.steer.deliver import Delivered, Progress, deliver
from gossamer.seeder.seeds import Seeds, read_seeds

NOTES: Final = 10
"""At most this many notes are shown one by one."""
POLL: Final = 0.5
"""Seconds between two questions about pages that are waited for."""


class Added(NamedTuple):
    seeds: Seeds
    delivered: Delivered


class Answered(NamedTuple):
    """What became of a page that was waited for."""

    url: str
    state: str
    """`done`; `waiting`, if it is tried again later or its site waits; or `excluded`."""
    outcome: str | None
    words: str


def add(
    folder: Path,
    given: Sequence[str],
    files: Sequence[Path],
    say: Callable[[str], None] = lambda line: None,
    progress: Progress = lambda part: None,
    running: bool = False,
) -> Added:
    """Adds seeds; lines that are none are reported with file and line, and left out. `running`: it is an error if no
    crawl runs."""
    require_collection(folder)
    if running and ask(shard_folder(folder), {"aside": True}) is None:
        cure = f"Leave --now out: the next run requests the pages. Or start it first: gossamer crawl {folder}"
        raise UsageError(f"no crawl runs in {folder}, so no page is answered now", cure)
    settings = settings_of_last_run(folder)
    seeds = read_seeds(given, files, settings.seeder)
    for complaint in seeds.complaints:
        say(f"skipped: {complaint}")
    seeds = _without_forgotten(folder, seeds, settings, say)
    if not seeds.urls:
        raise UsageError("no usable URL", "Name URLs like https://example.org/page, or give --seeds FILE.")
    check_contact(settings, seeds.urls)
    notes: list[str] = []
    note_outside(settings, seeds.urls, notes.append)
    for note in notes[:NOTES]:
        say(note)
    if len(notes) > NOTES:
        say(f"note: {thousands(len(notes) - NOTES)} more URLs are outside seeder.domains")
    return Added(seeds, deliver(folder, "add", seeds.urls, progress))


def _without_forgotten(folder: Path, seeds: Seeds, settings: Settings, say: Callable[[str], None]) -> Seeds:
    """The seeds that were not forgotten; says of the others when and why they were."""
    forgotten, scope, kept = tombstones.read(shard_folder(folder)), urls.Scope.of(settings.seeder), list[str]()
    for url in seeds.urls:
        tombstone = forgotten.tombstone(scope.canonical(url) or url)
        if tombstone is None:
            kept.append(url)
        else:
            say(f"skipped: {url}: {tombstone.told()}")
    return replace(seeds, urls=tuple(kept))


def answers(folder: Path, seeds: Sequence[str], seconds: float) -> Iterator[Answered]:
    """The pages as they are answered. Ends with an error if some are not answered within so many seconds, or if the
    crawl ends."""
    shard, until = shard_folder(folder), time.monotonic() + seconds
    scope = urls.Scope.of(settings_of_last_run(folder).seeder)
    left = {url: scope.canonical(url) or url for url in seeds}
    while left:
        for url, page in list(left.items()):
            said = ask(shard, {"page": page})
            if said is None:
                raise GossamerError(
                    f"the crawl has ended, and {len(left)} of the pages are not answered",
                    f"They stay added: the next run requests them. gossamer crawl {folder}",
                )
            if (answered := _answered(url, said)) is not None:
                yield answered
                del left[url]
        if left and time.monotonic() > until:
            first = next(iter(left))
            raise GossamerError(
                f"{len(left)} of the pages are not answered yet, such as {first}",
                f"They stay added, and are requested in their turn: gossamer explain {folder} {first}",
            )
        time.sleep(POLL if left else 0.0)


def _answered(url: str, said: Said) -> Answered | None:
    if said.get("page") is None:
        return Answered(url, "unknown", None, "It did not become a page: its site or the collection is full.")
    standing = said["standing"]
    if standing["state"] == "pending":
        return None
    return Answered(url, standing["state"], standing["outcome"], standing["words"])
