"""The package is what its metadata says: licence, dependencies, pins, wheel."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Final

import pytest

from gossamer.tools.licences import NOT_SAID, closure, licence, licences, normal
from tests.support.paths import ROOT

PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BASE: Final[list[str]] = PROJECT["dependencies"]
EXTRAS: Final[dict[str, list[str]]] = PROJECT["optional-dependencies"]
APACHE: Final = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of the text of the Apache License 2.0 as published."""
INSTALLER: Final = "setuptools"
"""Pinned because it installs Gossamer itself; Gossamer does not need it."""


def names(needs: list[str]) -> set[str]:
    return {normal(re.split(r"[^\w.-]", need, maxsplit=1)[0]) for need in needs}


def pins(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == [], "plain pins"
    return {normal(name): version for name, _, version in (line.partition("==") for line in lines)}


def modules(folder: Path) -> Iterator[tuple[Path, str]]:
    """The top-level modules that the sources of a folder import, at any place in them."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name.partition(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield path, node.module.partition(".")[0]


@cache
def imported() -> dict[str, set[Path]]:
    """The packages that `src` imports, by normalised name, with the files that do."""
    owners, found = packages_distributions(), dict[str, set[Path]]()
    for path, module in modules(ROOT / "src"):
        if module not in sys.stdlib_module_names and module not in ("gossamer", "_typeshed"):
            for owner in owners.get(module, [module]):
                found.setdefault(normal(owner), set()).add(path)
    return found


# --- licence -------------------------------------------------------------------------------------------------


def test_the_licence_is_the_published_text() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE
    assert PROJECT["license"] == "Apache-2.0"
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    assert "Apache License 2.0" in (ROOT / "README.md").read_text()


def test_the_list_of_licences_is_what_the_metadata_says() -> None:
    written = (ROOT / "docs" / "licences.md").read_text()
    assert written == licences(), "python -m gossamer.tools.licences > docs/licences.md"
    listed = set(re.findall(r"^\| ([\w.-]+) \| (\d[\w.]*) \| .+ \|$", written, re.MULTILINE))
    pinned = pins("requirements.lock") | pins("requirements-lab.lock") | pins("requirements-serve.lock")
    assert listed == {(name, version) for name, version in pinned.items() if name != INSTALLER}


def test_every_dependency_says_its_licence() -> None:
    assert [
        name
        for name, package in closure([*BASE, *EXTRAS["lab"], *EXTRAS["serve"]]).items()
        if licence(package) == NOT_SAID
    ] == []


# --- dependencies --------------------------------------------------------------------------------------------


def test_what_is_declared_is_imported_and_what_is_imported_is_declared() -> None:
    assert (names(BASE) | names(EXTRAS["lab"]) | names(EXTRAS["serve"])) == set(imported())


@pytest.mark.parametrize(("extra", "folder"), [("lab", "laboratory"), ("serve", "serve")])
def test_an_extra_is_imported_by_its_folder_alone(extra: str, folder: str) -> None:
    users = {path for name in names(EXTRAS[extra]) for path in imported()[name]}
    assert users
    assert {path for path in users if ROOT / "src" / "gossamer" / folder not in path.parents} == set()


def test_no_requirement_keeps_newer_versions_out() -> None:
    every = [*BASE, *(need for extra in EXTRAS.values() for need in extra)]
    assert [need for need in every if not re.fullmatch(r"[\w.-]+>=[\d.]+(; *python_version *[<>=]+ *\S+)?", need)] == []


def test_the_pins_are_what_the_requirements_need() -> None:
    base, lab, dev = pins("requirements.lock"), pins("requirements-lab.lock"), pins("requirements-dev.lock")
    serve = pins("requirements-serve.lock")
    assert set(base) - {INSTALLER} == set(closure(BASE))
    assert set(lab) == set(closure(EXTRAS["lab"])) - set(base)
    assert set(serve) == set(closure(EXTRAS["serve"])) - set(base) - set(lab)
    assert set(dev) - {INSTALLER} == set(closure(EXTRAS["dev"])) - set(base) - set(lab) - set(serve)
    assert dev[INSTALLER] == base[INSTALLER], "the base does without it, once it is installed"


@pytest.mark.parametrize("file", sorted(path.name for path in ROOT.glob("requirements*.lock")))
def test_pins_are_plain(file: str) -> None:
    assert pins(file)
