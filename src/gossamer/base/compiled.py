"""Compiled kernels: `@njit` for module-level functions, which run without the GIL and are kept on disk.

numba decides by a kernel's own source file whether its cache entry is valid. A kernel that calls a kernel of another
file would stay cached when only that other file changes, and run with an old layout of its arrays; this has caused an
endless loop. So the folder of kernels is named after the contents of *all* sources that have kernels, and of those
whose closed sets are frozen into kernels as arrays (`CONSTANTS`: a new outcome would lie beyond the end of such an
array), after numba and Python, and after the processor. Any change makes a new folder.

The folder is the package's own, or the user's cache where that cannot be written (`_folder`). Kernels are pickles: a
folder that another user owns or may write is never read. Several processes share it: the first that misses a kernel
compiles it under a lock, the others wait and load it, and nobody reads a half-written file (`_Shared`).

The functions that a kernel calls are compiled for the types of the call, and once more for each literal (`0`) and each
width of an integer: a call between kernels passes `i64(...)`, or a constant that is a numpy number.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import numpy as np
import xxhash
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

F = TypeVar("F", bound=Callable[..., Any])

i64: Final[Callable[[Any], int]] = np.int64  # type: ignore[assignment]
"""Any integer as 64 bits with a sign. `int`, to numba, leaves the type of an integer as it is."""
PACKAGE: Final = Path(__file__).parents[1]
CONSTANTS: Final = tuple(
    PACKAGE / name
    for name in ("base/compiled.py", "base/model.py", "base/outcomes.py", "base/askable.py", "harvester/waits.py")
)
"""Files without kernels that kernels depend on: closed sets, and functions that are compiled elsewhere."""
_KERNELS: Final = re.compile(rb"^from gossamer\.base\.compiled import .*\b(njit|inlined|allocating)\b", re.MULTILINE)
CRAWL, SCORES, LABORATORY = "crawl", "scores", "laboratory"
"""Groups of kernels, compiled when they are needed. A file of this name beside the kernels says that all are there."""
PATIENCE: Final = 120.0
"""Seconds after which a process compiles a kernel itself though another process says that it does: no kernel takes a
tenth of that."""
UNUSED: Final = 30 * 86_400.0
"""Seconds after which kernels of other versions are removed from the user's cache."""


def _fingerprint() -> str:
    digest = xxhash.xxh3_64(f"{numba.__version__} {sys.version}".encode())
    for source in sources().values():
        digest.update(source)
    return digest.hexdigest()


def sources() -> dict[Path, bytes]:
    """The files that kernels are made of. A change of any of them makes new kernels."""
    files = ((path, path.read_bytes()) for path in sorted(PACKAGE.rglob("*.py")))
    return {path: source for path, source in files if path in CONSTANTS or _KERNELS.search(source)}


def _processor() -> str:
    """The processor that kernels are compiled for, by name and features. `NUMBA_CPU_NAME=generic` serves any."""
    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return f"{name}-{xxhash.xxh32(features.encode()).hexdigest()}"


def _is_ours(folder: Path, owners: tuple[int, ...]) -> bool:
    """Whether the folder is one that nobody but these users can write."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid in owners and not found.st_mode & 0o022


def _made(folder: Path, mode: int = 0o700) -> bool:
    """Makes the folder if it is not there; returns whether kernels may be read from it and written to it."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError:
        return False
    return _is_ours(folder, (os.getuid(),)) and os.access(folder, os.W_OK)


def _folder(name: str) -> Path:
    """Where the kernels of this version are: beside the sources if they were compiled there, or can be; else in the
    user's cache; else in a folder for temporary files. Whoever may write the sources is trusted with their kernels."""
    beside = PACKAGE / "__pycache__"
    if _is_ours(beside / name, (os.getuid(), PACKAGE.stat().st_uid)) and (beside / name / CRAWL).exists():
        return beside / name
    if os.access(beside if beside.exists() else PACKAGE, os.W_OK) and _made(beside / name, 0o755):
        return beside / name
    home = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(home) if os.path.isabs(home) else Path(os.path.expanduser("~/.cache"))
    temporary = Path(tempfile.gettempdir()) / f"gossamer-{os.getuid()}"
    for parent in (cache / "gossamer", temporary):
        if parent.is_absolute() and _made(parent) and _made(parent / name):
            return parent / name
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="gossamer-")  # for the processes that this one starts
    return _folder(name)


FINGERPRINT: Final = _fingerprint()
KEPT: Final = _folder(f"kernels-{FINGERPRINT}-{_processor()}")


class _Locks:
    """Locks by name among processes. They end with the process; threads of one process share them, since numba
    compiles one kernel at a time."""

    def __init__(self) -> None:
        self._file: int | None = None

    def take(self, name: str) -> None:
        """Waits for the lock, at most `PATIENCE`. Without locks (some network file systems) two may compile."""
        end = time.monotonic() + PATIENCE
        try:
            if self._file is None:
                self._file = os.open(KEPT / "locks", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            while not self._taken(self._file, name) and time.monotonic() < end:
                time.sleep(0.02)
        except OSError:
            return

    def leave(self, name: str) -> None:
        with suppress(OSError):
            if self._file is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))

    def _taken(self, file: int, name: str) -> bool:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except BlockingIOError:
            return False
        return True


def _place(name: str) -> int:
    return xxhash.xxh64_intdigest(name.encode()) >> 2


_LOCKS: Final = _Locks()
DAMAGED: Final = (pickle.PickleError, EOFError, ValueError, LookupError, AttributeError, ImportError, TypeError)
"""What reading a damaged file raises."""


class _Place:
    """Where numba keeps the kernels of one module. The fingerprint holds for all sources of the package."""

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._module, self._line = function.__module__, function.__code__.co_firstlineno
        self._stamp = "" if Path(source).is_relative_to(PACKAGE) else str(os.stat(source).st_mtime_ns)

    @classmethod
    def from_function(cls, function: Callable[..., Any], source: str) -> _Place:
        return cls(function, source)

    def get_cache_path(self) -> str:
        return str(KEPT / self._module)

    def ensure_cache_path(self) -> None:
        os.makedirs(self.get_cache_path(), mode=0o700, exist_ok=True)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


_Untyped: Any = FunctionCache


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Place]  # noqa: RUF012


class _Shared(_Untyped):  # type: ignore[misc]
    """The compiled forms of one kernel on disk, shared by processes. numba alone would give two forms that are saved at
    once the same file name. A damaged file counts as missing, and is written again; without room nothing is kept."""

    _impl_class = _Impl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._read(sig, target_context)
        if found is None:
            _LOCKS.take(self._lock)
            found = self._read(sig, target_context)
            if found is not None:
                _LOCKS.leave(self._lock)
            else:
                _refresh(target_context)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            try:
                super().save_overload(sig, data)
            except DAMAGED:
                self.flush()
                super().save_overload(sig, data)
        except OSError:
            self.disable()  # a full disk, or kernels that came with the package and lack this one
        finally:
            _LOCKS.leave(self._lock)

    def _read(self, sig: Any, target_context: Any) -> Any:
        """The compiled form on disk. It needs numba's runtime, and not all that numba can compile, which would take
        longer to load than all kernels of a crawl."""
        rtsys.initialize(target_context)
        try:
            with _without_blas():
                return self._load_overload(sig, target_context)
        except (OSError, *DAMAGED):
            return None

    @property
    def _lock(self) -> str:
        return f"{self._cache_path}/{self._impl.filename_base}"


@cache
def _refresh(target_context: Any) -> None:
    """Lets numba load all that it can compile, once."""
    with _without_blas():
        target_context.refresh()


@contextmanager
def _without_blas() -> Iterator[None]:
    """Keeps numba from loading scipy's linear algebra, which no kernel uses: 0.15 s."""
    blas = "scipy.linalg.cython_blas"
    loaded = blas in sys.modules
    if not loaded:
        sys.modules[blas] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if not loaded:
            del sys.modules[blas]


def njit(function: F) -> F:
    """Compiles the function at its first call for the types of its arguments, or loads it from disk.

    It must neither make arrays nor get one from a kernel that it calls. So numba need not count references, which
    would take more time than most kernels do, and more to compile: each of them gets dozens of arrays."""
    return _compiled(function, _nrt=False)


def allocating(function: F) -> F:
    """Like `njit`, for a function that makes arrays, or calls one that returns an array."""
    return _compiled(function, _nrt=True)


def _compiled(function: F, **options: Any) -> F:
    decorator: Any = numba.njit
    compiled = decorator(nogil=True, no_cfunc_wrapper=True, **options)(function)
    compiled._cache = _Shared(function)
    return compiled  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Like `njit`, and inlined into the kernels that call it."""
    return _compiled(function, inline="always", _nrt=False)


def forget_old() -> None:
    """Removes kernels of other versions of the sources: beside the sources at once; in the user's cache, where other
    installations have theirs, after a month without use."""
    import shutil

    shared = not KEPT.is_relative_to(PACKAGE)
    for old in KEPT.parent.glob("kernels-*"):
        fresh = shared and old.stat().st_mtime > time.time() - UNUSED
        if not fresh and not old.name.startswith(f"kernels-{FINGERPRINT}-"):
            shutil.rmtree(old, ignore_errors=True)


def are_compiled(group: str) -> bool:
    """Whether all kernels of the group are on disk."""
    return (KEPT / group).exists()
