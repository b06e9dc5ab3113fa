"""The steps of a tick keep to their phases, and durable state changes by `apply` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.collection.journal.effects import SiteEvent
from gossamer.crawler.apply import EVENTS, EXCEPTIONS, VISITS
from gossamer.crawler.tick import STEPS, Phase, Stages, Step, Tick
from gossamer.desk.kernels import NO_VISITS, Tally
from gossamer.webs.simulated import Reply
from tests.support.paths import ROOT
from tests.support.world import World, state_of

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
ALLOWED = {"known", "digests", "page.flags", "site.pages"}
"""What steps before the journal may write: the seeder's numbers and duplicates, and the volatile ASSIGNED."""


def web() -> dict[str, Reply]:
    """Sites with sitemaps, a robots.txt that has moved, duplicates, redirects, and pages that resemble one another."""
    pages = {A + f"p{i}": Reply(digest=7, sketch=0xFF00 + (i % 2), links=[B]) for i in range(8)}
    return {
        A: Reply(links=[A + f"p{i}" for i in range(8)] + [C], digest=1),
        B: Reply(redirect=A + "p1"),
        C: Reply(digest=1, links=[C + "x"]),
        C + "robots.txt": Reply(redirect=B + "robots.txt"),
        A + "sitemap.xml": Reply(links=[A + "listed"]),
        A + "listed": Reply(digest=9),
        **pages,
    }


def watched(seen: dict[str, set[str]]) -> Iterator[Step]:
    """The steps, each compared with the state and the effects before it."""
    for step in STEPS:

        def run(stages: Stages, tick: Tick, step: Step = step) -> None:
            before, effects = state_of(stages.desk), tick.effects.encode()
            step.run(stages, tick)
            after = state_of(stages.desk)
            changed = {name for name in after if after[name] != before[name]}
            if step.phase is Phase.AFTER and tick.effects.encode() != effects:
                changed.add("effects")
            seen.setdefault(step.name, set()).update(changed)

        yield step._replace(run=run)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """By step: what it changed in a crawl with everything in it, and in its resumption after a kill."""
    seen: dict[str, set[str]] = {}
    changes = ("seeder.domains=*", "seeder.sitemaps=true")
    world = World(tmp_path_factory.mktemp("world"), web(), changes, steps=tuple(watched(seen)))
    world.run([A], clean=False, turns=60, commit=True)
    world.run()
    return seen


def test_no_step_before_the_journal_writes_durable_state(changed: dict[str, set[str]]) -> None:
    steps = [step for step in STEPS if step.phase is Phase.BEFORE]
    assert all(step.name in changed for step in steps)
    assert {step.name: changed[step.name] - ALLOWED for step in steps if changed[step.name] - ALLOWED} == {}
    assert set(EXCEPTIONS) >= ALLOWED
    assert any(changed[step.name] for step in steps), "the seeder numbers pages"


def test_no_step_after_the_commit_changes_the_effects_or_durable_state(changed: dict[str, set[str]]) -> None:
    steps = [step for step in STEPS if step.phase is Phase.AFTER]
    assert len(steps) > 3
    assert {step.name: changed[step.name] for step in steps if changed.get(step.name)} == {}


def test_applying_is_the_step_that_changes_state(changed: dict[str, set[str]]) -> None:
    assert {"page.state", "site.next", "origin.valid", "account: visits"} <= changed[
        "the effects are applied to the state"
    ]


def test_steps_are_in_the_order_of_their_phases() -> None:
    phases = [list(Phase).index(step.phase) for step in STEPS]
    assert phases == sorted(phases)
    assert all((ROOT / "src" / "gossamer" / step.source).exists() for step in STEPS)


def test_every_kind_of_event_and_count_has_its_function() -> None:
    assert set(EVENTS) == set(SiteEvent)
    one_each = [NO_VISITS._replace(**{name: 1}) for name in Tally._fields]
    rare = [row for row in VISITS if row.when is not None]
    assert rare
    for row in rare:
        assert row.when is not None
        assert not row.when(NO_VISITS)
        assert any(row.when(counts) for counts in one_each)


WRITERS = {
    "seeder/pages.py": {"known", "site.pages", "site.domain", "site.domain_pages"},
    "seeder/copies.py": {"digests"},
    "harvester/requests.py": {"page.flags"},
    "harvester/names.py": {"site.resolved", "recycled"},
    "manager/planner.py": {"unjudged", "habits"},
    "crawler/watch.py": {"page.merit", "page.completed", "ranking"},
}
"""Files that write what `EXCEPTIONS` lists, besides the functions that `apply` calls. Tables and rankings are written
by kernels and by `getattr`, which the search below does not see."""
UNSEEN = {"known", "digests", "site.pages", "site.domain_pages", "page.completed", "ranking", "habits"}
APPLYING = (
    "crawler/apply.py",
    "desk/",
    "harvester/backoff.py",
    "harvester/naming.py",
    "harvester/owned.py",
    "harvester/robots.py",
    "harvester/versions.py",
    "harvester/errands/due_sitemaps.py",
    "harvester/errands/probes.py",
    "manager/learn.py",
    "manager/pages.py",
    "manager/policies.py",
    "manager/revisits/habits.py",
    "manager/revisits/heard.py",
    "seeder/copies.py",
)
"""Files of the functions that `apply` calls."""


def written(path: Path) -> set[str]:
    """Columns that a module assigns to by name (`columns.site.next[...] = ...`, `site.next[...] = ...`), and volatile
    state that it sets or clears."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "clear":
            targets = [node.func.value]
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                value: ast.expr | None = each
                while isinstance(value, ast.Subscript):
                    value = value.value
                if not isinstance(value, ast.Attribute):
                    continue
                if value.attr in ("unjudged", "recycled"):
                    found.add(value.attr)
                elif isinstance(each, ast.Subscript) and isinstance(value.value, ast.Attribute | ast.Name):
                    owner = value.value.attr if isinstance(value.value, ast.Attribute) else value.value.id
                    found.add(f"{owner.strip('_').removesuffix('s')}.{value.attr}")
    return {name for name in found if name in EXCEPTIONS or name.split(".")[0] in ("page", "site", "origin")}


def test_the_exceptions_to_apply_are_those_that_the_code_has() -> None:
    source = ROOT / "src" / "gossamer"
    stages = [p for folder in ("crawler", "harvester", "manager", "seeder") for p in (source / folder).rglob("*.py")]
    elsewhere = [p for p in stages if not str(p.relative_to(source)).startswith(APPLYING)]
    found = {str(p.relative_to(source)): written(p) for p in elsewhere if written(p)}
    assert set().union(*WRITERS.values()) == set(EXCEPTIONS)
    assert found == {path: names - UNSEEN for path, names in WRITERS.items() if names - UNSEEN}


def test_the_architecture_prints_the_steps() -> None:
    rows = [f"| {step.phase.value} | {step.name} | `{step.source}` |" for step in STEPS]
    table = "\n".join(["| phase | step | done in |", "|---|---|---|", *rows])
    assert table in (ROOT / "docs" / "architecture.md").read_text(), f"docs/architecture.md should have:\n{table}"
