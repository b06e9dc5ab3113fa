"""Every invariant that a docstring names has a test of the same name."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.support.paths import ROOT

PARAGRAPH: Final = re.DOTALL | re.MULTILINE
NAME: Final = re.compile(r"`([a-z0-9]+(?:_[a-z0-9]+){2,})`")
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


def listed(text: str) -> list[str]:
    """The names of tests in backticks, in paragraphs that begin with the word."""
    paragraphs = re.findall(r"^ *Invariants?: (?!.*\btest of the same name\b)(.*?)(?:\n\s*\n|\Z)", text, PARAGRAPH)
    return [name for each in paragraphs for name in NAME.findall(each) or [re.sub(r"\s+", " ", each)]]


def invariants() -> list[tuple[str, str]]:
    """All invariants in docstrings: file and sentence, or file and name."""
    found = []
    for path in sorted((ROOT / "src" / "gossamer").rglob("*.py")):
        source = path.read_text()
        if "Invariant" in source:
            texts = docstrings(source)
            found += [(str(path.relative_to(ROOT)), each) for t in texts for each in (*named(t), *listed(t))]
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
    assert len([name for _, name in found if NAME.fullmatch(f"`{name}`")]) > 15
    assert listed("Text.\n\nInvariant: `a_b_c`, always.\n\n`d_e_f`") == ["a_b_c"]
    assert listed("Invariant: nothing is\nlost.") == ["nothing is lost."]
    assert Path(ROOT / found[0][0]).exists()
