"""The audit of a made site that is crawled over real sockets: it finds all that was planted, and nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.read.audit.checks import NAMES
from tests.support.crawling import command, gossamer
from tests.support.made_site import ROOT, MadeSite, made, served
from tests.support.timing import COMMAND

WITHOUT_WAITS = """
from gossamer.read.audit import outside
outside._SAME += outside._WAITS
outside._WAITS = ()
from gossamer.cli import main
main()
"""
"""Other sites are then crawled with the waits of the collection: they are on this machine, too."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeSite]:
    with served(made(), tmp_path_factory.mktemp("made")) as site:
        yield site


@pytest.fixture(scope="module")
def folder(site: MadeSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audited") / "crawl"
    usual = ("--seed", ROOT, "--contact", "a@b.example", "--patience", "2s")
    ended = gossamer("crawl", place, *usual, *site.settings())
    assert ended.code == 0, ended.errors
    return place


def audited(folder: Path) -> dict[str, Any]:
    """What `gossamer audit --external` says."""
    arguments = command("audit", folder, "--external", "--json", program=WITHOUT_WAITS)
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=COMMAND)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_an_audit_finds_all_that_was_planted_and_nothing_else(site: MadeSite, folder: Path) -> None:
    made_of = audited(folder)
    found = {check["name"]: {each["url"] for each in check["found"]} for check in made_of["checks"]}
    assert set(found) == set(NAMES)
    soft = found["soft-404"]
    assert soft < site.soft
    assert len(soft) > 5
    expected: dict[str, set[str]] = {name: set(site.expected[name]) for name in NAMES}
    expected["soft-404"] |= soft
    expected["broken-link"] |= soft
    for name, pairs in site.pairs.items():
        assert all(len(pair & found[name]) == 1 for pair in pairs), name
        expected[name] |= found[name] & set().union(*pairs)
    expected["duplicate"] |= found["duplicate"] & (site.soft - soft)
    assert {name: sorted(urls) for name, urls in found.items()} == {n: sorted(u) for n, u in expected.items()}
    assert all(expected.values())
    assert made_of["notes"] == []


@pytest.mark.slow
def test_other_sites_are_requested_once(site: MadeSite, folder: Path) -> None:
    audited(folder)
    before = list(site.requests)
    audited(folder)
    assert site.requests == before
    asked = [url for url in before if ".outside.example/" in url and "robots.txt" not in url]
    assert len(asked) == len(set(asked)) == 8
    for url in asked:
        assert before.index(url.rpartition("/")[0] + "/robots.txt") < before.index(url)
