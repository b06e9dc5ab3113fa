"""Limits of a process that a crawl must not meet: file descriptors (`ulimit -n`), of which a connection needs two, or
three within a bandwidth limit, and the stack (`ulimit -s`)."""

from __future__ import annotations

import resource
from typing import Final

from gossamer.base.errors import StorageError

OTHERS: Final = 100
"""Most descriptors that a process of the crawl needs besides connections: files, pipes, name servers."""
COUNTED: Final = 2
"""Descriptors per connection: libcurl's, and while a request is under way its meter's (`web/fetch/meter.py`)."""
METERED: Final = 3
"""Descriptors per connection within a bandwidth limit (`web/limit/throttle.py`)."""

STACK: Final = 1 << 20
"""Bytes. A crawl of the demonstration Web ends with 128 KB; with 64 KB all workers die."""


def connections(wanted: int, each: int = 1) -> int:
    """How many of the `wanted` connections may be open, if each needs `each` descriptors. Raises the soft limit as far
    as needed and possible, also for processes started later."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    now, most = _bounded(soft), at_most()
    needed = min(most, each * wanted + OTHERS)
    if now < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    if most < OTHERS + each:
        raise StorageError(
            f"a process may have {most} files open here, and a crawl needs {OTHERS + each}",
            "Raise the limit (`ulimit -n 1024`), and start again.",
        )
    return min(wanted, (most - OTHERS) // each)


def require_stack() -> None:
    """Raises StorageError if the stack is smaller than a worker may need: workers would die of it, page by page."""
    if (soft := _bounded(resource.getrlimit(resource.RLIMIT_STACK)[0])) < STACK:
        raise StorageError(
            f"the stack of a process is limited to {soft >> 10} KB here, and a crawl needs {STACK >> 10} KB",
            "Raise the limit (`ulimit -s 8192`), and start again.",
        )


def at_most() -> int:
    """Most descriptors that a process can have: the hard limit."""
    return _bounded(resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def _bounded(limit: int) -> int:
    return 1 << 62 if limit == resource.RLIM_INFINITY else limit
