"""Whole crawls with processors and rules: killed, resumed, and read by everything that reads tables."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gossamer as library
from gossamer.base.model import VisitFlag
from gossamer.config import load
from gossamer.plugins import trust
from gossamer.plugins.find import digest_of
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.webs.demo import DemoWeb
from tests.support.crawling import LIGHT, children, command_line, gossamer, serve

CODE = """
import os

def seen(page):
    number = sum(map(ord, page.url))
    if number % 11 == 3:
        raise ValueError("eleven")
    if number % 53 == 5:
        os._exit(9)
    return [{"url": page.url, "part": part} for part in ("a", "b")]
seen.columns = {"url": "url", "part": "text"}
"""
RULES = """
[[extract]]
table = "headings"
column = "h1"
css = "h1"

[[extract]]
table = "headings"
column = "links"
css = "a"
attribute = "href"
type = "url"
many = true
"""
KEPT = f"ask = 'page' and outcome in ('ok', 'duplicate') and (flags & {VisitFlag.NOINDEX | VisitFlag.NOARCHIVE:d}) = 0"


def _has(file: Path, size: int) -> bool:
    return file.stat().st_size > size


def answers(folder: Path, query: str) -> list[tuple[Any, ...]]:
    database = Database(find(folder, fresh=True), load(folder / "crawl.toml"))
    return list(database.query(query).rows)


@pytest.mark.slow
def test_rows_are_those_of_the_committed_visits_through_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every committed visit that a processor sees has its two rows or one fault, whenever desk, workers or processors
    were killed; and what reads tables reads these."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "my.py").write_text(CODE)
    trust.confirm({digest_of(tmp_path / "my.py"): str(tmp_path / "my.py")})
    web = DemoWeb(seed=7, sites=12, pages=260, busy=0.0, errors=0.01)
    folder, dice = tmp_path / "crawl", random.Random(7)
    own = ("--set", f"plugins.process={tmp_path / 'my.py'}:seen", "--set", "collection.seal_visits=60")
    with serve(web, tmp_path, *LIGHT) as served:
        served.config.write_text(served.config.read_text() + RULES)
        for killed in range(4):
            with served.begin(folder, *own) as crawling:
                begun = served.has_grown()
                crawling.wait_for(begun)
                until = dice.randrange(20, 60)
                size = served.log.stat().st_size
                crawling.wait_for(partial(_has, served.log, size + 100 * until))
                workers = [pid for pid in children(crawling.pid) if "crawler.worker" in command_line(pid)]
                beside = [child for pid in workers for child in children(pid)]
                for pid in (beside, workers, [crawling.pid], [*beside, crawling.pid])[killed]:
                    with suppress(ProcessLookupError):
                        os.kill(pid, 9)
                if killed < 2:
                    size = served.log.stat().st_size
                    crawling.wait_for(partial(_has, served.log, size + 3_000))
                    crawling.kill()
        ended = served.crawl(folder, *own)
    assert ended.code == 0, ended.errors
    _rows_are_right(folder)
    done = gossamer("compact", folder)
    assert done.code == 0, done.errors
    _rows_are_right(folder)
    assert gossamer("verify", folder, "--quick").code == 0
    _is_forgotten(folder)


def _rows_are_right(folder: Path) -> None:
    visits = Counter(answers(folder, f"select page, tick from visits where {KEPT}"))
    assert sum(visits.values()) > 100
    for table, each in (("seen", 2), ("headings", 1)):
        rows = Counter(answers(folder, f"select page, tick from {table} where error is null"))
        faults = Counter(answers(folder, f"select page, tick from {table} where error is not null"))
        assert rows.keys().isdisjoint(faults.keys())
        assert {*rows, *faults} <= visits.keys()
        if table == "seen":
            assert {*rows, *faults} == visits.keys()
        assert all(count == each * visits[key] for key, count in rows.items())
        assert all(count == visits[key] for key, count in faults.items())
    said = dict(
        answers(folder, "select split_part(error, ' (', 1), count(*) from seen where error is not null group by 1")
    )
    assert said.keys() <= {"ValueError: eleven", "its process ended with exit code 9", "its process ended by signal 9"}
    assert said["ValueError: eleven"] > 0
    assert answers(folder, "select count(*) from seen s join pages p on p.page = s.page where s.url != p.url") == [(0,)]


def _is_forgotten(folder: Path) -> None:
    ((url, number),) = answers(
        folder,
        "select h.links[1], any_value(p.page) from headings h join pages p on p.url = h.links[1] "
        "where p.outcome = 'ok' group by 1 having count(*) > 1 limit 1",
    )
    done = gossamer("forget", folder, url, "--yes", "--reason", "a test")
    assert done.code == 0, done.errors
    for table in ("seen", "headings"):
        assert answers(folder, f"select count(*) from {table} where page = {number}") == [(0,)]
    assert answers(folder, f"select count(*) from headings where list_contains(links, '{url}')") == [(0,)]
    assert gossamer("verify", folder, "--quick").code == 0
    web = library.open(folder)
    assert len(web.table("seen").to_arrow()) == answers(folder, "select count(*) from seen")[0][0]
    views = json.loads(gossamer("sql", folder, "select count(*) as n from headings", "--json").output)
    assert views[0]["n"] > 0
