"""The lines that were added to a text, and those that were removed from it.

The order of lines is compared if both texts have at most `MOST` lines between their common beginning and end; of longer
ones it is only said which lines one text has and the other has not. So the time is bounded whatever a page contains.

Invariants, each a property test of the same name: what is removed and added makes one text of the other; the time of a
comparison is bounded by its lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Final, NamedTuple

MOST: Final = 1_000
"""Lines of each text that are compared in order."""
SHOWN: Final = 200
"""Maximum number of lines that are kept of a difference."""
LONGEST: Final = 300
"""Maximum length of a line that is kept, in characters."""
_BEFORE: Final = 40
"""Characters that are kept before the place where two long lines differ."""

Signed = tuple[str, str]
"""A sign, + or -, and a line."""


class Difference(NamedTuple):
    """The first lines of a difference, in the order of the page."""

    lines: tuple[Signed, ...]
    added: int
    removed: int

    @property
    def left_out(self) -> int:
        return self.added + self.removed - len(self.lines)

    def to_json(self) -> dict[str, object]:
        return {
            "added": [line for sign, line in self.lines if sign == "+"],
            "removed": [line for sign, line in self.lines if sign == "-"],
            "lines_added": self.added,
            "lines_removed": self.removed,
        }


def difference(before: str, after: str, most: int = SHOWN) -> Difference:
    """What became of a text, in at most `most` lines."""
    old, new = ([line for line in map(str.strip, text.splitlines()) if line] for text in (before, after))
    found = list(signed(old, new))
    added = sum(sign == "+" for sign, _ in found)
    return Difference(tuple(islice(_cut(found), most)), added, len(found) - added)


def signed(old: Sequence[str], new: Sequence[str]) -> Iterator[Signed]:
    """All lines that were removed or added; long ones are whole."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(old), len(new)) > MOST:
        yield from (("-", line) for line in (Counter(old) - Counter(new)).elements())
        yield from (("+", line) for line in (Counter(new) - Counter(old)).elements())
        return
    for tag, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if tag != "equal":
            yield from (("-", line) for line in old[a:b])
            yield from (("+", line) for line in new[c:d])


def _cut(found: Sequence[Signed]) -> Iterator[Signed]:
    """The lines, cut to the length that is kept. Of a long line in place of another, the part that differs is kept."""
    for place, (sign, line) in enumerate(found):
        start = 0
        if len(line) > LONGEST:
            beside = found[place + 1 : place + 2] if sign == "-" else found[max(0, place - 1) : place]
            start = max((_common(line, other) for with_sign, other in beside if with_sign != sign), default=0)
            start = max(0, min(start - _BEFORE, len(line) - LONGEST))
        cut = line[start : start + LONGEST]
        yield sign, f"{'…' if start else ''}{cut}{'…' if start + LONGEST < len(line) else ''}"


def _common(one: str, other: str) -> int:
    """Number of characters with which both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
