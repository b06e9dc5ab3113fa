"""For the few tests that look at a clock. They must hold on a machine that is busy with other things.

How fast something is, is shown by `bench/`. A test shows that it does not take the square of what it should, or that it
comes about at all. So it compares the quickest of several tries, in processor time and without collections of garbage,
with a bound about ten times off: whatever else runs makes a try slower, never quicker, and a fault in the code makes
all of them slow. What must come about is waited for until it does, with a limit that only a
fault reaches: `WITHIN` or `COMMAND`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Final

TRIES: Final = 6
WITHIN: Final = 300.0
"""Seconds after which an answer, the start of a worker or the effect of a signal is a hang: each takes seconds.

It ends a hang and measures nothing: at least ten times what the slowest of these takes on two quiet cores.
"""
COMMAND: Final = 1200.0
"""Seconds after which a whole command or crawl is a hang.

Its process may have to compile all kernels first, which takes more than a minute of CPU time on a quiet machine, while
other tests and programs use the same cores.
"""


def seconds(work: Callable[[], object]) -> float:
    """Processor time of this process. A collection would go through all that other tests have left."""
    collects = gc.isenabled()
    gc.disable()
    try:
        begun = time.process_time()
        work()
        return time.process_time() - begun
    finally:
        if collects:
            gc.enable()


def takes_less(work: Callable[[], object], than: float) -> bool:
    """Whether one of a few tries does; no more are made then."""
    return any(seconds(work) < than for _ in range(TRIES))


def grows_less(work: Callable[[int], Callable[[], object]], sizes: tuple[int, int], than: float) -> bool:
    """Whether `work` of the second size takes less than so many times the time of the first, and of a millisecond.

    `work` makes, of a size, what is timed.
    """
    small, large = (work(size) for size in sizes)
    least = max(0.001, min(seconds(small) for _ in range(3)))
    return takes_less(large, than * least)


def wait_for(what: Callable[[], object], words: str = "it", within: float = WITHIN) -> None:
    """Until it has come about."""
    until = time.monotonic() + within
    while not what():
        assert time.monotonic() < until, f"{words}: not within {within:g} s"
        time.sleep(0.01)
