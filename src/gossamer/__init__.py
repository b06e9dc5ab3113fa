"""Gossamer: a Web crawler that fetches the important pages first, politely, and never loses what it fetched.

    for page in gossamer.crawl("https://example.org", contact="me@uni.example", pages=1000):
        print(page.url, page.title)

    web = gossamer.open("example.org")
    web.sql("select outcome, count(*) from visits group by 1")

Everything is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gossamer.base.errors import GossamerError, LockedError, StorageError, UsageError
    from gossamer.config import Settings
    from gossamer.library.collection import Collection, UnknownPageError
    from gossamer.library.collection import Collection as open
    from gossamer.library.crawl import Crawl, crawl
    from gossamer.library.page import Page
    from gossamer.library.pages import Pages
    from gossamer.library.result import Result

__version__ = "0.1.0"

_FROM: Final = {
    "Collection": "library.collection",
    "Crawl": "library.crawl",
    "GossamerError": "base.errors",
    "LockedError": "base.errors",
    "Page": "library.page",
    "Pages": "library.pages",
    "Result": "library.result",
    "Settings": "config",
    "StorageError": "base.errors",
    "UnknownPageError": "library.collection",
    "UsageError": "base.errors",
    "crawl": "library.crawl",
    "open": "library.collection",
}
_AS: Final = {"open": "Collection"}
"""Names that differ from those in their modules."""

__all__ = [
    "Collection",
    "Crawl",
    "GossamerError",
    "LockedError",
    "Page",
    "Pages",
    "Result",
    "Settings",
    "StorageError",
    "UnknownPageError",
    "UsageError",
    "crawl",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_FROM[name]}"), _AS.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
