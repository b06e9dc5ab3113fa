"""The dashboard of a crawl that runs: `gossamer crawl --serve`. It is a process of its own, which ends with the crawl.

python -m gossamer.serve.beside DIR PORT
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gossamer.base.errors import GossamerError, UsageError, to_install
from gossamer.base.process import Process, beside
from gossamer.collection.layout import is_collection, shard_folder
from gossamer.collection.runs import STANDING
from gossamer.doctor.package import EXTRAS

PORT: Final = 8470
HOST: Final = "127.0.0.1"
LOOK: Final = 0.5
"""Seconds between two looks whether it still runs, and whether there is something to show."""


@contextmanager
def serving(folder: Path, port: int, say: Callable[[str], None]) -> Iterator[None]:
    """Shows the crawl meanwhile. UsageError if something is not installed; a port that is taken is only said."""
    for name in EXTRAS["serve"][1]:
        if find_spec(name) is None:
            raise UsageError(f"--serve needs {name}", to_install("serve"))
    with beside("serving", lambda stop: _look_after(folder, port, stop, say)):
        yield


def _look_after(folder: Path, port: int, stop: threading.Event, say: Callable[[str], None]) -> None:
    """Starts it, in the thread with which it dies, and says if it fails."""
    process = Process("gossamer.serve.beside", [str(folder), str(port)], b"", -1, math.inf)
    say(f"dashboard: http://{HOST}:{port}/")
    while not stop.wait(LOOK):
        if process.ended:
            say(f"warning: there is no dashboard: {process.failure or 'it has ended'}")
            return
    process.kill()


def main() -> None:
    from gossamer.serve.run import named, secret, serve

    folder = Path(sys.argv[1])
    while not (is_collection(folder) and (shard_folder(folder) / STANDING).exists()):
        time.sleep(LOOK)
    try:
        serve(named([folder]), HOST, int(sys.argv[2]), (), secret().token)
    except GossamerError as error:
        sys.exit(f"{error.message}. {error.cure}")


if __name__ == "__main__":
    main()
