"""Detects URLs with repeated parts, which are typical of endless link structures (A.6.2): a/b/c/c/c, ?x=1&x=1&x=1.

A relative link that should have begun at the root adds a segment at each step; so does a program that appends to its
own query. A path segment, or a parameter with its value, may occur at most `most` times in a URL. Numeric path segments
are exempt, because dates repeat them (/2011/11/11/). BUbiNG has the same rule for paths; CobWeb removes repeated parts,
which may give a different page.

Cost: 0.1 µs for a link with a short path, 0.2 µs for a link in a folder that was seen before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

_ONE_PART: Final = 3
"""Number of slashes in a URL whose path has one segment."""
_MOST_FOLDERS: Final = 1 << 14


@lru_cache(maxsize=64)
def repeating(most: int) -> Callable[[str], bool]:
    """A function: whether a canonical URL repeats something more than `most` times. 0 disables the check."""
    if not most:
        return lambda url: False
    shortest = _ONE_PART + most
    calm = set[str]()  # folders without a repeated segment: no URL directly in them has a segment three times

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
