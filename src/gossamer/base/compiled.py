"""Compiled kernels: `@njit` for module-level functions that run without the GIL and are kept on disk.

numba looks for a kept kernel by the source file that it stands in alone. A kernel that calls one in another file would
be kept when only that other file changes, and run with an old layout of its arrays: an endless loop was seen. So the
kernels are kept in a folder named after the contents of *all* sources that have kernels, and of those whose closed sets
are frozen into them as arrays (`CONSTANTS`: a new outcome would lie beyond the end of such an array); any change makes
a new one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import xxhash

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE: Final = Path(__file__).parents[1]
CONSTANTS: Final = tuple(PACKAGE / "base" / name for name in ("model.py", "outcomes.py", "askable.py"))


def _fingerprint() -> str:
    digest = xxhash.xxh3_64()
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_bytes()
        if path in CONSTANTS or b"gossamer.base.compiled" in source:
            digest.update(source)
    return digest.hexdigest()


def _folder() -> Path:
    """Beside the sources if that can be written to, else in the user's cache."""
    beside = PACKAGE / "__pycache__"
    if os.access(beside if beside.exists() else PACKAGE, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "gossamer"


KEPT: Final = _folder() / f"kernels-{_fingerprint()}"
numba.config.CACHE_DIR = str(KEPT)  # type: ignore[attr-defined]


def njit(function: F) -> F:
    """Compiled at its first call for the types of its arguments, or taken from disk."""
    compiled: Any = numba.njit(cache=True, nogil=True)(function)
    return compiled  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """As `njit`, and copied into the kernels that call it."""
    compiled: Any = numba.njit(cache=True, nogil=True, inline="always")(function)
    return compiled  # type: ignore[no-any-return]


def forget_old() -> None:
    """Removes kernels of other versions of the sources."""
    import shutil

    for old in KEPT.parent.glob("kernels-*"):
        if old != KEPT:
            shutil.rmtree(old, ignore_errors=True)
