"""Budgets of size: no class has more than 250 lines or 15 fields, no function more than 60 lines; documents that people
read first stay short.

`pytest -s tests/project/test_budget.py` prints the five largest files, classes and functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from tests.support.paths import ROOT

SOURCE: Final = ROOT / "src" / "gossamer"
MOST_LINES, MOST_FIELDS, LONGEST_FUNCTION = 250, 15, 60
FLAT: Final = {
    "HarvesterSettings": "settings are flat, by the names that users write",
    "SeederSettings": "settings are flat, by the names that users write",
    "Effects": "the sections of a journal record",
    "Gathered": "what was gathered from a page, flat as its record",
    "Scenario": "settings of a simulation, flat by the names that users write",
    "Transfer": "a curl handle and its request: callbacks of libcurl set one by one what came",
    "Connection": "a client of the demonstration Web: what was parsed, what is to be sent",
    "Shape": "kinds of the demonstration Web, flat by the names that users write",
}
"""Classes that may have more fields, each with its reason. Arrays of kernels are recognised by their type."""


class Size(NamedTuple):
    lines: int
    fields: int
    name: str
    kernel: bool


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield str(path.relative_to(SOURCE)), ast.parse(path.read_text())


def fields(node: ast.ClassDef) -> set[str]:
    """Annotated attributes of the class, and attributes of `self` that any of its methods sets."""
    found = set()
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            found.add(member.target.id)
        elif isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            for each in ast.walk(member):
                if (
                    isinstance(each, ast.Attribute)
                    and isinstance(each.ctx, ast.Store)
                    and ast.unparse(each.value) == "self"
                ):
                    found.add(each.attr)
    return found


def is_kernel(node: ast.ClassDef) -> bool:
    """A NamedTuple of arrays that numba takes."""
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    types = [ast.unparse(m.annotation) for m in node.body if isinstance(m, ast.AnnAssign)]
    arrays = [each for each in types if each in ("Array", "U8", "U16", "U32", "U64", "I64", "F32", "F64", "Bools")]
    return "NamedTuple" in bases and len(arrays) > len(types) / 2


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function. The parameters of a kernel do not count: numba takes them one by one, and groups of them
    would make a call four times as slow (`seeder/pages.py`)."""
    kernel = any(ast.unparse(each).startswith("njit") for each in node.decorator_list)
    first = node.body[0].lineno if kernel else node.lineno
    return (node.end_lineno or 0) - first + 1


@cache
def sizes() -> tuple[list[Size], list[tuple[int, str]]]:
    """Classes, and functions with their lines, the largest first. Each file is parsed once."""
    classes, functions = list[Size](), list[tuple[int, str]]()
    for path, tree in trees():
        for n in ast.walk(tree):
            if isinstance(n, ast.ClassDef):
                lines = (n.end_lineno or 0) - n.lineno + 1
                classes.append(Size(lines, len(fields(n)), f"{path}: {n.name}", is_kernel(n)))
            elif isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append((length(n), f"{path}: {n.name}"))
    return sorted(classes, reverse=True), sorted(functions, reverse=True)


def test_no_class_is_too_large() -> None:
    found, _ = sizes()
    assert len(found) > 300
    print("\nlargest classes:", *(f"{c.lines} lines, {c.fields} fields  {c.name}" for c in found[:5]), sep="\n  ")
    by_fields = sorted(found, key=lambda c: -c.fields)[:5]
    print("most fields:", *(f"{c.fields}  {c.name}" for c in by_fields), sep="\n  ")
    assert [c for c in found if c.lines > MOST_LINES] == []
    too_many = [c for c in found if c.fields > MOST_FIELDS and not c.kernel and c.name.split(": ")[1] not in FLAT]
    assert too_many == []


def test_every_exception_is_needed() -> None:
    large = {c.name.split(": ")[1] for c in sizes()[0] if c.fields > MOST_FIELDS}
    assert set(FLAT) <= large


def test_no_function_is_too_long() -> None:
    _, found = sizes()
    assert len(found) > 3_000
    print("\nlongest functions:", *(f"{lines}  {name}" for lines, name in found[:5]), sep="\n  ")
    files = [(path.read_text().count("\n"), str(path.relative_to(SOURCE))) for path in SOURCE.rglob("*.py")]
    print("longest files:", *sorted(files, reverse=True)[:5], sep="\n  ")
    assert [each for each in found if each[0] > LONGEST_FUNCTION] == []


def test_the_spine_reads_in_half_an_hour() -> None:
    """The loop, the tick and the entry files of the four stages."""
    spine = (
        "crawler/tick.py",
        "crawler/loop.py",
        "seeder/seed.py",
        "manager/plan.py",
        "harvester/harvest.py",
        "gatherer/gather.py",
    )
    lines = {name: (SOURCE / name).read_text().count("\n") for name in spine}
    assert sum(lines.values()) <= 1500, lines


def test_the_top_folder_has_about_twenty_names() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    files = {path.name for path in SOURCE.iterdir() if path.is_file()}
    assert len(folders) <= 23, sorted(folders)
    assert files == {"__init__.py", "__main__.py", "py.typed"}


def test_what_newcomers_read_stays_short() -> None:
    assert (ROOT / "README.md").read_text().count("\n") <= 60
    words = len((ROOT / "docs" / "architecture.md").read_text().split())
    assert 1_000 < words <= 2_500, "tables of columns belong to the reference, figures to measured.md"
