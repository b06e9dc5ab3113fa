"""The layout of a collection's folder: file names, and the constants that several of its files share.

    DIR/crawl.toml
    DIR/shard-000/lock  manifest.jsonl
                  journal/000000000001.log …
                  ticks/ pages/ visits/ links/ sites/ origins/ events/ verdicts/ anchors/ counts/ hints/
                  mentions/ rows_NAME/, the table of a plug-in
                  000000000001.parquet …, one file per segment in each; cdx/000000000001.cdxj …
                  urls/  versions/  image/000000000123/  warc/000000.warc.gz …

A segment has the number of the journal file that it was made from. Paths in manifest lines, marks and tables are
relative to the shard's folder, with forward slashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from gossamer.base import disk
from gossamer.base.errors import StorageError, UsageError

FORMAT: Final = 2
"""The newest version of all formats in the folder. It changes only if old versions would misread new files."""

FORMS: Final = (1, 2)
"""Numbers of the canonical form of URLs that a collection may have (`urls/canonical.py`)."""


def format_of(form: int) -> int:
    """The format of a collection with URLs in this form. Versions that do not know form 2 would fetch its pages again
    under other URLs; they read up to format 1, and so refuse it."""
    return 1 if form == 1 else 2


SETTINGS: Final = "crawl.toml"
MANIFEST: Final = "manifest.jsonl"
JOURNAL: Final = "journal"
IMAGES: Final = "image"
STOPPED: Final = "stopped"
"""Key in the meta of an image written at a clean stop: the number of the last journal file."""
URLS: Final = "urls"
URL_FILE: Final = f"{URLS}/pages.blocks"
"""The URLs of all pages, a block file (`blocks.py`)."""
VERSIONS: Final = "versions"
"""What was seen of pages when they were fetched, a block file (`versions.py`)."""
ARCHIVE: Final = "warc"
# fmt: off
TABLES: Final = (
    "ticks", "pages", "visits", "links", "sites", "origins", "events", "verdicts", "anchors", "counts", "hints",
    "mentions", "orders",
)
# fmt: on
ROWS: Final = "rows_"
"""Beginning of the name of a table of plug-ins, which SQL knows without it."""
BIG_RULES: Final = 1 << 31
"""Values of `origin.rules_start` from here on are places on disk (`desk/rulebook.py`; in an image: "big_rules")."""
INDEX: Final = "cdx"
"""CDXJ index of the archive, one file per segment."""
MERGED: Final = "merged"
"""Folder of what is merged: new files until a line names them, and the old ones for an hour."""
FOLDERS: Final = (JOURNAL, *TABLES, INDEX, URLS, VERSIONS, ARCHIVE)
"""Folders of a shard, in addition to `IMAGES` and caches."""

_T = TypeVar("_T")
_ARCHIVE_NAME: Final = re.compile(r"(\d{6})\.warc\.gz")
_JOURNAL_NAME: Final = re.compile(r"(\d{12})\.log")


def shard_folder(folder: Path, shard: int = 0) -> Path:
    return folder / f"shard-{shard:03d}"


def make_folders(shard: Path) -> None:
    """Creates the folders of a shard. Harmless to repeat; a collection exists only once it has its manifest."""
    for name in (*FOLDERS, IMAGES):
        disk.make_directory(shard / name)


def is_collection(folder: Path) -> bool:
    return (shard_folder(folder) / MANIFEST).exists()


def require_collection(folder: Path) -> None:
    if not is_collection(folder):
        raise UsageError(
            f"{folder} is not a collection: it has no {shard_folder(Path()) / MANIFEST}",
            "Name the folder that was given to `gossamer crawl`, or start a crawl there: gossamer crawl DIR URL",
        )


def journal_path(shard: Path, number: int) -> Path:
    return shard / JOURNAL / f"{number:012d}.log"


def journal_files(shard: Path) -> dict[int, Path]:
    """The journal files by number, in order."""
    return _numbered(shard / JOURNAL, _JOURNAL_NAME)


def table_name(table: str, number: int) -> str:
    return f"{table}/{number:012d}.parquet"


def table_of(path: str) -> str:
    """The table of a file of a segment, by its relative path; `INDEX` for the index."""
    return path.partition("/")[0]


def folders_of_segments(shard: Path) -> list[str]:
    """The folders with files of segments: tables, those of plug-ins too, and the index."""
    found = sorted(path.name for path in shard.glob(f"{ROWS}*") if path.is_dir())
    return [*TABLES, *found, INDEX]


def segment_files(shard: Path, number: int) -> list[str]:
    """The files that a segment may have."""
    return [index_name(number) if each == INDEX else table_name(each, number) for each in folders_of_segments(shard)]


def merged_away(path: Path) -> Path:
    """Where a file of a segment is for a while after the segment was merged into another."""
    return path.parent.parent / MERGED / "old" / path.parent.name / path.name


def located(path: Path) -> Path:
    """Where a file of a segment is now: a crawl that runs may have merged the segment since the manifest was read."""
    return path if path.exists() or not (moved := merged_away(path)).exists() else moved


def read_segment(path: Path, read: Callable[[Path], _T]) -> _T:
    """What `read` returns for a file of a segment, wherever it is: it may also be moved while it is read."""
    place = located(path)
    try:
        return read(place)
    except (OSError, StorageError):
        if (now := located(path)) == place:
            raise
        return read(now)


def index_name(number: int) -> str:
    return f"{INDEX}/{number:012d}.cdxj"


def archive_name(number: int) -> str:
    """The relative path of an archive file; visits store only its number."""
    return f"{ARCHIVE}/{number:06d}.warc.gz"


def archive_files(shard: Path) -> dict[int, Path]:
    return _numbered(shard / ARCHIVE, _ARCHIVE_NAME)


def image_name(tick: int) -> str:
    return f"{IMAGES}/{tick:012d}"


def _numbered(folder: Path, pattern: re.Pattern[str]) -> dict[int, Path]:
    if not folder.is_dir():
        return {}
    with disk.naming("read", folder):
        found = [(pattern.fullmatch(p.name), p) for p in folder.iterdir()]
    return dict(sorted((int(m[1]), p) for m, p in found if m))
