"""Why a crawl ended."""

from __future__ import annotations

from enum import Enum


class Ending(Enum):
    """Why a crawl ended, in words for people."""

    DONE = "nothing is left that may be asked soon"
    PAGES = "the number of pages asked for is reached"
    TIME = "the time asked for is over"
    STOPPED = "stopped on request"
    MEMORY = "the memory that it may use is used up"
