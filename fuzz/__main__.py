"""python -m fuzz TARGET [--minutes 10] [--seed 1] [--folder fuzz-found], or python -m fuzz TARGET FILE…"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fuzz.hunt import tried
from fuzz.targets import TARGETS
from fuzz.watch import Watch


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Searches for inputs that break a reader.")
    parser.add_argument("target", choices=["all", *TARGETS], help="; ".join(t.__doc__ or "" for t in TARGETS.values()))
    parser.add_argument("files", nargs="*", type=Path, help="inputs to try, instead of a search")
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes per target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("fuzz-found"), help="folder for failing inputs")
    given = parser.parse_args()
    names = list(TARGETS) if given.target == "all" else [given.target]
    if given.files:
        return max(_again(name, path) for name in names for path in given.files)
    found = 0
    for name in names:
        watch = Watch(name, given.folder, lambda text: print(text, flush=True))
        watch.run(60 * given.minutes, given.seed)
        found += watch.found
        print(f"{name}: {watch.tried:,} inputs, {watch.reached:,} lines reached, {watch.found} findings", flush=True)
    return 1 if found else 0


def _again(name: str, path: Path) -> int:
    target = TARGETS[name]()
    finding = tried(target, path.read_bytes())
    target.close()
    print(f"{name}: {path}: {finding.told if finding else 'no failure'}")
    return 1 if finding else 0


if __name__ == "__main__":
    sys.exit(main())
