"""Real pages: a hundred documentation packages of Debian, each a site.

    python -m bench.beside.pages FOLDER

Downloads the packages named in `packages.txt` (`apt-get download`, which needs no privileges) and unpacks each into its
own folder; nothing is installed. They were drawn from all packages named `-doc` of 0.12 to 2.5 MB that have 30 to 260
pages linked from their start page, such that the mean page has 25 KB and 75 links.

The list of pages is made by reading the files, not by a crawler: the pages of a site reachable from its start page
through links in `a`, `area`, `frame` and `iframe`. Every file is stored with a compressed copy, so that the server need
not compress it.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import ada_url
from selectolax.lexbor import LexborHTMLParser

PACKAGES: Final = Path(__file__).with_name("packages.txt")
PAGES: Final = (".html", ".htm")
LINKS: Final = "a[href],area[href],frame[src],iframe[src]"
_HERE: Final = "http://site.test"


@dataclass(frozen=True, slots=True)
class Site:
    """The contents of a package."""

    name: str
    root: str
    """Folder of its pages, relative to the folder of all packages."""
    start: str
    """Path of the start page."""
    pages: list[str]
    """Paths of all pages reachable from there."""
    size: int
    """Total bytes of these pages."""
    links: int
    """Total number of links of these pages, repeats included."""


def prepare(folder: Path, most: int = 100) -> list[Site]:
    """The sites. Existing ones in `folder` are used unchanged."""
    sites = []
    for name in PACKAGES.read_text().split()[:most]:
        told = folder / f"{name}.json"
        if not told.exists():
            _fetch(name, folder)
            made = look(name, folder)
            told.write_text(json.dumps(asdict(made) if made else None))
        if found := json.loads(told.read_text()):
            sites.append(Site(**found))
    return sites


def _fetch(name: str, folder: Path) -> None:
    """Unpacks a package if this Debian has it; otherwise its folder stays empty."""
    target, room = folder / name, folder / "downloading"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    room.mkdir(exist_ok=True)
    subprocess.run(["apt-get", "-qq", "download", name], cwd=room, capture_output=True, timeout=120)
    for package in room.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, target], check=True)
        package.unlink()


def look(name: str, folder: Path) -> Site | None:
    """Follows the links of a package from its start page; None if it has none."""
    pages = [p for p in (folder / name).rglob("*") if p.suffix in PAGES and p.is_file() and not p.is_symlink()]
    starts = sorted((p for p in pages if p.stem == "index"), key=lambda p: (len(p.parts), str(p)))
    if not starts:
        return None
    root = Path(os.path.commonpath([p.parent for p in pages]))
    start = "/" + str(starts[0].relative_to(root))
    seen, todo, size, links = {start}, [start], 0, 0
    while todo:
        path = todo.pop()
        data = (root / path[1:]).read_bytes()
        _compress(root / path[1:], data)
        size += len(data)
        for target in _targets(data, path):
            links += 1
            if target not in seen and target.endswith(PAGES) and (root / target[1:]).is_file():
                seen.add(target)
                todo.append(target)
    return Site(name, str(root.relative_to(folder)), start, sorted(seen), size, links)


def _targets(data: bytes, path: str) -> Iterator[str]:
    """The paths of the files of this site that the links lead to."""
    for node in LexborHTMLParser(data.decode("utf-8", "replace")).css(LINKS):
        written = node.attributes.get("href") or node.attributes.get("src") or ""
        try:
            url = ada_url.join_url(_HERE + path, written)
        except ValueError:
            continue
        yield file_of(url.removeprefix(_HERE)) if url.startswith(_HERE + "/") else ""


def file_of(target: str) -> str:
    """The path of the file that a server would return."""
    path = unquote(target.split("#")[0].split("?")[0])
    return path + "index.html" if path.endswith("/") else path


def _compress(path: Path, data: bytes) -> None:
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(data, 6, mtime=0))


def told(sites: Sequence[Site]) -> str:
    pages = sum(len(s.pages) for s in sites)
    size, links = (sum(getattr(s, what) for s in sites) / max(1, pages) for what in ("size", "links"))
    return f"{len(sites)} sites, {pages:,} pages, on average {size / 1000:.1f} KB and {links:.0f} links"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print(told(prepare(folder)))
