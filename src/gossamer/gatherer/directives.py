"""What a page asks of us: meta robots and X-Robots-Tag, for every crawler or by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gossamer.model import VisitFlag
from gossamer.robots.parse import product_token

_FLAGS: Final = {
    "noindex": int(VisitFlag.NOINDEX), "nofollow": int(VisitFlag.NOFOLLOW), "noarchive": int(VisitFlag.NOARCHIVE),
    "none": int(VisitFlag.NOINDEX | VisitFlag.NOFOLLOW),
}  # fmt: skip
_WITH_VALUE: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_REFRESH: Final = re.compile(r"\s*[0-9.]*\s*[;,\s]\s*(?:url\s*=\s*)?(?:\"([^\"]*)\"?|'([^']*)'?|(\S.*))", re.I | re.S)


def of_meta(content: str) -> int:
    """VisitFlag bits of the content of a meta element that is meant for us."""
    flags = 0
    for word in re.split(r"[\s,]+", content.lower()):
        flags |= _FLAGS.get(word, 0)
    return flags


def of_header(values: Iterable[str], agent: str) -> int:
    """VisitFlag bits of X-Robots-Tag headers: `noindex, nofollow` or `name: noindex`."""
    flags, ours = 0, product_token(agent)
    for value in values:
        applies = True
        for part in value.lower().split(","):
            name, colon, rest = part.partition(":")
            if colon and name.strip() not in _WITH_VALUE:
                applies = product_token(name.strip()) in (ours, "*", "robots")
                part = rest
            if applies:
                flags |= _FLAGS.get(part.strip(), 0)
    return flags


def refresh_target(content: str) -> str:
    """The URL of a meta refresh; "" if the page only reloads itself."""
    found = _REFRESH.match(content)
    return next((g for g in found.groups() if g), "").strip() if found else ""
