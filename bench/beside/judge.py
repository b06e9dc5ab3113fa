"""What the server's log says of a run: pages, and requests that broke politeness.

The rule is the same for all, and `gossamer check` judges by it: one request at a time to a site, `WAIT` seconds from
the end of an answer to the next request (5 ms are forgiven), robots.txt first and obeyed. Who asks is not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.beside.serve import Served
from gossamer.config import Settings, override
from gossamer.webs import checker
from gossamer.webs.checker import Fault

NOT_JUDGED: Final = (Fault.NAMELESS, Fault.METHOD)


class Pages:
    """Counts answers that are pages, while the log grows."""

    def __init__(self, log: Path, is_page: Callable[[bytes], bool]) -> None:
        self._log, self._is_page, self._at, self._pages = log, is_page, 0, 0

    def count(self) -> int:
        with self._log.open("rb") as log:
            log.seek(self._at)
            text = log.read()
        whole = text.rfind(b"\n") + 1
        self._at += whole
        self._pages += sum(map(self._is_page, text[:whole].splitlines()))
        return self._pages


@dataclass(frozen=True, slots=True)
class Verdict:
    requests: int
    found: int
    """Distinct pages, of those that are there."""
    there: int
    impolite: int
    """Requests, by the rule; one that breaks it in two ways counts twice."""
    kinds: dict[str, int]


def judge(served: Served, wait: float) -> Verdict:
    text = f"{round(1000 * wait)}ms"
    settings = override(Settings(), [f"harvester.{name}={text}" for name in ("wait", "wait_large", "address_wait")])
    found: set[str] = set()

    def counted() -> object:
        for request in checker.read(served.log):
            if request.status == 200 and (page := served.page_of(request.host, request.target)) in served.there:
                found.add(page)
            yield request

    report = checker.check(counted(), settings, served.robots_of)  # type: ignore[arg-type]
    kinds = {kind.name.lower(): n for kind, n in report.counts.items() if kind not in NOT_JUDGED}
    return Verdict(report.requests, len(found), len(served.there), sum(kinds.values()), kinds)
