"""Formats of access logs: common, combined, W3C extended, JSON lines. Which one a file has is seen in its first lines.

    common      host ident user [time] "request" status bytes
    combined    the same, "referer" "user agent", and whatever follows; a name of a virtual host may stand before it
    W3C         fields by name, in a line that begins with #Fields: (IIS; CloudFront, whose fields are apart by tabs)
    JSON        an object in each line, with names as nginx, Caddy, Traefik and others have them

A reader takes the lines of a block apart and says which lines it could read: `Fields`. Nothing is decoded; escapes are
the same in the address of a page and in a Referer that names it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.arrays import I32, I64, U8, Bools
from gossamer.base.compiled import i64, njit
from gossamer.base.errors import UsageError
from gossamer.laboratory.sessions.lines import Block, in_lines
from gossamer.laboratory.sessions.texts import Texts, none

SLOTS: Final = ("address", "time", "method", "target", "query", "status", "referer", "agent", "host")
_ADDRESS, _TIME, _METHOD, _TARGET, _QUERY, _STATUS, _REFERER, _AGENT, _HOST = range(9)
LOOKED_AT: Final = 100
"""Lines that are looked at to see the format."""
_CURE: Final = "Formats: common, combined, W3C extended (with #Fields), JSON lines. Nothing else is read."
_QUOTE, _SPACE, _OPEN, _CLOSE, _BACKSLASH, _TAB = 34, 32, 91, 93, 92, 9


class Fields(NamedTuple):
    """What the lines of a block say, field by field."""

    line: I64
    """Numbers of the lines in the file: those that could be read."""
    bad: I64
    """Numbers of the lines that could not."""
    texts: dict[str, Texts]


Reader = Callable[[Block], Iterator[Fields]]


def reader_of(block: Block) -> tuple[str, Reader]:
    """The format of a log, and its reader, by the first lines. Raises if these are in no known format."""
    first = [Texts(block.buffer, block.begin, block.end).of(i).strip() for i in range(min(LOOKED_AT, len(block.begin)))]
    said = [line for line in first if line]
    if not said:
        return "empty", lambda block: iter(())
    if any(line.startswith("#Fields:") for line in said):
        return "W3C", W3C().read
    if said[0].startswith("{"):
        return "JSON", Json.of(said, block.path).read
    hosted = sum(_is_hosted(line) for line in said) * 2 > len(said)
    reader = Combined(int(hosted))
    (fields,) = reader.read(block)
    if len(fields.bad) > len(fields.line):
        raise UsageError(
            f"{block.path}, line {int(fields.bad[0])}: not a line of an access log in a known format", _CURE
        )
    named = bool((fields.texts["agent"].end > fields.texts["agent"].begin).any())
    return ("combined" if named else "common") + (" with hosts" if hosted else ""), reader.read


def _is_hosted(line: str) -> bool:
    """Whether the name of a virtual host stands before the address of the client (`vhost_combined`)."""
    return len(line.partition("[")[0].split()) == 4 and ":" in line.split()[0] and "." in line.split()[1]


def _found(block: Block, kept: Bools, places: I32) -> Fields:
    """Fields from places in the lines of a block: by slot, begin or end, and line."""
    blank = block.end <= block.begin
    line = np.arange(block.first, block.first + len(block.begin))
    ok = kept & ~blank
    texts = {
        name: Texts(block.buffer, block.begin[ok] + places[slot, 0, ok], block.begin[ok] + places[slot, 1, ok])
        for slot, name in enumerate(SLOTS)
    }
    return Fields(line[ok], line[~kept & ~blank], texts)


# --- common and combined ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Combined:
    """Reads the common and the combined format."""

    hosted: int = 0
    """1 if the name of a virtual host stands before the address."""

    def read(self, block: Block) -> Iterator[Fields]:
        places = np.zeros((len(SLOTS), 2, len(block.begin)), np.int32)
        kept = np.zeros(len(block.begin), np.bool_)
        _combined(block.buffer, block.begin, block.end, self.hosted, places, kept)
        yield _found(block, kept, places)


@njit
def _until(buffer: U8, at: int, end: int, byte: int) -> int:
    while at < end and buffer[at] != byte:
        at += 1
    return at


@njit
def _quoted(buffer: U8, at: int, end: int) -> int:
    """Where the text in quotes ends that begins at `at`; -1 if it does not end."""
    while at < end:
        if buffer[at] == _BACKSLASH:
            at += 1
        elif buffer[at] == _QUOTE:
            return at
        at += 1
    return -1


@njit
def _asked(buffer: U8, begin: int, end: int, base: int, i: int, places: I32) -> None:
    """Takes a request apart: `GET /path HTTP/1.1`. What has no blank is no request, and has no target."""
    method = _until(buffer, begin, end, i64(_SPACE))
    if method == end:
        return
    last = end
    while last > method + 1 and buffer[last - 1] != _SPACE:
        last -= 1
    target = method + 1
    stop = last - 1 if last > target else end  # HTTP/0.9 has no version
    places[_METHOD, 0, i], places[_METHOD, 1, i] = begin - base, method - base
    places[_TARGET, 0, i], places[_TARGET, 1, i] = target - base, stop - base


@njit
def _combined(buffer: U8, begin: I64, end: I64, hosted: int, places: I32, kept: Bools) -> None:
    for i in range(len(begin)):
        base, last = begin[i], end[i]
        at = base
        if hosted:
            at = _until(buffer, at, last, i64(_SPACE))
            places[_HOST, 1, i] = at - base
            at += 1
        address = at
        at = _until(buffer, at, last, i64(_SPACE))
        places[_ADDRESS, 0, i], places[_ADDRESS, 1, i] = address - base, at - base
        opened = _until(buffer, at, last, i64(_OPEN))
        closed = _until(buffer, opened, last, i64(_CLOSE))
        if at == address or closed + 2 >= last or buffer[closed + 2] != _QUOTE:
            continue
        places[_TIME, 0, i], places[_TIME, 1, i] = opened + 1 - base, closed - base
        asked = closed + 3
        at = _quoted(buffer, asked, last)
        if at < 0 or at + 2 >= last or buffer[at + 1] != _SPACE:
            continue
        _asked(buffer, asked, at, base, i64(i), places)
        status = at + 2
        at = _until(buffer, status, last, i64(_SPACE))
        places[_STATUS, 0, i], places[_STATUS, 1, i] = status - base, at - base
        if at - status != 3:
            continue
        at = _until(buffer, at + 1, last, i64(_SPACE)) + 1
        kept[i] = True
        for slot in (_REFERER, _AGENT):
            if at < last and buffer[at] == _QUOTE:
                closing = _quoted(buffer, at + 1, last)
                if closing < 0:
                    kept[i] = False
                    break
                if not (closing == at + 2 and buffer[at + 1] == 45):  # "-": none
                    places[slot, 0, i], places[slot, 1, i] = at + 1 - base, closing - base
                at = closing + 2
            else:
                break


# --- W3C extended -----------------------------------------------------------------------------------------------------

_W3C: Final = {
    "c-ip": _ADDRESS,
    "cs-method": _METHOD,
    "cs-uri-stem": _TARGET,
    "cs-uri": _TARGET,
    "cs-uri-query": _QUERY,
    "sc-status": _STATUS,
    "cs(referer)": _REFERER,
    "cs(user-agent)": _AGENT,
    "cs-host": _HOST,
    "cs(host)": _HOST,
    "x-host-header": _HOST,
}
_NEEDED: Final = ("date", "time", "c-ip", "cs-method", "sc-status")


class W3C:
    """Reads W3C extended logs. Directives may come again at any line, with other fields."""

    def __init__(self) -> None:
        self._slots = np.zeros(0, np.int64)

    def read(self, block: Block) -> Iterator[Fields]:
        there = block.end > block.begin
        directives = np.flatnonzero(
            there & (block.buffer[np.minimum(block.begin, len(block.buffer) - 1)] == 35)
        ).tolist()
        before = 0
        for at in (*directives, len(block.begin)):
            if at > before:
                yield self._part(block, before, at)
            if at < len(block.begin):
                self._direct(Texts(block.buffer, block.begin, block.end).of(at), block, at)
            before = at + 1

    def _direct(self, line: str, block: Block, at: int) -> None:
        name, _, said = line.partition(":")
        if name.strip().lower() != "#fields":
            return
        names = said.lower().split()
        missing = [each for each in _NEEDED if each not in names]
        where = f"{block.path}, line {block.first + at}"
        if missing or not {"cs-uri-stem", "cs-uri"} & set(names):
            raise UsageError(f"{where}: the log lacks {', '.join(missing) or 'cs-uri-stem'}", "Let the server log it.")
        if names.index("time") != names.index("date") + 1:
            raise UsageError(f"{where}: time does not follow date", "Put the field time behind the field date.")
        self._slots = np.asarray(
            [_W3C.get(each, -2 if each == "date" else -3 if each == "time" else -1) for each in names]
        )

    def _part(self, block: Block, first: int, last: int) -> Fields:
        part = Block(block.path, block.first + first, block.buffer, block.begin[first:last], block.end[first:last])
        places = np.zeros((len(SLOTS), 2, len(part.begin)), np.int32)
        kept = np.zeros(len(part.begin), np.bool_)
        if len(self._slots):
            _w3c(part.buffer, part.begin, part.end, self._slots, places, kept)
        return _found(part, kept, places)


@njit
def _w3c(buffer: U8, begin: I64, end: I64, slots: I64, places: I32, kept: Bools) -> None:
    for i in range(len(begin)):
        base, last = begin[i], end[i]
        at, column = base, i64(0)
        while at < last and column < len(slots):
            stop = at
            while stop < last and buffer[stop] != _SPACE and buffer[stop] != _TAB:
                stop += 1
            slot = slots[column]
            if slot == -2:
                places[_TIME, 0, i] = at - base
            elif slot == -3:
                places[_TIME, 1, i] = stop - base
            elif slot >= 0 and not (stop == at + 1 and buffer[at] == 45):
                places[slot, 0, i], places[slot, 1, i] = at - base, stop - base
            at = stop + 1
            column += 1
        kept[i] = column == len(slots)


# --- JSON lines -------------------------------------------------------------------------------------------------------

_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "address": ("remote_addr", "client_ip", "clientip", "remote_ip", "request.client_ip", "request.remote_ip",
                "ClientHost", "client", "ip", "remote_host", "remoteAddr", "c-ip", "host"),
    "time": ("time_iso8601", "@timestamp", "timestamp", "time_local", "time", "ts", "msec", "StartUTC", "date"),
    "asked": ("request", "requestLine", "request_line"),
    "method": ("request_method", "method", "request.method", "RequestMethod", "verb", "cs-method"),
    "target": ("request_uri", "uri", "request.uri", "RequestPath", "path", "url", "request_path", "cs-uri-stem"),
    "query": ("query_string", "cs-uri-query"),
    "status": ("status", "response", "status_code", "DownstreamStatus", "response_status", "sc-status"),
    "referer": ("http_referer", "referer", "referrer", "http_referrer", "request.headers.Referer.0", "request_Referer"),
    "agent": ("http_user_agent", "user_agent", "agent", "userAgent", "useragent", "request.headers.User-Agent.0",
              "request_User-Agent"),
    "host": ("http_host", "server_name", "request.host", "vhost", "RequestHost"),
}  # fmt: skip
"""Names of fields in JSON, the preferred first. A dot leads into an object; a number into a list."""


@dataclass(frozen=True, slots=True)
class Json:
    """Reads JSON lines, with DuckDB: no object is made for a line."""

    paths: dict[str, str]
    """By field: the path of its value."""
    connection: Any = field(repr=False)

    @staticmethod
    def of(lines: Sequence[str], path: Path) -> Json:
        flat: dict[str, Any] = {}
        for line in lines:
            try:
                flat |= _flat(json.loads(line))
            except (ValueError, RecursionError):
                continue
        named = {slot: next((n for n in names if n in flat), "") for slot, names in _NAMES.items()}
        if isinstance(flat.get(named["asked"]), str) and " " in flat[named["asked"]]:
            named["method"] = named["target"] = ""
        else:
            named["asked"] = ""
        missing = [s for s in ("address", "time", "status") if not named[s]]
        missing += [] if named["asked"] or (named["method"] and named["target"]) else ["method", "target"]
        if missing:
            names = "; ".join(f"{each}: {', '.join(_NAMES[each])}" for each in missing)
            raise UsageError(
                f"{path}: the JSON lines have no {' and no '.join(missing)}", f"Names that are known: {names}."
            )
        if named["host"] == named["address"]:
            named["host"] = ""
        import duckdb

        return Json({slot: _path(name) for slot, name in named.items() if name}, duckdb.connect())

    def read(self, block: Block) -> Iterator[Fields]:
        there = block.end > block.begin
        line = np.arange(block.first, block.first + len(block.begin))
        found = self._columns(block)
        good = found.pop("good") & there
        texts = {name: none(int(good.sum())) for name in SLOTS}
        texts |= {name: _said(each.take(good)) for name, each in found.items() if name != "asked"}
        if "asked" in found:
            asked: Texts = found["asked"].take(good)
            places = np.zeros((len(SLOTS), 2, len(asked.begin)), np.int32)
            _requests(asked.buffer, asked.begin, asked.end, places)
            for slot in (_METHOD, _TARGET):
                texts[SLOTS[slot]] = Texts(asked.buffer, asked.begin + places[slot, 0], asked.begin + places[slot, 1])
        yield Fields(line[good], line[~good & there], texts)

    def _columns(self, block: Block) -> dict[str, Any]:
        """By field its texts, and by line whether it is JSON (`good`)."""
        import pyarrow as pa

        offsets = np.append(block.begin, len(block.buffer))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block.buffer)]
        lines = pa.Array.from_buffers(pa.large_string(), len(block.begin), buffers)
        try:
            lines.validate(full=True)
        except pa.ArrowInvalid:  # not UTF-8
            text = block.buffer.tobytes().decode("utf-8", "replace").encode()
            return self._columns(in_lines(block.path, block.first, text))
        self.connection.register("block", pa.table({"line": lines}))
        chosen = "".join(f""", json_extract_string(line, '{path}') as "{slot}\"""" for slot, path in self.paths.items())
        found = self.connection.sql(
            f"select good{chosen} from"
            " (select json_valid(line) as good, if(json_valid(line), line, '{}') as line from block)"
        ).to_arrow_table()
        columns: dict[str, Any] = {name: texts_of(found[name]) for name in self.paths}
        return columns | {"good": found["good"].to_numpy()}


def texts_of(column: Any) -> Texts:
    """The texts of a column of Arrow."""
    import pyarrow as pa

    whole = column.cast(pa.large_string())
    whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    return Texts(np.frombuffer(data or b"\0", np.uint8), ends[:-1], ends[1:])


def _said(texts: Texts) -> Texts:
    """Texts, with those empty that are only a dash: nothing was sent."""
    dash = (texts.end == texts.begin + 1) & (texts.buffer[np.minimum(texts.begin, len(texts.buffer) - 1)] == 45)
    return Texts(texts.buffer, texts.begin, np.where(dash, texts.begin, texts.end))


@njit
def _requests(buffer: U8, begin: I64, end: I64, places: I32) -> None:
    for i in range(len(begin)):
        _asked(buffer, begin[i], end[i], begin[i], i64(i), places)


def _flat(found: Any, before: str = "") -> dict[str, Any]:
    """The values of an object by path; of lists only the first value."""
    items = found.items() if isinstance(found, dict) else enumerate(found[:1]) if isinstance(found, list) else ()
    flat: dict[str, Any] = {}
    for name, value in items:
        inner = _flat(value, f"{before}{name}.") if isinstance(value, dict | list) else {f"{before}{name}": value}
        flat |= inner
    return flat


def _path(name: str) -> str:
    """A path for DuckDB. A name with a dot in it is taken for a path into objects."""
    steps = (f"[{each}]" if each.isdigit() else f'."{each}"' for each in name.split("."))
    return "$" + "".join(steps)
