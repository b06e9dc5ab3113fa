"""Helpers for tests of pool and worker: a server, pools that are closed at the end, results by assignment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.base.clock import RealClock
from gossamer.base.model import NONE, Ask, Assignment, Outcome
from gossamer.config import Settings, override
from gossamer.web.message import Results
from gossamer.web.pool.pool import Pool
from tests.support.server import Server
from tests.support.timing import WITHIN

SEED = 4711
Start = Callable[..., Pool]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Makes pools, and closes them at the end, whatever happens."""
    pools: list[Pool] = []

    def make(*changes: str, **options: Any) -> Pool:
        pools.append(make_pool(tmp_path, *changes, **options))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def make_pool(
    folder: Path,
    *changes: str,
    workers: int = 2,
    lock_fd: int = -1,
    limited: bool = False,
    processors: Sequence[object] = (),
) -> Pool:
    base = [
        "harvester.allow_private=true",
        f"harvester.workers={workers}",
        "seeder.domains=site.test",
        "seeder.ports=*",
        f"harvester.first_byte_timeout={WITHIN:g}s",
        f"harvester.slow_time={WITHIN:g}s",
        "harvester.contact=a@example.org",
    ]
    settings, clock = override(Settings(), [*base, *changes]), RealClock()
    return Pool(settings, SEED, lock_fd, folder, 1, clock, limited=limited, processors=processors)


def ask(
    number: int,
    url: bytes,
    server: Server,
    kind: Ask = Ask.PAGE,
    site: int = 0,
    alone: bool = False,
    not_before: float = 0.0,
) -> Assignment:
    return Assignment(
        number,
        kind,
        NONE if kind == Ask.ROBOTS else number,
        5,
        site or number,
        url,
        "127.0.0.1",
        server.port,
        alone,
        not_before=not_before,
    )


def collect(pool: Pool, count: int, seconds: float = WITHIN) -> dict[int, tuple[Any, dict[str, bytes]]]:
    """Visits and their texts by assignment; asserts that each comes once."""
    found: dict[int, tuple[Any, dict[str, bytes]]] = {}
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        for visit, texts in _pairs(pool.results(0.2)):
            assert int(visit["number"]) not in found
            found[int(visit["number"])] = (visit, texts)
    assert len(found) == count
    return found


def _pairs(results: Results) -> Iterator[tuple[Any, dict[str, bytes]]]:
    yield from zip(results.visits, results.visit_texts().all(), strict=True)


def outcomes(found: dict[int, tuple[Any, dict[str, bytes]]]) -> dict[int, Outcome]:
    return {number: Outcome(visit["outcome"]) for number, (visit, _) in found.items()}


def archived(path: Path) -> list[tuple[str, bytes]]:
    with path.open("rb") as stream:
        return [
            (record.rec_headers["WARC-Target-URI"], record.content_stream().read())
            for record in ArchiveIterator(stream, check_digests="raise")
            if record.rec_type == "response"
        ]
