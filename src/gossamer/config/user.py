"""The settings of a user for all of their crawls."""

from __future__ import annotations

import os
from pathlib import Path


def user_settings() -> Path:
    """The file of these settings: the place to write the contact once."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "gossamer" / "crawl.toml"
