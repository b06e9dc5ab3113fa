"""Pages that sitemaps list: they become known without a link."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.base.model import NONE, Counted, PageFlag, Reason, State, VerdictFlag
from gossamer.collection.journal.effects import HINT, VERDICT, Effects
from gossamer.desk.columns import Columns
from gossamer.seeder.pages import LISTED_DEPTH, Found, Limits, make_pages, pick_texts
from gossamer.web.message import Links

Array = npt.NDArray[Any]

_PAGE_DYNAMIC = int(PageFlag.DYNAMIC)
_PENDING, _EXCLUDED = int(State.PENDING), int(State.EXCLUDED)
_TOO_DEEP, _REDIRECTS = int(Reason.DEPTH), int(Reason.REDIRECTS)


def enlist(
    columns: Columns, links: Links, own: Array, limits: Limits, seed: int, rules: Array, effects: Effects
) -> int:
    """Makes pages of the URLs that a sitemap lists, as far as they are its `own`, and opens known pages that were
    excluded for their depth; returns the number of new pages.

    The text of a link is the time when the page was changed, in seconds since 1970, or empty: it becomes a hint. The
    pages have no source and the URLs are no links: a list gives a page nothing of its own worth.
    """
    targets = columns.known.find(links.fingerprint)
    effects.verdicts = listed_verdicts(columns, np.unique(targets[own & (targets != NONE)]), limits)
    wanted = np.flatnonzero(own & (targets == NONE))
    found = Found(links, wanted, np.full(len(wanted), NONE, np.uint32), np.arange(len(wanted), dtype=np.int64))
    counted = np.zeros((len(wanted), len(Counted)), np.uint16)
    make_pages(columns, found, limits, seed, rules, targets, counted, effects)
    dated = np.flatnonzero(own & (targets != NONE) & (links.anchors.lengths > 0))
    effects.hints = np.zeros(len(dated), HINT)
    effects.hints["page"] = targets[dated]
    effects.hints["lastmod"] = [float(text) for text in pick_texts(links.anchors, dated).split()]
    return len(effects.pages)


def listed_verdicts(columns: Columns, pages: Array, limits: Limits) -> Array:
    """Verdicts on known pages that are now listed and lie deeper than listed pages do."""
    page = columns.page
    pages = pages[page.depth[pages] > LISTED_DEPTH]
    verdicts = np.zeros(len(pages), VERDICT)
    verdicts["page"], verdicts["judged"] = pages, int(VerdictFlag.LISTED)
    verdicts["state"], verdicts["reason"] = page.state[pages], page.reason[pages]
    limit = np.where(page.flags[pages] & _PAGE_DYNAMIC != 0, limits.depth_dynamic, limits.depth_static)
    too_far = (verdicts["reason"] == _TOO_DEEP) | (verdicts["reason"] == _REDIRECTS)
    opens = (verdicts["state"] == _EXCLUDED) & too_far & (limit >= LISTED_DEPTH)
    verdicts["state"][opens], verdicts["reason"][opens] = _PENDING, int(Reason.NONE)
    return verdicts
