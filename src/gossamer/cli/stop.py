"""`gossamer stop`: asks a running crawl to stop cleanly, and waits until it has stopped."""

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
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    wait: Annotated[str, typer.Option(metavar="TIME", help="Maximum time to wait for the stop.")] = "2min",
) -> None:
    """Stop the crawl in DIR cleanly: open requests end, and everything is committed and sealed."""
    require_collection(folder)
    patience = time_of("--wait", wait)
    process = _running(folder)
    if process is None:
        print(f"{folder}: not running")
        return
    os.kill(process.pid, signal.SIGTERM)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if _running(folder) is None:
            print(f"{folder}: stopped")
            return
        time.sleep(0.1)
    raise GossamerError(
        f"{folder}: process {process.pid} has not stopped within {wait}",
        f"Wait longer (--wait), or kill it with: kill -9 {process.pid}",
    )


def _running(folder: Path) -> Holder | None:
    found = holder(shard_folder(folder))
    return found if found is not None and found.alive else None
