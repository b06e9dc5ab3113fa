"""`python -m gossamer.demo`: the server as `start` starts it, told what to do by one JSON object."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

from gossamer.demo.access import AccessLog
from gossamer.demo.certificates import certified
from gossamer.demo.server import run
from gossamer.demo.web import DemoWeb

PR_SET_PDEATHSIG = 1


def main() -> None:
    asked = json.loads(sys.argv[1])
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != asked["parent"]:
        return
    if asked["ignore_sigint"]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with certified(DemoWeb(**asked["web"])) as (web, certificate):
        trusted = str(certificate.trusted) if certificate else ""
        log = AccessLog(Path(asked["log"]) if asked["log"] else None, web)

        def ready(port: int) -> None:
            print(json.dumps({"port": port, "trusted": trusted, "tls": web.tls}), flush=True)

        run(web, asked["port"], log, certificate, ready, stdin=True)


if __name__ == "__main__":
    main()
