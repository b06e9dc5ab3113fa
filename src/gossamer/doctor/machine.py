"""The machine: processors, memory, descriptors, processes, disk, clock."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from gossamer.base import descriptors, memory
from gossamer.base.clock import EARLIEST
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.doctor.check import Found, Patient, note, ok, wrong

A_PAGE: Final = 70
"""Bytes of memory of a known page, at most: columns, known-page table, digest."""
THE_REST: Final = 300_000_000
"""Bytes of memory of a crawl that knows no page yet: desk and two workers."""
LEAST_MEMORY: Final = 500_000_000
LEAST_SPACE: Final = 1_000_000_000
LEAST_PROCESSES: Final = 100
FSYNCS: Final = 7
SLOW, TOO_SLOW = 0.1, 1.0
"""Seconds of an fsync. A crawl syncs its files once a second, and what was fetched since is what a power cut costs."""
LATEST: Final = 4_102_444_800.0
"""2100-01-01."""
_FLEETING: Final = ("tmpfs", "ramfs")
_REMOTE: Final = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "fuse.sshfs", "fuse.s3fs")
_UNSYNCHRONISED: Final = 0x0040
"""STA_UNSYNC."""
_TIMEX: Final = 208
"""Bytes of struct timex on Linux; `status` is an int at offset 40 where a long has 8 bytes."""


def system(_: Patient) -> Found:
    said = f"{os.uname().sysname} {os.uname().release}, Python {sys.version.split()[0]}"
    return ok(said) if sys.platform == "linux" else wrong(said)


def processors(_: Patient) -> Found:
    count = len(os.sched_getaffinity(0))
    quota = _quota()
    if quota is not None and quota < count:
        said = f"{count}, of which this control group may use {quota:g}"
        return note(said) if quota < 1 else ok(said)
    return ok(str(count)) if count > 1 else note("1: the desk and the workers share it")


def _quota(file: Path = Path("/sys/fs/cgroup/cpu.max")) -> float | None:
    """Processors that the control group may use; None: no limit, or not known."""
    try:
        most, period = file.read_text().split()
    except (OSError, ValueError):
        return None
    return None if most == "max" else int(most) / int(period)


def main_memory(patient: Patient) -> Found:
    found = memory.System()
    left, total = found.left(), found.total()
    needed = THE_REST + A_PAGE * patient.settings.collection.max_pages
    said = f"{human_size(left)} free of {human_size(total)}"
    if left < LEAST_MEMORY:
        return wrong(f"{said}: a crawl begins with {human_size(THE_REST)}")
    if left < needed:
        most = thousands((left - THE_REST) // A_PAGE)
        return note(f"{said}: enough for {most} known pages, and collection.max_pages would need {human_size(needed)}")
    return ok(said)


def files(patient: Patient) -> Found:
    wanted = patient.settings.harvester.connections
    most = descriptors.at_most()
    may = max(0, (most - descriptors.OTHERS) // descriptors.METERED)
    said = f"{thousands(most)} for a process" if most < 1 << 62 else "no limit"
    if may >= wanted:
        return ok(said)
    enough = f"enough for {plural(may, 'connection')}, and harvester.connections is {wanted}"
    return (note if may >= 20 else wrong)(f"{said}: {enough}")


def processes(_: Patient) -> Found:
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if most == resource.RLIM_INFINITY:
        return ok("no limit")
    return (ok if most >= LEAST_PROCESSES else wrong)(f"{thousands(most)} for this user, threads included")


def space(patient: Patient) -> Found:
    free, place = shutil.disk_usage(patient.place).free, patient.place
    said = f"{human_size(free)} free at {place}"
    return ok(said) if free >= LEAST_SPACE else wrong(said)


def kind(patient: Patient) -> Found:
    """The kind of file system: locks and fsync must mean what they say."""
    name, place = kind_of(patient.place.resolve()), patient.place
    if name in _FLEETING:
        return note(f"{name} at {place}: it is memory, and empty after a restart")
    if name in _REMOTE:
        return note(f"{name} at {place}: locks and power cuts depend on the server")
    return ok(f"{name or 'of unknown kind'} at {place}")


def kind_of(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the file system that holds this absolute path; empty if it is not known."""
    best, found = -1, ""
    for line in mounts.read_text(errors="replace").splitlines():
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split()[4].encode().decode("unicode_escape"))
        if (point == path or point in path.parents) and len(point.parts) >= best:
            best, found = len(point.parts), rest.split()[0]
    return found


def sync(patient: Patient) -> Found:
    """How long the disk takes to keep a few bytes for good."""
    seconds = []
    with tempfile.TemporaryFile(dir=patient.place) as file:
        for _ in range(FSYNCS):
            file.write(b"gossamer" * 512)
            file.flush()
            start = time.monotonic()
            os.fsync(file.fileno())
            seconds.append(time.monotonic() - start)
    middle, longest = statistics.median(seconds), max(seconds)
    said = f"an fsync takes {_milliseconds(middle)}, {_milliseconds(longest)} at most"
    return wrong(said) if middle >= TOO_SLOW else note(said) if middle >= SLOW else ok(said)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else human_time(seconds)


def clock(_: Patient) -> Found:
    now = time.time()
    said = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    return ok(said) if EARLIEST <= now < LATEST else wrong(f"it shows {said}")


def clock_is_set(_: Patient) -> Found:
    """Whether a service keeps the clock right, as the kernel knows it."""
    return ok("a time service keeps it right") if synchronised() else note("no time service keeps it right")


def synchronised() -> bool:
    buffer = ctypes.create_string_buffer(_TIMEX)
    if ctypes.CDLL(None, use_errno=True).adjtimex(buffer) < 0:  # modes is 0: nothing is set
        raise OSError(ctypes.get_errno(), "adjtimex: " + os.strerror(ctypes.get_errno()))
    return not int.from_bytes(buffer.raw[40:44], sys.byteorder) & _UNSYNCHRONISED
