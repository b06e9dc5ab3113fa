"""Exports WACZ 1.1.1: archive, index and list of pages in one ZIP file, for ReplayWeb.page and other tools.

    archive/000000.warc.gz …    unchanged; stored, not compressed again, so that records can be read by offset
    indexes/index.cdxj          the lines of all segments, sorted
    pages/pages.jsonl           the last stored copy of each page: URL and time as in the archive, title, archived text
    datapackage.json            names, sizes and SHA-256 of these files; datapackage-digest.json has its own SHA-256

Archive files in which nothing was stored are left out. Parts of the archive that were sealed by a version without index
are indexed now. Every record is inflated once for each modification of its file, which shows damage. Cost: that,
reading the archive and writing it again; and, for pages with an archived text, inflating their records once more.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import tempfile
import time
import zipfile
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from gossamer import __version__, config
from gossamer.base import disk
from gossamer.base.errors import StorageError
from gossamer.base.escape import for_json, for_sql
from gossamer.base.model import VisitFlag
from gossamer.collection import cdx
from gossamer.collection.layout import ARCHIVE, INDEX, SETTINGS
from gossamer.read.export.target import sources_of, whole
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import Progress, Sources, missing
from gossamer.read.texts import ALL, archived_text

VERSION: Final = "1.1.1"
MEMORY: Final = "1GB"
_READ: Final = 1 << 20
_LARGE: Final = 1 << 30
"""Size in bytes from which an entry of the ZIP file is written with 64-bit sizes."""

_PAGES: Final = """
with i as (
    select regexp_extract(line, '"filename": "([^"]*)"', 1) as file, split_part(line, ' ', 2) as moment,
           regexp_extract(line, '"offset": "([0-9]+)"', 1)::ubigint as at,
           regexp_extract(line, '"url": "([^"]*)"', 1) as url
    from read_csv({index}, columns = {{'line': 'VARCHAR'}}, header = false, delim = '\\1', quote = '', escape = '',
                  auto_detect = false, max_line_size = 1000000)
),
v as (
    select page, arg_max({{'file': warc_file, 'at': warc_offset, 'end': warc_end, 'title': title,
                          'texts': (flags & {text}) != 0}}, (tick, number)) as last
    from stored.visits where page is not null and (flags & {stored}) != 0 and warc_end > 0
         and outcome in ('ok', 'duplicate') group by page
)
select v.page, i.url, i.moment, v.last from v join i on i.at = v.last.at and {folder} || i.file = v.last.file
order by v.last.file, v.last.at
"""


def export(
    folder: Path,
    to: Path,
    force: bool = False,
    title: str = "",
    progress: Progress = lambda what, part: None,
    fresh: bool = False,
    unchecked: bool = False,
) -> dict[str, Any]:
    """Writes the file and returns its description (datapackage.json). `fresh`: with data that is not sealed yet;
    `unchecked`: records and files are not compared with their checksums."""
    sources = sources_of(folder, fresh, unchecked)
    lengths = sources.archive_lengths()
    for name in lengths:
        if not (sources.shard / name).exists():
            raise missing(sources.shard / name)
    with whole(to, force) as file, tempfile.TemporaryDirectory(dir=to.absolute().parent) as scratch:
        index = Path(scratch) / "index.cdxj"
        _write_index(sources, Path(scratch), index, progress)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as package:
            resources = [
                *_archives(package, sources, lengths, progress),
                _add(package, "indexes/index.cdxj", _bytes_of(index, index.stat().st_size), index.stat().st_size),
                _add(package, "pages/pages.jsonl", _pages(sources, index, Path(scratch)), _LARGE),
            ]
            return _describe(package, resources, title or folder.resolve().name)


def _write_index(sources: Sources, scratch: Path, to: Path, progress: Progress) -> None:
    """Merges the sorted index files of the segments, and new ones for parts of the archive without index."""
    sources.check(INDEX)
    runs = [file.path for file in sources.table(INDEX)]
    without = sources.unindexed(all_committed=True)
    for number, (name, spans) in enumerate(sorted(without.items())):
        progress("index", number / len(without))
        run = scratch / f"{Path(name).name}.run"
        run.write_bytes(b"".join(sorted(line for a, b in spans for line in cdx.lines(sources.shard / name, a, b))))
        runs.append(run)
    with ExitStack() as opened, to.open("wb") as out:
        out.writelines(heapq.merge(*(opened.enter_context(run.open("rb")) for run in runs)))


def _archives(
    package: zipfile.ZipFile, sources: Sources, lengths: dict[str, int], progress: Progress
) -> Iterator[dict[str, Any]]:
    total, done = sum(lengths.values()), 0
    for name, length in lengths.items():
        path = sources.shard / name
        sources.checked.require_by(path, f"records up to {length}", partial(_read_records, path, length))
        if len(list(islice(cdx.members(path, 0, length), 2))) > 1:  # the first record only describes the file
            yield _add(package, f"archive/{path.name}", _bytes_of(path, length), length)
        done += length
        progress("archive", done / max(1, total))


def _read_records(path: Path, length: int) -> None:
    """Inflates every record, and so compares it with its checksum."""
    deque(cdx.members(path, 0, length), maxlen=0)


def _bytes_of(path: Path, length: int) -> Iterator[bytes]:
    with disk.naming("read", path), path.open("rb") as file:
        while length > 0:
            piece = file.read(min(_READ, length))
            if not piece:
                raise StorageError(f"{path} is shorter than the committed length", "`gossamer verify` reports more.")
            length -= len(piece)
            yield piece


def _add(package: zipfile.ZipFile, path: str, pieces: Iterator[bytes], expected: int) -> dict[str, Any]:
    """Adds an entry, stored without compression; returns its description. `expected`: approximate size in bytes."""
    digest, size = hashlib.sha256(), 0
    entry = zipfile.ZipInfo(path, time.gmtime()[:6])
    entry.external_attr = 0o644 << 16
    with package.open(entry, "w", force_zip64=expected >= _LARGE) as out:
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return {"name": Path(path).name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": size}


def _pages(sources: Sources, index: Path, spilled: Path) -> Iterator[bytes]:
    database = Database(sources, config.load(sources.folder / SETTINGS), MEMORY, spilled)
    stored = f"page is not null and (flags & {VisitFlag.STORED:d}) != 0 and (flags & {VisitFlag.TEXT:d}) != 0"
    texts = bool(database.run(f"select count(*) from (select 1 from stored.visits where {stored} limit 1)")[0][0])
    yield _line({"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": texts})
    if not index.stat().st_size:
        return
    query = _PAGES.format(
        index=for_sql(str(index)),
        stored=int(VisitFlag.STORED),
        text=int(VisitFlag.TEXT),
        folder=for_sql(f"{ARCHIVE}/"),
    )
    for page, url, moment, last in database.stream(query):
        text = _text(sources.shard / last["file"], last["at"], last["end"]) if last["texts"] else None
        said = {"title": last["title"], "text": text}
        yield _line(
            {"id": str(page), "url": url, "ts": _rfc3339(moment)} | {key: value for key, value in said.items() if value}
        )


def _text(path: Path, at: int, end: int) -> str | None:
    return archived_text(raw for _, _, raw in cdx.members(path, at, end, ALL))


def _rfc3339(moment: str) -> str:
    """RFC 3339 time from the 14 digits of an index line."""
    return f"{moment[:4]}-{moment[4:6]}-{moment[6:8]}T{moment[8:10]}:{moment[10:12]}:{moment[12:14]}Z"


def _line(value: dict[str, Any]) -> bytes:
    return for_json(value).encode() + b"\n"


def _describe(package: zipfile.ZipFile, resources: list[dict[str, Any]], title: str) -> dict[str, Any]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    described = {
        "profile": "data-package",
        "wacz_version": VERSION,
        "software": f"Gossamer/{__version__}",
        "title": title,
        "created": now,
        "modified": now,
        "resources": resources,
    }
    body = json.dumps(described, indent=2).encode()
    _add(package, "datapackage.json", iter([body]), len(body))
    digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(body).hexdigest()}"}
    _add(package, "datapackage-digest.json", iter([json.dumps(digest).encode()]), 0)
    return described
