"""Static and dynamic scheduling (001): the experiment of `gossamer reproduce table-001`, as a benchmark.

    python -m bench.scheduling [--full]

The static mode is in `gossamer.laboratory.reproduce.scheduling`, since an installed Gossamer reproduces the table too.
"""

from __future__ import annotations

import argparse
import sys

from gossamer.cli.progress import Progress
from gossamer.cli.reproduce import show
from gossamer.laboratory import Bench
from gossamer.laboratory.reproduce.crawls import Crawls
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.laboratory.reproduce.scheduling.finding import table_001


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--full", action="store_true", help="all pages of the experiment: most of an hour")
    asked = parser.parse_args()
    with Progress(sys.stderr) as progress, Bench(show=progress.doing) as bench:
        finding = table_001(Lab(bench, (), Crawls(), full=asked.full))
    show(finding)


if __name__ == "__main__":
    main()
