"""Memory: how much processes use, and how much is left.

*Used* is the private memory of processes: resident minus shared (`statm`: 15 µs per process; the exact PSS of
`smaps_rollup` takes 0.3 ms or more, grows with the process, and delays its page faults meanwhile). Shared memory is
mostly libraries and files, which the kernel can drop.

*Left* is the minimum of two things: what the machine can give without swapping (MemAvailable), and what each control
group of this process, up to the root, can give. The latter is limit minus usage plus what would be dropped: pages of
files, and the kernel's own caches if the group reports them (version 2: memory.max, memory.current, slab_reclaimable;
version 1: limit_in_bytes, usage_in_bytes). The groups that have a limit are determined once.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from gossamer.base.units import human_size

SHARE: Final = 0.9
"""The part of the available memory, at the start of the crawl, that it may use."""
RESERVE: Final = 0.02
"""The part of all memory that must stay free, whichever processes use the rest."""
_VERSION_2: Final = ("memory.max", "memory.current")
_VERSION_1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes")
_DROPPED: Final = {
    _VERSION_2: {"inactive_file", "active_file", "slab_reclaimable"},
    _VERSION_1: {"total_inactive_file", "total_active_file"},
}


def used(pids: Iterable[int]) -> int:
    """Bytes used by these processes; a process that has ended counts 0."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                _, resident, shared, *_ = map(int, file.read().split())
        except (OSError, ValueError):
            continue
        total += (resident - shared) * mmap.PAGESIZE
    return total


@dataclass(frozen=True, slots=True)
class System:
    """The files in which the kernel reports memory; tests use their own."""

    meminfo: Path = Path("/proc/meminfo")
    groups: Path = Path("/proc/self/cgroup")
    mounted: Path = Path("/sys/fs/cgroup")

    def total(self) -> int:
        return min(self._said().get("MemTotal", 1 << 62), *(limit for limit, _ in self._limits()), 1 << 62)

    def left(self) -> int:
        return max(0, min(self._said().get("MemAvailable", 1 << 62), *(left for _, left in self._limits()), 1 << 62))

    def _said(self) -> dict[str, int]:
        lines = (line.split() for line in _text(self.meminfo).splitlines())
        return {words[0].rstrip(":"): 1024 * int(words[1]) for words in lines if len(words) > 1}

    def _limits(self) -> Iterator[tuple[int, int]]:
        """For each control group with a limit: the limit, and what is left of it."""
        for folder, names in _limited(self.groups, self.mounted):
            yield from _limit(folder, names)


@cache
def _limited(groups: Path, mounted: Path) -> list[tuple[Path, tuple[str, str]]]:
    """The control groups with a limit. In a container the path of a group may not exist; its parents do."""
    return [(folder, names) for folder, names in _groups(groups, mounted) if any(_limit(folder, names))]


def _groups(groups: Path, mounted: Path) -> Iterator[tuple[Path, tuple[str, str]]]:
    """The control groups of this process and all their parents, with the names of their files."""
    for line in _text(groups).splitlines():
        number, controllers, path = line.split(":", 2)
        tops: tuple[Path, ...]
        if number == "0":
            tops, names = (mounted, mounted / "unified"), _VERSION_2
        elif "memory" in controllers.split(","):
            tops, names = (mounted / "memory",), _VERSION_1
        else:
            continue
        for top in tops:
            group = top / path.strip("/")
            for folder in (group, *group.parents):
                if top not in (folder, *folder.parents):
                    break
                yield folder, names


def _limit(group: Path, names: tuple[str, str]) -> Iterator[tuple[int, int]]:
    """The limit of a group and what is left of it; nothing if the group has no limit."""
    most, taken = (_text(group / name).strip() for name in names)
    if not most.isdigit() or not taken.isdigit() or int(most) >= 1 << 60:
        return
    lines = (line.split() for line in _text(group / "memory.stat").splitlines())
    yield int(most), int(most) - int(taken) + sum(int(words[1]) for words in lines if words[0] in _DROPPED[names])


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


class Limit:
    """The limit for the memory of all processes of a crawl together."""

    def __init__(self, bytes: int, already: int = 0, system: System | None = None) -> None:
        """`bytes` 0 means a share of the available memory, which includes `already`, the bytes that the crawl uses
        now."""
        self._system = system or System()
        self._set = bytes > 0
        self.bytes = bytes or int(SHARE * (already + self._system.left()))
        self._reserve = int(RESERVE * self._system.total())

    def reached(self, used: int, freed: int = 0) -> str:
        """Which limit is reached, as a sentence; empty if none is. `freed`: as if so many bytes were not used."""
        if used - freed >= self.bytes:
            whose = "collection.max_memory" if self._set else "nine tenths of what was available"
            return f"the crawl uses {human_size(used)} of memory, and may use {human_size(self.bytes)} ({whose})"
        if (left := self._system.left() + freed) < self._reserve:
            return f"{human_size(left)} of memory are left on this machine; the crawl uses {human_size(used)}"
        return ""

    def has_room(self, used: int, more: int) -> bool:
        return used + more < self.bytes and more + self._reserve < self._system.left()
