"""The wheel, as a user gets it: made from the source archive, installed into an empty environment, read-only, far from
the source tree. The packages that it needs and the compiled kernels are borrowed from the environment of the tests."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

from gossamer import __version__
from gossamer.base.compiled import KEPT
from tests.support.paths import ROOT
from tests.support.timing import COMMAND

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("git"), reason="git is needed: it knows which files are sources"),
]
LARGEST: Final = 2_000_000
"""Bytes of the wheel at most."""


def run(folder: Path, *command: str | Path, **own: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=kept | own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made in a copy of the tracked files, so that a forgotten file is missing here too."""
    source = tmp_path_factory.mktemp("source")
    for name in run(ROOT, "git", "-c", "safe.directory=*", "ls-files", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    run(source, sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')")
    (archive,) = (source / "dist").glob("*.tar.gz")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    run(source, sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", "dist", archive)
    (made,) = (source / "dist").glob("*.whl")
    return made


def test_the_wheel_is_small_and_has_its_licence(wheel: Path) -> None:
    assert wheel.name == f"gossamer-{__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < LARGEST
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith("/METADATA")]
    information = f"gossamer-{__version__}.dist-info"
    assert {f"{information}/licenses/LICENSE", f"{information}/licenses/NOTICE", "gossamer/py.typed"} <= names
    assert {name.split("/")[0] for name in names} == {"gossamer", information}
    assert "License-Expression: Apache-2.0" in metadata
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel alone, and a cache with the kernels of the same sources."""
    environment = tmp_path_factory.mktemp("installed") / "venv"
    run(environment.parent, sys.executable, "-m", "venv", "--without-pip", environment)
    options = ("--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check")
    python = environment / "bin" / "python"
    run(environment.parent, sys.executable, "-m", "pip", "--python", python, "install", *options, wheel)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in sys.path if path.endswith("-packages")))
    shutil.copytree(KEPT, environment.parent / "cache" / "gossamer" / KEPT.name)
    (environment.parent / "cache" / "gossamer").chmod(0o700)
    return environment


def gossamer(environment: Path, folder: Path, *arguments: str) -> str:
    """Runs the command where its environment cannot be written: for root, in a namespace that mounts it read-only."""
    command = shlex.join([str(environment / "bin" / "gossamer"), *arguments])
    own = {"XDG_CACHE_HOME": str(environment.parent / "cache"), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    if os.geteuid() != 0:
        run(folder, "chmod", "-R", "a-w", environment)
        return run(folder, "sh", "-c", command, **own)
    seal = f"mount --bind {environment} {environment} && mount -o remount,ro,bind {environment}"
    alone = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
    try:
        run(folder, *alone, seal)
    except (AssertionError, FileNotFoundError) as error:
        pytest.skip(f"root cannot make a folder read-only here: {error}")
    return run(folder, *alone, f"{seal} && ! touch {environment}/x 2>/dev/null && exec {command}", **own)


def test_the_wheel_crawls_where_it_cannot_write(installed: Path, tmp_path: Path) -> None:
    said = gossamer(installed, tmp_path, "crawl", "demo-crawl", "--demo", "--pages", "100", "--workers", "1")
    assert re.search(r"\b100 pages stored", said), said
    assert "no errors" in gossamer(installed, tmp_path, "verify", "demo-crawl")
    counted = gossamer(installed, tmp_path, "sql", "demo-crawl", "--csv", "select count(*) from visits")
    assert int(counted.split()[-1]) >= 100
    fetched = "select url from pages where outcome = 'ok' limit 1"
    url = gossamer(installed, tmp_path, "sql", "demo-crawl", "--csv", fetched).split()[-1]
    assert "state: done" in gossamer(installed, tmp_path, "explain", "demo-crawl", url)
    gossamer(installed, tmp_path, "export", "demo-crawl", "--jsonl", "pages.jsonl")
    assert (tmp_path / "pages.jsonl").read_text().count("\n") >= 100
    assert not list((installed / "lib").rglob("__pycache__/kernels-*")), "kernels are in the user's cache"


def test_the_wheel_is_imported_from_its_environment(installed: Path, tmp_path: Path) -> None:
    said = run(tmp_path, installed / "bin" / "python", "-c", "import gossamer; print(gossamer.__file__)")
    assert Path(said.strip()).is_relative_to(installed)
