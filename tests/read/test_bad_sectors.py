"""A bad sector in any file of a collection: every reader gives the answer that it gave before, or an error that names
the file and a cure."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from gossamer import config
from gossamer.base.clock import RealClock
from gossamer.base.errors import GossamerError
from gossamer.collection.layout import SETTINGS
from gossamer.crawler.open import open_collection
from gossamer.read import compact
from gossamer.read.explain import collection as explained
from gossamer.read.verify.verify import repaired, verify
from tests.read.test_flipped_bits import READERS, archived, crawled, of_bodies
from tests.support.bad_sectors import bad_sector

_ = archived, crawled  # fixtures


def of_opened(folder: Path) -> Any:
    store, desk, _ = open_collection(folder, config.load(folder / SETTINGS), RealClock())
    try:
        return store.urls(list(range(desk.columns.page.count)))
    finally:
        store.close()


CHANGING: Final[dict[str, Callable[[Path], Any]]] = {
    "verify": verify,
    "verify --repair": repaired,
    "compact": compact.compact,
    "crawl": of_opened,
    "the last bodies": of_bodies,
}
"""What may say something else than before: only errors count. Each gets a copy of its own."""
NOT_OURS: Final = (".lock", "lock", "desk.sock", "orders.jsonl")


def one_of_each(folder: Path) -> list[Path]:
    """The longest file of each kind, where a kind is what lies in one folder, or bears one name."""
    longest: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        kind = path.name if path.parent.name in (folder.name, "shard-000") else path.parent.relative_to(folder).parts[1]
        if path.is_file() and path.stat().st_size and path.name not in NOT_OURS:
            longest[kind] = max(longest.get(kind, path), path, key=lambda each: each.stat().st_size)
    return list(longest.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "readers"),
    [
        ("crawled", ("sql", "sql --fresh", "explain", "status", "graph")),
        ("archived", ("sql --fresh", "export --jsonl", "export --wacz", "graph")),
    ],
    ids=["crawled", "archived"],
)
def test_a_bad_sector_is_an_error_that_names_the_file(
    source: str,
    readers: tuple[str, ...],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explained, "time", SimpleNamespace(time=lambda: 2e9))
    folder: Path = request.getfixturevalue(source)
    expected = {name: READERS[name](folder) for name in readers}
    files = one_of_each(folder)
    assert len(files) > 10
    wrong, told, disk = list[str](), 0, tmp_path / "disk"
    disk.mkdir()
    for path in files:
        relative = path.relative_to(folder)
        for names, place in ((readers, folder), *(((name,), tmp_path / "copy") for name in CHANGING)):
            if place != folder:
                shutil.copytree(folder, place)
            bad = place / relative
            with bad_sector(bad, bad.stat().st_size // 2, disk):
                for name in names:
                    try:
                        answer = (READERS | CHANGING)[name](place)
                        if name in expected and answer != expected[name]:
                            wrong.append(f"{name}: {relative}: another answer")
                    except GossamerError as error:
                        told += 1
                        if not error.cure or path.name not in error.message:
                            wrong.append(f"{name}: {relative}: {error}")
                    except OSError as error:
                        at = traceback.extract_tb(error.__traceback__)
                        ours = [f"{f.filename}:{f.lineno}" for f in at if "gossamer" in f.filename]
                        wrong.append(f"{name}: {relative}: {error!r} at {ours[-1]}")
            if place != folder:
                shutil.rmtree(place)
    assert not wrong, "\n".join(wrong)
    assert told > len(files)
