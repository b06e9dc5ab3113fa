"""The commands of the README and of the manual's index, run in a fresh clone of this repository with its changes.

The clone gets its own virtual environment from `make`. If packages cannot be downloaded, that environment borrows the
packages of the current environment, and the tests warn. `make test`, `make bounds` and `make bench` are only checked
with `make -n`: the first would run itself, the others take long.
"""

from __future__ import annotations

import http.server
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from gossamer.base.compiled import KEPT
from tests.support.paths import ROOT
from tests.support.timing import COMMAND, WITHIN

README: Final = (ROOT / "README.md").read_text()
MANUAL: Final = (ROOT / "docs" / "manual.md").read_text()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("make") and shutil.which("git")), reason="make and git are needed"),
]
INSTALLATION: Final = 2 * COMMAND
"""Seconds after which an installation is a hang: it downloads all packages, and compiles all kernels."""
HASTE: Final = {"PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "30", "PIP_NO_COMPILE": "1"}
"""Gives up soon if the package registry cannot be reached; compiles no module that no test imports."""
WITHOUT_SERVE: Final = "import sys; sys.modules['starlette'] = None; from gossamer.cli import main; main()"
"""Runs a command where a package of the extra is missing, as in a fresh clone. Borrowed packages have all extras."""
NOT_OURS: Final = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH", "VIRTUAL_ENV")


def run(folder: Path, *command: str | Path, within: float = COMMAND) -> tuple[int, str]:
    own = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    own |= HASTE | {"XDG_CONFIG_HOME": str(folder / "config")}
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=within,
        env=own,
    )
    return done.returncode, done.stdout


def well(folder: Path, *command: str | Path, within: float = COMMAND) -> str:
    code, output = run(folder, *command, within=within)
    assert code == 0, output
    return output


def git(*arguments: str | Path, given: bytes = b"") -> bytes:
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, input=given, capture_output=True, timeout=WITHIN, check=True).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with uncommitted changes. It has new files only if they were added to git, so a forgotten file is missing
    here too. Kernels of the same sources are copied: they were compiled for the other tests."""
    folder = tmp_path_factory.mktemp("fresh") / "gossamer"
    try:
        git("clone", "--quiet", "--no-local", ROOT, folder)
        if changes := git("-C", ROOT, "diff", "--binary", "HEAD"):
            git("-C", folder, "apply", "-", given=changes)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this folder cannot be cloned: {error.stderr.decode().strip()}")
    if KEPT.is_relative_to(ROOT):
        shutil.copytree(KEPT, folder / KEPT.relative_to(ROOT), ignore=shutil.ignore_patterns("*.tmp*"))
    return folder


@pytest.fixture(scope="module")
def installed(clone: Path) -> Path:
    """The clone after `make install`."""
    code, said = run(clone, "make", "install", within=INSTALLATION)
    if code:
        warnings.warn(f"packages are borrowed, because `make install` failed: {said[-300:]}", stacklevel=1)
        borrow(clone / ".venv")
        well(clone, "make", "install", within=INSTALLATION)
    assert (clone / ".venv" / "bin" / "gossamer").exists()
    return clone


def borrow(environment: Path) -> None:
    """Makes an environment that uses the packages of the current environment, so that pip downloads nothing."""
    shutil.rmtree(environment, ignore_errors=True)
    well(environment.parent, sys.executable, "-m", "venv", environment)
    (packages,) = environment.glob("lib/python*/site-packages")
    folders = [path for path in sys.path if path.endswith("-packages")]
    (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in folders))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A small site on this machine, instead of example.org."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text("<title>One</title><a href=two.html>two</a>")
    (folder / "two.html").write_text("<title>Two</title><p>The other page.")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


OURS: Final = "--set harvester.allow_private=true --set harvester.wait=20ms --workers 1 --patience 1s"
"""Options for a crawl of that site."""


# --- make ----------------------------------------------------------------------------------------------------


def commands() -> list[str]:
    """The `make` commands of the README, at the beginning of lines and within backticks, without comments."""
    lines = re.findall(r"^(?:\$ )?(make [^#\n]*)", README, re.MULTILINE) + re.findall(r"`(make [^`]+)`", README)
    return list(dict.fromkeys(line.strip() for line in lines))


def test_the_readme_begins_with_one_command() -> None:
    assert commands()[0] == "make crawl"


@pytest.mark.parametrize("command", commands())
def test_every_make_command_of_the_readme_is_there(command: str, clone: Path) -> None:
    assert well(clone, "make", "-n", *shlex.split(command)[1:]).strip()


def test_make_test_notes_what_it_cannot_install(clone: Path) -> None:
    """`tests/support/needed.py` reads these notes."""
    planned = well(clone, "make", "-n", "test")
    assert set(re.findall(r"touch \S+/without-([\w$]+)", planned)) == {"pywb", "$name"}
    (named,) = re.findall(r"for each in ([^;]+);", planned)
    assert {each.partition(":")[0] for each in named.split()} == {"nginx", "dnsmasq", "zsh", "fish", "chromium"}
    assert "CI=true make test" in (clone / ".ci" / "run").read_text()


@pytest.fixture(scope="module")
def crawled(installed: Path) -> str:
    """The output of `make crawl`, of a crawl that is cut short."""
    return well(installed, "make", "crawl", "ARGS=--pages 200 --workers 1 --demo-log access.log")


def test_make_crawl_crawls_the_demonstration_web(crawled: str, installed: Path) -> None:
    assert "The crawl ended: the requested number of pages is reached." in crawled
    assert re.search(r"\b200 pages stored", crawled)
    assert (installed / "demo-crawl" / "crawl.toml").is_file()


def test_what_the_crawl_says_to_try_next_works(crawled: str, installed: Path) -> None:
    hints = re.findall(r"^  (\.venv/bin/gossamer .+)$", crawled, re.MULTILINE)
    assert [shlex.split(hint)[1] for hint in hints] == ["status", "sql", "explain", "web"]
    for hint in hints:
        well(installed, *shlex.split(hint.replace(" URL", " http://stonebridge.gossamer.test/")))


def test_make_crawl_with_seeds_crawls_them(installed: Path, site: str) -> None:
    (command,) = [command for command in commands() if "SEEDS=" in command]
    asked = [part.replace("https://example.org", site) for part in shlex.split(command)]
    assert asked != shlex.split(command)
    said = well(installed, *asked, f"ARGS={OURS}")
    assert "The crawl ended: nothing is left that may be requested soon." in said
    assert re.search(r"\b2 pages stored", said)
    assert (installed / "my-crawl" / "crawl.toml").is_file()


def test_the_sql_of_the_readme_works(crawled: str, installed: Path) -> None:
    (command,) = re.findall(r"^(\.venv/bin/gossamer .*)$", README, re.MULTILINE)
    assert "(" in well(installed, *shlex.split(command))


# --- gossamer ------------------------------------------------------------------------------------------------


def usage() -> list[str]:
    """The commands of the manual's "All commands", without comments."""
    block = MANUAL.partition("## All commands")[2].split("```")[1]
    return [re.split(r"\s{2,}", line)[0] for line in block.strip().splitlines()]


def with_values(command: str, site: str) -> str:
    """The command in a form that can be run here and ends soon."""
    verb = command.split()[1]
    if "--mine" in command:
        command = command.replace("DIR", "own-crawl")
    if verb == "crawl" and " URL" in command:
        command = command.replace("DIR", "my-crawl").replace("URL", site) + f" {OURS}"
    elif verb == "crawl":
        command = re.sub(r"--pages \d+", "--pages 10", command).replace("=30s", "=20ms").replace(" --demo", "")
        command += " --demo --workers 1" + ("" if "--pages" in command else " --pages 10")
        if "--continuous" in command:
            command += " --set manager.min_period=1s"  # pages are visited again, for `gossamer forecast`
    elif command == "gossamer web":
        command += " --list"
    elif verb == "reproduce":
        command += " --graph small.npz"
    for name, value in {
        " ...": "",
        "graph make|show|sample|convert|export": "graph show DIR",
        "GRAPH|DIR": "DIR",
        "[DIR|FILE]": "DIR",
        "URL|SITE --reason TEXT": "URL --dry-run",  # the commands that follow need what it would remove
        "[--json]": "--json",
        "DIR|URL [--ci]": "DIR",
        "[--against DIR2]": "--against DIR --json",  # its plots need matplotlib, which is not installed there
        "[DIR] [--url URL]": "DIR",
        "[DIR]": "DIR",
        "[SITE]…": "www.example.org",
        "DIR": "demo-crawl",
        "URL": "http://stonebridge.gossamer.test/",
        "--seeds FILE": "--seeds seeds.txt",
        "FILE": "pages.jsonl",
        "sessions LOG": "sessions users.log",
        "LOG": "access.log",
        " crawl.toml": " demo-crawl/crawl.toml",
    }.items():
        command = command.replace(name, value)
    return command


@pytest.mark.parametrize("command", usage())
def test_every_gossamer_command_of_the_manual_works(command: str, crawled: str, installed: Path, site: str) -> None:
    (installed / "seeds.txt").write_text(f"{site}\n")
    (installed / "users.log").write_text(
        '192.0.2.1 - - [17/May/2026:10:05:03 +0000] "GET / HTTP/1.1" 200 5120 "-" "Mozilla/5.0"\n'
    )
    ring = np.arange(100)
    targets = np.stack([ring + 1, ring * 7], 1).ravel() % 100
    np.savez(installed / "small.npz", offsets=np.arange(101) * 2, targets=targets)
    program, *arguments = shlex.split(with_values(command, site))
    assert program == "gossamer"
    if "--mine" in arguments:
        well(installed, installed / ".venv" / "bin" / program, "mine", "www.example.org")
    if arguments[0] == "serve":  # tests/serve/ runs the server itself; `make install` leaves its packages out
        code, said = run(installed, installed / ".venv" / "bin" / "python", "-c", WITHOUT_SERVE, *arguments)
        assert (code, "[serve]" in said) == (2, True), said
        return
    well(installed, installed / ".venv" / "bin" / program, *arguments)


# --- files ---------------------------------------------------------------------------------------------------


def test_a_clone_has_all_that_its_readme_and_makefile_name(clone: Path) -> None:
    named = set(re.findall(r"\]\(([\w./-]+\.md)\)", (clone / "README.md").read_text()))
    named |= set(re.findall(r"\brequirements[\w-]*\.lock\b", (clone / "Makefile").read_text()))
    assert {name for name in named if not (clone / name).is_file()} == set()
    assert "requirements.lock" in named
