"""What parts of the desk show in `gossamer sql`: columns of `pages` and `sites`, or views of their own, from an image.

SQL does not import numba, and most parts do. So a part that has kernels declares what it shows in a module beside it
(`manager/shown.py`), and `read/sql/columns.py` lists these modules; a test compares the list with the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from gossamer.base.arrays import Array
from gossamer.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view."""

    name: str
    type: str
    """DuckDB's name."""
    sentence: str
    stored: bool
    """Whether the segments of the table contain it."""


class ImageView(Protocol):
    """An image as SQL reads it (`observe/image_view.py`)."""

    columns: Any
    issued: int
    wall: float

    def array(self, name: str) -> Array: ...


@dataclass(frozen=True, slots=True)
class Shown:
    """Columns that a part adds to the view `pages` or `sites`, with a value for each page or site; otherwise all
    columns of a view of the part."""

    view: str
    columns: tuple[Column, ...]
    values: Callable[[ImageView, Settings], Iterable[Array]]
    """The values of each column. An image of an older version may lack some: AttributeError is null everywhere."""


def columns_of(text: str) -> tuple[Column, ...]:
    """Parses one column per line: name, type, sentence. A name with * is not in the segments of the table. A line that
    begins with white space continues the line before."""
    lines = (line.split(maxsplit=2) for line in text.strip().replace("\n  ", " ").splitlines())
    return tuple(Column(name.removesuffix("*"), kind, said, not name.endswith("*")) for name, kind, said in lines)
