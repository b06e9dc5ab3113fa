"""The status codes with which the places of a layout answer."""

from __future__ import annotations

from typing import Final

from gossamer.webs.demo.layout import Kind, Layout

STATUS: Final = {
    Kind.PAGE: 200,
    Kind.PLAIN: 200,
    Kind.DUPLICATE: 200,
    Kind.HIDDEN: 200,
    Kind.FORBIDDEN: 200,
    Kind.SOFT: 200,
    Kind.CALENDAR: 200,
    Kind.TORN: 200,
    Kind.BROKEN: 404,
    Kind.ERROR: 500,
    Kind.BUSY: 429,
    Kind.DOWN: 0,
    Kind.LISTED: 200,
}


def status(layout: Layout, number: int) -> int:
    """0: nobody answers."""
    kind = layout.kind[number]
    return STATUS[kind] if kind is not Kind.REDIRECT else (301, 302)[number % 2]
