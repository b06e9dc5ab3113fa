r"""Readers of access logs: the demonstration Web's, and nginx's in this format:

    log_format gossamer '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                        '"$http_referer" "$http_user_agent" '
                        '$msec $request_time $scheme $host:$server_port $server_addr $connection '
                        '"$sent_http_retry_after" "$sent_http_location" "$http_from"';
    access_log /path/to/access.log gossamer;

This is the combined format with nine more fields; the last two may be missing, and less is judged then. Both times have
milliseconds: the end of a request is $msec, its start $msec - $request_time, both by the wall clock. The demonstration
Web's log has both clocks; the monotonic clock is the default.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from gossamer.base.errors import UsageError
from gossamer.web.fetch.response import retry_after
from gossamer.web.owner.proof import WELL_KNOWN
from gossamer.webs.checker.report import Request
from gossamer.webs.checker.robots import RobotsOf
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.access import ABOUT, COLUMNS, HEADER
from gossamer.webs.hostile.web import HostileWeb

HELD: Final = 50_000
"""Most requests held back: those that end while an earlier one is still on its way. Shorter logs may have any order."""
LOG_FORMAT: Final = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" '
    '$msec $request_time $scheme $host:$server_port $server_addr $connection "$sent_http_retry_after" '
    '"$sent_http_location" "$http_from"'
)

_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_NGINX: Final = re.compile(
    rf"\S+ - .*? \[[^\]]*\] {_QUOTED} (\d+) (\d+) {_QUOTED} {_QUOTED} "
    rf"([\d.]+) ([\d.]+) (\w+) (\S+) (\S+) (\d+) {_QUOTED}(?: {_QUOTED} {_QUOTED})?"
)
_USUAL: Final = {"http": ":80", "https": ":443"}
_DATED: Final = re.compile(r"\.(\d{8}T\d{6})Z")
_ESCAPED: Final = re.compile(r"\\x([0-9A-Fa-f]{2})")


def read(path: Path, *, wall: bool = False) -> Iterator[Request]:
    """The requests of a log of either kind. `wall`: use the wall clock of the demonstration Web.

    An incomplete last line, in a log that is still being written, is skipped.
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
                        f"{path}, line {n}: not a line of an access log in a known format.",
                        f"Use the log of `gossamer web --log` or an nginx log with log_format gossamer '{LOG_FORMAT}';",
                    )
                yield request


def read_all(paths: Sequence[Path], *, wall: bool = False) -> Iterator[Request]:
    """The requests of several logs, merged into one: in the order in which they ended."""
    return heapq.merge(*(read(path, wall=wall) for path in paths), key=lambda r: r.end)


def by_start(log: Iterable[Request], held: int = HELD) -> Iterator[Request]:
    """The requests in the order in which they began, as they are judged; servers write a line when an answer ends.
    Raises if one comes more than `held` requests too late."""
    heap: list[tuple[float, float, int, Request]] = []
    last = float("-inf")
    for n, request in enumerate(log):
        item = (request.start, request.end, n, request)
        if len(heap) < held:
            heapq.heappush(heap, item)
            continue
        first = heapq.heappushpop(heap, item)
        if first[0] < last:
            raise UsageError(
                f"The log is not in order: {first[3].url} at {first[0]:.3f} comes too late.",
                "Sort the lines by time, or name the logs one by one.",
            )
        last = first[0]
        yield first[3]
    heap.sort()
    for first in heap:
        yield first[3]


def web_of(path: Path) -> DemoWeb | HostileWeb | None:
    """The Web that a log describes, if it is the log of the demonstration or the hostile Web."""
    with _open(path) as text:
        first = text.readline()
    if not first.startswith(ABOUT):
        return None
    found = json.loads(first[len(ABOUT) :])
    return HostileWeb.described(found) if "friendly" in found else DemoWeb(**found)


def _open(path: Path) -> TextIO:
    try:
        return path.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "Name a readable access log.") from error


def _demo(line: str, wall: bool) -> Request | None:
    fields = line.rstrip("\n").split("\t", len(COLUMNS) - 1)
    if len(fields) != len(COLUMNS):
        return None
    start, at, end, address, host, method, target, status, size, connection, retry, location, sender, agent = fields
    try:
        shift = float(at) - float(start)
        first, last = float(start) + wall * shift, float(end) + wall * shift
        known = (first, last, address, host, target, int(status), "http", method, int(connection))
        wait = seconds_of(retry, float(end) + shift)
        return Request(*known, wait, agent, sender, "" if location == "-" else location, int(size))
    except ValueError:
        return None


def _nginx(line: str) -> Request | None:
    found = _NGINX.fullmatch(line.rstrip("\n"))
    if not found:
        return None
    asked, status, size, _, agent, end, took, scheme, host, address, connection, retry, *more = found.groups("")
    location, sender = (_plain(text) for text in more)
    host = host.removesuffix(_USUAL.get(scheme, ":"))
    method, _, rest = _plain(asked).partition(" ")
    target = rest.rpartition(" ")[0] or rest
    last = float(end)
    known = (last - float(took), last, address, host, target, int(status), scheme, method, int(connection))
    wait = seconds_of(retry, last)
    return Request(*known, wait, _plain(agent), sender, "" if location == "-" else location, int(size))


def _plain(text: str) -> str:
    r"""nginx writes quotes, backslashes and bytes beyond ASCII as \xXX."""
    return _ESCAPED.sub(lambda m: chr(int(m[1], 16)), text)


def seconds_of(header: str, now: float) -> float | None:
    """The wait that a Retry-After header asks for, in seconds from `now` (wall clock); None: none."""
    wait = retry_after(header, now)
    return wait if wait >= 0 else None


def robots_of_web(web: DemoWeb | HostileWeb) -> RobotsOf:
    """The robots.txt files of the demonstration Web, each as it was at the time of the request (by the monotonic
    clock)."""
    return lambda request: web.robots_of(request.origin, request.start) if request.is_robots else None


def robots_in(folder: Path) -> RobotsOf:
    """robots.txt files by host (`folder/HOST/robots.txt`, as sites are often stored), or one for all
    (`folder/robots.txt`).

    A file `robots.txt.20261117T051400Z` in the same folder was served from that time on (UTC). Files of proof
    (`web/owner/proof.py`) are found likewise: `folder/HOST/.well-known/gossamer.txt`.
    """
    found: dict[tuple[str, str], list[tuple[float, bytes]]] = {}

    def robots_of(request: Request) -> bytes | None:
        host, name = request.site, WELL_KNOWN[1:] if request.target == WELL_KNOWN else "robots.txt"
        if (host, name) not in found:
            sound = ".." not in host and "/" not in host and host.isprintable()
            own = _copies(folder / host / name) if sound else []
            found[host, name] = own or _copies(folder / name)
        return next((text for since, text in reversed(found[host, name]) if since <= request.start), None)

    return robots_of


def _copies(file: Path) -> list[tuple[float, bytes]]:
    """The start time and content of each copy of a file, in order of time."""
    copies = [(float("-inf"), file)]
    for path in file.parent.glob(f"{file.name}.*"):
        dated = _DATED.fullmatch(path.name.removeprefix(file.name))
        if dated:
            copies.append((datetime.strptime(dated[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).timestamp(), path))
    return [(since, path.read_bytes()) for since, path in sorted(copies) if path.is_file()]
