"""What a process says when a file that it has mapped into memory cannot be read.

The system then sends SIGBUS, which by itself ends a process without a word, and Python cannot handle: its handlers run
later, and the same read fails again first. So the handler is a C function, which names the file and ends the process as
a `StorageError` would. Only what must be mapped is (images, link graphs, big robots rules); all else is read by
`base/view.py`.

Invariants, each a test of the same name: a file that is cut under a map is an error that names it.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from typing import Any, Final

from gossamer.base.errors import StorageError

_SA_SIGINFO: Final = 4
_ADDRESS: Final = 16
"""Offset of `si_addr` in `siginfo_t`."""


class _Action(ctypes.Structure):
    """`struct sigaction` of Linux on 64-bit machines."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_kept: Callable[..., Any] | None = None


def explain_bus_errors() -> None:
    """From now on, a map that cannot be read ends this process with an error."""
    global _kept
    _kept = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_end)
    action = _Action(ctypes.cast(_kept, ctypes.c_void_p), flags=_SA_SIGINFO)
    ctypes.CDLL(None).sigaction(signal.SIGBUS, ctypes.byref(action), None)


def _end(_: int, told: int, __: int) -> None:
    address = ctypes.c_uint64.from_address(told + _ADDRESS).value
    message = (
        f"gossamer: cannot read {_mapped_at(address)}: the disk failed, or the file was cut while it was in use; check "
        "the system log (`dmesg`), then: gossamer verify DIR\n"
    )
    os.write(2, message.encode())
    os._exit(StorageError.exit_code)


def _mapped_at(address: int) -> str:
    with open("/proc/self/maps") as maps:
        for line in maps:
            place, _, _, _, _, *name = line.split(maxsplit=5)
            start, _, end = place.partition("-")
            if int(start, 16) <= address < int(end, 16):
                return name[0].strip() if name else "memory"
    return "memory"
