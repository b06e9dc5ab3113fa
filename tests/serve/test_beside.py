"""`gossamer crawl --serve`: the dashboard comes and goes with the crawl."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from gossamer.base.errors import UsageError
from gossamer.serve import beside
from tests.support.timing import COMMAND

WORDS = ("--demo", "--set", "harvester.workers=1", "--set", "collection.max_pages=100000", "--patience", "1h")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def overview(port: int) -> httpx2.Response | None:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/api/v1/collections/crawl", timeout=COMMAND)
    except httpx2.TransportError:
        return None


@pytest.mark.slow
def test_the_dashboard_comes_and_goes_with_the_crawl(tmp_path: Path) -> None:
    port, until = free_port(), time.monotonic() + COMMAND
    command = [sys.executable, "-m", "gossamer", "crawl", str(tmp_path / "crawl"), *WORDS]
    environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path)}
    crawl = subprocess.Popen(
        [*command, "--serve", "--serve-port", str(port)], stderr=subprocess.PIPE, env=environment, text=True
    )
    try:
        while (answer := overview(port)) is None:
            assert crawl.poll() is None
            assert time.monotonic() < until
            time.sleep(0.2)
        assert answer.json()["running"]
    finally:
        crawl.send_signal(signal.SIGINT)
        said = crawl.communicate(timeout=COMMAND)[1]
    assert f"dashboard: http://127.0.0.1:{port}/" in said
    assert overview(port) is None


def test_a_port_that_is_taken_does_not_stop_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended:
        ended, failure = True, "no server could be started"

        def __init__(self, *_: object) -> None:
            pass

    said = list[str]()
    monkeypatch.setattr(beside, "Process", Ended)
    monkeypatch.setattr(beside, "LOOK", 0.0)
    with beside.serving(tmp_path, 1, said.append):
        until = time.monotonic() + COMMAND
        while len(said) < 2:
            assert time.monotonic() < until
    assert said[1] == "warning: there is no dashboard: no server could be started"


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="--serve needs msgspec"), beside.serving(tmp_path, 1, print):
        pass
