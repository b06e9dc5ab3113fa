"""A real browser, to look at the pages that Gossamer writes: Debian's Chromium, without a window.

It is driven by the DevTools protocol over two pipes (`--remote-debugging-pipe`): messages are JSON, each ended by a
zero byte. Every browser has an empty profile of its own. It makes no connections besides those of the page, and these
are noted.

with opened() as browser:
    page = browser.page(file.as_uri(), width=420, dark=True)
assert page.errors == [] and page.overflow == 0
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.needed import needed
from tests.support.timing import COMMAND

PROGRAM: Final = shutil.which("chromium")
NEEDED: Final = needed("chromium", PROGRAM is not None, "on Debian: apt-get install chromium")
"""For `pytestmark`."""
_FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--remote-debugging-pipe",
)  # fmt: skip
_OUT, _IN = 3, 4
"""File descriptors from which Chromium reads, and to which it writes."""


@dataclass
class Page:
    """A page as it was shown."""

    browser: Browser
    session: str
    target: str
    errors: list[str] = field(default_factory=list)
    """Messages of its console that are errors or warnings, exceptions, and requests that failed."""
    requests: list[str] = field(default_factory=list)
    """URLs that it asked for, but those that are data."""

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        found = self.browser.call("Runtime.evaluate", self.session, expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    @property
    def overflow(self) -> int:
        """Pixels that the page is wider than its window."""
        return int(self.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    @property
    def empty_images(self) -> int:
        return int(self.run("[...document.images].filter(i => !i.complete || i.naturalWidth == 0).length"))

    def picture(self) -> bytes:
        """The whole page as PNG."""
        found = self.browser.call("Page.captureScreenshot", self.session, captureBeyondViewport=True)
        return b64decode(found["data"])

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)


class Browser:
    """A running Chromium."""

    def __init__(self, process: subprocess.Popen[bytes], writes: int, reads: int) -> None:
        self.process, self._writes, self._reads = process, writes, reads
        self._number, self._rest = 0, b""
        self._pages: dict[str, Page] = {}

    def page(self, url: str, width: int = 1000, height: int = 800, dark: bool = False) -> Page:
        """Opens a page in a window of this width, and waits until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", session, **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, features=[scheme])
        self.call("Page.navigate", session, url=url)
        self._until(lambda message: message.get("method") == "Page.loadEventFired" and message["sessionId"] == session)
        return page

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        order = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self._writes, json.dumps(order).encode() + b"\0")
        answer = self._until(lambda message: message.get("id") == number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _until(self, wanted: Any) -> dict[str, Any]:
        """Reads messages until one is wanted. Events of pages are noted on the way."""
        end = time.monotonic() + COMMAND
        while True:
            message = self._next(end)
            self._note(message)
            if wanted(message):
                return message

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready = select.select([self._reads], [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, "Chromium does not answer"
            piece = os.read(self._reads, 1 << 20)
            assert piece, f"Chromium ended with code {self.process.wait()}"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def _note(self, message: dict[str, Any]) -> None:
        page, said = self._pages.get(message.get("sessionId", "")), message.get("params", {})
        if page is None:
            return
        match message.get("method"):
            case "Runtime.consoleAPICalled" if said["type"] in ("error", "warning", "assert"):
                page.errors.append(str(said["args"]))
            case "Runtime.exceptionThrown":
                page.errors.append(str(said["exceptionDetails"]))
            case "Log.entryAdded" if said["entry"]["level"] in ("error", "warning"):
                page.errors.append(said["entry"]["text"])
            case "Network.loadingFailed":
                page.errors.append(said["errorText"])
            case "Network.requestWillBeSent" if not said["request"]["url"].startswith("data:"):
                page.requests.append(said["request"]["url"])


@contextmanager
def opened() -> Iterator[Browser]:
    """Starts a browser with an empty profile, and ends it."""
    assert PROGRAM
    reads_theirs, writes = os.pipe()
    reads, writes_theirs = os.pipe()
    theirs = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (reads_theirs, writes_theirs)]

    def place() -> None:
        os.dup2(theirs[0], _OUT)
        os.dup2(theirs[1], _IN)

    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [PROGRAM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(_OUT, _IN), preexec_fn=place, start_new_session=True,
        )  # fmt: skip
        for each in (reads_theirs, writes_theirs, *theirs):
            os.close(each)
        browser = Browser(process, writes, reads)
        try:
            yield browser
            browser.call("Browser.close")
            process.wait(COMMAND)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
            os.close(writes)
            os.close(reads)
