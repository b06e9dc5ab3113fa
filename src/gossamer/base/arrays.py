"""Type aliases for numpy arrays, named by the type of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Elements of any type."""
Records = npt.NDArray[np.void]
"""Elements with named fields, such as `model.VISIT`."""
Bools = npt.NDArray[np.bool_]
U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]
"""Integers of any width."""
Indices = npt.NDArray[np.intp]
"""What `np.flatnonzero` and `np.argsort` return."""
Arrays = dict[str, Array]
"""Arrays by name, such as the columns of a table."""
