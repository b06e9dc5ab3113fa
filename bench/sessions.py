"""Reading access logs: `python -m bench.sessions [--lines N]`: lines a second, and the peak of memory.

The log is made: surfers of model B with images and styles, robots, requests of attackers and lines that cannot be read.
It is read by `gossamer sessions` as a whole process, as a file and as gzip.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from gossamer.laboratory.sessions import made
from gossamer.rank.surfers import MODELS

SESSIONS: Final = 8_000
"""Of a piece of the log, which is repeated with other addresses."""
MOST_JSON: Final = 1_000_000
PARTS: Final = 4
"""Images and styles of a page."""


def piece() -> bytes:
    """Lines of some sessions, with images, robots, attackers and lines that cannot be read."""
    lines = []
    for number, views in enumerate(made.walks(MODELS["B"], (0.6,), SESSIONS, 1)):
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        for at, (asked, referer) in enumerate(views):
            when = made.stamp(made.START + 7 * number + made.BETWEEN * at)
            named = f"http://{made.HOST}{referer}" if referer else "-"
            lines.append(f'{address} - - [{when}] "GET {asked} HTTP/1.1" 200 5120 "{named}" "{made.AGENT}"')
            of = f"http://{made.HOST}{asked}"
            lines += [
                f'{address} - - [{when}] "GET /static/{k}.png HTTP/1.1" 200 5120 "{of}" "{made.AGENT}"'
                for k in range(PARTS)
            ]
        if number % 10 == 0:
            lines.append(
                f'{address} - - [{when}] "GET /robots.txt HTTP/1.1" 200 51 "-" "Examplebot/1.0 (+http://bot.example/)"'
            )
            lines.append(
                f'{address} - - [{when}] "GET /page/{number} HTTP/1.1" 200 51 "-" "Examplebot/1.0 (+http://bot.example/)"'
            )
        if number % 100 == 0:
            lines += [f'{address} - - [{when}] "GET /../../etc/passwd HTTP/1.1" 400 51 "-" "-"', "a line that is none"]
    return "".join(f"{line}\n" for line in lines).encode()


def write(path: Path, least: int) -> int:
    """Writes a log with at least so many lines; returns their number."""
    text, count = piece(), 0
    with path.open("wb") as file:
        for number in range(200):
            if count >= least:
                break
            file.write(text.replace(b"\n10.", b"\n%d." % (number + 11)))
            count += text.count(b"\n")
    return count


def as_json(path: Path, target: Path) -> int:
    """Writes some lines of a log as JSON; returns their number."""
    names = ("remote_addr", "time_local", "request", "status", "http_referer", "http_user_agent")
    count = 0
    with path.open() as source, target.open("w") as file:
        for line in source:
            before, *quoted = line.rstrip("\n").split('"')
            if len(quoted) < 6 or count >= MOST_JSON:
                continue
            address, when = before.split(" ")[0], before.partition("[")[2].partition("]")[0]
            said = (address, when, quoted[0], int(quoted[1].split()[0]), quoted[2], quoted[4])
            file.write(json.dumps(dict(zip(names, said, strict=True))) + "\n")
            count += 1
    return count


def run(path: Path) -> tuple[float, float, float, dict[str, object]]:
    """Seconds, seconds of processor time, and megabytes at the peak, of a whole process; and what it found."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "gossamer", "sessions", str(path), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, json.loads(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000)
    least = parser.parse_args().lines
    with tempfile.TemporaryDirectory(prefix="bench-sessions-") as folder:
        path = Path(folder) / "made.log"
        lines = write(path, least)
        packed = Path(folder) / "made.log.gz"
        with gzip.open(packed, "wb", compresslevel=1) as target, path.open("rb") as source:
            while block := source.read(1 << 24):
                target.write(block)
        small = Path(folder) / "small.log"
        write(small, 1)
        _, base, least_memory, _ = run(small)
        print(
            f"{lines:,} lines, {path.stat().st_size:,} bytes, {packed.stat().st_size:,} as gzip; "
            f"load {os.getloadavg()[0]:.1f}"
        )
        in_json = Path(folder) / "made.json"
        for each, number in ((path, lines), (packed, lines), (in_json, as_json(path, in_json))):
            wall, processor, memory, _ = run(each)
            print(
                f"{each.name:<12} {number:>12,} lines in {wall:6.1f} s, {processor:6.1f} s of processor time, "
                f"{base:.1f} s of it without lines: {number / (processor - base):>10,.0f} lines a second of it; "
                f"{memory:,.0f} MB, {least_memory:,.0f} MB without lines"
            )


if __name__ == "__main__":
    main()
