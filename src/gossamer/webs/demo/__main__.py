"""`python -m gossamer.webs.demo`: the server as `start` starts it, told what to do by one JSON object."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from gossamer.base.process import die_with_parent
from gossamer.webs.demo.access import AccessLog
from gossamer.webs.demo.certificates import Certificate, certified
from gossamer.webs.demo.server import run
from gossamer.webs.demo.web import DemoWeb
from gossamer.webs.hostile import certificates as hostile
from gossamer.webs.hostile import server as hostile_server
from gossamer.webs.hostile.web import HostileWeb


def main() -> None:
    asked = json.loads(sys.argv[1])
    die_with_parent(signal.SIGTERM)
    if os.getppid() != asked["parent"]:
        return
    if asked["ignore_sigint"]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = Path(asked["log"]) if asked["log"] else None
    if asked["hostile"]:
        with hostile.certified(HostileWeb.described(asked["web"])) as (bad, wrong):
            hostile_server.run(bad, asked["port"], AccessLog(log, bad), wrong, _ready(wrong, bad.tls), stdin=True)
    else:
        with certified(DemoWeb(**asked["web"])) as (web, certificate):
            run(web, asked["port"], AccessLog(log, web), certificate, _ready(certificate, web.tls), stdin=True)


def _ready(certificate: Certificate | hostile.Certificates | None, tls: int) -> Callable[[int], None]:
    trusted = str(certificate.trusted) if certificate else ""
    return lambda port: print(json.dumps({"port": port, "trusted": trusted, "tls": tls}), flush=True)


if __name__ == "__main__":
    main()
