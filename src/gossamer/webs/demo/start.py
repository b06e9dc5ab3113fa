"""Starts the demonstration Web, or the hostile Web, in its own process, and stops it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from gossamer.base.errors import GossamerError
from gossamer.webs.demo.web import DemoWeb
from gossamer.webs.hostile.web import HostileWeb

STOP_WITHIN: Final = 5.0


@dataclass(frozen=True, slots=True)
class RunningWeb:
    """A Web that is being served. It ends with `stop`, with this process, or with the thread that started it."""

    web: DemoWeb | HostileWeb
    """The Web as it is served: without https sites where no certificates can be made."""
    port: int
    trusted: str
    """File with the certificate of the authority to trust, for the setting `harvester.trusted`; removed at the end. "":
    no site speaks https."""
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def seeds(self) -> list[str]:
        return self.web.seeds

    @property
    def domains(self) -> list[str]:
        return self.web.domains

    @property
    def resolve(self) -> dict[str, str]:
        """From host to "127.x.y.z:port" or "none", for the setting `harvester.resolve`."""
        return self.web.resolve(self.port)

    def stop(self) -> None:
        """Ends the server; its log is complete afterwards."""
        self.process.terminate()
        try:
            self.process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    web: DemoWeb | HostileWeb | None = None, *, port: int = 0, log: Path | None = None, ignore_sigint: bool = True
) -> RunningWeb:
    """Starts a new interpreter and waits until it listens. It ends when its standard input does, so it cannot outlive
    this process; the kernel's parent-death signal ends it even sooner."""
    web = web or DemoWeb()
    order = {
        "web": asdict(web),
        "port": port,
        "log": str(log.absolute()) if log else None,
        "ignore_sigint": ignore_sigint,
        "parent": os.getpid(),
        "hostile": isinstance(web, HostileWeb),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer.webs.demo", json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environment(),
    )
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        process.wait()
        raise GossamerError(
            f"The demonstration Web did not start (exit code {process.returncode}).", "See its own message above."
        )
    listening = json.loads(line)
    return RunningWeb(replace(web, tls=listening["tls"]), listening["port"], listening["trusted"], process)


def _environment() -> dict[str, str]:
    """The new interpreter finds this package where this one found it."""
    source = str(Path(__file__).parents[3])
    path = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{path}" if path else source}
