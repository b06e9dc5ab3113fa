"""The view `preferences`: what pages, and the robots.txt of their origins, say about the use of their content.

For a page, the last fetched answer counts. For a robots.txt, the last one read counts, also for pages fetched before
it. A robots.txt that does not exist says nothing; one that could not be read changes nothing.
"""

from __future__ import annotations

from typing import Final

from gossamer.base.model import VisitFlag
from gossamer.base.outcomes import Outcome
from gossamer.read.sql.pages_view import words_of

_SAYING_NOTHING = (Outcome.NOT_FOUND, Outcome.REFUSED, Outcome.OTHER_TYPE, Outcome.NO_CONTENT, Outcome.PAYMENT_REQUIRED)
ANSWERED: Final = frozenset({Outcome.OK, Outcome.DUPLICATE, *_SAYING_NOTHING})
"""Outcomes that tell what robots.txt says, or that there is none. So does a redirect that is not followed."""

OF_ORIGINS: Final = f"""
select origin, nullif(arg_max(coalesce(preferences, ''), (tick, number)), '') as preferences
from stored.visits
where ask = 'robots' and (outcome in ({words_of(ANSWERED)}) or (flags & {VisitFlag.NOT_FOLLOWED:d}) != 0)
group by origin
"""
"""For each origin whose robots.txt was read, or certainly does not exist: its lines, or null."""

VIEW: Final = f"""
with fetched as (
    select page, arg_max(coalesce(preferences, ''), (tick, number)) as preferences
    from stored.visits where page is not null and outcome in ('ok', 'duplicate') group by page
),
said as (
    select page, 'page' as said_by, preferences from fetched
    union all
    select f.page, 'robots.txt', o.preferences
    from fetched f join stored.pages p on p.page = f.page join ({OF_ORIGINS}) o on o.origin = p.origin
)
select page, said_by, unnest(string_split(preferences, chr(10))) as preference from said where preferences <> ''
"""
