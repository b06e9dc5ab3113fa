"""Links and frames of a site, from a collection, by the numbers that pages have in logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U64
from gossamer.base.errors import UsageError
from gossamer.collection import manifest
from gossamer.collection.layout import shard_folder
from gossamer.collection.tables.forms import one_chunk
from gossamer.laboratory.findings.finding import Finding
from gossamer.laboratory.report import make
from gossamer.laboratory.report.data import LOCAL, reading
from gossamer.laboratory.sessions.formats import texts_of
from gossamer.laboratory.sessions.judge import host_number
from gossamer.laboratory.sessions.texts import none, parts
from gossamer.laboratory.sessions.trace import Site, pair
from gossamer.manager.scores.graph import read_table
from gossamer.rank.graph import held

_FRAMES: Final = "select source, target from stored.links where kind = 'frame'"


def site_of(folder: Path) -> Callable[[Sequence[str]], Site]:
    """Finds the links inside a site in a collection. Raises if it has no page of the site."""

    def found(hosts: Sequence[str]) -> Site:
        page, host = _pages(folder)
        ours = np.isin(host, np.asarray([host_number(each) for each in hosts], np.uint64))
        if not ours.any():
            raise UsageError(
                f"{folder} has no page of {', '.join(hosts) or 'the site of this log'}",
                "Name the site with --host as the collection has it, or another collection.",
            )
        with reading(folder) as data:
            links = held(data.known.graph)
            source = np.repeat(np.arange(links.pages), np.diff(links.offsets))
            frames = data.columns(_FRAMES)
        target = links.targets.astype(np.int64)
        inside = ours[source] & ours[target]
        framed = (frames["source"].astype(np.int64) & LOCAL, frames["target"].astype(np.int64) & LOCAL)
        return Site(_pairs(page, source[inside], target[inside]), _pairs(page, *framed))

    return found


def _pairs(page: U64, source: I64, target: I64) -> U64:
    return np.unique(pair(page[source], page[target]))


def _pages(folder: Path) -> tuple[U64, U64]:
    """By page of the collection: its number in logs, and that of its host."""
    place = shard_folder(folder, 0)
    pages, hosts = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    for _, line in sorted(manifest.read(place).segments.items()):
        table = read_table(place, "pages", line, ("url",))
        if table is not None:
            texts = texts_of(one_chunk(table, "url"))
            found = parts(texts, none(len(texts.begin)))
            pages.append(found.page)
            hosts.append(found.host)
    return np.concatenate(pages), np.concatenate(hosts)


def ranked(folder: Path, show: Callable[[str, float], None]) -> Finding:
    """PageRank by level in a collection (figure 5.17), from the report."""
    (found,) = make.report([folder], ["scores"], show=show)
    plots = tuple(replace(plot, name="fig-5.17") for plot in found.plots if plot.name == "scores-depth")
    return Finding("ranks", "PageRank by level", "thesis 5.5, figure 5.17", found.setting, (), plots, found.sentences)
