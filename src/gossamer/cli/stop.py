"""`gossamer stop`: asks a running crawl to stop cleanly, and waits until it has."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.errors import GossamerError
from gossamer.cli.options import time_of
from gossamer.collection.layout import require_collection, shard_folder
from gossamer.collection.lock import Holder, holder


def stop(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection.")],
    wait: Annotated[str, typer.Option(metavar="TIME", help="How long to wait for it.")] = "2min",
) -> None:
    """Stop the crawl in DIR: open requests end, everything is committed and sealed."""
    require_collection(folder)
    patience = time_of("--wait", wait)
    found = _running(folder)
    if found is None:
        print(f"{folder}: not running")
        return
    os.kill(found.pid, signal.SIGTERM)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if _running(folder) is None:
            print(f"{folder}: stopped")
            return
        time.sleep(0.1)
    raise GossamerError(
        f"{folder}: process {found.pid} has not stopped within {wait}",
        f"Wait longer (--wait), or end it with: kill -9 {found.pid}",
    )


def _running(folder: Path) -> Holder | None:
    found = holder(shard_folder(folder))
    return found if found is not None and found.alive else None
