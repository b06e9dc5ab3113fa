"""Arrow data for other libraries. pandas, polars, scipy and networkx are imported here, when asked for."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from gossamer.base.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa


def needed(name: str) -> Any:
    """A library that Gossamer does not install; UsageError if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise UsageError(
            f"this needs {package}, which is not installed", f"{sys.executable} -m pip install {package}"
        ) from error


def to_pandas(table: pa.Table) -> Any:
    needed("pandas")
    return table.to_pandas()


def to_polars(table: pa.Table) -> Any:
    """Shares the memory of the table."""
    return needed("polars").from_arrow(table)
