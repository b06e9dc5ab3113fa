"""`gossamer audit` on a crawl: files, exit codes, baseline."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.escape import for_html
from gossamer.base.model import LinkKind, Outcome
from gossamer.cli import app
from gossamer.cli.crawl import crawl
from gossamer.collection.layout import SETTINGS
from gossamer.config import Settings, dump, override
from gossamer.read.audit import outside, run, shown
from gossamer.read.audit.run import Audit, Found, Result
from gossamer.urls import Scope
from gossamer.webs.simulated import Reply
from tests.support.world import World

LINKS = {
    "http://a.example/": ["http://a.example/1", "http://a.example/gone"],
    "http://a.example/1": ["http://a.example/", "http://a.example/gone", "http://a.example/2"],
    "http://a.example/2": [],
}


def web(url: str) -> Reply:
    if url.endswith("/robots.txt"):
        return Reply()
    if url not in LINKS:
        return Reply(outcome=Outcome.NOT_FOUND, status=404)
    return Reply(links=tuple(LINKS[url]), title="" if url.endswith("2") else url, digest=len(url), sketch=1 << len(url))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audit") / "crawl"
    world = World(place, web, ('seeder.domains=["a.example"]',))
    world.run(["http://a.example/"])
    (place / SETTINGS).write_text(dump(world.settings))
    return place


def test_an_audit_finds_what_is_wrong_in_a_crawl(folder: Path) -> None:
    made = run.audit(folder)
    found = {result.name: [each.url for each in result.found] for result in made.results if result.number}
    assert made.pages == 3
    assert found["broken-link"] == ["http://a.example/gone"] * 2
    assert found["title-missing"] == ["http://a.example/2"]
    text = "\n".join(shown.lines(made, 1))
    assert "broken-link: 2" in text
    assert "and 1 more" in text


@pytest.mark.slow
def test_files_exit_codes_and_baseline(folder: Path, tmp_path: Path) -> None:
    def ended(*more: str) -> str:
        done = CliRunner().invoke(app, ["audit", str(folder), *more], catch_exceptions=False)
        assert done.exit_code == 0
        return done.stdout

    assert json.loads(ended("--json"))["pages"] == 3
    ended("--out", str(tmp_path))
    with open(tmp_path / "audit.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    whole = json.loads((tmp_path / "audit.json").read_text())
    assert len(rows) == sum(check["number"] for check in whole["checks"]) > 2
    with pytest.raises(GossamerError, match="findings of severity error"):
        ended("--ci")
    ended("--ci", "--check", "slow")
    ended("--ci", "--baseline", str(tmp_path / "audit.json"))
    whole["checks"][0]["found"].pop()
    (tmp_path / "audit.json").write_text(json.dumps(whole))
    with pytest.raises(GossamerError, match="1 new findings"):
        ended("--ci", "--baseline", str(tmp_path / "audit.json"))
    (tmp_path / "audit.json").write_text("[]")
    with pytest.raises(UsageError, match="not the JSON of an audit"):
        ended("--baseline", str(tmp_path / "audit.json"))


def test_a_url_is_crawled_first_with_the_contact_given(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder.rename(tmp_path / "a.example")
    asked: list[list[str]] = []
    monkeypatch.setattr(crawl, "main", lambda arguments, **_: asked.append(arguments))
    try:
        done = CliRunner().invoke(
            app, ["audit", "http://a.example/", "--contact", "me@a.example", "--mine", "--json"], catch_exceptions=False
        )
        assert json.loads(done.stdout)["pages"] == 3
        assert asked == [["http://a.example/", "--contact", "me@a.example", "--mine"]]
        with pytest.raises(UsageError, match="--mine is for a URL"):
            CliRunner().invoke(app, ["audit", "a.example", "--mine"], catch_exceptions=False)
    finally:
        (tmp_path / "a.example").rename(folder)


def test_a_damaged_segment_is_named_and_the_rest_is_audited(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    for path in (copy / "shard-000" / "visits").glob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-9] + b"destroyed")
    made = run.audit(copy)
    assert "is damaged" in made.notes[0]
    assert "gossamer verify" in made.notes[0]
    assert made.notes[0] in list(shown.lines(made, 1))
    assert for_html(made.notes[0]) in shown.as_html(made)
    assert made.to_json()["notes"] == list(made.notes)


def test_long_texts_of_few_words_are_near_nothing() -> None:
    """Thai has no spaces between words: a page of 900 letters may have no sketch."""
    connection = duckdb.connect()
    connection.execute(
        "create table page as select * from (values (1, 1, null::ubigint, 'ok', 900), (2, 1, null, 'ok', 900), "
        "(3, 1, 5, 'ok', 900), (4, 1, 4, 'ok', 900), (5, 2, 4, 'ok', 900)) v(page, site, sketch, outcome, text_length)"
    )
    tables = SimpleNamespace(register=connection.register, run=lambda sql: connection.execute(sql).fetchall())
    run._add_near(cast(Any, tables))
    assert connection.execute("select page from near order by 1").fetchall() == [(3,), (4,)]


def test_a_collection_without_pages_says_so(tmp_path: Path) -> None:
    world = World(tmp_path / "empty", lambda _: Reply(outcome=Outcome.NOT_FOUND, status=404))
    world.run(["http://a.example/"])
    (tmp_path / "empty" / SETTINGS).write_text(dump(world.settings))
    made = run.audit(tmp_path / "empty")
    assert made.pages == 0
    assert any("No page was fetched" in note for note in made.notes)


OTHERS = {
    "http://b.example/": Reply(title="fine", digest=1),
    "http://b.example/moved": Reply(
        outcome=Outcome.REDIRECT, status=301, redirect="http://b.example/gone", links=("http://b.example/gone",),
        kind=LinkKind.REDIRECT,
    ),
}  # fmt: skip


def test_what_is_known_of_other_sites_follows_redirects_and_is_asked_once_a_day(tmp_path: Path) -> None:
    def reply(url: str) -> Reply:
        return OTHERS.get(url, Reply() if url.endswith("robots.txt") else Reply(outcome=Outcome.NOT_FOUND, status=404))

    addresses = ["http://b.example/", "http://b.example/moved", "http://b.example/other", "http://b.example/new"]
    place = tmp_path / outside.FOLDER
    world = World(place, reply, ('seeder.domains=["*"]', 'seeder.follow="none"'))
    world.run(addresses[:3])
    (place / SETTINGS).write_text(dump(world.settings))
    known = outside.Outside(tmp_path)
    assert list(known.rows(addresses)) == [
        ("http://b.example/", "ok", 200),
        ("http://b.example/moved", "not_found", 404),
        ("http://b.example/other", "not_found", 404),
    ]
    visited = known.answer(addresses[0])
    assert visited is not None
    assert visited.visited is not None
    assert known.to_ask(addresses, 9, visited.visited + outside.DAY / 2) == (addresses[3:], [])
    new, again = known.to_ask(addresses, 9, visited.visited + 2 * outside.DAY)
    assert (new, len(again)) == (addresses[3:], 3)
    assert known.to_ask(addresses, 2, visited.visited + 2 * outside.DAY) == ([], again[:2])


def test_other_sites_are_asked_as_politely_as_every_site() -> None:
    changes = ("harvester.wait=7s", "harvester.pause=9s", 'harvester.contact="me@a.example"', "harvester.mine=true")
    made = outside.settings_of(override(Settings(), changes))
    usual = Settings().harvester
    assert (made.harvester.wait, made.harvester.pause) == (usual.wait, 9.0)
    assert (made.harvester.contact, made.harvester.mine) == ("me@a.example", False)
    assert Scope.of(made.seeder).classes.of("https://b.example/paper.pdf").page
    assert (made.seeder.follow, made.seeder.sitemaps, made.seeder.domains) == ("none", False, ("*",))


def test_a_check_that_waits_for_answers_is_not_told_to_have_found_nothing() -> None:
    results = tuple(Result(name, "error", "A link.", "Mend it.", 0, ()) for name in ("broken-link", "external-broken"))
    assert "Nothing was found by: broken-link, external-broken." in shown.as_html(Audit("a", 1, results))
    assert "Nothing was found by: broken-link." in shown.as_html(Audit("a", 1, results, (), ("external-broken",)))


def test_an_unknown_check_names_the_nearest() -> None:
    with pytest.raises(UsageError) as raised:
        run.chosen(["broken-links"])
    assert "broken-link?" in raised.value.cure


@given(st.text(max_size=40))
def test_a_page_of_findings_shows_what_pages_say_and_runs_nothing(said: str) -> None:
    found = Found(said, said, said, said)
    result = Result("broken-link", "error", "A link.", "Mend it.", 1, (found,))
    page = shown.as_html(Audit(said, 1, (result,)))
    assert page.count(for_html(said)) >= 4
    assert "<script" not in page.replace(for_html(said), "")
    assert page.count("<td>") == 4
