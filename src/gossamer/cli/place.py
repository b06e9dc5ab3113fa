"""The words after `gossamer crawl`: a URL is a seed, anything else is the folder. Without a folder, the collection is
named after the site of the first URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from gossamer import urls
from gossamer.base.errors import UsageError
from gossamer.collection.layout import is_collection
from gossamer.collection.runs import settings_of_last_run

_URL: Final = re.compile(r"https?://", re.IGNORECASE).match
_ANY_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE).match
NAME_IT: Final = "Name the folder: gossamer crawl DIR https://example.org"


def placed(words: Sequence[str], say: Callable[[str], None]) -> tuple[Path, tuple[str, ...]]:
    """The folder of the collection, and the seeds. `say` is told a folder that nobody named."""
    seeds, folders = [word for word in words if _URL(word)], [word for word in words if not _URL(word)]
    if len(folders) > 1:
        cure = "A seed begins with http:// or https://, and a crawl has one folder."
        raise UsageError(f"{folders[0]} and {folders[1]}: which of them is the folder?", cure)
    if not folders:
        folder = _named_after(seeds[0])
        say(f"collection: {folder}" + (", which exists: the crawl is resumed" if is_collection(folder) else ""))
        return folder, tuple(seeds)
    if _ANY_URL(folders[0]):
        raise UsageError(f"{folders[0]} is neither an http or https URL nor a folder", NAME_IT)
    return Path(folders[0]), tuple(seeds)


def _named_after(seed: str) -> Path:
    url = urls.canonical(seed)
    name = "" if url is None else urls.without_www(urls.host(url)).strip("[]")
    if not name or name.startswith((".", "-")):
        raise UsageError(f"{seed}: no folder can be named after it", NAME_IT)
    folder = Path(name)
    if is_collection(folder):
        seeder = settings_of_last_run(folder).seeder
        if not urls.Scope.of(seeder).accepts(name):
            raise UsageError(f"{folder} is a collection of {', '.join(seeder.domains)}, not of {name}", NAME_IT)
    return folder
