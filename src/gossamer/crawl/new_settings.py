"""What is known, by settings that have changed since: depth, domains, patterns, extensions; where names may lead.

A page that was found under other limits stands as those had it. When a run begins with others, what is pending or waits
and is no longer wanted is excluded, and what was excluded and now is wanted is opened. The verdicts go through the
journal like any other. Pages that were fetched stay. It takes about 3 s for a million pages, most of it for their URLs.

Sites whose names failed, or led to a forbidden address, are looked up again at once when settings have changed that say
where names may lead. Whatever else makes them wait still does.

All this is committed before the run counts as settled: a kill on the way leaves it to the next start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.model import PageFlag, State, VerdictFlag
from gossamer.base.outcomes import Reason
from gossamer.collection.blocks import PER_BLOCK, BlockFile
from gossamer.collection.journal.effects import Verdict
from gossamer.collection.runs import ANOTHER_VERSION, setting_of, settle_run
from gossamer.crawl.loop import Crawl
from gossamer.desk.desk import Desk
from gossamer.harvester.naming import failed_names
from gossamer.urls.classify import LISTS

Array = npt.NDArray[Any]

CONCERNED: Final = frozenset(
    f"seeder.{name}"
    for name in (
        "depth_static",
        "depth_dynamic",
        "domains",
        "ports",
        "accept",
        "reject",
        "url_length",
        "repeats",
        *LISTS,
    )
)
"""Settings that known pages are judged by again."""
_CLASSES: Final = frozenset(f"seeder.{name}" for name in LISTS)
"""Those that say which pages are dynamic: they hold for pages that were fetched, too."""
OF_NAMES: Final = frozenset(
    f"harvester.{name}" for name in ("allow_private", "forbidden", "resolve", "resolvers", "families")
)
"""Settings that say where names lead, and whether we may go there."""
_AT_ONCE: Final = 1_000 * PER_BLOCK


class Settled(NamedTuple):
    """What the new settings have changed."""

    judged: bool = False
    """Were known pages judged again?"""
    opened: int = 0
    closed: int = 0
    names: int = 0
    """Sites whose names are looked up again."""


def settle(crawl: Crawl, differences: Iterable[str]) -> Settled:
    """Before anything is asked for: what is known, by the settings in force now. Returns when it is on disk."""
    changed, store, found = {setting_of(line) for line in differences}, crawl.store, Settled()
    if changed & {*CONCERNED, ANOTHER_VERSION}:
        classes = bool(changed & {*_CLASSES, ANOTHER_VERSION})
        found = Settled(True, *crawl.judge_again(reconsider(crawl.desk, store.urls, classes)))
    if changed & OF_NAMES:
        sites = failed_names(crawl.desk, crawl.clock.wall()).tolist()
        crawl.ask_names_again(sites)
        found = found._replace(names=len(sites))
    if found != Settled():
        store.commit()
    settle_run(store.shard)
    return found


def reconsider(desk: Desk, texts: BlockFile, classes: bool = False) -> list[Verdict]:
    """Verdicts on the pages for which something changes. `classes`: pages that are not judged may have become dynamic,
    or static, as well."""
    page = desk.columns.page
    state, reason = page.state[: page.count], page.reason[: page.count]
    open_now = (state == State.PENDING) | (state == State.WAITING)
    ours = open_now | (state == State.EXCLUDED) & np.isin(reason, (Reason.DEPTH, Reason.REJECTED, Reason.TRAP))
    looked_at = np.arange(page.count) if classes else np.flatnonzero(ours)
    verdicts: list[Verdict] = []
    for at in range(0, len(looked_at), _AT_ONCE):
        pages = looked_at[at : at + _AT_ONCE]
        for number, (why, becomes) in zip(pages.tolist(), _judged(desk, pages, texts.read_many(pages)), strict=True):
            before = int(reason[number]) if state[number] == State.EXCLUDED else int(Reason.NONE)
            if ours[number] and why != before:
                verdicts.append(Verdict(number, State.EXCLUDED if why else State.PENDING, why, becomes))
            elif becomes:
                verdicts.append(Verdict(number, int(state[number]), int(reason[number]), becomes))
    return verdicts


def _judged(desk: Desk, pages: Array, texts: list[bytes]) -> list[tuple[int, int]]:
    """Why each of these pages is not wanted now, and what it becomes if that is new: dynamic or static."""
    seeder, columns = desk.settings.seeder, desk.columns.page
    flags, depths = columns.flags[pages].tolist(), columns.depth[pages].tolist()
    found = []
    for text, flag, depth in zip(texts, flags, depths, strict=True):
        of = desk.scope.classes.of(text.decode())
        too_deep = depth > (seeder.depth_dynamic if of.dynamic else seeder.depth_static)
        was_dynamic, becomes = flag & PageFlag.DYNAMIC != 0, 0
        if was_dynamic != of.dynamic:
            becomes = int(VerdictFlag.DYNAMIC if of.dynamic else VerdictFlag.STATIC)
        if flag & PageFlag.SEED:  # always wanted
            why = Reason.NONE
        elif not of.page or _rejected(desk.scope, text):
            why = Reason.REJECTED
        elif desk.scope.entraps(text.decode()):
            why = Reason.TRAP
        else:
            why = Reason.DEPTH if too_deep else Reason.NONE
        found.append((int(why), becomes))
    return found


def _rejected(scope: urls.Scope, text: bytes) -> bool:
    url = text.decode()
    return not scope.admits(url) or scope.rejects(url) or len(text) > scope.url_length
