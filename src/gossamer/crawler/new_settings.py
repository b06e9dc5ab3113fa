"""Judges known pages and sites again when a run begins with changed settings.

A known page keeps the state that earlier settings gave it. When a run begins with other limits on depth, domains,
patterns or extensions, pending and waiting pages that are no longer wanted are excluded, and excluded pages that are
wanted now are opened. The verdicts go through the journal like all others. Pages that were fetched stay. This takes
about 3 s for a million pages, most of it to read their URLs.

Names that failed, or had a forbidden address, are looked up again at once when settings about names and addresses have
changed. All other reasons to wait remain.

All this is committed before the run counts as settled: after a kill in between, the next start does it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.model import PageFlag, State, VerdictFlag
from gossamer.base.outcomes import Reason
from gossamer.collection.blocks import PER_BLOCK
from gossamer.collection.journal.effects import SiteNews, Verdict
from gossamer.collection.runs import ANOTHER_VERSION, setting_of, settle_run
from gossamer.collection.store import Store
from gossamer.crawler.loop import Crawl
from gossamer.desk.desk import Desk
from gossamer.harvester.naming import failed_names
from gossamer.urls.classify import LISTS

Array = npt.NDArray[Any]

CONCERNED: Final = frozenset(
    f"seeder.{name}"
    for name in (
        "depth_static",
        "depth_dynamic",
        "follow",
        "domains",
        "ports",
        "accept",
        "reject",
        "url_length",
        "repeats",
        *LISTS,
    )
)
"""If one of these settings changes, known pages are judged again."""
_CLASSES: Final = frozenset(f"seeder.{name}" for name in LISTS)
"""Settings that say which pages are dynamic: they also apply to pages that were fetched."""
OF_NAMES: Final = frozenset(
    f"harvester.{name}" for name in ("allow_private", "forbidden", "resolve", "resolvers", "families")
)
"""Settings about the addresses of names, and which addresses are allowed."""
_BY_SETTINGS: Final = (Reason.DEPTH, Reason.REJECTED, Reason.TRAP, Reason.UNLISTED)
_AT_ONCE: Final = 1_000 * PER_BLOCK


class Settled(NamedTuple):
    """What the new settings have changed."""

    judged: bool = False
    """Whether known pages were judged again."""
    opened: int = 0
    closed: int = 0
    names: int = 0
    """Sites whose names are looked up again."""


def settle(crawl: Crawl, differences: Iterable[str]) -> Settled:
    """Judges known pages and sites by the current settings, before the first request. Returns when it is on disk."""
    changed, store, found = {setting_of(line) for line in differences}, crawl.store, Settled()
    if changed & {*CONCERNED, ANOTHER_VERSION}:
        classes = bool(changed & {*_CLASSES, ANOTHER_VERSION})
        follows = "seeder.follow" in changed
        found = Settled(True, *crawl.judge_again(reconsider(crawl.desk, store, classes, follows)))
    if changed & OF_NAMES:
        wall = crawl.desk.believed(crawl.clock.wall())
        sites = failed_names(crawl.desk, wall).tolist()
        crawl.tell([SiteNews.name_again(site, wall) for site in sites])
        found = found._replace(names=len(sites))
    if found != Settled():
        store.commit()
    settle_run(store.shard)
    return found


def reconsider(desk: Desk, store: Store, classes: bool = False, follows: bool = False) -> list[Verdict]:
    """Verdicts on the pages for which something changes. `classes`: also checks whether pages that are not judged have
    become dynamic, or static. `follows`: `seeder.follow` has changed."""
    page = desk.columns.page
    state, reason = page.state[: page.count], page.reason[: page.count]
    open_now = (state == State.PENDING) | (state == State.WAITING)
    ours = open_now | (state == State.EXCLUDED) & np.isin(reason, _BY_SETTINGS)
    looked_at = np.arange(page.count) if classes else np.flatnonzero(ours)
    verdicts: list[Verdict] = []
    for at in range(0, len(looked_at), _AT_ONCE):
        pages = looked_at[at : at + _AT_ONCE]
        judged = _judged(desk, pages, store.urls(pages), follows)
        for number, (why, becomes) in zip(pages.tolist(), judged, strict=True):
            before = int(reason[number]) if state[number] == State.EXCLUDED else int(Reason.NONE)
            if ours[number] and why != before:
                verdicts.append(Verdict(number, State.EXCLUDED if why else State.PENDING, why, becomes))
            elif becomes:
                verdicts.append(Verdict(number, int(state[number]), int(reason[number]), becomes))
    return verdicts


def _judged(desk: Desk, pages: Array, texts: list[bytes], follows: bool) -> list[tuple[int, int]]:
    """For each of these pages: why it is not wanted now, and DYNAMIC or STATIC if its class has changed."""
    seeder, columns = desk.settings.seeder, desk.columns.page
    flags, depths = columns.flags[pages].tolist(), columns.depth[pages].tolist()
    unlisted = _unlisted(desk, pages, follows).tolist()
    found = []
    for text, flag, depth, out in zip(texts, flags, depths, unlisted, strict=True):
        of = desk.scope.classes.of(text.decode())
        too_deep = depth > (seeder.depth_dynamic if of.dynamic else seeder.depth_static)
        was_dynamic, becomes = flag & PageFlag.DYNAMIC != 0, 0
        if was_dynamic != of.dynamic:
            becomes = int(VerdictFlag.DYNAMIC if of.dynamic else VerdictFlag.STATIC)
        if flag & PageFlag.SEED:  # always wanted
            why = Reason.NONE
        elif out:
            why = Reason.UNLISTED
        elif not of.page or _rejected(desk.scope, text):
            why = Reason.REJECTED
        elif desk.scope.entraps(text.decode()):
            why = Reason.TRAP
        else:
            why = Reason.DEPTH if too_deep else Reason.NONE
        found.append((int(why), becomes))
    return found


def _unlisted(desk: Desk, pages: Array, follows: bool) -> Array:
    """Whether only links lead to a page, and links make no pages. When this begins, all pages are out that no redirect
    leads to; later, pages that were out stay out, until a sitemap or a redirect opens them."""
    page, follow = desk.columns.page, desk.settings.seeder.follow
    if follow == "none" and follows:
        out: Array = page.flags[pages] & int(PageFlag.HOPS) == 0
    else:
        out = (page.reason[pages] == int(Reason.UNLISTED)) & (follow != "links")
    return out


def _rejected(scope: urls.Scope, text: bytes) -> bool:
    url = text.decode()
    return not scope.admits(url) or scope.rejects(url) or len(text) > scope.url_length
