"""The cleaned text of archived pages: as a crawl archived it beside the page, or cleaned now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

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


class Answer(NamedTuple):
    """The answer of a server, as archived."""

    fields: list[tuple[str, str]]
    """Names and values of the header fields, in order."""
    body: bytes
    """With the encodings of `Content-Encoding` undone."""

    def field(self, name: str) -> str:
        """The value of the first header field with this name (in lower case), or an empty text."""
        return next((value for key, value in self.fields if key.lower() == name), "")

    @property
    def headers(self) -> dict[str, str]:
        """The fields by lower-case name; values of the same field are joined by commas."""
        found = dict[str, str]()
        for name, value in self.fields:
            key = name.lower()
            found[key] = f"{found[key]}, {value}" if key in found else value
        return found


def answer(record: bytes, most: int) -> Answer:
    """The answer in a response record. A body that decodes to more than `most` bytes is cut."""
    _, _, http = record.partition(b"\r\n\r\n")
    head, _, body = http[:-4].partition(b"\r\n\r\n")
    fields = []
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        fields.append((name.strip().decode("latin-1"), value.strip().decode("latin-1")))
    found = Answer(fields, body)
    return found._replace(body=decode(body, found.field("content-encoding"), most).data)


def read_answer(path: Path, at: int, end: int, most: int) -> Answer:
    """The answer whose response record starts at `at`; the data of its visit ends at `end`."""
    return answer(next(cdx.members(path, at, end, ALL))[2], most)


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
        found = answer(records[0], self._limit)
        kind = found.field("content-type")
        gathered = gather(url, kind, (), found.body, self._settings, self._scope, self._agent)
        return (gathered.text or b"").decode(errors="replace")
