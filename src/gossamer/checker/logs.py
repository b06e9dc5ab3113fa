r"""Readers of access logs: the demonstration Web's, and nginx's in this format:

    log_format gossamer '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                        '"$http_referer" "$http_user_agent" '
                        '$msec $request_time $scheme $host $server_addr $connection "$sent_http_retry_after"';
    access_log /path/to/access.log gossamer;

which is the combined format and seven fields more. Both of its times have milliseconds; the end of a request is
$msec, its start $msec - $request_time. The clock is the wall clock. The demonstration Web's log has both clocks:
monotonic unless asked otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from gossamer.checker.report import Request
from gossamer.demo import DemoWeb
from gossamer.demo.access import ABOUT, COLUMNS, HEADER
from gossamer.errors import UsageError

LOG_FORMAT: Final = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" '
    '$msec $request_time $scheme $host $server_addr $connection "$sent_http_retry_after"'
)

_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_NGINX: Final = re.compile(
    rf"\S+ - .*? \[[^\]]*\] {_QUOTED} (\d+) \d+ {_QUOTED} {_QUOTED} "
    rf"([\d.]+) ([\d.]+) (\w+) (\S+) (\S+) (\d+) {_QUOTED}"
)
_ESCAPED: Final = re.compile(r"\\x([0-9A-Fa-f]{2})")


def read(path: Path, *, wall: bool = False) -> Iterator[Request]:
    """The requests of a log of either kind. `wall`: take the demonstration Web's wall clock.

    A last line that is not whole, in a log that is still being written, is left out.
    """
    parse: Callable[[str], Request | None] = _nginx
    with _open(path) as text:
        for n, line in enumerate(text, 1):
            if n == 1 and line.startswith(ABOUT):
                parse = partial(_demo, wall=wall)
            elif line.endswith("\n") and line != HEADER:
                request = parse(line)
                if request is None:
                    raise UsageError(
                        f"{path}, line {n}: not a line of an access log that can be checked.",
                        f"Give the log of `gossamer web --log`, or nginx's with log_format gossamer '{LOG_FORMAT}';",
                    )
                yield request


def web_of(path: Path) -> DemoWeb | None:
    """The Web that a log describes, if it is one of the demonstration Web."""
    with _open(path) as text:
        first = text.readline()
    return DemoWeb(**json.loads(first[len(ABOUT) :])) if first.startswith(ABOUT) else None


def _open(path: Path) -> TextIO:
    try:
        return path.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "Name an access log that can be read.") from error


def _demo(line: str, wall: bool) -> Request | None:
    fields = line.rstrip("\n").split("\t", len(COLUMNS) - 1)
    if len(fields) != len(COLUMNS):
        return None
    start, at, end, address, host, method, target, status, _, connection, retry, agent = fields
    try:
        shift = float(at) - float(start)
        return Request(
            float(start) + wall * shift, float(end) + wall * shift, address, host, target, int(status), "http", method,
            int(connection), seconds_of(retry, float(end) + shift), agent,
        )  # fmt: skip
    except ValueError:
        return None


def _nginx(line: str) -> Request | None:
    found = _NGINX.fullmatch(line.rstrip("\n"))
    if not found:
        return None
    asked, status, _, agent, end, took, scheme, host, address, connection, retry = found.groups()
    method, _, rest = _plain(asked).partition(" ")
    target = rest.rpartition(" ")[0] or rest
    return Request(
        float(end) - float(took), float(end), address, host, target, int(status), scheme, method, int(connection),
        seconds_of(retry, float(end)), _plain(agent),
    )  # fmt: skip


def _plain(text: str) -> str:
    r"""nginx writes quotes, backslashes and bytes beyond ASCII as \xXX."""
    return _ESCAPED.sub(lambda m: chr(int(m[1], 16)), text)


def seconds_of(retry_after: str, now: float) -> float | None:
    """Seconds from `now` (wall clock) that a Retry-After asks for: a number, or a date (RFC 9110, 10.2.3)."""
    if retry_after.isdecimal():
        return float(retry_after)
    if retry_after in ("", "-"):
        return None
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now)
    except ValueError:
        return None


def robots_in(folder: Path) -> Callable[[str], bytes | None]:
    """robots.txt files by host (`folder/HOST/robots.txt`, as sites often lie), or one for all (`folder/robots.txt`)."""

    def robots_of(origin: str) -> bytes | None:
        host = origin.partition("://")[2].partition(":")[0]
        for path in (folder / host / "robots.txt", folder / "robots.txt"):
            if ".." not in host and "/" not in host and path.is_file():
                return path.read_bytes()
        return None

    return robots_of
