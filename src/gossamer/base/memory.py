"""How much memory processes have, and how much is left for more.

*Used* is what processes have to themselves: resident less shared (`statm`: 15 µs a process, where the exact PSS of
`smaps_rollup` takes 0.3 ms and more, the larger the process is, and holds up its page faults meanwhile). What is shared
are libraries and files above all, which the kernel can drop.

*Left* is the least of what the machine can give without swapping (MemAvailable) and of what the control groups of this
process can, up to the root: limit less usage, and what would be dropped: pages of files, and the kernel's own caches
where the group tells (version 2: memory.max, memory.current, slab_reclaimable; version 1: limit_in_bytes,
usage_in_bytes). Which groups have a limit is looked up once.
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
"""Of what is there when the crawl begins: so much of it may be used."""
RESERVE: Final = 0.02
"""Of all memory: what must be left, whoever uses the rest."""
_VERSION_2: Final = ("memory.max", "memory.current")
_VERSION_1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes")
_DROPPED: Final = {
    _VERSION_2: {"inactive_file", "active_file", "slab_reclaimable"},
    _VERSION_1: {"total_inactive_file", "total_active_file"},
}


def used(pids: Iterable[int]) -> int:
    """Bytes; a process that has gone counts nothing."""
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
    """Where the kernel says what there is; tests have one of their own."""

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
        """Of each group with a limit: that, and what is left of it."""
        for folder, names in _limited(self.groups, self.mounted):
            yield from _limit(folder, names)


@cache
def _limited(groups: Path, mounted: Path) -> list[tuple[Path, tuple[str, str]]]:
    """Groups that have a limit. In a container the path of a group may not be there: then its parents are."""
    return [(folder, names) for folder, names in _groups(groups, mounted) if any(_limit(folder, names))]


def _groups(groups: Path, mounted: Path) -> Iterator[tuple[Path, tuple[str, str]]]:
    """Those of this process and all above, with the names of their files."""
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
    """Nothing if there is none."""
    most, taken = (_text(group / name).strip() for name in names)
    if not most.isdigit() or not taken.isdigit() or int(most) >= 1 << 60:
        return
    told = (line.split() for line in _text(group / "memory.stat").splitlines())
    yield int(most), int(most) - int(taken) + sum(int(words[1]) for words in told if words[0] in _DROPPED[names])


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


class Limit:
    """What the processes of a crawl may use together."""

    def __init__(self, bytes: int, already: int = 0, system: System | None = None) -> None:
        """0: a share of what is there, `already` in use by the crawl included."""
        self._system = system or System()
        self._set = bytes > 0
        self.bytes = bytes or int(SHARE * (already + self._system.left()))
        self._reserve = int(RESERVE * self._system.total())

    def reached(self, used: int) -> str:
        """In words; "": it is not."""
        if used >= self.bytes:
            whose = "collection.max_memory" if self._set else "nine tenths of what was there"
            return f"the crawl uses {human_size(used)} of memory, and may use {human_size(self.bytes)} ({whose})"
        if (left := self._system.left()) < self._reserve:
            return f"{human_size(left)} of memory are left on this machine; the crawl uses {human_size(used)} of it"
        return ""

    def has_room(self, used: int, more: int) -> bool:
        return used + more < self.bytes and more + self._reserve < self._system.left()
