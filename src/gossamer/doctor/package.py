"""The package itself: its kernels, where they are kept, and its extras."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Final

from gossamer.doctor.check import Found, Patient, note, ok, wrong

EXTRAS: Final = {
    "lab": ("plots of report, forecast, simulate, compare and reproduce", ("matplotlib",)),
    "serve": ("the dashboard", ("msgspec", "prometheus_client", "starlette", "uvicorn")),
}
"""What needs each extra, and its modules."""


def kernels(_: Patient) -> Found:
    from gossamer.base.compiled import CRAWL, KEPT, are_compiled

    if are_compiled(CRAWL):
        return ok(f"compiled, in {KEPT}")
    return note(f"not all are compiled in {KEPT}: a crawl compiles what it needs, half a minute once")


def cache(_: Patient) -> Found:
    from gossamer.base.compiled import CRAWL, KEPT, are_compiled

    if are_compiled(CRAWL):
        return ok(f"{KEPT.parent} has the kernels")
    folder = next(each for each in (KEPT, *KEPT.parents) if each.exists())
    if os.access(folder, os.W_OK):
        return ok(f"{KEPT.parent} is writable")
    return wrong(f"{folder} is not writable: every start would compile the kernels again")


def extras(_: Patient) -> Found:
    missing = [
        f"{extra} ({what})"
        for extra, (what, modules) in EXTRAS.items()
        if any(find_spec(each) is None for each in modules)
    ]
    return note("not installed: " + ", ".join(missing)) if missing else ok(", ".join(EXTRAS))
