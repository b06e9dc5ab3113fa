"""Every invariant that a docstring names has a test of the same name."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.support.paths import ROOT

HEAD: Final = re.compile(r"Invariants?, (?:each )?a (?:property )?test of the same name[^:]*:\s*(.*)", re.DOTALL)


def named(text: str) -> list[str]:
    """The sentences after the head: items of a list, or parts between semicolons up to the first full stop."""
    match = HEAD.search(text)
    if match is None:
        return []
    rest = match.group(1)
    if rest.startswith("-"):
        block = re.split(r"\n\s*\n(?!\s*-)", rest)[0]
        return [re.sub(r"\s+", " ", item).strip() for item in re.split(r"(?:^|\n)\s*- ", block) if item.strip()]
    sentence = re.split(r"\.(?:\s|$)", rest)[0]
    return [re.sub(r"\s+", " ", part).strip() for part in sentence.split(";")]


def name_for(sentence: str) -> str:
    """`A site is asked once (WAITING)` is `a_site_is_asked_once`."""
    words = re.sub(r"\([^)]*\)", "", sentence).split(":")[0].lower()
    return re.sub(r"_+", "_", re.sub(r"[^a-z0-9]+", "_", words.replace("'", ""))).strip("_")


def invariants() -> list[tuple[str, str]]:
    """All invariants in docstrings: file and sentence."""
    found = []
    for path in sorted((ROOT / "src" / "gossamer").rglob("*.py")):
        source = path.read_text()
        if HEAD.search(source):
            found += [
                (str(path.relative_to(ROOT)), sentence) for text in docstrings(source) for sentence in named(text)
            ]
    return found


def docstrings(source: str) -> list[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]


@cache
def names_of_tests() -> set[str]:
    """Names of tests, and of the rules and invariants of state machines."""
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                found.add(node.name.removeprefix("test_"))
    return found


@pytest.mark.parametrize(("path", "sentence"), invariants())
def test_an_invariant_has_its_test(path: str, sentence: str) -> None:
    assert name_for(sentence) in names_of_tests(), f"{path}: no test_{name_for(sentence)}"


def test_invariants_are_found() -> None:
    found = invariants()
    assert len(found) > 60
    assert Path(ROOT / found[0][0]).exists()
