"""`python -m gossamer.webs.demo`: the server process that `start` starts; one JSON object tells it what to serve."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from gossamer.base.process import die_with_parent
from gossamer.webs.demo.access import AccessLog
from gossamer.webs.demo.certificates import Certificate, certified
from gossamer.webs.demo.server import Ready, run, serve
from gossamer.webs.demo.web import DemoWeb
from gossamer.webs.hostile import server as hostile
from gossamer.webs.hostile.web import HostileWeb


def main() -> None:
    order = json.loads(sys.argv[1])
    die_with_parent(signal.SIGTERM)
    if os.getppid() != order["parent"]:
        return
    if order["ignore_sigint"]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = Path(order["log"]) if order["log"] else None
    if order["hostile"]:
        with hostile.certified(HostileWeb.described(order["web"])) as (bad, wrong):
            ready = _ready(wrong, bad.tls)
            asyncio.run(hostile.serve(bad, order["port"], AccessLog(log, bad), wrong, ready, stdin=True))
    else:
        with certified(DemoWeb(**order["web"])) as (web, certificate):
            ready = _ready(certificate, web.tls)
            run(serve(web, order["port"], AccessLog(log, web), certificate, ready, stdin=True))


def _ready(certificate: Certificate | hostile.Certificates | None, tls: int) -> Ready:
    trusted = str(certificate.trusted) if certificate else ""
    return lambda port: print(json.dumps({"port": port, "trusted": trusted, "tls": tls}), flush=True)


if __name__ == "__main__":
    main()
