"""What a URL is likely to lead to, by the extension of its path: one look into a table (0.3 µs)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from gossamer.base.model import Counted

if TYPE_CHECKING:
    from gossamer.config.settings import SeederSettings


class UrlClass(IntEnum):
    """Below PAGE: the value of the `Counted` class, never asked for. From PAGE on: may become a known page."""

    IMAGE = Counted.IMAGE
    AUDIO = Counted.AUDIO
    VIDEO = Counted.VIDEO
    DOCUMENT = Counted.DOCUMENT
    SOFTWARE = Counted.SOFTWARE
    SOURCE = Counted.SOURCE
    ARCHIVE = Counted.ARCHIVE
    PAGE = 64
    DYNAMIC = 65
    """A page that looks like the output of a program: a query, or a program's extension."""

    @property
    def page(self) -> bool:
        return self >= UrlClass.PAGE

    @property
    def dynamic(self) -> bool:
        return self is UrlClass.DYNAMIC


_PAGE: Final = UrlClass.PAGE
_DYNAMIC: Final = UrlClass.DYNAMIC


class Classes:
    """The classes of a crawl, by the lists of extensions in its settings. What is in none of them is a page."""

    __slots__ = ("_by_extension",)

    def __init__(self, lists: Mapping[UrlClass, Iterable[str]]) -> None:
        self._by_extension = {extension: of for of, extensions in lists.items() for extension in extensions}

    @staticmethod
    def by(seeder: SeederSettings) -> Classes:
        """Those of the settings; the same lists give the same object."""
        return _classes(tuple(getattr(seeder, name) for name in LISTS))

    def of(self, url: str) -> UrlClass:
        """Of a URL in canonical form. A query makes a page dynamic, but an image stays an image.

        What follows the last dot may have a "/" in it: then it is no extension, and not in the table.
        """
        mark = url.find("?")
        path = url if mark < 0 else url[:mark]
        ending = path[path.rfind(".") + 1 :]
        found = self._by_extension.get(ending)
        if found is None:
            found = self._by_extension.get(ending.partition(";")[0].lower(), _PAGE)
        return _DYNAMIC if mark >= 0 and found is _PAGE else found


LISTS: Final = {
    "images": UrlClass.IMAGE,
    "audio": UrlClass.AUDIO,
    "video": UrlClass.VIDEO,
    "documents": UrlClass.DOCUMENT,
    "software": UrlClass.SOFTWARE,
    "source": UrlClass.SOURCE,
    "archives": UrlClass.ARCHIVE,
    "dynamic": UrlClass.DYNAMIC,
    "static": UrlClass.PAGE,
}
"""The lists of the settings, and their classes."""


@lru_cache(maxsize=8)
def _classes(lists: tuple[tuple[str, ...], ...]) -> Classes:
    return Classes(dict(zip(LISTS.values(), lists, strict=True)))


def extension(url: str) -> str:
    """The extension of a canonical URL, as `Classes.of` sees it: small letters, no dot; "" if there is none.

    The dots of the host are none: a path begins with "/".
    """
    path = url.partition("?")[0]
    ending = path[path.rfind(".") + 1 :].partition(";")[0]
    return "" if "/" in ending else ending.lower()
