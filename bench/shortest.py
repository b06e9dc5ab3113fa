"""How close a crawl of the demonstration Web comes to the shortest possible time for its politeness.

    python -m bench.shortest [--collection DIR] [--bound 0.95]

The bound is that of `gossamer compare`: no crawl with the same requests under the same rules is shorter. The benchmark
fails below 95 %, and if any site was requested before its rest was over. It takes three minutes and needs an idle
machine: the same CPUs serve the whole demonstration Web.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from bench.bounds import Figure, judge
from gossamer.cli.progress import Progress
from gossamer.crawler.run import CrawlRequest, run
from gossamer.laboratory.compare import missing
from gossamer.laboratory.compare.requests import RunHistory, read_history
from gossamer.laboratory.compare.shortest import groups
from gossamer.laboratory.findings.table import as_text
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import served

LEAST = 0.95
PATIENCE = 5.0


def least_gap(history: RunHistory) -> float:
    """Least seconds between the end of a site's rest and its next request; negative: too early."""
    requests = history.requests
    gaps = [
        requests.start[mine][1:] - (requests.end[mine] + requests.within[mine])[:-1]
        for _, mine in groups(requests.site)
    ]
    return float(np.concatenate(gaps).min())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--collection", type=Path, help="an existing crawl")
    parser.add_argument("--bound", type=float, default=LEAST)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.collection or Path(temporary) / "crawl"
        if asked.collection is None:
            run(CrawlRequest(folder, serve=partial(served, DemoWeb()), patience=PATIENCE), Progress(sys.stderr))
        history = read_history(folder)
    found = missing.closeness(history)
    print(as_text(missing.table(history, found)))
    print(as_text(missing.account(history, found)))
    for sentence in missing.sentences(history, found):
        print(sentence.text)
    judge(
        [
            Figure("share of the possible speed", 100 * found.share, "%", 100 * asked.bound, at_least=True),
            Figure("requested after its rest, earliest", 1000 * least_gap(history), "ms", 0, at_least=True),
        ]
    )


if __name__ == "__main__":
    main()
