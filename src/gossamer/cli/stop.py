"""`gossamer stop`: asks a running crawl to stop cleanly, and waits until it has stopped."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.errors import GossamerError


def stop(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    wait: Annotated[str, typer.Option(metavar="TIME", help="Maximum time to wait for the stop.")] = "2min",
) -> None:
    """Stop the crawl in DIR cleanly: open requests end, and everything is committed and sealed."""
    from gossamer.cli.options import time_of
    from gossamer.collection.layout import require_collection, shard_folder
    from gossamer.collection.lock import holder

    require_collection(folder)
    patience = time_of("--wait", wait)
    process = holder(shard_folder(folder))
    if process is None or not process.alive:
        print(f"{folder}: not running")
        return
    os.kill(process.pid, signal.SIGTERM)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        running = holder(shard_folder(folder))
        if running is None or not running.alive:
            print(f"{folder}: stopped")
            return
        time.sleep(0.1)
    raise GossamerError(
        f"{folder}: process {process.pid} has not stopped within {wait}",
        f"Wait longer (--wait), or kill it with: kill -9 {process.pid}",
    )
