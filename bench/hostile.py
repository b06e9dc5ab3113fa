"""Memory for a hostile Web, compared with a friendly one.

    python -m bench.hostile

Two whole crawls over real sockets with the same number of answers: of the hostile Web (`gossamer web --hostile`), and
of one with good pages only. Memory is the sum of the peaks of desk and workers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.bounds import Figure, judge
from gossamer.webs.hostile.table import chosen
from gossamer.webs.hostile.web import HostileWeb
from tests.support.hostile import Crawled, crawl

WORKERS = "harvester.workers=2"


def main() -> None:
    bad = HostileWeb(chosen())
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        hostile = _crawled(bad, Path(folder) / "hostile")
        visits = hostile.ended.figures["visits"]
        good = HostileWeb(bad.names, good=round(visits / len(bad.behaviours)), friendly=True)
        friendly = _crawled(good, Path(folder) / "friendly")
        figures = [
            Figure(
                "memory, compared with a friendly crawl",
                hostile.memory / friendly.memory,
                "",
                1.2,
                aside=f"{hostile.memory / 1e6:.0f} MB, {friendly.memory / 1e6:.0f} MB",
            ),
            Figure(
                "pages with a wrong outcome",
                len(hostile.ends.wrong) + len(hostile.ends.missing),
                "",
                0,
                aside=f"of {len(hostile.pages):,}",
            ),
            Figure(
                "a friendly crawl of the same size, visits",
                friendly.ended.figures["visits"],
                "",
                0.9 * visits,
                at_least=True,
                aside=f"{visits:,} hostile",
            ),
        ]
    judge(figures)


def _crawled(web: HostileWeb, folder: Path) -> Crawled:
    folder.mkdir()
    found = crawl(web, folder, WORKERS)
    assert found.ended.code == 0, found.ended.errors
    return found


if __name__ == "__main__":
    main()
