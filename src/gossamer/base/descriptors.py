"""Descriptors: each connection takes one, or three on a metered line, and a process may have so many (`ulimit -n`)."""

from __future__ import annotations

import resource
from typing import Final

from gossamer.base.errors import StorageError

OTHERS: Final = 100
"""What a process of the crawl has open besides connections, at most: files, wires, name servers."""
METERED: Final = 3
"""What a connection takes within a bandwidth (`web/limit/throttle.py`)."""


def connections(wanted: int, each: int = 1) -> int:
    """As many of them as may be open, if each takes so many descriptors. The limit is raised for it, as far as that
    goes, also for processes to come."""
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


def at_most() -> int:
    """Descriptors that a process may ever have."""
    return _bounded(resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def _bounded(limit: int) -> int:
    return 1 << 62 if limit == resource.RLIM_INFINITY else limit
