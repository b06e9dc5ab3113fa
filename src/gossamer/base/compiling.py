"""Compiles kernels ahead, in processes side by side, and says how far it is: threads would wait for numba's lock.

The processes (`gossamer.tools.compile`) begin at different kernels. Where they meet, one waits for the other
(`base/compiled.py`), also if several crawls start at the same time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from gossamer.base.compiled import CRAWL, KEPT, LABORATORY, PACKAGE, SCORES, are_compiled
from gossamer.base.process import Process

TOOL: Final = "gossamer.tools.compile"
LOOK: Final = 0.25
"""Seconds between looks at how far it is."""
PIECES: Final = {CRAWL: 4, SCORES: 1, LABORATORY: 3}
"""Pieces of each group: more processes would have nothing to do."""
_KERNEL: Final = re.compile(rb"^@(?:njit|allocating)\n", re.MULTILINE)
_WHAT: Final = {CRAWL: "of a crawl", SCORES: "of link scores", LABORATORY: "of the laboratory"}
_ONLY_IN_LABORATORY: Final = ("rank/components.py", "rank/opic.py")


def group_of(source: Path) -> str:
    """The group of the kernels in a source file, by its path in the package."""
    name = source.as_posix()
    if name.startswith("laboratory/") or name in _ONLY_IN_LABORATORY:
        return LABORATORY
    return SCORES if name.startswith(("rank/", "manager/scores/")) else CRAWL


def kernels(group: str) -> dict[Path, int]:
    """The number of kernels of the group in each source, by the folder where they are kept."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        source = path.relative_to(PACKAGE)
        if group_of(source) == group and (number := len(_KERNEL.findall(path.read_bytes()))):
            found[KEPT / f"{PACKAGE.name}.{'.'.join(source.with_suffix('').parts)}"] = number
    return found


def made(folder: Path) -> int:
    """The number of kernels that are on disk."""
    return len(list(folder.glob("*.nbi")))


def compile_ahead(group: str, show: Callable[[str, float], object], say: Callable[[str], object]) -> None:
    """Compiles the kernels of the group if they are not on disk yet. `show` gets what is done and the part done, often;
    `say` gets a line at the end."""
    if are_compiled(group):
        return
    what, start = f"compiling the kernels {_WHAT[group]}, once for this version and processor", time.monotonic()
    cores = min(PIECES[group], len(os.sched_getaffinity(0)))
    folders = kernels(group)
    tools = [Process(TOOL, ("--piece", group, str(at), str(cores)), b"", -1) for at in range(cores)]
    try:
        while not all(tool.ended for tool in tools):
            show(what, sum(min(made(folder), number) for folder, number in folders.items()) / sum(folders.values()))
            time.sleep(LOOK)
    finally:
        for tool in tools:
            if not tool.ended:
                tool.kill()
    failed = [tool.failure for tool in tools if tool.failure]
    if failed:
        say(f"warning: kernels cannot be compiled ahead, so each is compiled when it is used: {failed[0]}")
        return
    with suppress(OSError):
        (KEPT / group).touch()
    say(f"compiled the kernels {_WHAT[group]} in {time.monotonic() - start:.0f} s")
