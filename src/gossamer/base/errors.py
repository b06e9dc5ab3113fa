"""Every error that ends a command: what went wrong, where, and what mends it.

    GossamerError            exit 1   a fault
    ├── UsageError           exit 2   what was asked makes no sense (settings, seeds, not a collection)
    ├── LockedError          exit 3   another crawl holds the collection
    └── StorageError         exit 4   disk full, folder read-only, memory gone: all that was committed is intact

The command line prints `message` and, on its own line, `cure`; nothing else decides exit codes.
"""


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
