"""The crawlers: how each is started on a served Web, all with the same politeness.

This means: one request at a time to a site, `WAIT` seconds apart, robots.txt obeyed, no page outside the sites. Each
crawler gets the settings that its documentation recommends for crawls of many sites. Only Gossamer stores anything, and
it stores everything. Each discovers the pages itself, from the same seeds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench.beside.serve import Served

WAIT: Final = 0.05
CONNECTIONS: Final = 100
"""Requests at a time: one per site."""
CONTACT: Final = "bench@gossamer.test"
OTHERS: Final = Path(__file__).parent / "others"


@dataclass(frozen=True, slots=True)
class Start:
    command: Sequence[str | Path]
    environment: dict[str, str]


def gossamer(served: Served, folder: Path, *changes: str) -> Start:
    """All other settings are defaults: archive, link texts, language, duplicates, soft 404, sitemaps."""
    wait = f'"{round(1000 * WAIT)}ms"'
    rows = "".join(f'"{host}" = "{place}"\n' for host, place in served.resolve.items())
    (folder / "crawl.toml").write_text(
        f"[seeder]\ndomains = {json.dumps(served.hosts)}\n"
        f'[harvester]\nallow_private = true\ncontact = "{CONTACT}"\n'
        f"wait = {wait}\nwait_large = {wait}\naddress_wait = {wait}\n"
        + (f"trusted = {json.dumps(str(served.trusted))}\n" if served.trusted else "")
        + (f"[harvester.resolve]\n{rows}" if rows else "")
    )
    command: list[str | Path] = [sys.executable, "-m", "gossamer", "crawl", folder / "crawl", "--patience", "3s"]
    command += ["--config", folder / "crawl.toml", "--seeds", _seeds(served, folder), "--json"]
    for change in changes:
        command += ["--set", change]
    return Start(command, {"XDG_CONFIG_HOME": str(folder)})


def scrapy(served: Served, folder: Path) -> Start:
    return _named(served, _other("with_scrapy.py", served, folder), _trusting(served))


def crawlee(served: Served, folder: Path) -> Start:
    """Its client knows only the certificates of the system, so verification is switched off."""
    program = _other("with_crawlee.py", served, folder)
    return _named(served, [*program, *(["unverified"] if served.trusted else [])], {})


def wget2(served: Served, folder: Path) -> Start:
    """One thread per site. Its wait is between the downloads of a thread: it has no wait per site."""
    program: list[str | Path] = [
        shutil.which("wget2") or "wget2",
        "--recursive",
        "--level=inf",
        "--no-directories",
        "--delete-after",
        "--no-verbose",
        "--tries=1",
        "--no-config",
        "--ignore-tags=img,link,script,source,object,embed,video,audio",
        f"--max-threads={CONNECTIONS}",
        f"--wait={WAIT}",
        f"--input-file={_seeds(served, folder)}",
        f"--directory-prefix={folder / 'kept'}",
    ]
    if served.trusted:
        program += [f"--ca-certificate={served.trusted}"]
    return _named(served, program, {})


def _named(served: Served, program: Sequence[str | Path], environment: dict[str, str]) -> Start:
    """Runs the command with a file of names in place of /etc/hosts, visible to this process alone."""
    if served.names is None:
        return Start(program, environment)
    swap = f'mount --bind {served.names} /etc/hosts && exec "$@"'
    own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    return Start([*own, "sh", "-c", swap, "sh", *program], environment)


def _other(program: str, served: Served, folder: Path) -> list[str | Path]:
    return [others_python(), OTHERS / program, _seeds(served, folder), str(WAIT), str(CONNECTIONS)]


def _trusting(served: Served) -> dict[str, str]:
    return {"SSL_CERT_FILE": str(served.trusted)} if served.trusted else {}


def _seeds(served: Served, folder: Path) -> Path:
    path = folder / "seeds"
    path.write_text("".join(f"{url}\n" for url in served.seeds))
    return path


def others_python() -> Path:
    return Path(os.environ.get("BENCH_PYTHON", ".venv-bench/bin/python")).absolute()


CRAWLERS: Final[dict[str, Callable[[Served, Path], Start]]] = {
    "gossamer": gossamer,
    "scrapy": scrapy,
    "crawlee": crawlee,
    "wget2": wget2,
}


def available() -> dict[str, str]:
    """The installed crawlers, with their versions."""
    found = {"gossamer": version("gossamer")}
    if others_python().exists():
        for name in ("scrapy", "crawlee"):
            asked = f"from importlib.metadata import version; print(version({name!r}))"
            said = subprocess.run([others_python(), "-c", asked], capture_output=True, text=True)
            if said.returncode == 0:
                found[name] = said.stdout.strip()
    if program := shutil.which("wget2"):
        said = subprocess.run([program, "--version"], capture_output=True, text=True)
        found["wget2"] = said.stdout.split("\n")[0].split()[2]
    return found
