"""`gossamer report` as a whole process: `python -m bench.report [--visits N]`

The collection is made, journalled and sealed as by a crawl: for each visit ten known pages and thirty links. Bounds at
10^6 visits: 90 s and 3 GB for the report. Times are elapsed; memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.bounds import Figure, judge
from bench.sql import make

FOUND: Final = 10
LINKS: Final = 30
SECONDS: Final = 90.0
GIGABYTES: Final = 3.0


def run(*arguments: str | Path) -> tuple[float, float]:
    """Seconds that a command takes, and the most memory that any command took so far, in GB."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    start = time.perf_counter()
    command = [sys.executable, "-m", "gossamer", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=1_000_000)
    visits = parser.parse_args().visits
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "made"
        start = time.perf_counter()
        make(folder, visits, found=FOUND, links=LINKS)
        print(f"made {visits:,} visits in {time.perf_counter() - start:.0f} s", flush=True)
        share = max(visits / 1e6, 0.2)
        seconds, memory = run("report", folder, "--out", Path(place) / "report")
        judge(
            (
                Figure("report", seconds, "s", SECONDS * share),
                Figure("peak memory", memory, "GB", GIGABYTES),
            )
        )


if __name__ == "__main__":
    main()
