"""The errors that end a command. Each one says what went wrong, where, and how to fix it.

    GossamerError            exit 1   any other error
    ├── UsageError           exit 2   the request makes no sense (settings, seeds, not a collection)
    ├── LockedError          exit 3   another crawl holds the collection
    ├── StorageError         exit 4   disk full, folder read-only, out of memory: what was committed stays on disk
    └── Unread               exit 141 nobody reads the output any more (`gossamer sql … | head`); nothing is printed

The command line prints `message` and, on a line of its own, `cure`. Nothing else decides the exit code.
"""

import sys
from pathlib import Path


class GossamerError(Exception):
    exit_code = 1

    def __init__(self, message: str, cure: str = "") -> None:
        super().__init__(message if not cure else f"{message}\n{cure}")
        self.message = message
        self.cure = cure


class UsageError(GossamerError):
    exit_code = 2


class LockedError(GossamerError):
    exit_code = 3


class StorageError(GossamerError):
    exit_code = 4


class Unread(GossamerError):
    exit_code = 141
    """As a shell reports a program that SIGPIPE has ended."""

    def __init__(self) -> None:
        super().__init__("")


def to_install(extra: str) -> str:
    """The command that installs an extra: of the clone that this code runs from, or of the installed package."""
    clone = Path(__file__).parents[3]
    what = str(clone) if (clone / "pyproject.toml").is_file() else "gossamer"
    return f"{sys.executable} -m pip install '{what}[{extra}]'"
