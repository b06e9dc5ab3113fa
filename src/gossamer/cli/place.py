"""The words after `gossamer crawl`: a URL is a seed, anything else is the folder. Without a folder, the collection is
named after the site of the first URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from gossamer.base.errors import UsageError
from gossamer.collection.layout import is_collection
from gossamer.crawler.named import NAME_IT, named_after

_URL: Final = re.compile(r"https?://", re.IGNORECASE).match
_CUT: Final = re.compile(r"(https?:)(/?)(?!/)(.+)", re.IGNORECASE).match
_ANY_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE).match


def placed(words: Sequence[str], say: Callable[[str], None]) -> tuple[Path, tuple[str, ...]]:
    """The folder of the collection, and the seeds. `say` is told a folder that nobody named."""
    seeds, folders = [word for word in words if _URL(word)], [word for word in words if not _URL(word)]
    for word in folders:
        if cut := _CUT(word):
            number = "only one slash" if cut[2] else "no slash"
            raise UsageError(f"{word} has {number} after {cut[1]}", f"Write {cut[1]}//{cut[3]}")
    if len(folders) > 1:
        cure = "A seed begins with http:// or https://, and a crawl has one folder."
        raise UsageError(f"{folders[0]} and {folders[1]}: which of them is the folder?", cure)
    if not folders:
        folder = named_after(seeds[0])
        say(f"collection: {folder}" + (", which exists: the crawl is resumed" if is_collection(folder) else ""))
        return folder, tuple(seeds)
    if _ANY_URL(folders[0]):
        raise UsageError(f"{folders[0]} is neither an http or https URL nor a folder", NAME_IT)
    return Path(folders[0]), tuple(seeds)
