"""The README's commands in a fresh clone.

CI runs in a fresh clone itself, so installing once more is left out: `make -n` says what would be done. With
GOSSAMER_FRESH=1 `make crawl ARGS="--pages 200"` is really run in the clone (minutes, and packages are fetched).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
FRESH: Final = os.environ.get("GOSSAMER_FRESH") == "1"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("make") and shutil.which("git")), reason="make and git are needed"),
]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is committed here, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh") / "gossamer"
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}/.git", "clone", "--quiet", "--no-local", ROOT, folder],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"this folder cannot be cloned: {done.stderr.strip()}")
    return folder


def make(folder: Path, *arguments: str, within: float = 60) -> str:
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "PYTHONPATH")}
    done = subprocess.run(
        ["make", *arguments], cwd=folder, capture_output=True, text=True, timeout=within, env=own, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def commands() -> list[str]:
    """Lines of the README that begin with `make`, and those within backticks, without comments."""
    text = (ROOT / "README.md").read_text()
    lines = re.findall(r"^(?:\$ )?(make [^#\n]*)", text, re.MULTILINE) + re.findall(r"`(make [^`]+)`", text)
    return list(dict.fromkeys(line.strip() for line in lines))


def test_the_readme_begins_with_one_command() -> None:
    assert commands()[0] == "make crawl"


@pytest.mark.parametrize("command", commands())
def test_every_make_command_of_the_readme_is_there(command: str, clone: Path) -> None:
    arguments = re.findall(r'(\w+)="([^"]*)"', command)
    target = command.split()[1]
    assert make(clone, "-n", target, *(f"{name}={value}" for name, value in arguments)).strip()


def test_make_crawl_installs_and_crawls_the_demonstration_web(clone: Path) -> None:
    planned = make(clone, "-n", "crawl").splitlines()
    assert planned[-1].split() == [".venv/bin/gossamer", "crawl", "demo-crawl", "--demo"]
    assert any("venv .venv" in line for line in planned)
    assert any("install -r requirements.lock" in line for line in planned)


def test_make_crawl_with_seeds_crawls_them(clone: Path) -> None:
    planned = make(clone, "-n", "crawl", "SEEDS=https://example.org", "CONTACT=you@example.org", "ARGS=--pages 5")
    assert planned.splitlines()[-1].split() == [
        ".venv/bin/gossamer", "crawl", "my-crawl", "--seed", "'https://example.org'", "--contact", "'you@example.org'",
        "--pages", "5",
    ]  # fmt: skip


def test_a_clone_has_all_that_its_readme_and_makefile_name(clone: Path) -> None:
    named = set(re.findall(r"\]\(([\w./-]+\.md)\)", (clone / "README.md").read_text()))
    named |= set(re.findall(r"\brequirements[\w-]*\.lock\b", (clone / "Makefile").read_text()))
    assert {name for name in named if not (clone / name).is_file()} == set()
    assert "requirements.lock" in named


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {line.partition("==")[0].strip().lower() for line in (ROOT / "requirements.lock").read_text().splitlines()}
    wanted = {re.split(r"[<>=~! ;\[]", need)[0].lower() for need in project["dependencies"]}
    assert wanted - pinned == set()


@pytest.mark.skipif(not FRESH, reason="only with GOSSAMER_FRESH=1: it installs everything once more")
def test_make_crawl_really_crawls_in_a_fresh_clone(clone: Path) -> None:
    said = make(clone, "crawl", "ARGS=--pages 200", within=1800)
    assert "The crawl ended: the number of pages asked for is reached." in said
    assert re.search(r"200 pages stored", said)
    assert (clone / "demo-crawl" / "crawl.toml").is_file()
