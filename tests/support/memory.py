"""Files of tests in memory: a file there is made in a fifth of the processor time, and a sync costs nothing.

No test needs a disk that keeps anything: what a power cut leaves is computed (`tests/support/powercut.py`), and a test
that needs a full, read-only or failing disk makes one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")
ROOM: Final = 6 << 30
"""Bytes that must be free in the folder and in memory. A whole run with four processes needs less than a quarter."""
ROOT_OF_PYTEST: Final = "PYTEST_DEBUG_TEMPROOT"


def use_memory() -> None:
    """Lets pytest make its folders in memory, unless the user has named a folder or there is not enough room."""
    if ROOT_OF_PYTEST not in os.environ and has_room(MEMORY):
        os.environ[ROOT_OF_PYTEST] = str(MEMORY)


def has_room(folder: Path) -> bool:
    """Whether the folder is there, may be written, lets programs run, and has room."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    runs = not found.f_flag & os.ST_NOEXEC
    return runs and min(found.f_bavail * found.f_frsize, available()) >= ROOM


def available() -> int:
    """Bytes of memory that programs can still get, as the kernel estimates it."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
