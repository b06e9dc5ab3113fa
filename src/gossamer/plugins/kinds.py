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
    """Whether it runs in the processes beside the workers, and fills a table. What runs in a crawl is loaded only in
    processes that may fail, never in the process of the crawl."""
    in_crawls: bool = True
    """Whether crawls run it; else commands do, in their own process."""


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


@runtime_checkable
class Filter(Protocol):
    """Returns whether a link is followed: True or False. `url`: its target, in canonical form; `page`: where it is.

    It is asked about links that may become pages, after all rules of the settings; never about seeds. A link about
    which it raises is not followed. Its table counts, for each page, the links that it left out.
    """

    def __call__(self, url: str, page: str) -> bool: ...


class Web(Protocol):
    """A collection, as scores, strategies, sections and checks read it. SQL is that of `gossamer sql`."""

    pages: int
    """Known pages: their numbers, the column `page`, are those from 0 up to this one."""

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query. Each `?` in it stands for one of the values."""

    def arrow(self, query: str, *values: Any) -> Any:
        """The same as a `pyarrow.Table`."""


@runtime_checkable
class Score(Protocol):
    """Returns a number between 0 and 1 for each page: a mapping from pages, where others have 0, or `web.pages`
    numbers.

    Its weight is that of `plugin` in `manager.weights`.
    """

    def __call__(self, web: Web) -> Mapping[int, float] | Sequence[float]: ...


@runtime_checkable
class Strategy(Protocol):
    """Returns a number for each page, as a score does, but of any size: the largest is requested first.

    It is in force under the policy `plugin`. Pages that were found since have 0.
    """

    def __call__(self, web: Web) -> Mapping[int, float] | Sequence[float]: ...


@runtime_checkable
class ReportSection(Protocol):
    """Returns what a section of the report shows, by title: a number, a text, a table (a list of mappings), or a plot
    (a mapping of two columns, x and y). Its name is that of the function, its title the first line of the docstring."""

    def __call__(self, web: Web) -> Mapping[str, Any] | None: ...


@runtime_checkable
class AuditCheck(Protocol):
    """Returns what it found: addresses, or rows of address, page that leads to it, text of the link and detail, of
    which the last three may be missing.

    Its name is that of the function, with hyphens. Attributes: `severity` (error, warning or notice), `sentence` (what
    is wrong; the first line of the docstring), `cure` (what to do). Its SQL also knows the tables of
    `read/audit/checks.py`.
    """

    def __call__(self, web: Web) -> Iterable[Any]: ...


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
        Kind(
            "filter",
            (1,),
            Filter,
            "in a process beside each worker",
            "says which links are followed",
            apart=True,
        ),
        Kind(
            "score",
            (1,),
            Score,
            "in a process of its own, with the link scores",
            "scores pages, between 0 and 1",
        ),
        Kind(
            "strategy",
            (1,),
            Strategy,
            "in a process of its own, with the link scores",
            "orders pages: the policy `plugin`",
        ),
        Kind(
            "report",
            (1,),
            ReportSection,
            "in `gossamer report`",
            "makes a section of the report",
            in_crawls=False,
        ),
        Kind(
            "audit",
            (1,),
            AuditCheck,
            "in `gossamer audit`",
            "finds what is wrong with a site",
            in_crawls=False,
        ),
    )
}
"""All kinds, by name."""
