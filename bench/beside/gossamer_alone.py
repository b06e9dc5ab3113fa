"""Cost of a page for Gossamer alone, on (b) and (c): the command to profile with.

python -m bench.beside.gossamer_alone --pages FOLDER [--tls] [--keep 10] [--repeats 3] [--set KEY=VALUE]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.beside.crawlers import gossamer
from bench.beside.judge import Pages
from bench.beside.pages import prepare, told
from bench.beside.serve import serve
from bench.beside.watch import watch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=Path, required=True, help="folder of the pages")
    parser.add_argument("--sites", type=int, default=100)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--keep", type=int, default=1000, help="requests per connection")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    given.pages.mkdir(parents=True, exist_ok=True)
    sites = prepare(given.pages, given.sites)
    print(told(sites), flush=True)
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with serve(sites, given.pages, folder / "web", given.tls, given.keep) as served:
                pages = Pages(served.log, served.is_page)
                start = gossamer(served, folder, *given.set)
                cost = watch(start.command, pages.count, folder, 200.0, start.environment)
            print(
                f"{cost.ms:.3f} ms of CPU per page warm (desk {cost.first_ms:.3f}), {cost.whole_ms:.3f} in total; "
                f"{cost.rate:.0f} pages/s; {cost.pages:,} pages; {cost.peak / 1e6:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
