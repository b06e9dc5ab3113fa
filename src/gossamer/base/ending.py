"""The reasons why a crawl ends."""

from __future__ import annotations

from enum import Enum


class Ending(Enum):
    """The reason why a crawl ended, as a phrase for people."""

    DONE = "nothing is left that may be requested soon"
    PAGES = "the requested number of pages is reached"
    TIME = "the requested time is over"
    STOPPED = "stopped on request"
    MEMORY = "the memory limit is reached"
