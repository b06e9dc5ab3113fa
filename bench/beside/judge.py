"""What the server's log says of a run: pages, and requests that broke politeness."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from bench.beside.pages import PAGES, file_of

_ANSWER: Final = re.compile(r'"GET (\S+) HTTP/[^"]*" 200 ')


class Pages:
    """Counts answers that are pages while the log grows."""

    def __init__(self, log: Path) -> None:
        self._log, self._at, self._pages = log, 0, 0

    def count(self) -> int:
        with self._log.open("rb") as log:
            log.seek(self._at)
            text = log.read()
        whole = text.rfind(b"\n") + 1
        self._at += whole
        self._pages += sum(is_page(target) for target in _ANSWER.findall(text[:whole].decode("utf-8", "replace")))
        return self._pages


def is_page(target: str) -> bool:
    return file_of(target).endswith(PAGES)
