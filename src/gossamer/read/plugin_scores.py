"""The process in which a plug-in scores or orders the pages of a collection (`manager/scores/own.py` starts it).

    python -P -m gossamer.read.plugin_scores SHARD MEMORY FOLDER    bytes; folder for what does not fit into memory

It reads the plug-in, as JSON, from standard input, and writes a line of JSON, {"wrong": ""}, and behind it a number for
each page, 8 bytes each. Sealed segments are read, as for link scores.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gossamer import config
from gossamer.base.arrays import F64
from gossamer.base.errors import GossamerError
from gossamer.base.process import die_with_parent
from gossamer.collection.layout import SETTINGS
from gossamer.plugins.find import Plugin, load, raised
from gossamer.read.plugin_web import LOCAL, PluginWeb
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find


def values_of(plugin: Plugin, returned: Any, pages: int) -> F64:
    """A number for each page, from what a plug-in returned. ValueError, in words, if it does not fit."""
    if isinstance(returned, Mapping):
        values = np.zeros(pages)
        for page, value in returned.items():
            if not 0 <= (place := page & LOCAL) < pages:
                raise ValueError(f"there is no page {page}: {pages} are known")
            values[place] = value
    elif isinstance(returned, Iterable) and not isinstance(returned, str | bytes):
        values = np.asarray(returned if hasattr(returned, "__len__") else list(returned), np.float64)
        if values.shape != (pages,):
            raise ValueError(f"it returned {len(values)} numbers for {pages} pages")
    else:
        raise ValueError(f"it returned {type(returned).__name__}, neither a number for each page nor a mapping")
    if (wrong := np.flatnonzero(~np.isfinite(values))).size:
        raise ValueError(f"page {wrong[0]} has {values[wrong[0]]}")
    if plugin.kind == "score" and (wrong := np.flatnonzero((values < 0) | (values > 1))).size:
        raise ValueError(f"page {wrong[0]} has {values[wrong[0]]:g}: a score is between 0 and 1")
    return values


def scored(plugin: Plugin, web: PluginWeb) -> tuple[str, bytes]:
    """What went wrong, and the numbers."""
    try:
        found = load(plugin)(web)
        return "", values_of(plugin, found, web.pages).astype("<f8").tobytes()
    except GossamerError as error:
        return error.message, b""
    except MemoryError:
        return f"{plugin.told()}: it needed more memory than there is (plugins.memory)", b""
    except BaseException as error:  # it may call sys.exit
        return f"{plugin.told()}: {raised(error, plugin.path)}", b""


def main(shard: Path, memory: int, spilled: Path) -> int:
    die_with_parent()
    plugin = Plugin(*json.load(sys.stdin))
    out = os.dup(1)
    os.dup2(2, 1)  # what plug-ins print is for people
    os.set_inheritable(out, False)
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    settings = config.load(shard.parent / SETTINGS)
    wrong, raw = scored(plugin, PluginWeb(Database(find(shard.parent), settings, f"{memory // 2}B", spilled)))
    with open(out, "wb") as file:
        file.write(json.dumps({"wrong": wrong}).encode() + b"\n" + raw)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
