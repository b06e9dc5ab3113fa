"""How close a crawl of the demonstration Web comes to the shortest possible time for its politeness.

    python -m bench.shortest [--collection DIR] [--bound 0.95]

The bound is that of `gossamer compare`: no crawl that makes the same requests under the same rules is shorter. It fails
below 95 %, and if any site was asked sooner than its rest allows. Takes three minutes and wants an idle machine: the
whole demonstration Web is served by the same processors.
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
from gossamer.crawl.run import CrawlRequest, run
from gossamer.laboratory.compare import missing
from gossamer.laboratory.compare.requests import History, read_history
from gossamer.laboratory.compare.shortest import groups
from gossamer.laboratory.findings.table import as_text
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import served

LEAST = 0.95
PATIENCE = 5.0


def least_gap(history: History) -> float:
    """Seconds beyond its rest after which any site was asked again; negative: too soon."""
    requests = history.requests
    gaps = [
        requests.start[mine][1:] - (requests.end[mine] + requests.within[mine])[:-1]
        for _, mine in groups(requests.site)
    ]
    return float(np.concatenate(gaps).min())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--collection", type=Path, help="a crawl that was run already")
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
            Figure("of the shortest possible time", 100 * found.share, "%", 100 * asked.bound, at_least=True),
            Figure("asked after its rest, soonest", 1000 * least_gap(history), "ms", 0, at_least=True),
        ]
    )


if __name__ == "__main__":
    main()
