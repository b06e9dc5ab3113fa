"""Opens a collection: creates a new one, or recovers an existing one into the memory of the desk."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gossamer.base import disk
from gossamer.base.clock import Clock
from gossamer.base.model import NONE, Texts
from gossamer.base.units import plural
from gossamer.collection import lock, manifest
from gossamer.collection.blocks import BlockFile
from gossamer.collection.forgetting import tombstones
from gossamer.collection.forgetting.finish import finish
from gossamer.collection.journal.effects import SITE_EVENT, Effects, SiteNews
from gossamer.collection.layout import SETTINGS, URL_FILE, format_of, is_collection, make_folders, shard_folder
from gossamer.collection.manifest import Manifest, Meta
from gossamer.collection.merging import Merger
from gossamer.collection.recovery import Recovered, cut, recover
from gossamer.collection.runs import begin_run, go_on, in_form
from gossamer.collection.sealing import Sealer, seal_in_process
from gossamer.collection.store import Store
from gossamer.collection.versions import VersionFile
from gossamer.config.settings import Settings
from gossamer.crawler.apply import apply
from gossamer.crawler.parts import PARTS, new_desk
from gossamer.desk import snapshot
from gossamer.desk.desk import Desk, Part
from gossamer.desk.places import Places
from gossamer.harvester.lost import patience_after
from gossamer.harvester.versions import Versions
from gossamer.manager import older


def open_collection(
    folder: Path,
    settings: Settings,
    clock: Clock,
    toml: bytes | None = None,
    changed: Sequence[str] | None = None,
    sealer: Sealer = seal_in_process,
    merger: Merger | None = None,
    parts: Sequence[type[Part]] = PARTS,
    beside: Path | None = None,
    tables: Mapping[str, str] | None = None,
) -> tuple[Store, Desk, bool]:
    """Returns the store, the desk with everything that was committed, and whether there was a crawl before. A crawl
    that was killed before its first commit counts: it may have sent requests.

    `toml` is the new crawl.toml, if it changes. It is written before the manifest: no collection is without its
    settings. `changed` lists the settings that differ from the run before, if that is known. The run is recorded with
    it, but only `new_settings.settle` settles it. `beside`: its tombstones hold here. `tables`: of plug-ins.
    """
    shard = shard_folder(folder)
    disk.make_directory(folder)
    disk.make_directory(shard)
    held = lock.take(shard)
    try:
        make_folders(shard)
        new = not is_collection(folder)
        finished = 0 if new else finish(shard)
        recovered = None if new else recover(shard)
        if recovered is None:
            _create(folder, settings, clock, toml, None if beside is None else shard_folder(beside), tables)
            recovered = recover(shard)
        if beside is not None:
            tombstones.share(shard, shard_folder(beside))
        if finished:
            recovered.warnings.append(f"{plural(finished, 'order')} to forget had been begun, and is carried out now")
        settings = in_form(settings, recovered.meta.url_form)
        older.provide(shard, settings.manager, recovered.meta.seed, recovered.meta.url_form, held.fileno())
        desk = new_desk(settings, recovered.meta.seed, shard, parts)
        ends = _replay(desk, recovered)
        if not new and toml is not None:  # the collection can be opened with it
            disk.write_atomic(folder / SETTINGS, toml)
        reckoned = not new and go_on(shard, clock, desk.wall, desk.corrected)
        if not new:
            begin_run(shard, settings, clock.wall(), changed, tables)
        patience = _patience(desk, recovered.patience, clock)
        journal = cut(recovered, [patience] if patience else [])
        if patience:
            apply(desk, patience)
        (offsets, texts), (version_offsets, last) = ends["url"], ends["version"]
        urls = BlockFile(shard / URL_FILE, offsets)
        urls.put(desk.columns.page.count - len(texts), texts)
        versions = VersionFile.open(shard, recovered.mark.lengths, desk[Versions].count, last, version_offsets)
        stopped, limits = recovered.stopped and reckoned, settings.collection
        opened = Manifest.open(shard)
        store = Store(recovered, held, opened, journal, urls, versions, limits, clock, stopped, sealer, merger)
    except BaseException:
        held.release()
        raise
    return store, desk, not new


def _create(
    folder: Path,
    settings: Settings,
    clock: Clock,
    toml: bytes | None,
    beside: Path | None,
    tables: Mapping[str, str] | None,
) -> None:
    """Writes what makes a folder a collection; the manifest last. `beside`: the shard of a collection whose tombstones
    are to hold here: only with its seed do their fingerprints mean the same."""
    shard = shard_folder(folder)
    if toml is not None:
        disk.write_atomic(folder / SETTINGS, toml)
    go_on(shard, clock, 0.0)
    begin_run(shard, settings, clock.wall(), tables=tables)
    form = settings.seeder.url_form
    seed = secrets.randbits(64) if beside is None else manifest.read(beside).meta.seed
    Manifest.create(shard, Meta(format_of(form), 0, seed, clock.wall(), form))


def _replay(desk: Desk, recovered: Recovered) -> snapshot.Ends:
    """Applies everything that was committed. Returns the last URLs and versions, which may not fill a block yet, and
    the offsets of the blocks that the image knew."""
    ends = snapshot.NO_ENDS
    if recovered.image is not None and snapshot.usable(desk, recovered.image):
        ends = snapshot.load(desk, recovered.image)
    elif recovered.image is not None:
        recovered.warnings.append(
            f"{recovered.image.folder} was made under another policy, with larger limits or by another version; "
            "starting from the segments instead, which takes longer"
        )
        recovered = replace(recovered, image=None)
    for effects in recovered.effects():
        apply(desk, effects)
        ends = snapshot.followed(ends, effects)
    return ends


def _patience(desk: Desk, lost: list[Effects], clock: Clock) -> Effects | None:
    """What records that were never committed say about politeness: until when their sites back off, and how slow they
    are. Nothing else is taken from them.

    A site that only these records knew is created again, without pages, so that its clock survives.
    """
    names: dict[int, str] = dict(enumerate(desk[Places].names))
    for effects in lost:
        names.update(enumerate((n.decode() for n in effects.sites.split()), effects.first_site))
    after = patience_after(desk, lost)
    learned = {names[site]: after[site] for site in after if site in names}  # its record may be lost
    if not learned:
        return None
    found = desk.effects(clock.wall(), clock.monotonic())
    sites = {name: desk[Places].site(name) for name in learned}
    new = [name for name, site in sites.items() if site == NONE]
    sites |= {name: found.first_site + i for i, name in enumerate(new)}
    found.sites = Texts.join([name.encode() for name in new], "<u2")
    found.sites_www = np.zeros(len(new), np.uint8)
    news = [SiteNews.patience(sites[name], found.wall, until) for name, (until, _) in learned.items()]
    for name, (until, doubled) in learned.items():
        news += [SiteNews.slowed(sites[name], found.wall, until)] * doubled
    found.site_events = np.array(news, SITE_EVENT)
    return found
