"""Sends a message: to a webhook, or to the standard input of a command.

A webhook is never asked at a special address (loopback, private, link-local …) unless `collection.private_webhooks`
allows it: the address is judged when the socket opens, so no name server can change it afterwards. TLS is verified, no
redirect is followed, no proxy is used, and of the answer only the status counts.

A command is a list of arguments, without a shell. It has its own process group, which is killed after the timeout.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import Any, Final

import pycurl

from gossamer.base.escape import for_screen
from gossamer.base.units import Duration
from gossamer.collection.watches import Watch
from gossamer.config.settings import Settings
from gossamer.read.tell.message import Message
from gossamer.web.addresses import Forbidden

TIMEOUT: Final = 30.0
"""Seconds for a webhook to answer."""
COMMAND_TIMEOUT: Final = 60.0
"""Seconds for a command to end."""
MOST_ANSWER: Final = 1 << 16
"""Bytes of an answer that are read."""
_MOST_SAID: Final = 2_000
"""Bytes of a command's error output that are kept."""
_LONGEST: Final = 200


class NotToldError(Exception):
    """A message was not accepted; the text says why."""


def send(watch: Watch, message: Message, settings: Settings, now: float) -> None:
    """Returns when the message was accepted by all that the watch names; otherwise NotToldError."""
    if watch.webhook:
        post(watch.webhook, message.body, message.fields(watch.secret, now), settings)
    if watch.command:
        run(watch.command, message.body)


def post(url: str, body: bytes, fields: list[str], settings: Settings, timeout: float = TIMEOUT) -> None:
    """Posts a body; any 2xx accepts it."""
    forbidden = Forbidden(settings.collection.private_webhooks, settings.harvester.forbidden)
    refused, sockets, read = list[str](), list[socket.socket](), 0

    def opened(_purpose: int, address: Any) -> socket.socket | int:
        family, kind, protocol, where = address
        if forbidden(where[0]):
            refused.append(where[0])
            return int(pycurl.SOCKET_BAD)
        sockets.append(socket.socket(family, kind, protocol))
        return sockets[-1]  # libcurl gets a second descriptor

    def took(data: bytes) -> int:
        nonlocal read
        read += len(data)
        return len(data) if read <= MOST_ANSWER else 0

    if not url.isascii() or "\0" in url:
        raise NotToldError(_short(f"{url} is not a URL: remove the watch, and give it again"))
    curl = pycurl.Curl()
    try:
        for option, value in (
            (pycurl.URL, url),
            (pycurl.NOSIGNAL, 1),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.PROXY, ""),
            (pycurl.NOPROXY, "*"),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.HTTPHEADER, [*fields, "Expect:"]),
            (pycurl.POSTFIELDS, body),
            (pycurl.CONNECTTIMEOUT_MS, int(timeout * 500)),
            (pycurl.TIMEOUT_MS, int(timeout * 1000)),
            (pycurl.OPENSOCKETFUNCTION, opened),
            (pycurl.WRITEFUNCTION, took),
        ):
            curl.setopt(option, value)
        if settings.harvester.trusted:
            curl.setopt(pycurl.CAINFO, settings.harvester.trusted)
        try:
            curl.perform()
        except pycurl.error as error:
            if refused:
                raise NotToldError(f"{refused[0]} is a private address (collection.private_webhooks)") from error
            if error.args[0] != pycurl.E_WRITE_ERROR or read <= MOST_ANSWER:
                raise NotToldError(_short(str(error.args[1]))) from error
        status, location = int(curl.getinfo(pycurl.RESPONSE_CODE)), curl.getinfo(pycurl.REDIRECT_URL)
    finally:
        for each in (curl, *sockets):
            each.close()
    if location:
        raise NotToldError(_short(f"it redirects ({status}) to {location}: redirects are not followed, give that URL"))
    if not 200 <= status < 300:
        raise NotToldError(f"it answers {status}")


def run(arguments: tuple[str, ...], body: bytes, timeout: float = COMMAND_TIMEOUT) -> None:
    """Runs a command with the body as its standard input; exit code 0 accepts it."""
    try:
        with tempfile.TemporaryFile() as given:
            given.write(body + b"\n")
            given.seek(0)
            process = subprocess.Popen(
                arguments, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
            )
    except OSError as error:
        raise NotToldError(_short(f"{arguments[0]}: {error.strerror}")) from error
    except ValueError as error:  # a zero byte, or half a character
        raise NotToldError(_short(f"{arguments[0]}: {error}")) from error
    with process:
        try:
            said = _said(process, time.monotonic() + timeout)
        finally:
            if (late := process.poll() is None) or process.returncode:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    if late:
        raise NotToldError(f"{_short(arguments[0])} has not ended within {Duration(timeout)}, and was killed")
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise NotToldError(_short(f"{arguments[0]}: exit code {process.returncode}{': ' + lines[-1] if lines else ''}"))


def _said(process: subprocess.Popen[bytes], until: float) -> bytes:
    """The beginning of the error output of a process, read until it ends, or until a time."""
    assert process.stderr is not None
    kept, pipe, open_ = b"", process.stderr.fileno(), True
    while process.poll() is None and time.monotonic() < until:
        if open_ and select.select([pipe], [], [], 0.05)[0]:
            read = os.read(pipe, 1 << 16)
            kept, open_ = (kept + read)[:_MOST_SAID], bool(read)
        elif not open_:
            with suppress(subprocess.TimeoutExpired):
                process.wait(min(0.05, max(0.0, until - time.monotonic())))
    while open_ and process.poll() is not None and select.select([pipe], [], [], 0)[0]:
        read = os.read(pipe, 1 << 16)
        kept, open_ = (kept + read)[:_MOST_SAID], bool(read) and len(kept) < _MOST_SAID
    return kept


def _short(text: str) -> str:
    return for_screen(text)[:_LONGEST]
