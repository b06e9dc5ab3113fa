"""A hunt in its own process, watched: if it crashes or hangs, the input that caused this is known.

The current input is in shared memory. A process that dies, or that spends on one input more than `_PATIENCE` times the
CPU time that the target allows, or that waits for a minute without using the processor, has found something; another
process continues. On a busy machine, one that would run and may not is not waiting.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fuzz.hunt import Failure, Hunt
from fuzz.targets import TARGETS

_HEAD: Final = struct.Struct("<QQQI")  # inputs, lines, findings, length of the input that follows
_PATIENCE: Final = 10
_LONGEST_WAIT: Final = 60.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Watch:
    """All hunts of one target."""

    def __init__(self, name: str, folder: Path, say: Callable[[str], None]) -> None:
        self._name = name
        self._folder = folder / name
        self._say = say
        self._shared = mmap.mmap(-1, _HEAD.size + TARGETS[name].longest + (1 << 20))
        self.tried = self.reached = 0
        self.found = 0

    def run(self, seconds: float, seed: int) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._watched(end, seed)
            seed += 1

    def _watched(self, end: float, seed: int) -> None:
        _HEAD.pack_into(self._shared, 0, 0, 0, 0, 0)
        parent, child = os.getpid(), os.fork()
        if child == 0:
            os._exit(self._hunt(end, seed, parent))
        hung, tried, since, spent = "", 0, time.monotonic(), 0.0
        granted = _PATIENCE * TARGETS[self._name].seconds
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.2)
            count = _HEAD.unpack_from(self._shared)[0]
            if count != tried:
                tried, since, spent = count, time.monotonic(), _processor_time(child)
            elif _is_runnable(child) and _processor_time(child) - spent <= granted:
                since = time.monotonic()
            elif tried and (_processor_time(child) - spent > granted or time.monotonic() - since > _LONGEST_WAIT):
                hung = "hang"
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                break
        count, lines, found, length = _HEAD.unpack_from(self._shared)
        self.tried += count
        self.reached = max(self.reached, lines)
        self.found += found
        if hung or status:
            self.found += 1
            data = self._shared[_HEAD.size : _HEAD.size + length]
            key = hung or f"died-{os.waitstatus_to_exitcode(status)}"
            self._keep(Failure(data, f"{key}-{self.found}", f"{key}\n"))

    def _hunt(self, end: float, seed: int, parent: int) -> int:
        """The hunt, in the child process."""
        tried = reached = found = 0

        def trying(data: bytes) -> None:
            nonlocal tried
            tried += 1
            self._shared[_HEAD.size : _HEAD.size + len(data)] = data
            _HEAD.pack_into(self._shared, 0, tried, reached, found, len(data))

        target = TARGETS[self._name]()
        hunt = Hunt(target, seed, trying)
        while time.monotonic() < end and os.getppid() == parent:
            finding, reached = hunt.once(), hunt.reached
            if finding is not None:
                found += 1
                self._keep(finding)
        _HEAD.pack_into(self._shared, 0, tried, hunt.reached, found, 0)
        target.close()
        return 0

    def _keep(self, finding: Failure) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / finding.key
        path.write_bytes(finding.data)
        path.with_suffix(".txt").write_text(finding.told)
        self._say(f"{self._name}: {finding.told.splitlines()[-1][:200]!r}")
        self._say(f"  again with: python -m fuzz {self._name} {path}")


def _is_runnable(child: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "R"
    return False


def _processor_time(child: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    return 0.0
