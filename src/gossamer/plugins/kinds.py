"""The kinds of plug-ins: a row each, with a protocol and a version.

A plug-in is any object that fits the protocol of its kind: a function, an object, or a class that is called without
arguments to make one. There are no base classes, and a plug-in imports nothing from here, except for types.

To add a kind: write its protocol, add its row to `KINDS`, a setting of the same name to `PluginSettings`, and its check
to `config/accepted.py`. Where the kind is used, `find.load` gives the object that a setting names. What a plug-in gets
and returns are values of this file or of Python and numpy, so that a plug-in does not depend on the crawler's insides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

BUILT_IN: Final = ("json-ld", "opengraph", "microdata")
"""The processors that the crawler has (`gatherer/extract/`). They run in the worker itself."""
VERSION: Final = "kind_version"
"""Attribute in which a plug-in may say for which version of its kind it was written; without it, for the first."""


class Kind(NamedTuple):
    """A kind of plug-in."""

    name: str
    """The setting in `[plugins]`; entry points of this kind begin with it and a point."""
    versions: tuple[int, ...]
    """Versions of the protocol that are accepted, the newest last."""
    protocol: type
    runs: str
    """Where it runs, in words."""
    sentence: str
    """What it does."""
    built_in: tuple[str, ...] = ()
    """Names of those that the crawler has."""
    apart: bool = False
    """Whether it is loaded only in processes that may fail, never in the process of the crawl."""


class Page(Protocol):
    """A gathered page, as a processor sees it. Whatever costs anything is made when it is first used."""

    url: str
    """In canonical form."""
    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes
    """Decompressed."""

    @property
    def markup(self) -> str:
        """The body as text."""

    @property
    def title(self) -> str: ...

    @property
    def text(self) -> str:
        """What a reader sees of the page."""

    @property
    def links(self) -> Sequence[str]:
        """Targets of the links that the crawl follows, in canonical form."""

    @property
    def tree(self) -> Any:
        """The parsed page: a `selectolax.lexbor.LexborHTMLParser`. None if it is not HTML."""


@runtime_checkable
class Processor(Protocol):
    """Returns rows for a page: None, one row, or several. A row is a mapping, or an object of the class of rows.

    The columns are those of its attribute `columns` (names, and words for their types), or the fields of the class that
    its return type names (a NamedTuple, a dataclass or a TypedDict). The table is named by its attribute `table`, or
    after the function.
    """

    def __call__(self, page: Page) -> Iterable[Any] | Mapping[str, Any] | None: ...


KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind(
            "process",
            (1,),
            Processor,
            "in a process beside each worker",
            "sees every page that is fetched, and returns rows for a table of its own",
            BUILT_IN,
            apart=True,
        ),
    )
}
"""All kinds, by name."""
