"""The folder of a collection: whose it is, whether it runs, and whether what is still to come has room."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

from gossamer.base.errors import GossamerError
from gossamer.base.units import human_size, thousands
from gossamer.collection.layout import FOLDERS, shard_folder
from gossamer.collection.lock import holder
from gossamer.doctor.check import Found, Patient, note, ok, wrong
from gossamer.observe.crawl_status import read_crawl_status


def owner(patient: Patient) -> Found:
    """Everything must be this user's, or at least writable: a crawl that was once run by root leaves files behind."""
    shard = shard_folder(patient.place)
    there = [patient.place, shard, *(shard / name for name in FOLDERS), *shard.iterdir()]
    closed = [path for path in there if path.exists() and not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        return wrong(f"{closed[0]} belongs to {_owner(closed[0])}, and {_name(os.geteuid())} may not write it")
    others = sorted({_owner(path) for path in there if path.exists()} - {_name(os.geteuid())})
    return note(f"parts of it belong to {', '.join(others)}") if others else ok(_owner(shard))


def _owner(path: Path) -> str:
    return _name(path.stat().st_uid)


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def lock(patient: Patient) -> Found:
    found = holder(shard_folder(patient.place))
    if found is None:
        return ok("free")
    return note(f"held by a crawl that runs: {found}") if found.alive else ok(f"free; the last was {found}")


def room(patient: Patient) -> Found:
    """Whether the pages that are still to be fetched have room, if they are as large as those before."""
    free = shutil.disk_usage(patient.place).free
    try:
        statistics = read_crawl_status(patient.place).statistics
    except GossamerError:
        return ok("not known yet: the crawl has stored nothing")
    stored, pages = statistics.requests.stored, statistics.pages
    if not stored:
        return ok("not known yet: the crawl has stored nothing")
    taken = sum(path.lstat().st_size for path in patient.place.rglob("*") if path.is_file())
    left = min(pages.pending + pages.waiting, patient.settings.collection.max_pages)
    each, needed = taken / stored, left * taken / stored
    said = f"{human_size(taken)} for {thousands(stored)} stored pages, {human_size(each)} each"
    if needed <= free:
        return ok(f"{said}; {human_size(free)} free, {human_size(needed)} for the pages that are known")
    return note(
        f"{said}: the {thousands(left)} pages to come need {human_size(needed)}, and {human_size(free)} are free"
    )
