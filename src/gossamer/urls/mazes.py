"""URLs that say the same thing again and again, as those of mazes without end do (A.6.2): a/b/c/c/c, ?x=1&x=1&x=1.

A relative link that was meant to begin at the root adds a part at each step, and so does a program that appends to its
own query. A part of the path, or a parameter with its value, may stand in a URL `most` times; a number may in a path,
for dates repeat theirs (/2011/11/11/). BUbiNG has the same rule for paths; CobWeb leaves repeated parts out, which may
make another page of it.

Cost: 0.1 µs for a link whose path is short, 0.2 µs for one in a folder that was met before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

_ONE_PART: Final = 3
"""Slashes of a URL whose path has one part."""
_MOST_FOLDERS: Final = 1 << 14


@lru_cache(maxsize=64)
def repeating(most: int) -> Callable[[str], bool]:
    """Whether a canonical URL says something more than `most` times; 0: no matter how often."""
    if not most:
        return lambda url: False
    shortest = _ONE_PART + most
    calm = set[str]()  # folders no part of which stands twice: whatever is in them says nothing three times

    def repeats(url: str) -> bool:
        if url.count("/") >= shortest and (folder := url[: url.rfind("/")]) not in calm:
            parts = url.partition("?")[0].split("/")[3:]
            if len(parts) == len(set(parts)) and most > 1:
                if len(calm) >= _MOST_FOLDERS:
                    calm.clear()
                calm.add(folder)
            elif _more_than(most, [part for part in parts if not part.isdigit()]):
                return True
        return "&" in url and _more_than(most, url.partition("?")[2].split("&"))

    return repeats


def _more_than(most: int, parts: Sequence[str]) -> bool:
    if len(parts) - len(set(parts)) < most:
        return False
    return any(n > most for part, n in Counter(parts).items() if part)
