"""`python -m gossamer.demo`: the server as `start` starts it, told what to do by one JSON object."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

from gossamer.demo.access import AccessLog
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
    web = DemoWeb(**asked["web"])
    log = AccessLog(Path(asked["log"]) if asked["log"] else None, web)
    run(web, asked["port"], log, lambda port: print(port, flush=True), stdin=True)


if __name__ == "__main__":
    main()
