"""The views `pages` and `preferences`.

`pages` is the current state of every known page, computed from discoveries, visits and verdicts. The stored row of a
page has its state when it was found. Later changes follow the rules of `manager/learn.py`:

    visits     a final outcome makes it done; an outcome that is tried again makes it wait, until its tries are used up
    verdicts   robots.txt excludes a page that is not done, or opens a page that it had excluded; the move of a site
               opens duplicates that are done
    depth      a page excluded for its depth, or after too many redirects, is pending again when a visited page of
               small enough depth links to it
    forgotten  a page that was forgotten is excluded, whatever its visits and verdicts say

This is exact except in one case: the depth of the linking page, and the redirects before it, are those of the time when
that page was found. If they became smaller since, and only then small enough, the target is shown as excluded until it
is visited. Refused: computing depths by replaying all links in order, which takes the memory of the desk, and minutes
at 10^7 pages.

`preferences` is what pages, and the robots.txt of their origins, say about the use of their content. For a page, the
last fetched answer counts. For a robots.txt, the last one read counts, also for pages fetched before it. A robots.txt
that does not exist says nothing; one that could not be read changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from gossamer.base.model import HOPS_SHIFT, MOST_REDIRECTS, PageFlag, VerdictFlag, VisitFlag
from gossamer.base.outcomes import BACK_AS_BEFORE, LONGEST_PAUSE, TRANSIENT, TREATMENTS, Outcome, Reason
from gossamer.config.settings import SeederSettings, Settings


def words_of(outcomes: frozenset[Outcome]) -> str:
    """SQL for the list of these outcomes."""
    return ", ".join(sorted(f"'{o.word}'" for o in outcomes)) or "''"


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

PREFERENCES_VIEW: Final = f"""
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


ORDERS_VIEW: Final = """
select o.number, t.time, o.who, o.name, o.target, o.value, o.key, o.tick
from stored.orders o join stored.ticks t on t.tick = o.tick
"""


def _by_outcome(column: str, numbers: Mapping[Outcome, float]) -> str:
    """SQL for a number that depends on the outcome in the column."""
    usual = Counter(numbers.values()).most_common(1)[0][0]
    others = " ".join(f"when '{o.word}' then {number}" for o, number in numbers.items() if number != usual)
    return f"case {column} {others} else {usual} end" if others else str(usual)


def pages_view(settings: Settings, scores: str, joined: str) -> str:
    """SQL of the view. `scores`: the score columns; `joined`: the join that adds them, on `n.page`."""
    seeder = settings.seeder
    retry = _by_outcome("outcome", {o: t.pause(float(settings.harvester.retry)) for o, t in TREATMENTS.items()})
    tries = _by_outcome("l.v.outcome", {o: t.most(settings.harvester.tries) for o, t in TREATMENTS.items()})
    stands = f"{_visited(retry, tries)},\n{_judged(seeder)},\n{_STANDS}"
    return f"""
with {stands}
select n.page, url, stands as state, case when stands = 'excluded' then why else 'none' end as reason, outcome, status,
       coalesce(visits, 0) as visits, coalesce(stored, 0) as stored, last_visit,
       case when stands = 'waiting' then last_visit + to_microseconds((pause * 1e6)::bigint) end as due,
       site, origin, depth, kind, source, flags, n.state as found_state, n.reason as found_reason, time, tick,
       fingerprint, {scores}
from now n {joined}
"""


def _visited(retry: str, tries: str) -> str:
    """SQL of the table `visited`: the last visit of each page, and whether another try follows. `retry`: seconds until
    then, `tries`: how many there are at most, both by the outcome."""
    return f"""asked as (
    select page, outcome, status, tick, number, time, retry_after, outcome in ({words_of(TRANSIENT)}) as again,
           (flags & {VisitFlag.STORED:d}) != 0 as kept
    from stored.visits
    where page is not null and outcome not in ({words_of(BACK_AS_BEFORE)})
          and not (outcome = 'redirect' and (flags & {VisitFlag.RESPELLED:d}) != 0)
),
last as (
    select page, arg_max({{'outcome': outcome, 'status': status, 'time': time, 'again': again, 'tick': tick,
                           'pause': greatest({retry}, least(coalesce(retry_after, 0), {LONGEST_PAUSE}))}},
                         (tick, number)) as v,
           arg_max({{'outcome': outcome, 'status': status}}, (tick, number))
               filter (outcome != '{Outcome.NOT_MODIFIED.word}') as brought,
           max(tick) filter (not again) as final_tick, count(*) as visits, count(*) filter (kept) as stored
    from asked group by page
),
tried as (
    select a.page, count(*) as tries from asked a join last l on a.page = l.page
    where a.again and l.v.again and (l.final_tick is null or a.tick > l.final_tick) group by a.page
),
visited as (
    select l.*, l.v.again and t.tries < {tries} as waits from last l left join tried t on t.page = l.page
)"""


def _judged(seeder: SeederSettings) -> str:
    """SQL of the tables `judged`, the last verdict on each page, and `opened`, pages that are not too deep any more."""
    return f"""judged as (
    select page, arg_max(state, (tick, state = 'pending')) as state,
           arg_max(reason, (tick, state = 'pending')) as reason,
           bool_or(reason = '{Reason.FORGOTTEN.word}') as forgotten,
           max(tick) filter (state = 'excluded') as excluded_tick,
           max(tick) filter ((judged & {VerdictFlag.AGAIN:d}) != 0) as again_tick
    from stored.verdicts group by page
),
deep as (
    select page, site, reason, depth,
           case when (flags & {PageFlag.DYNAMIC:d}) != 0 then {seeder.depth_dynamic} else {seeder.depth_static} end
           as deepest
    from stored.pages where reason in ('depth', 'redirects', 'unlisted')
),
opened as (
    select distinct d.page
    from deep d join stored.links k on k.target = d.page join stored.pages s on s.page = k.source
    where (s.site != d.site or least(s.depth + (k.kind != 'redirect')::integer, d.depth) <= d.deepest)
          and (k.kind = 'redirect' or d.reason != 'unlisted')
          and (k.kind != 'redirect' or (s.flags >> {HOPS_SHIFT}) < {MOST_REDIRECTS})
)"""


_STANDS: Final = f"""now as (
    select p.*, l.visits, l.stored, l.waits, l.brought.outcome as outcome,
           l.brought.status as status, l.v.time as last_visit,
           l.v.pause as pause,
           case
               when p.reason = '{Reason.FORGOTTEN.word}' or j.forgotten then 'excluded'
               when l.page is not null and not l.waits and coalesce(j.again_tick < l.v.tick, true) then 'done'
               when j.state = 'excluded' then 'excluded'
               when l.waits and (j.excluded_tick is null or j.excluded_tick < l.v.tick) then 'waiting'
               when j.state = 'pending' then 'pending'
               when p.reason in ('depth', 'redirects', 'unlisted') and o.page is not null then 'pending'
               else p.state
           end as stands,
           case when p.reason = '{Reason.FORGOTTEN.word}' or j.forgotten then '{Reason.FORGOTTEN.word}'
                when j.state = 'excluded' then j.reason else p.reason end as why
    from stored.pages p left join visited l on l.page = p.page left join judged j on j.page = p.page
         left join opened o on o.page = p.page
)"""
"""SQL of the table `now`: the state of each page."""
