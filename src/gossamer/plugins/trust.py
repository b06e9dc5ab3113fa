"""Which files of plug-ins this user has confirmed on this machine: a collection from elsewhere runs no code here.

    line 1    gossamer-confirmed 1
    others    SHA-256 of a file, two spaces, where it was

A file is confirmed by its content: once it changes, it must be confirmed again. The list belongs to the user, not to a
collection, nobody else may read or write it, and only the command line adds to it.

Invariant, a property test of the same name: only confirmed content is confirmed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.config.user import user_settings
from gossamer.plugins.find import Plugin

_HEAD: Final = "gossamer-confirmed 1"
_LINE: Final = re.compile(r"([0-9a-f]{64})  (.*)")
_OTHERS: Final = 0o077
"""Permissions of other users."""


class UnconfirmedError(UsageError):
    """Files that settings name were not confirmed, or have changed since."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        paths = list(dict.fromkeys(each.path for each in plugins))
        are = "is not confirmed" if len(paths) == 1 else "are not confirmed"
        super().__init__(
            f"{', '.join(paths)} {are} on this machine, or changed since: it would run as you",
            f"Read it, then: gossamer plugins --confirm {' '.join(map(quote, paths))}",
        )


def place() -> Path:
    """Where the list is."""
    return user_settings().with_name("confirmed")


def require_confirmed(plugins: Iterable[Plugin]) -> None:
    """Raises UnconfirmedError if a plug-in is in a file that was not confirmed."""
    in_files = [each for each in plugins if each.path]
    known = confirmed() if in_files else {}
    if wanting := [each for each in in_files if each.digest not in known]:
        raise UnconfirmedError(wanting)


def confirm(files: Mapping[str, str]) -> None:
    """Adds files: paths by digest."""
    before = confirmed()
    if (after := {**before, **files}) != before:
        _write(after)


def withdraw(files: Mapping[str, str]) -> None:
    """Removes files (paths by digest), whatever is in them now."""
    before, paths = confirmed(), set(files.values())
    after = {digest: path for digest, path in before.items() if digest not in files and path not in paths}
    if after != before:
        _write(after)


def confirmed() -> dict[str, str]:
    """The files that are confirmed: where they were, by digest. UsageError if others may change the list."""
    path = place()
    try:
        status, text = path.stat(), path.read_text(errors="surrogateescape")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", f"chmod 600 {path}") from error
    if status.st_mode & _OTHERS or status.st_uid != os.geteuid():
        raise UsageError(f"{path}: other users may read or change this list", f"chmod 600 {path}")
    head, *lines = text.splitlines() or [""]
    rows = [_LINE.fullmatch(line) for line in lines]
    if head != _HEAD or not all(rows):
        cure = "Remove it, and confirm your files again with `gossamer plugins DIR --confirm`."
        raise UsageError(f"{path}: this is not a list of confirmed files", cure)
    return {row[1]: row[2] for row in rows if row}


def _write(files: dict[str, str]) -> None:
    disk.make_directory(place().parent)
    lines = [f"{digest}  {' '.join(where.splitlines())}" for digest, where in files.items()]
    text = "\n".join((_HEAD, *lines))
    disk.write_atomic(place(), f"{text}\n".encode(errors="surrogateescape"), mode=0o600)
