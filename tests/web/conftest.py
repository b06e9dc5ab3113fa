"""A bandwidth limit ends with its worker process, which closes its sockets. In the tests, the process goes on."""

from collections.abc import Iterator
from typing import Any

import pytest

from gossamer.web.limit.limited_fetch import BandwidthLimit


@pytest.fixture(autouse=True)
def _throttled_sockets_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    limits: list[BandwidthLimit] = []
    make = BandwidthLimit.__init__

    def made(limit: BandwidthLimit, *arguments: Any) -> None:
        limits.append(limit)
        make(limit, *arguments)

    monkeypatch.setattr(BandwidthLimit, "__init__", made)
    yield
    for limit in limits:
        for throttled in limit.ends.values():
            throttled.close()
