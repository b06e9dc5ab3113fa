"""Starts the server: its token, the names that it answers to, and uvicorn."""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import uvicorn

from gossamer.base import disk
from gossamer.base.errors import StorageError, UsageError
from gossamer.config.user import user_settings
from gossamer.library.collection import Collection
from gossamer.serve.safe import Token
from gossamer.serve.server import Server

MEMORY: Final = "256MB"
"""What the tables of a collection may use; what is beyond is written to a temporary folder."""


SHORTEST: Final = 16
"""Characters of a token, at least: a file that was cut, as by a full disk, has fewer."""


class Secret(NamedTuple):
    """The token, where it is kept, and whether it was made now."""

    token: str
    path: Path
    new: bool


def secret() -> Secret:
    """The token of this user's servers. It is made when it is first needed, and kept in a file of mode 600."""
    path = user_settings().with_name("serve.token")
    try:
        if path.exists():
            if path.stat().st_mode & 0o077:
                raise UsageError(f"others may read {path}", f"Make a new token: rm {path}")
            found = path.read_bytes().strip()
            if len(found) < SHORTEST or not found.isascii():
                raise UsageError(f"{path} is damaged: it has no token", f"Make a new token: rm {path}")
            return Secret(found.decode(), path, False)
        path.parent.mkdir(parents=True, exist_ok=True)
        made = secrets.token_urlsafe(24)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(made + "\n")
        return Secret(made, path, True)
    except OSError as error:
        raise StorageError(f"the token cannot be kept in {path}: {error.strerror}", disk.cure_of(error)) from error


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server at this host."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def hosts(host: str, port: int, names: Sequence[str]) -> frozenset[str]:
    """The values of `Host` that are accepted: of this address, of loopback, and the names that were given."""
    shown = f"[{host}]" if ":" in host else host
    own = {shown, *names, *(("localhost", "127.0.0.1", "[::1]") if is_loopback(host) else ())}
    return frozenset(f"{name.lower()}{suffix}" for name in own for suffix in ("", f":{port}"))


def named(folders: Sequence[Path]) -> dict[str, Collection]:
    """Collections by name of their folder; a name that occurs twice gets a number."""
    found = dict[str, Collection]()
    for folder in folders:
        name, number = folder.resolve().name, 2
        while name in found:
            name, number = f"{folder.resolve().name}-{number}", number + 1
        found[name] = Collection(folder, MEMORY)
    return found


def serve(webs: Mapping[str, Collection], host: str, port: int, names: Sequence[str], token: str) -> None:
    """Serves until it is stopped. UsageError if the port is taken."""
    server = Server(webs, Token(token), hosts(host, port, names), closed=not is_loopback(host))
    settings = uvicorn.Config(
        server.application,
        host=host,
        port=port,
        log_level="warning",
        server_header=False,
        limit_concurrency=64,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
    )
    running = uvicorn.Server(settings)
    try:
        running.run()
    except SystemExit as error:  # uvicorn has said why
        raise UsageError(f"no server could be started at {host}:{port}", "Choose another --port.") from error
