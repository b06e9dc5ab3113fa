"""`gossamer explain` when something is removed or fails meanwhile: the image that it reads, or the desk's socket."""

from __future__ import annotations

import errno
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from gossamer.base.errors import StorageError
from gossamer.collection import manifest
from gossamer.collection.layout import shard_folder
from gossamer.observe.image_view import Mapped, open_image
from gossamer.observe.socket import ask
from gossamer.read.explain import collection as explain_collection
from gossamer.read.explain.site import is_site
from tests.read.explain.test_explain import ROOT, explain_page, explain_site, running, without_holder, world_in


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain") / "crawl"
    world_in(folder).run([ROOT])
    return without_holder(folder)


def test_the_listener_survives_failures_to_accept_and_to_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = shard_folder(tmp_path / "c")
    with running(world_in(tmp_path / "c"), [ROOT]) as (_, listener):
        monkeypatch.setattr(listener, "answer", lambda raw: {"page": {1, 2}})
        assert "TypeError" in ask(shard, {"page": ROOT})["error"]  # type: ignore[index]
        monkeypatch.undo()
        failing = Unwilling(listener._socket, 3)
        monkeypatch.setattr(listener, "_listening", lambda: failing)
        thread = threading.Thread(target=listener._serve, daemon=True)
        thread.start()
        while failing.left and thread.is_alive():
            thread.join(0.01)
        assert thread.is_alive()
        assert ask(shard, {"page": ROOT}) is not None
    thread.join(10)
    assert not thread.is_alive()


class Unwilling:
    """A listening socket whose first calls of `accept` fail, because too many files are open."""

    def __init__(self, listening: Any, left: int) -> None:
        self._listening, self.left = listening, left

    def accept(self) -> Any:
        if self.left:
            self.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listening.accept()


@pytest.mark.parametrize("target", [f"{ROOT}two", "a.example"])
def test_an_image_that_is_removed_while_it_is_read_is_looked_up_again(
    tmp_path: Path, crawled: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """A newer image replaces the older one after an array of that was mapped."""
    folder = tmp_path / "c"
    shutil.copytree(crawled, folder)
    explain = explain_site if is_site(target) else explain_page
    expected, shard, mapped = explain(folder, target), shard_folder(folder), Mapped.array
    gone: list[Any] = []

    def cleaned(self: Mapped, name: str) -> Any:
        if name == "site.pages" and not gone:
            gone.append(name)
            newer(shard)
        return mapped(self, name)

    monkeypatch.setattr(Mapped, "array", cleaned)
    said = explain(folder, target)
    assert gone
    assert said["as_of"] == expected["as_of"]
    assert said["standing"]["pages" if is_site(target) else "state"]


def newer(shard: Path) -> None:
    """Renames the newest image, as if a crawl had made a new one."""
    line = manifest.read(shard).image
    assert line is not None
    (shard / line["image"]).rename(shard / f"{line['image']}-again")
    lines = manifest.Manifest.open(shard)
    lines.append(line | {"image": f"{line['image']}-again"})
    lines.close()


def test_an_image_that_is_removed_before_it_is_opened_is_looked_up_again(
    tmp_path: Path, crawled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "c"
    shutil.copytree(crawled, folder)
    gone: list[Any] = []

    def opened(shard: Path, line: Any, checked: Any) -> Any:
        if not gone:
            gone.append(line)
            newer(shard)
        return open_image(shard, line, checked)

    monkeypatch.setattr(explain_collection, "open_image", opened)
    assert explain_page(folder, ROOT)["as_of"]["source"] == "image"
    assert gone


def test_a_missing_file_of_an_image_is_reported(tmp_path: Path, crawled: Path) -> None:
    folder = tmp_path / "c"
    shutil.copytree(crawled, folder)
    (path,) = shard_folder(folder).glob("image/*/page.state")
    path.unlink()
    with pytest.raises(StorageError, match=r"page\.state is missing") as told:
        explain_page(folder, ROOT)
    assert "verify" in told.value.cure


def test_a_missing_file_of_a_table_is_reported(tmp_path: Path, crawled: Path) -> None:
    folder = tmp_path / "c"
    shutil.copytree(crawled, folder)
    shutil.rmtree(shard_folder(folder) / "pages")
    with pytest.raises(StorageError, match=r"pages/.*parquet is missing") as told:
        explain_page(folder, ROOT)
    assert "verify" in told.value.cure
