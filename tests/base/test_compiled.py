"""Kernels on disk: shared by processes, never half-written, never from a folder that others may write."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from numba.core.dispatcher import Dispatcher

from gossamer.base import compiled, compiling
from gossamer.base.compiled import CRAWL, KEPT, PACKAGE, are_compiled
from gossamer.base.compiling import compile_ahead, kernels, made

SMALL: Final = """
import sys
from gossamer.base.compiled import KEPT, allocating, njit
import numpy as np

@njit
def twice(x):
    return 2 * x

@allocating
def filled(n, x):
    out = np.empty(n)
    out[:] = twice(x)
    return out

if __name__ == "__main__":
    numbers = [1, 1.5, np.uint8(3), np.float32(2)]
    for x in numbers if sys.argv[1] == "up" else reversed(numbers):
        assert twice(x) == 2 * x and filled(2, x).tolist() == [2 * x, 2 * x], x
    misses = sum(sum(f.stats.cache_misses.values()) for f in (twice, filled))
    print(KEPT, misses, "numba.np.arraymath" in sys.modules)
"""
LONGEST: Final = 300.0


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The base of the package, with two kernels, in a folder that cannot be written: `__pycache__` is no folder, which
    stops the superuser too."""
    root = tmp_path / "installed"
    base = root / "gossamer" / "base"
    shutil.copytree(PACKAGE / "base", base, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "__init__.py", root / "gossamer")
    (root / "gossamer" / "small.py").write_text(SMALL)
    (root / "gossamer" / "__pycache__").touch()
    for path in (root, *root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return root


def start(package: Path, home: Path, order: str = "up") -> subprocess.Popen[str]:
    environment = {"PYTHONPATH": str(package), "HOME": str(home), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "gossamer.small", order]
    return subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> tuple[Path, int]:
    """Where its kernels were, and how many it has compiled. It loads what numba compiles with only if it does."""
    said, complaint = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, complaint
    folder, misses, heavy = said.split()
    assert heavy == str(int(misses) > 0)
    return Path(folder), int(misses)


@pytest.mark.slow
def test_two_processes_at_once_share_the_users_cache_if_the_package_cannot_be_written(
    package: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    both = [ended(process) for process in (start(package, home), start(package, home, "down"))]
    folders, compiled_by = {folder for folder, _ in both}, [misses for _, misses in both]
    assert folders == {next((home / ".cache" / "gossamer").iterdir())}
    assert sum(compiled_by) == 8, "each form of each kernel is compiled once"
    assert ended(start(package, home))[1] == 0
    assert next(iter(folders)).stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".nbi", ".1.nbc", ".2.nbc"])
@pytest.mark.parametrize("left", [0, 7, 200])
def test_a_damaged_kernel_is_never_run_and_is_compiled_again(
    package: Path, tmp_path: Path, ending: str, left: int
) -> None:
    folder, _ = ended(start(package, tmp_path))
    for path in folder.rglob(f"*{ending}"):
        path.write_bytes(path.read_bytes()[:left])
    assert ended(start(package, tmp_path))[1] > 0
    assert ended(start(package, tmp_path))[1] == 0


class Folders:
    """A package, a home and a folder for temporary files."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.beside, self.cache, self.temporary = root / "package" / "__pycache__", root / "cache", root / "tmp"
        for folder in (self.beside, self.cache, self.temporary):
            folder.mkdir(parents=True)
        patch.setattr(compiled, "PACKAGE", self.beside.parent)
        patch.setattr("tempfile.tempdir", str(self.temporary))
        patch.setenv("XDG_CACHE_HOME", str(self.cache))

    def found(self) -> Path:
        return compiled._folder("kernels")


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    return Folders(tmp_path, monkeypatch)


def replaced_by_a_file(folder: Path) -> None:
    folder.rmdir()
    folder.touch()


def open_to_all(folder: Path) -> None:
    (folder / "gossamer").mkdir(mode=0o700)
    (folder / "gossamer" / "kernels").mkdir()
    (folder / "gossamer" / "kernels").chmod(0o777)


def a_link(folder: Path) -> None:
    (folder / "elsewhere").mkdir(mode=0o700)
    (folder / "gossamer").symlink_to("elsewhere")


def test_kernels_are_beside_the_sources_where_these_can_be_written(folders: Folders) -> None:
    assert folders.found() == folders.beside / "kernels"
    assert folders.found().stat().st_mode & 0o022 == 0


def test_a_folder_beside_the_sources_that_others_may_write_is_not_used(folders: Folders) -> None:
    (folders.beside / "kernels").mkdir()
    (folders.beside / "kernels").chmod(0o777)
    (folders.beside / "kernels" / CRAWL).touch()
    assert folders.found() == folders.cache / "gossamer" / "kernels"


@pytest.mark.parametrize("spoil", [replaced_by_a_file, open_to_all, a_link])
def test_a_cache_that_is_not_the_users_own_is_not_used(folders: Folders, spoil: Callable[[Path], None]) -> None:
    replaced_by_a_file(folders.beside)
    spoil(folders.cache)
    assert folders.found() == folders.temporary / f"gossamer-{os.getuid()}" / "kernels"


def test_without_any_folder_of_the_users_own_a_new_one_is_made_and_passed_on(folders: Folders) -> None:
    replaced_by_a_file(folders.beside)
    replaced_by_a_file(folders.cache)
    (folders.temporary / f"gossamer-{os.getuid()}").touch()
    found = folders.found()
    assert found.is_relative_to(folders.temporary)
    assert folders.found() == found, "the processes that this one starts find it"


def test_every_kernel_of_a_crawl_is_compiled_ahead() -> None:
    if not are_compiled(CRAWL):
        pytest.skip("kernels are compiled by `make test`")
    missing = {folder.name: number - made(folder) for folder, number in kernels(CRAWL).items() if made(folder) < number}
    assert missing == {}


def test_kernels_are_made_of_files_whose_change_makes_new_ones() -> None:
    """Also a function that is compiled in another file than its own: `njit(seconds_between)`."""
    files = compiled.sources()
    names = {".".join(("gossamer", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in files}
    loaded = [importlib.import_module(name) for name in sorted(names)]
    kernels = [each for module in loaded for each in vars(module).values() if isinstance(each, Dispatcher)]
    assert len(kernels) > 100
    assert {Path(each.py_func.__code__.co_filename) for each in kernels} <= files.keys()


class Tool:
    """A process that ends at the third look."""

    def __init__(self, failure: str) -> None:
        self.failure, self._looks = failure, 0

    @property
    def ended(self) -> bool:
        self._looks += 1
        return self._looks > 2


@pytest.mark.parametrize("failure", ["", "no such file"])
def test_compiling_ahead_says_what_goes_on_and_how_far_it_is(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def start_tool(*arguments: Any) -> Tool:
        started.append(arguments)
        return Tool(failure)

    said: list[str] = []
    shown: list[tuple[str, float]] = []
    monkeypatch.setattr(compiling, "Process", start_tool)
    for module in (compiled, compiling):
        monkeypatch.setattr(module, "KEPT", tmp_path)
    compile_ahead(CRAWL, lambda *what: shown.append(what), said.append)
    assert 1 <= len(started) <= len(os.sched_getaffinity(0))
    assert set(shown) == {("compiling the kernels of a crawl, once for this version and processor", 0.0)}
    assert len(said) == 1
    assert failure in said[0] if failure else said[0].startswith("compiled the kernels of a crawl in")
    assert are_compiled(CRAWL) == (not failure)
    if not failure:
        before = len(shown)
        compile_ahead(CRAWL, lambda *what: shown.append(what), said.append)
        assert (len(shown), len(said)) == (before, 1), "nothing is left to compile"


def test_kernels_of_this_version_are_found_by_name() -> None:
    assert KEPT.name.startswith(f"kernels-{compiled.FINGERPRINT}-")
