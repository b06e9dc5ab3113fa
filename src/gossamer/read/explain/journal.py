"""Reads the effects in the journal that no segment contains yet: the last seconds to minutes of a crawl."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gossamer.collection.journal import records
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import Kind, Mark
from gossamer.collection.layout import journal_files
from gossamer.collection.manifest import Contents


def unsealed(shard: Path, contents: Contents, running: bool) -> list[Effects]:
    """The unsealed effects in order, without links. Of a running crawl, all that can be read; otherwise only the
    committed effects, because the rest is void."""
    files = {n: path for n, path in journal_files(shard).items() if n not in contents.segments}
    heads = {n: records.read_head(path) for n, path in files.items()}
    found: list[Effects] = []
    for number, path in files.items():
        later = [head.first for n, head in heads.items() if n > number and head is not None]
        found += _effects(path, min(later, default=1 << 63), running)
    return found


def _effects(path: Path, before: int, running: bool) -> list[Effects]:
    """The effects of a file with record numbers below `before`, where the file of a later start begins."""
    last, found = 0, list[tuple[int, Effects]]()
    for record in records.read(path):
        if record.kind is Kind.MARK:
            last = max(last, Mark.decode(record.body).record)
        elif record.number < before:
            found.append((record.number, _without_links(Effects.decode(record.body))))
    return [effects for number, effects in found if running or number <= last]


def _without_links(effects: Effects) -> Effects:
    """The effects without their links, which are nine tenths of a journal."""
    nothing = Effects(effects.tick, effects.wall, effects.monotonic)
    return replace(
        effects,
        link_targets=nothing.link_targets,
        link_kinds=nothing.link_kinds,
        link_tags=nothing.link_tags,
        link_positions=nothing.link_positions,
        anchors=nothing.anchors,
        seen=b"",
        hints=nothing.hints,
    )
