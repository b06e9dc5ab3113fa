"""Programs and packages that some tests need and not every machine has.

Where one is missing its tests are skipped, and `pytest -rs` (the default here) says so. Under CI=true that is an error
instead, unless `make test` noted in the virtual environment that it could not be installed: a test that CI silently
leaves out proves nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


def needed(name: str, is_there: bool, cure: str) -> pytest.MarkDecorator:
    """For `pytestmark`, or around a test. `cure`: how to install it."""
    reason = f"{name} is not installed ({cure})"
    noted = Path(sys.prefix) / f"without-{name}"
    if not is_there and os.environ.get("CI") == "true" and not noted.exists():
        raise RuntimeError(f"{reason}, and there is no {noted}, with which `make test` says that it cannot be")
    return pytest.mark.skipif(not is_there, reason=reason)
