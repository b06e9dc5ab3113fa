"""Where the large graphs lie that some tests use: beside the repository, or where GOSSAMER_DATA says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("GOSSAMER_DATA") or Path(__file__).parents[3] / "shared" / "data")


def graph_file(name: str) -> Path:
    """The test is skipped where it is absent."""
    path = DATA / "graphs" / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path
