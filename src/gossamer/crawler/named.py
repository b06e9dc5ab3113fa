"""The folder of a collection that the user did not name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gossamer import urls
from gossamer.base.errors import UsageError
from gossamer.collection.layout import is_collection
from gossamer.collection.runs import settings_of_last_run

NAME_IT: Final = "Name the folder: gossamer crawl DIR https://example.org"


def named_after(seed: str) -> Path:
    """The folder of a collection that nobody named: the site of its first seed. UsageError if it is a collection of
    other sites."""
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
