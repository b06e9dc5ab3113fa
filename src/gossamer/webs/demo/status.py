"""The status codes of the targets of a layout."""

from __future__ import annotations

from typing import Final

from gossamer.webs.demo.layout import Layout, UrlKind

STATUS: Final = {
    UrlKind.PAGE: 200,
    UrlKind.PLAIN: 200,
    UrlKind.DUPLICATE: 200,
    UrlKind.HIDDEN: 200,
    UrlKind.FORBIDDEN: 200,
    UrlKind.SOFT: 200,
    UrlKind.CALENDAR: 200,
    UrlKind.TORN: 200,
    UrlKind.BROKEN: 404,
    UrlKind.ERROR: 500,
    UrlKind.BUSY: 429,
    UrlKind.DOWN: 0,
    UrlKind.LISTED: 200,
}


def status(layout: Layout, number: int) -> int:
    """The status code of a target; 0: nobody answers."""
    kind = layout.kind[number]
    return STATUS[kind] if kind is not UrlKind.REDIRECT else (301, 302)[number % 2]
