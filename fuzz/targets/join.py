"""Base and joining: a page with <base href> and many relative links, whose cost must not be that of their product."""

from __future__ import annotations

from html import escape
from typing import Final

from fuzz.target import Target
from fuzz.targets.urls import UrlsTarget
from gossamer.config.settings import GathererSettings
from gossamer.gatherer.gather import gather
from gossamer.urls import Scope

_URL: Final = "http://example.org/folder/page.html?q"
_MOST: Final = 100
"""Links of one page."""
_BASES: Final = (
    "http://example.org/a/b/",
    "/deep/er/still/../x?y#z",
    "//www.example.org/;jsessionid=1/",
    "../..",
    "http://other.example:8080/(S(abc))/x/",
    "javascript:void(0)/",
    "http://[::1]/%2e%2e/",
    "?",
    "",
    "https:x/y",
    "http://;sessionid=0123456789abcdef0123456789abcdef",
    "http://(S(0123456789abcdef01234567))/",
)
_REFERENCES: Final = (
    "x",
    "../x",
    "./",
    "?q=1&sid=2",
    "#f",
    "//h.example/x",
    "/",
    "a/../../b;s=1",
    "http://example.org",
)


class JoinTarget(Target):
    """base and joining: a base, then references, each after a zero byte."""

    name = "join"
    parts = ("urls", "gatherer/gather.py", "gatherer/links.py", "gatherer/read.py")
    words = (*UrlsTarget.words, b"\0", b"\0../", b"\0?", b"\0//", b"a/" * 500, b"x" * 3_000, b"../" * 300)
    longest = 1 << 15

    def __init__(self) -> None:
        self._scope = Scope(("*",))
        self._settings = GathererSettings()

    def seeds(self) -> list[bytes]:
        return [b"\0".join(text.encode() for text in (base, *_REFERENCES)) for base in _BASES]

    def check(self, data: bytes) -> None:
        base, *references = (part.decode(errors="replace") for part in data.split(b"\0")[: 1 + _MOST])
        scope = self._scope
        within = scope.canonical(base, _URL) or _URL
        if len(within) <= scope.url_length:
            join = scope.joiner(within)
            assert [join(each) for each in references] == [scope.canonical(each, within) for each in references]
        anchors = "".join(f'<a href="{escape(each)}">{i}</a>' for i, each in enumerate(references))
        body = f'<meta charset=utf-8><base href="{escape(base)}">{anchors}'.encode(errors="replace")
        found = gather(_URL, "text/html", (), body, self._settings, scope, "gossamer")
        assert all(len(link.url) <= scope.url_length for link in found.links)
        for link in found.links:
            assert scope.canonical(link.url) == link.url
        assert len(found.links) + sum(found.counted) <= len(references)
