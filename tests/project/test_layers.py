"""The layer table of docs/architecture.md, compared with the imports in the code."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "gossamer"


def layers() -> dict[str, int]:
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.split("## Layers")[1].split("```")[1]
    rows = re.findall(r"^(\d+)\s+(.+)$", table, re.MULTILINE)
    return {name: int(level) for level, names in rows for name in names.split()}


def parts(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


class Read(NamedTuple):
    """What the tests need of a module, from one parse."""

    imports: list[ast.Import | ast.ImportFrom]
    """Also inside functions."""
    reached: set[str]


@cache
def read(path: Path) -> Read:
    tree = ast.parse(path.read_text())
    return Read([n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)], reached(tree))


def imports(path: Path) -> set[str]:
    """Parts of the package that a module imports."""
    found = set()
    for node in read(path).imports:
        if isinstance(node, ast.ImportFrom) and node.module == "gossamer":
            found |= {alias.name for alias in node.names if alias.name != "__version__"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gossamer."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("gossamer.")}
    return found - {parts(path)}


MODULES = [path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py"]


def test_every_part_has_a_layer() -> None:
    assert {parts(path) for path in MODULES} == set(layers())


def test_imports_go_down_only() -> None:
    """A module imports only from lower layers and its own folder: stages share a layer and never import each other."""
    level = layers()
    wrong = [
        f"{path.relative_to(SOURCE)} imports {other}"
        for path in MODULES
        for other in imports(path)
        if level[other] >= level[parts(path)]
    ]
    assert len(MODULES) > 300
    assert not wrong


OBJECTS = {
    "database": ("read/sql/database.py", "Database", "sources"),
    "harvest": ("harvester/harvest.py", "Harvest", "limited"),
    "planner": ("manager/planner.py", "Planner", "made value stale idle longest"),
    "store": (
        "collection/store.py",
        "Store",
        "shard stopped warnings next_archive taking_image commits segments unsealed notes lock_fd locked_since",
    ),
}
"""Objects that higher layers hold, by the name under which they hold them: file, class, and attributes that are plain
values. Everything else that is not a method is a part, and nobody else's business."""


@cache
def allowed(owner: str) -> set[str]:
    file, kind, plain = OBJECTS[owner]
    (of,) = [n for n in ast.parse((SOURCE / file).read_text()).body if isinstance(n, ast.ClassDef) and n.name == kind]
    return {n.name for n in of.body if isinstance(n, ast.FunctionDef) and not n.decorator_list} | set(plain.split())


def reached(tree: ast.Module) -> set[str]:
    """Attributes `harvest.x`, `planner.x` and `store.x`, also of `self.harvest` or `crawl.planner`, that are neither
    methods nor plain values: chains like `harvest.queue.time_of(site)`, and parts that are handed on."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            owner = owner.removeprefix("_")
            if owner in OBJECTS and node.attr not in allowed(owner):
                found.add(f"{owner}.{node.attr}")
    return found


def test_nobody_reaches_into_the_parts_of_another_layer() -> None:
    """Higher layers call the methods of these objects; they know nothing of queue, clocks, errands or commits."""
    for source in ("self.harvest.queue.time_of(1)", "f(crawl._harvest.queue)"):
        assert reached(ast.parse(source)) == {"harvest.queue"}
    assert reached(ast.parse("harvest.planned(1).tolist(), self.planner.made.plan, desk.columns.page.count")) == set()
    level, held = layers(), 0
    for owner, (file, _, _) in OBJECTS.items():
        above = [path for path in MODULES if level[parts(path)] > level[file.split("/")[0]]]
        held += sum(f"{owner}." in path.read_text() for path in above)
        for path in above:
            if owner == "database" and "import duckdb\n" in path.read_text():
                continue  # a DuckDB of its own, not that of a collection
            into = {each for each in read(path).reached if each.startswith(f"{owner}.")}
            assert not into, f"{path.relative_to(SOURCE)} reaches into {into}"
    assert held > 10


def test_there_is_no_ring_of_imports() -> None:
    """No import cycle between modules; imports for types and inside functions count. A package's `__init__.py` does not
    count: the modules of a package import each other directly."""
    names = {name(path): path for path in MODULES if path.name != "__init__.py"}
    graph = {module: {other for other in modules(path) if other in names} - {module} for module, path in names.items()}
    assert sum(map(len, graph.values())) > 1000
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, f"ring: {' -> '.join((*above[above.index(module) :], module))}"
        if module not in done:
            for other in graph[module]:
                visit(other, (*above, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def name(path: Path) -> str:
    return ".".join(("gossamer", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def modules(path: Path) -> set[str]:
    """Modules that a module imports, anywhere in its code."""
    found = set()
    for node in read(path).imports:
        if isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        else:
            found |= {alias.name for alias in node.names}
    return found


def test_workers_and_the_command_line_import_no_numba() -> None:
    """Follows imports transitively; only imports at the top of modules count."""

    def top(path: Path) -> set[str]:
        found = set()
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom):
                found |= {str(node.module)} | {f"{node.module}.{a.name}" for a in node.names}
            elif isinstance(node, ast.Import):
                found |= {a.name for a in node.names}
        return found

    def file_of(module: str) -> Path | None:
        base = SOURCE.parent / Path(*module.split("."))
        return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.exists()), None)

    for start in ("gossamer.crawler.worker", "gossamer.cli"):
        seen, todo = set(), [start]
        while todo:
            module = todo.pop()
            if module in seen or (path := file_of(module)) is None:
                assert not module.startswith("numba"), f"{start} imports numba"
                continue
            seen.add(module)
            todo += top(path) | {module.rpartition(".")[0]}
        assert len(seen) > 5
