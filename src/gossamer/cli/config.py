"""`gossamer config`: every setting with its default, as a crawl.toml."""

from __future__ import annotations

from gossamer.config import Settings, dump


def config() -> None:
    """Print all settings with their defaults; it can be fed back as crawl.toml."""
    print(dump(Settings(), whole=True), end="")
