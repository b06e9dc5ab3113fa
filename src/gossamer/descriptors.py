"""Descriptors: each connection takes one, and a process may have so many (`ulimit -n`)."""

from __future__ import annotations

import resource
from typing import Final

from gossamer.errors import StorageError

OTHERS: Final = 100
"""What a process of the crawl has open besides connections, at most: files, wires, name servers."""


def connections(wanted: int) -> int:
    """As many of them as may be open. The limit is raised for it, as far as that goes, also for processes to come."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    now, most = _bounded(soft), _bounded(hard)
    needed = min(most, wanted + OTHERS)
    if now < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    if most <= OTHERS:
        raise StorageError(
            f"a process may have {most} files open here, and a crawl needs more than {OTHERS}",
            "Raise the limit (`ulimit -n 1024`), and start again.",
        )
    return min(wanted, most - OTHERS)


def _bounded(limit: int) -> int:
    return 1 << 62 if limit == resource.RLIM_INFINITY else limit
