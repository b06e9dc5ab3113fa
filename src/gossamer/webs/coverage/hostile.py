"""Compares how the pages of the hostile Web ended with how each behaviour says that they must end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer import config
from gossamer.base.units import plural
from gossamer.collection.layout import SETTINGS
from gossamer.read.sql.database import Database
from gossamer.read.sql.desk_columns import aside_of
from gossamer.read.sql.sources import find
from gossamer.urls import host
from gossamer.webs.coverage.compare import examples
from gossamer.webs.hostile.web import HostileWeb

_QUERY: Final = "select url, state, reason, outcome, site from pages"
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Ends:
    """The result of a comparison."""

    found: dict[str, dict[str, int]]
    """By behaviour: how its bad pages ended, and how many."""
    wrong: dict[str, str]
    """By URL: how it ended, for pages that ended otherwise than they must."""
    missing: list[str]
    """URLs that should be known and are not."""


def ends(folder: Path) -> dict[str, str]:
    """How each page ended, by URL, in the words of the table. A site that must wait at all counts as suspended here,
    however soon it is due."""
    sources = find(folder, fresh=True)
    rows = Database(sources, config.load(folder / SETTINGS)).run(_QUERY, views=("pages",))
    aside = {site: why for site, why, _ in aside_of(sources, horizon=0.0)}
    return {url: _word(state, reason, outcome, aside.get(site)) for url, state, reason, outcome, site in rows}


def _word(state: str, reason: str, outcome: str | None, aside: str | None) -> str:
    if state == "excluded":
        return f"excluded: {reason}"
    if state == "done":
        return outcome or state
    return f"site: {aside}" if aside and state == "pending" else f"{state}: {outcome or 'not requested'}"


def compare_ends(web: HostileWeb, found: dict[str, str]) -> Ends:
    counted: dict[str, Counter[str]] = {b.name: Counter() for b in web.behaviours}
    for url, word in found.items():
        behaviour = web.behaviour_of(host(url))
        if behaviour is not None and not web.is_good(url):
            counted[behaviour.name][word] += 1
    return Ends(
        {name: dict(words) for name, words in counted.items()},
        {url: word for url, word in found.items() if word not in web.ends_of(url)},
        [url for url in web.known() if url not in found],
    )


def lines_of_ends(compared: Ends) -> Iterator[str]:
    width = 2 + max(map(len, ("behaviour", *compared.found)))
    yield f"{'behaviour':<{width}}how its bad pages ended"
    for name, words in compared.found.items():
        yield f"{name:<{width}}{', '.join(f'{word} {number}' for word, number in words.items()) or 'not known'}"
    yield f"not as the table says (`gossamer web --hostile --list`): {plural(len(compared.wrong), 'page')}"
    yield from examples([f"{url}: {word}" for url, word in compared.wrong.items()], _SHOWN)
    yield f"not known, but should be: {plural(len(compared.missing), 'page')}"
    yield from examples(compared.missing, _SHOWN)
