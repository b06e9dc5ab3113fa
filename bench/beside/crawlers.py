"""The crawlers: how each is started on a Web that is served, all with the same politeness.

That is: one request at a time to a site, `WAIT` seconds apart, robots.txt obeyed, no page outside of the sites. Each
gets the settings that its documentation recommends for crawls of many sites; nothing is stored, unless it is Gossamer,
which stores all. Each finds its pages itself, from the same seeds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.beside.serve import Served

WAIT: Final = 0.05
CONNECTIONS: Final = 100
"""Requests at a time: one for each site."""


@dataclass(frozen=True, slots=True)
class Start:
    command: Sequence[str | Path]
    environment: dict[str, str]


def gossamer(served: Served, folder: Path, *changes: str) -> Start:
    """All settings but these are the defaults: archive, texts of links, language, duplicates, soft 404, sitemaps."""
    wait = f'"{round(1000 * WAIT)}ms"'
    (folder / "crawl.toml").write_text(
        f"[seeder]\ndomains = {json.dumps([host.partition(':')[0] for host in served.hosts])}\n"
        f"[harvester]\nallow_private = true\nwait = {wait}\nwait_large = {wait}\naddress_wait = {wait}\n"
        + (f"trusted = {json.dumps(str(served.trusted))}\n" if served.trusted else "")
    )
    seeds = _seeds(served, folder)
    command = [sys.executable, "-m", "gossamer", "crawl", folder / "crawl", "--config", folder / "crawl.toml",
               "--seeds", seeds, "--patience", "3s", "--json"]  # fmt: skip
    for change in changes:
        command += ["--set", change]
    return Start(command, {"XDG_CONFIG_HOME": str(folder)})


def _seeds(served: Served, folder: Path) -> Path:
    path = folder / "seeds"
    path.write_text("".join(f"{url}\n" for url in served.seeds))
    return path


CRAWLERS: Final[dict[str, Callable[[Served, Path], Start]]] = {"gossamer": gossamer}
