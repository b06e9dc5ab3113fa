"""The cleaned text of archived pages: as a crawl archived it beside the page, or cleaned now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from gossamer.collection import cdx
from gossamer.config import Settings
from gossamer.gatherer.gather import gather
from gossamer.urls import Scope
from gossamer.web.fetch.decode import decode

ALL: Final = 1 << 62
"""Bytes of a record that are kept: all."""


def archived_text(records: Iterable[bytes]) -> str | None:
    """The text of the first conversion record among these records of a visit; None if there is none."""
    for raw in records:
        head, _, block = raw.partition(b"\r\n\r\n")
        if b"\r\nWARC-Type: conversion\r\n" in head:
            return block[:-4].decode(errors="replace")
    return None


class Cleaner:
    """Makes the cleaned text of archived pages."""

    def __init__(self, settings: Settings) -> None:
        self._settings = replace(settings.gatherer, text=True, language=False, anchors=False, links=())
        self._limit = settings.gatherer.max_decoded
        self._scope = Scope.of(settings.seeder)
        self._agent = settings.harvester.agent

    def text(self, path: Path, at: int, end: int, url: str) -> str:
        """The text of the response record that starts at `at`; the data of its visit ends at `end`."""
        records = [raw for _, _, raw in cdx.members(path, at, end, ALL)]
        if (archived := archived_text(records[1:])) is not None:
            return archived
        _, _, http = records[0].partition(b"\r\n\r\n")
        head, _, body = http[:-4].partition(b"\r\n\r\n")
        fields = dict[bytes, str]()
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            fields.setdefault(name.strip().lower(), value.strip().decode("latin-1"))
        decoded = decode(body, fields.get(b"content-encoding", ""), self._limit)
        kind = fields.get(b"content-type", "")
        gathered = gather(url, kind, (), decoded.data, self._settings, self._scope, self._agent)
        return (gathered.text or b"").decode(errors="replace")
