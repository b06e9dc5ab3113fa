"""The cleaned text that a crawl archived beside a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ALL: Final = 1 << 62
"""Bytes of a record that are kept: all."""


def archived_text(records: Iterable[bytes]) -> str | None:
    """The text of the first conversion record among these records of a visit; None if there is none."""
    for raw in records:
        head, _, block = raw.partition(b"\r\n\r\n")
        if b"\r\nWARC-Type: conversion\r\n" in head:
            return block[:-4].decode(errors="replace")
    return None
