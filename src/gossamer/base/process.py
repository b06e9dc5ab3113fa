"""Short-lived processes in the background of a crawl: each holds the lock too, and dies with the desk.

    python -P -m gossamer.base.process PARENT MODULE ARGUMENT...

runs a module as a child of the desk: it arranges to be killed with its parent, checks that the parent still lives, and
only then imports the module, which may take a second. Its output goes to files, because an unread pipe could be too
small for it. Ctrl-C never reaches it: it is started with that signal blocked (a process group of its own would be made
a moment too late).

It has a timeout: a process that takes longer than `most` seconds is considered hung, and killed. Time during which the
desk did not poll does not count, so that a desk that was itself stopped kills no innocent process.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Final

from gossamer.base.bus import explain_bus_errors
from gossamer.base.units import human_time

LONGEST: Final = 3600.0
_LOOK: Final = 1.0
_PR_SET_PDEATHSIG: Final = 1
_started: weakref.WeakSet[Process] = weakref.WeakSet()


@contextmanager
def beside(name: str, look_after: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs `look_after` in a thread meanwhile. At the end, sets its event and waits for it. Processes that it starts
    die with the thread."""
    stop = threading.Event()
    thread = threading.Thread(target=look_after, args=(stop,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class Process:
    def __init__(
        self, module: str, arguments: Sequence[str], standard_input: bytes, lock: int, most: float = LONGEST
    ) -> None:
        """Starts the process. `lock` is the descriptor of the lock, which it inherits; -1 for none."""
        self._most, self._seen, self._looked = most, 0.0, time.monotonic()
        self._output, self._errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        for file in (self._output, self._errors):
            weakref.finalize(self, file.close)
        command = [sys.executable, "-P", "-m", "gossamer.base.process", str(os.getpid()), module, *arguments]
        with tempfile.TemporaryFile() as given:
            given.write(standard_input)
            given.seek(0)
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._process = subprocess.Popen(
                    command, stdin=given, stdout=self._output, stderr=self._errors, pass_fds=[lock] if lock >= 0 else []
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _started.add(self)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it has ended. Poll about once per second: this kills a process that hangs."""
        now = time.monotonic()
        self._seen += min(now - self._looked, 2 * _LOOK)
        self._looked = now
        if self._process.poll() is None and self._seen > self._most:
            self.kill()
        return self._process.poll() is not None

    def wait(self, look: Callable[[], object] = lambda: None) -> None:
        """Waits for its end. `look` is called once per second meanwhile; it may kill the process."""
        while not self.ended:
            look()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LOOK)

    @property
    def output(self) -> str:
        """What it printed; read it after the end."""
        return _read(self._output)

    @property
    def code(self) -> int:
        return int(self._process.returncode)

    @property
    def failure(self) -> str:
        """The last line of its error output if it failed, else empty."""
        if self._process.returncode == 0:
            return ""
        if self._seen > self._most:
            return f"it took longer than {human_time(self._most)}, and was killed"
        lines = _read(self._errors).strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.returncode}"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Asks the kernel to send this process the signal `by` when its parent ends (prctl(2), PR_SET_PDEATHSIG).

    The parent is the *thread* that started this process. It may have ended already: compare `os.getppid()` afterwards.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by)


def pids() -> list[int]:
    """The ids of the processes that run."""
    return [process.pid for process in _started if not process.ended]


def children(pid: int) -> list[int]:
    """The child processes of all threads of a process; none if it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    return found


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def main() -> None:
    die_with_parent()
    explain_bus_errors()
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
    module, sys.argv[1:] = sys.argv[2], sys.argv[3:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
