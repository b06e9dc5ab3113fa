"""What can be ordered of a crawl, by POST."""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.serve.question import Asked, Order


class Carried(msgspec.Struct, frozen=True):
    """The result of an order."""

    running: bool
    """Whether a running crawl has carried it out; if not, the next run will."""
    pages: dict[str, int]


def _again(asked: Asked) -> Carried:
    given = [asked.text(key) for key in ("url", "site", "outcome")]
    urls, site, outcome = ([one] if one else [] for one in given)
    return _carried(asked, asked.web.again(*urls, site=site, outcome=outcome))


def _add(asked: Asked) -> Carried:
    urls = asked.text("url").split()
    return _carried(asked, asked.web.add(*urls))


def _carried(asked: Asked, counts: dict[str, int]) -> Carried:
    return Carried(bool(counts), {name: count for name, count in counts.items() if count})


ADD: Final = Order(
    "add",
    "Add URLs; known pages are requested again.",
    _add,
    (("url", "URLs, with spaces between them."),),
    Carried,
)
AGAIN: Final = Order(
    "again",
    "Request finished pages again: the pages that match all of these.",
    _again,
    (("url", "A URL."), ("site", "Name of a site."), ("outcome", "Outcome of the last request.")),
    Carried,
)
