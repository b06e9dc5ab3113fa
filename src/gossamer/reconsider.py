"""Known pages by settings that have changed since they became known: depth, domains, patterns.

A page that was found under other limits stands as those had it. When a run begins with others, what is pending or waits
and is no longer wanted is excluded, and what was excluded and now is wanted is opened. The verdicts go through the
journal like any other. Pages that were fetched stay. URLs are read only if patterns or domains have changed: about 3 s
for a million.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.collection.blocks import PER_BLOCK, BlockFile
from gossamer.desk import Desk
from gossamer.model import PageFlag, State
from gossamer.outcomes import Reason

Array = npt.NDArray[Any]
Verdict = tuple[int, int, int, int]

CONCERNED: Final = frozenset(
    f"seeder.{name}" for name in ("depth_static", "depth_dynamic", "domains", "accept", "reject", "url_length")
)
"""Settings that known pages are judged by again."""
_AT_ONCE: Final = 1_000 * PER_BLOCK


def reconsider(desk: Desk, texts: BlockFile) -> list[Verdict]:
    """Verdicts on the pages for which something changes."""
    page = desk.columns.page
    state, reason = page.state[: page.count], page.reason[: page.count]
    open_now = (state == State.PENDING) | (state == State.WAITING)
    ours = (state == State.EXCLUDED) & ((reason == Reason.DEPTH) | (reason == Reason.REJECTED))
    looked_at = np.flatnonzero(open_now | ours)
    verdicts: list[Verdict] = []
    for at in range(0, len(looked_at), _AT_ONCE):
        pages = looked_at[at : at + _AT_ONCE]
        wanted = _reasons(desk, pages, texts.read_many(pages))
        for number, why in zip(pages.tolist(), wanted, strict=True):
            before = int(reason[number]) if state[number] == State.EXCLUDED else int(Reason.NONE)
            if why != before:
                verdicts.append((number, State.EXCLUDED if why else State.PENDING, why, 0))
    return verdicts


def _reasons(desk: Desk, pages: Array, texts: list[bytes]) -> list[int]:
    """Why each of these pages is not wanted now; seeds always are."""
    seeder, scope, columns = desk.settings.seeder, desk.scope, desk.columns.page
    dynamic = columns.flags[pages] & int(PageFlag.DYNAMIC) != 0
    too_deep = columns.depth[pages] > np.where(dynamic, seeder.depth_dynamic, seeder.depth_static)
    seed = columns.flags[pages] & int(PageFlag.SEED) != 0
    found = []
    for text, deep, is_seed in zip(texts, too_deep.tolist(), seed.tolist(), strict=True):
        url = text.decode()
        if is_seed:
            found.append(int(Reason.NONE))
        elif not scope.accepts(urls.host(url)) or scope.rejects(url) or len(text) > scope.url_length:
            found.append(int(Reason.REJECTED))
        else:
            found.append(int(Reason.DEPTH) if deep else int(Reason.NONE))
    return found
