"""Checks of plug-ins in an audit: what they find, and what becomes of those that fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.base.errors import GossamerError, UsageError
from gossamer.cli import app
from gossamer.collection.layout import SETTINGS
from gossamer.config import Settings, dump, load, override
from gossamer.plugins import trust
from gossamer.plugins.find import digest_of, find
from gossamer.plugins.trust import UnconfirmedError
from gossamer.read.audit import run, shown
from gossamer.read.audit.checks import CHECKS
from gossamer.read.audit.own import OwnCheck, own_checks
from tests.read.audit.test_audit import folder

__all__ = ["folder"]

CODE = '''
def untitled_page(web):
    """The page has no title.

    And more about it."""
    return web.sql("select url from page where status = 200 and coalesce(title, '') = ? order by 1", "")

untitled_page.severity = "error"
untitled_page.cure = "Write one."

def shapes(web):
    yield "http://a.example/"
    yield {"url": "http://a.example/1", "detail": 7}
    yield "http://a.example/2", "http://a.example/", "two"
    yield from web.sql("select t.url, s.url, l.text from link l join page s on s.page = l.source "
                       "join page t on t.page = l.target where t.url like '%gone' and s.url like '%1'")

def raises(web):
    yield "http://a.example/"
    raise KeyError("price")

def number(web):
    return 7

def word(web):
    return "http://a.example/"

def odd(web):
    return [(1, 2)]

def unknown(web):
    return [{"address": "http://a.example/"}]

def writes(web):
    return web.sql("drop table page")

def ends(web):
    raise SystemExit(0)

def duplicate(web):
    return []

def severe(web):
    return []

severe.severity = "fatal"
'''


def checks(folder: Path, *names: str) -> tuple[OwnCheck, ...]:
    (folder / "my.py").write_text(CODE)
    said = json.dumps([f"my.py:{name}" for name in names])
    settings = override(_settings(folder), [f"plugins.audit={said}"])
    return own_checks(find(settings.plugins, folder, ("audit",)))


def _settings(folder: Path) -> Settings:
    return load(folder / SETTINGS)


def test_a_check_of_a_plug_in_is_a_check_like_the_others(folder: Path) -> None:
    own = checks(folder, "untitled_page", "shapes")
    made = run.audit(folder, run.chosen([], own))
    by_name = {result.name: result for result in made.results}
    assert len(by_name) == len(CHECKS) + 2
    untitled = by_name["untitled-page"]
    assert (untitled.severity, untitled.sentence, untitled.cure) == ("error", "The page has no title.", "Write one.")
    assert [each.url for each in untitled.found] == [each.url for each in by_name["title-missing"].found]
    assert untitled.number == 1
    assert [(f.url, f.source, f.anchor, f.detail) for f in by_name["shapes"].found] == [
        ("http://a.example/", None, None, None),
        ("http://a.example/1", None, None, "7"),
        ("http://a.example/2", "http://a.example/", "two", None),
        ("http://a.example/gone", "http://a.example/1", by_name["shapes"].found[3].anchor, None),
    ]
    assert "untitled-page: 1. The page has no title. Write one." in "\n".join(shown.lines(made, 5))
    assert "untitled-page" in shown.as_html(made)
    assert not made.failed
    assert [check.name for check in run.chosen(["shapes", "slow"], own)] == ["slow", "shapes"]
    with pytest.raises(UsageError, match="Did you mean shapes"):
        run.chosen(["shape"], own)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", r"KeyError: 'price' \(line 20\)"),
        ("number", "it returned int, not the list of what it found"),
        ("word", "it returned str, not the list"),
        ("odd", r"'\(1, 2\)' is no finding"),
        ("unknown", "a finding has 'address'"),
        ("writes", "only queries are run"),
        ("ends", "SystemExit: 0"),
    ],
)
def test_a_check_that_fails_is_named_and_the_others_are_made(folder: Path, name: str, words: str) -> None:
    made = run.audit(folder, run.chosen([name, "title-missing", "shapes"], checks(folder, name, "shapes")))
    assert made.failed == (name,)
    (note,) = made.notes
    assert note.startswith(f"The check {name} was not made: plugins.audit: my.py:{name}: ")
    assert re.search(words, note), note
    assert [result.name for result in made.results] == ["title-missing", "shapes"]
    assert made.to_json()["failed"] == [name]
    assert name not in shown.as_html(made).rpartition("Nothing was found by")[2]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["duplicate"], "there is a check duplicate already"),
        (["severe"], "its severity is 'fatal'"),
        (["shapes", "missing"], "has no missing"),
    ],
)
def test_a_check_that_is_none_is_refused(folder: Path, names: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        checks(folder, *names)


@pytest.mark.slow
def test_the_command_runs_confirmed_checks_and_fails_where_one_does(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (folder / "my.py").write_text(CODE)
    before = (folder / SETTINGS).read_text()

    def ended(name: str, *more: str) -> str:
        (folder / SETTINGS).write_text(dump(override(_settings(folder), [f"plugins.audit=my.py:{name}"])))
        try:
            done = CliRunner().invoke(app, ["audit", str(folder), *more], catch_exceptions=False)
        finally:
            (folder / SETTINGS).write_text(before)
        assert done.exit_code == 0
        return done.stdout

    with pytest.raises(UnconfirmedError, match="it would run as you"):
        ended("untitled_page")
    trust.confirm({digest_of(folder / "my.py"): str(folder / "my.py")})
    assert "untitled-page: 1." in ended("untitled_page", "--check", "untitled-page")
    with pytest.raises(GossamerError, match="1 findings of severity error"):
        ended("untitled_page", "--ci", "--check", "untitled-page")
    assert "was not made" in ended("raises", "--check", "raises")
    with pytest.raises(GossamerError, match="not made: raises"):
        ended("raises", "--ci", "--check", "raises")
