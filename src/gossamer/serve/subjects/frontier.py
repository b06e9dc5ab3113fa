"""The frontier: what is requested next and why, where requests go, and what the Web looks like from its links."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from starlette.responses import Response

from gossamer.base.errors import UsageError
from gossamer.base.units import human_size, human_time, thousands
from gossamer.collection.layout import shard_folder
from gossamer.manager.history import read_history
from gossamer.observe.socket import ask
from gossamer.serve.charts import bar
from gossamer.serve.html import Child, Html, joined, tag
from gossamer.serve.question import Asked, Field, File, Question, moment, needed
from gossamer.serve.shell import at, page_link, shell, site_link, table
from gossamer.serve.subjects.plots import SVG_HEADERS, plots_of

SHOWN: Final = 25
"""Requests that are shown."""
FRESH: Final = 2.0
"""Seconds for which the desk is not asked again."""
SPENT_FRESH: Final = 20.0
TOP: Final = 20
"""Sites that are shown."""


class Next(msgspec.Struct, frozen=True):
    """A planned request."""

    url: str
    site: str
    time: float | None
    """Wall time of the next request to the site, at the earliest; null: no crawl runs."""
    rank: int | None
    """Place of the page in the whole plan; 0 is best."""
    of_site: int
    """Number of pages of the site that are left in the plan."""
    depth: int
    outcome: str | None
    """Outcome of the last request for the page; null: it is new."""
    why: str


class Plan(msgspec.Struct, frozen=True):
    """The plan that the requests come from."""

    policy: str
    made: float | None
    pages: int
    left: int | None
    candidates: int


class Spent(msgspec.Struct, frozen=True):
    """Requests for pages, and their results."""

    name: str
    visits: int
    ok: int
    bytes: int


class Frontier(msgspec.Struct, frozen=True):
    running: bool
    plan: Plan | None
    next: list[Next]
    """In the order in which they are likely to be requested."""
    by_depth: list[Spent]
    by_site: list[Spent]
    """The sites with most requests."""
    bow_tie: dict[str, float]
    """Share of each part; empty: link scores were not computed."""
    plots: list[str]
    """Names of the plots of the last report."""


def answer_of(asked: Asked) -> Frontier:
    running, plan, coming = coming_of(asked)
    depths, sites, parts = asked.seen.once("spent", SPENT_FRESH, lambda: _spent(asked))
    return Frontier(running, plan, coming, depths, sites, parts, list(plots_of(asked)))


# --- what comes next --------------------------------------------------------------------------------------------------


def coming_of(asked: Asked) -> tuple[bool, Plan | None, list[Next]]:
    return asked.seen.once("coming", FRESH, lambda: _coming(asked))


def _coming(asked: Asked) -> tuple[bool, Plan | None, list[Next]]:
    answer = ask(shard_folder(asked.web.folder), {"next": SHOWN})
    if answer is None or "next" not in answer:
        return (False, *_left(asked))
    plan = Plan(answer["policy"], answer["made"] or None, answer["planned"], answer["left"], answer["candidates"])
    return True, plan, [_next(each, float(answer["wall"])) for each in answer["next"]]


def _next(each: Mapping[str, Any], wall: float) -> Next:
    rest = float(each["time"]) - wall
    when = "its site may be requested now" if rest <= 0 else f"its site rests for {human_time(rest)}"
    of_site = (
        "the only planned page of its site" if each["of_site"] == 1 else f"the best of {each['of_site']:,} planned"
    )
    seen = "new" if each["outcome"] is None else f"again, after {each['outcome']}"
    why = f"number {each['rank'] + 1:,} of the plan, {of_site}; {seen}; {when}"
    named = {key: each[key] for key in ("url", "site", "time", "rank", "of_site", "depth", "outcome")}
    return Next(**named, why=why)


def _left(asked: Asked) -> tuple[Plan | None, list[Next]]:
    """What was left of the last plan of a stopped crawl. The next run makes a new plan."""
    past = read_history(shard_folder(asked.web.folder)).newest
    if past is None or not len(past.sites):
        return None, []
    starts = np.concatenate([[0], past.ends[:-1]]).astype(np.int64)
    first = np.concatenate([past.pages[a : a + SHOWN] for a in starts[:SHOWN].tolist()])
    rows = asked.tables.run(
        "select p.page, p.url, s.name, p.depth, p.outcome from main.pages p join"
        " (select site, max(name) as name from stored.sites group by site) s on s.site = p.site"
        " where p.page in (select unnest(?::bigint[])) and p.state = 'pending'",
        [first.tolist()],
        ("pages",),
    )
    known, coming, seen = {row[0]: row for row in rows}, list[Next](), set[str]()
    for page in first.tolist():
        if page in known and (site := known[page][2]) not in seen:
            seen.add(site)
            _, url, _, depth, outcome = known[page]
            coming.append(Next(url, site, None, None, 0, depth, outcome, "left of the last plan"))
    plan = Plan(asked.web.settings.manager.policy, past.made, len(past.pages), None, past.candidates)
    return plan, coming[:SHOWN]


# --- where requests go ------------------------------------------------------------------------------------------------

Parts = dict[str, float]


def _spent(asked: Asked) -> tuple[list[Spent], list[Spent], Parts]:
    sums = "count(*), count(*) filter (outcome in ('ok', 'duplicate', 'not_modified')), sum(received)::bigint"
    depths = asked.tables.run(
        f"select p.depth::varchar, {sums} from stored.visits v join stored.pages p on p.page = v.page"
        " where v.ask = 'page' group by p.depth order by p.depth"
    )
    sites = asked.tables.run(
        "select max(name), sum(visits)::bigint as visits, sum(ok)::bigint, sum(bytes)::bigint from stored.sites"
        f" group by site having sum(visits) > 0 order by visits desc, site limit {TOP}"
    )
    named = "select part, count(*) from main.pages where part is not null group by 1"
    counts = {str(part): int(count) for part, count in asked.tables.run(named, (), ("pages",))}
    total = sum(counts.values())
    parts = {part: count / total for part, count in counts.items()}
    return [Spent(*row) for row in depths], [Spent(*row) for row in sites], parts


# --- the page ---------------------------------------------------------------------------------------------------------


def fragments(name: str, running: bool, plan: Plan | None, coming: Sequence[Next]) -> dict[str, Html]:
    """The parts of the page that are updated."""
    return {"state": joined(_plan_words(running, plan)), "next": _table(name, coming, running)}


def _plan_words(running: bool, plan: Plan | None) -> str:
    if plan is None:
        return "Nothing is planned yet."
    made = "" if plan.made is None else f", made {(moment(plan.made) or '')[11:19]} UTC"
    size = f"{thousands(plan.pages)} of {thousands(plan.candidates)} pages that may be requested"
    if not running:
        return f"No crawl runs. Its last plan had {size}; the next run makes a new one."
    return f"The plan has {size}{made}; {thousands(plan.left or 0)} are left. Order: {plan.policy}."


def _table(name: str, coming: Sequence[Next], running: bool) -> Html:
    now = time.time()
    rows = [
        tag(
            "tr",
            tag("td", _when(each.time, now), class_="number"),
            tag("th", page_link(name, each.url), scope="row"),
            tag("td", site_link(name, each.site)),
            tag("td", each.depth, class_="number"),
            tag("td", each.why, class_="small"),
        )
        for each in coming
    ]
    caption = "In the order in which they are likely to be requested" if running else "What the last plan had left"
    return table(("in", "page", "site", "depth", "why"), rows, caption if rows else "Nothing")


def _when(moment_: float | None, now: float) -> str:
    return "–" if moment_ is None else "now" if moment_ <= now + 0.5 else human_time(moment_ - now)


def page_of(name: str, found: Frontier) -> str:
    said = fragments(name, found.running, found.plan, found.next)
    drawings: list[Child] = []
    if found.bow_tie:
        drawings.append(_figure(at(name, "plot", name=BOW_TIE), "Bow-tie of the known pages", found.bow_tie))
    drawings += [_figure(at(name, "plot", name=plot), plot.replace("-", " ")) for plot in found.plots]
    return shell(
        "Frontier",
        tag("p", tag("span", said["state"], data_live="state"), role="status", class_="state"),
        tag("h2", "What comes next"),
        tag("div", said["next"], data_live="next"),
        tag(
            "div",
            tag("section", tag("h2", "Requests by depth"), _bars(found.by_depth, lambda row: f"depth {row.name}")),
            tag("section", tag("h2", "Requests by site"), _bars(found.by_site, lambda row: site_link(name, row.name))),
            class_="two",
        ),
        [tag("h2", "The Web, by its links"), tag("div", drawings, class_="plots")] if drawings else None,
        tag("p", "The plots of `gossamer report` are shown here, too.", class_="small") if not found.plots else None,
        name=name,
        here="frontier",
        live=True,
    )


def _figure(source: str, title: str, parts: Parts | None = None) -> Html:
    said = title if parts is None else f"{title}: {', '.join(f'{part} {share:.1%}' for part, share in parts.items())}"
    return tag("figure", tag("img", src=source, alt=said, loading="lazy"), tag("figcaption", title), class_="plot")


def _bars(spent: Sequence[Spent], label: Any) -> Html:
    most, total = max((row.visits for row in spent), default=0), sum(row.visits for row in spent)
    rows = [
        tag(
            "tr",
            tag("th", label(row), scope="row"),
            tag("td", bar(row.visits / most), class_="drawn"),
            tag("td", thousands(row.visits), class_="number"),
            tag("td", f"{row.visits / total:.1%}", class_="number"),
            tag("td", f"{row.ok / row.visits:.0%} ok", class_="number beside"),
            tag("td", human_size(row.bytes), class_="number beside"),
        )
        for row in spent
    ]
    return tag("table", tag("tbody", rows), class_="bars") if rows else tag("p", "None yet.")


def _plot(asked: Asked) -> Response:
    """A picture of the names that the page lists: no path comes from the request."""
    name = needed(asked, "name")
    if name == BOW_TIE:
        from gossamer.laboratory.report import bowtie  # 50 MB: it comes with the kernels

        parts = asked.seen.once("spent", SPENT_FRESH, lambda: _spent(asked))[2]
        drawn: bytes = bowtie.drawn("bow-tie", "Bow-tie", parts).svg.encode()
    else:
        found = plots_of(asked)
        if name not in found:
            raise UsageError(f"there is no plot {name!r}", "The page of the frontier lists them.")
        drawn = found[name].read_bytes()
    return Response(drawn, media_type="image/svg+xml", headers=SVG_HEADERS)


BOW_TIE: Final = "bow-tie"
QUESTION: Final = Question(
    "frontier",
    "What is requested next and why, and where requests go.",
    answer_of,
    lambda a, found: page_of(a.name, found),
    kind=Frontier,
    live=lambda a: fragments(a.name, *coming_of(a)),
)
PLOT: Final = File(
    "plot",
    "A picture that `frontier` names, or the bow-tie.",
    "image/svg+xml",
    _plot,
    (Field("name", "Its name; bow-tie: the bow-tie.", needed=True),),
)
