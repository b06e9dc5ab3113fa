"""Access logs of surfers who follow a model, on a site without end: what the readers, rules and fits must find again.

The site has some pages at each level, which link to all pages of the next level and to one another. A surfer has an
address of his own and a click every ten seconds; nothing comes from his cache, so each step back is a request, with the
Referer that the page had when it was seen first. A step that stays at its level goes to another page there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.laboratory.sessions.texts import joined, none, parts
from gossamer.laboratory.sessions.trace import LEVELS, Site, pair
from gossamer.rank.surfers import Back, Surfer

HOST: Final = "made.example"
COPIES: Final = 3
"""Pages of each level but the first."""
START: Final = 1_100_000_000
BETWEEN: Final = 10
AGENT: Final = "Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Firefox/115.0"
_MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def page(level: int, copy: int) -> str:
    """The path of a page of the site."""
    return f"/{level}/{copy}" if level else "/"


def write(path: Path, model: Surfer, values: Sequence[float], sessions: int, seed: int = 1) -> int:
    """Writes the combined log of so many sessions; returns the number of their visits."""
    count = 0
    with path.open("w") as file:
        for number, views in enumerate(walks(model, values, sessions, seed)):
            address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            for at, (asked, referer) in enumerate(views):
                when = stamp(START + 7 * number + BETWEEN * at)
                named = f"http://{HOST}{referer}" if referer else "-"
                file.write(f'{address} - - [{when}] "GET {asked} HTTP/1.1" 200 5120 "{named}" "{AGENT}"\n')
            count += len(views)
    return count


def walks(model: Surfer, values: Sequence[float], sessions: int, seed: int) -> Iterator[list[tuple[str, str]]]:
    """By session, the pages that a surfer asks for until he is back at level 0, each with its Referer."""
    rng = np.random.default_rng(seed)
    onward = model.onward(values, LEVELS).tolist()
    draws = _pairs(rng)
    for _ in range(sessions):
        path, views = [("/", "")], [("/", "")]
        while True:
            go, where = next(draws)
            level = len(path) - 1
            if go < onward[level] and level + 1 < LEVELS:
                path.append((page(level + 1, int(where * COPIES)), path[-1][0]))
            else:
                back = _back(model.back, level, where)
                if back == 0:
                    break
                if back == level:  # another page of this level
                    copy = (int(path[-1][0].rpartition("/")[2]) + 1 + int(go * 997) % (COPIES - 1)) % COPIES
                    path[-1] = (page(level, copy), path[-1][0])
                del path[back + 1 :]
            views.append(path[-1])
        yield views


def _pairs(rng: np.random.Generator) -> Iterator[list[float]]:
    """Pairs of numbers from 0 to 1, without end."""
    while True:
        yield from rng.random((1 << 16, 2)).tolist()


def _back(back: Back, level: int, where: float) -> int:
    if back is Back.ONE:
        return max(level - 1, 0)
    return 0 if back is Back.START else int(where * (level + 1))


def site() -> Site:
    """The links of the site."""
    pages = [[page(level, copy).encode() for copy in range(COPIES if level else 1)] for level in range(LEVELS)]
    found = []
    for level, here in enumerate(pages):
        for source in here:
            there = [*(here if level else ()), *(pages[level + 1] if level + 1 < LEVELS else ())]
            found += [(source, target) for target in there if target != source]
    ends = [parts(joined(side), none(len(found))).page for side in zip(*found, strict=True)]
    return Site(np.unique(pair(ends[0], ends[1])), np.zeros(0, np.uint64))


def stamp(seconds: int) -> str:
    """A time as the common format has it."""
    year, month, day, hour, minute, second = time.gmtime(seconds)[:6]
    return f"{day:02}/{_MONTHS[month - 1]}/{year}:{hour:02}:{minute:02}:{second:02} +0000"
