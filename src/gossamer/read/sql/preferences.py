"""The view `preferences`: what pages, and robots.txt of their origins, say about the use of their content.

Of a page counts what it said when it was last fetched. Of a robots.txt counts the last one that was read, also for
pages that were fetched before; one that is not there says nothing, one that could not be read changes nothing.
"""

from __future__ import annotations

from typing import Final

from gossamer.base.model import VisitFlag
from gossamer.base.outcomes import Outcome

ANSWERED: Final = frozenset(
    {
        Outcome.OK,
        Outcome.DUPLICATE,
        Outcome.NOT_FOUND,
        Outcome.REFUSED,
        Outcome.OTHER_TYPE,
        Outcome.NO_CONTENT,
        Outcome.PAYMENT_REQUIRED,
    }
)
"""Outcomes of robots.txt that say something, or that there is none; so does a redirect that is not followed."""
_ANSWERED: Final = ", ".join(sorted(f"'{outcome.word}'" for outcome in ANSWERED))

OF_ORIGINS: Final = f"""
select origin, nullif(arg_max(coalesce(preferences, ''), (tick, number)), '') as preferences
from stored.visits
where ask = 'robots' and (outcome in ({_ANSWERED}) or (flags & {int(VisitFlag.NOT_FOLLOWED)}) != 0) group by origin
"""
"""For each origin that has a robots.txt, or none for certain: its lines, or null."""

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
