"""How a crawl stands."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from gossamer.base.log import Level, level_of
from gossamer.base.outcomes import Outcome
from gossamer.base.units import human_size, human_time, thousands
from gossamer.library.collection import Collection
from gossamer.observe.crawl_status import read_crawl_status
from gossamer.serve.charts import line, stack
from gossamer.serve.html import Html, joined, tag
from gossamer.serve.question import STATES, Question, clock, moment
from gossamer.serve.recent import Recent, Request, stored_requests
from gossamer.serve.seen import Point, Seen
from gossamer.serve.shell import SENTENCES, bars, cells, page_link, shell, site_link, table

OFTEN: Final = 0.9
"""Seconds for which figures are kept: a crawl writes new ones each second."""
ERRORS: Final = frozenset(outcome.word for outcome in Outcome if level_of(outcome) is Level.WARNING)
"""Outcomes of requests that failed."""


class Part(msgspec.Struct, frozen=True):
    """A share of the known pages."""

    name: str
    pages: int


class Counts(msgspec.Struct, frozen=True):
    """Totals of all runs."""

    visits: int
    stored: int
    known: int
    sites: int
    slowed: int
    """Sites whose waits are longer than usual."""
    bytes: int


class Pace(msgspec.Struct, frozen=True):
    """How fast the crawl is, and what it waits for."""

    rates: dict[str, float]
    """Recent visits, bytes and known pages per second."""
    left: float | None
    left_why: str
    """Seconds that the crawl will take at least, and why."""
    longest: list[dict[str, Any]]
    """The sites that politeness makes last longest."""
    awaited: dict[str, Any]


class Use(msgspec.Struct, frozen=True):
    """What the crawl uses of the machine and the network."""

    connections: int
    memory: int | None
    bandwidth: dict[str, Any] | None
    disk_free: int | None = None
    """Free bytes on the disk of the collection."""


class Limits(msgspec.Struct, frozen=True):
    """What is left of the pages and the seconds that the user asked for; null: no such limit."""

    pages_left: int | None = None
    seconds_left: float | None = None


class Lately(msgspec.Struct, frozen=True):
    """The last minutes."""

    points: list[Point] = []
    """Time, visits and bytes per second, connections; only of times at which somebody looked."""
    requests: list[Request] = []
    """The last requests for pages, the newest first."""


class Overview(msgspec.Struct, frozen=True):
    """The state of a crawl."""

    name: str
    running: bool
    ending: str
    """Why the last run ended; empty while one runs."""
    time: float
    """Wall time of these figures."""
    counts: Counts
    states: list[Part]
    """pending, waiting, done and excluded: their sum is `counts.known`."""
    reasons: dict[str, dict[str, int]]
    """Pages of each state by reason."""
    outcomes: dict[str, int]
    """Requests by outcome."""
    pace: Pace
    use: Use
    value: list[list[float]]
    """V(I): time, value, stored pages."""
    freshness: float | None
    """Expected share of copies that are up to date."""
    limits: Limits = Limits()
    faults: list[str] = []
    """Current faults of the machine or the network."""
    lately: Lately = Lately()


def answer_of(name: str, web: Collection, seen: Seen | None = None) -> Overview:
    """The state of the crawl now. With `seen`, also its last minutes."""
    if seen is None:
        return _look(name, web)
    return seen.once("overview", OFTEN, lambda: _look(name, web, seen))


def _look(name: str, web: Collection, seen: Seen | None = None) -> Overview:
    found = read_crawl_status(web.folder).to_json()
    why: Mapping[str, Any] = found.get("why") or {}
    waiting = {reason: int(span["pages"]) for reason, span in (why.get("waiting") or {}).items()}
    left: Mapping[str, Any] = found.get("left") or {}
    habits = (found.get("parts") or {}).get("habits") or {}
    rates: dict[str, float] = found.get("rates") or {}
    running, time = bool(found["running"]), float(found.get("time") or 0.0)
    connections = int(found.get("open") or 0)
    if seen is not None and running and (not seen.lately or seen.lately[-1][0] < time):
        seen.lately.append((time, rates.get("visits", 0.0), rates.get("bytes", 0.0), connections))
    return Overview(
        name=name,
        running=running,
        ending=str(found.get("ending") or ""),
        time=time,
        counts=Counts(*(found[key] for key in Counts.__struct_fields__)),
        states=[Part(state, found[state]) for state in STATES],
        reasons={"waiting": waiting, "done": why.get("done") or {}, "excluded": why.get("excluded") or {}},
        outcomes=found["outcomes"],
        pace=Pace(
            rates,
            left.get("seconds"),
            str(left.get("why") or ""),
            found.get("longest") or [],
            found.get("awaited") or {},
        ),
        use=Use(connections, found.get("rss"), found.get("bandwidth"), _free(web)),
        value=[list(map(float, point)) for point in found.get("value") or []],
        freshness=habits.get("freshness"),
        limits=Limits(found.get("pages_left"), found.get("seconds_left")),
        faults=_faults(found),
        lately=Lately() if seen is None else Lately(list(seen.lately), _requests(web, seen, running)),
    )


def _free(web: Collection) -> int | None:
    with suppress(OSError):
        return shutil.disk_usage(web.folder).free
    return None


def _faults(found: Mapping[str, Any]) -> list[str]:
    said = [f"Names are not looked up: {found['names_fault']}"] if found.get("names_fault") else []
    if (until := (found.get("awaited") or {}).get("quiet_until")) and found["running"]:
        said.append(f"Quiet hours: nothing is requested until {moment(until)}.")
    said += [f"Watch {one['watch']} ({one['target']}) could not be told: {one['error']}" for one in _untold(found)]
    return said


def _untold(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    told: Sequence[Mapping[str, Any]] = found.get("untold") or ()
    return told


def _requests(web: Collection, seen: Seen, running: bool) -> list[Request]:
    """The last requests: of a running crawl from its journal, otherwise from the tables, once."""
    if running:
        recent = seen.once("recent", math.inf, lambda: Recent(web.folder))
        return list(recent.look())
    return seen.once("stored requests", 60.0, lambda: stored_requests(web))


def figures(found: Overview) -> dict[str, tuple[str, str]]:
    """The figures of the overview by key: what each is, and its text."""
    use, pace = found.use, found.pace
    return {
        "visits": ("visits", thousands(found.counts.visits)),
        "stored": ("pages stored", thousands(found.counts.stored)),
        "known": ("known pages", thousands(found.counts.known)),
        "sites": ("sites", thousands(found.counts.sites)),
        "bytes": ("received", human_size(found.counts.bytes)),
        "rate": ("visits a second", f"{pace.rates.get('visits', 0.0):.1f}"),
        "speed": ("a second", human_size(int(pace.rates.get("bytes", 0)))),
        "granted": ("of the bandwidth granted", _granted(use.bandwidth)),
        "connections": ("connections", thousands(use.connections)),
        "errors": ("requests failed", _failed(found)),
        "slowed": ("sites slowed", thousands(found.counts.slowed)),
        "freshness": ("of the copies up to date", "–" if found.freshness is None else f"{found.freshness:.1%}"),
        "memory": ("memory", "–" if use.memory is None else human_size(use.memory)),
        "disk": ("free on the disk", "–" if use.disk_free is None else human_size(use.disk_free)),
        "left": ("left, at least", "unknown" if pace.left is None else human_time(pace.left)),
    }


def _granted(use: Mapping[str, Any] | None) -> str:
    if not use or not use.get("granted"):
        return "no limit"
    return f"{use['used'] / use['granted']:.0%} of {human_size(use['granted'])}/s"


def _failed(found: Overview) -> str:
    count = sum(number for word, number in found.outcomes.items() if word in ERRORS)
    return f"{thousands(count)} ({count / found.counts.visits:.1%})" if found.counts.visits else "0"


def state_of(found: Overview) -> str:
    if found.running:
        paused = found.pace.awaited.get("paused")
        return f"paused by {paused}" if paused else "running"
    return f"not running since {(moment(found.time) or '')[:16].replace('T', ' ')} UTC: {found.ending}"


def fragments(found: Overview) -> dict[str, Html]:
    """The parts of the page that are updated, by their `data-live`. Each is a text or a piece of HTML."""
    states = [(part.name, part.pages) for part in found.states]
    outcomes = sorted(found.outcomes.items(), key=lambda one: -one[1])
    return {
        "state": joined(tag("span", class_="dot running" if found.running else "dot"), state_of(found)),
        "why-left": joined(_why_left(found)),
        "faults": joined([tag("p", fault) for fault in found.faults]),
        **{key: joined(text) for key, (_, text) in figures(found).items()},
        "charts": _charts(found),
        "states": _states(found, states),
        "outcomes": bars(outcomes, found.counts.visits, "outcome", found.name, ERRORS),
        "requests": _last(found),
        "reasons": _reasons(found.reasons),
        "longest": _longest(found),
    }


def _states(found: Overview, states: Sequence[tuple[str, int]]) -> Html:
    """The known pages by state: what they are the sum of, and bars."""
    known = found.counts.known
    equal = f"{thousands(known)} known = {' + '.join(f'{thousands(pages)} {name}' for name, pages in states)}"
    return joined(
        stack(states, known, "Known pages"),
        tag("p", equal, class_="small"),
        bars(states, known, "state", found.name),
    )


def page_of(found: Overview) -> str:
    said = fragments(found)
    known = tag("section", tag("h2", "Known pages"), tag("div", said["states"], data_live="states"))
    ends = tag("section", tag("h2", "Outcomes of requests"), tag("div", said["outcomes"], data_live="outcomes"))

    def live(key: str, name: str = "div", **more: str) -> Html:
        return tag(name, said[key], data_live=key, **more)

    tiles = [tag("div", tag("dt", label), live(key, "dd"), class_="tile") for key, (label, _) in figures(found).items()]
    return shell(
        "Overview",
        tag("p", live("state", "span"), role="status", class_="state"),
        live("faults", role="status", class_="faults"),
        tag("dl", *tiles, class_="tiles"),
        live("why-left", "p", class_="small"),
        live("charts", class_="charts"),
        tag("div", known, ends, class_="two"),
        tag("h2", "Last requests"),
        live("requests"),
        tag("h2", "Why pages wait or are excluded"),
        live("reasons"),
        tag("h2", "Sites that take longest"),
        live("longest"),
        name=found.name,
        here="",
        live=True,
    )


def _why_left(found: Overview) -> str:
    limits = found.limits
    left = [] if limits.pages_left is None else [f"{thousands(limits.pages_left)} pages of the limit are left"]
    left += [] if limits.seconds_left is None else [f"{human_time(limits.seconds_left)} of the limit are left"]
    return "; ".join(filter(None, (f"Time left: {found.pace.left_why}" if found.pace.left_why else "", *left)))


def _charts(found: Overview) -> Html:
    lately, rates = found.lately.points, found.pace.rates
    drawn = [
        line("visits a second", [(p[0], p[1]) for p in lately], f"{rates.get('visits', 0.0):.1f}"),
        line("bytes a second", [(p[0], p[2]) for p in lately], human_size(int(rates.get("bytes", 0)))),
        line("connections", [(p[0], p[3]) for p in lately], thousands(found.use.connections)),
    ]
    if len(found.value) > 1:
        value = [(p[0], p[1]) for p in found.value]
        drawn.insert(0, line("value of the index, V(I)", value, f"{value[-1][1]:,.4g}"))
    return joined(drawn)


def _last(found: Overview) -> Html:
    rows = [
        tag(
            "tr",
            tag("td", clock(one.time)),
            tag("td", one.outcome, title=SENTENCES.get(one.outcome), class_="error" if one.outcome in ERRORS else None),
            cells((one.status,)),
            tag("th", page_link(found.name, one.url), scope="row"),
        )
        for one in found.lately.requests
    ]
    return table(("time (UTC)", "outcome", "status", "page"), rows, "The newest first" if rows else "None yet")


def _longest(found: Overview) -> Html:
    rows = [
        tag(
            "tr",
            tag("th", site_link(found.name, one["site"]), scope="row"),
            cells((thousands(one["pages"]), f"{one['each']:g}", human_time(one["seconds"])), right=True),
        )
        for one in found.pace.longest
    ]
    return table(("site", "pages", "seconds each", "time"), rows, "" if rows else "None")


def _reasons(reasons: Mapping[str, Mapping[str, int]]) -> Html:
    rows = [
        tag(
            "tr",
            tag("th", f"{state}: {reason}", tag("div", SENTENCES.get(reason, ""), class_="small"), scope="row"),
            cells((thousands(count),)),
        )
        for state in ("waiting", "excluded")
        for reason, count in sorted(reasons.get(state, {}).items(), key=lambda one: -one[1])
    ]
    return table(("reason", "pages"), rows) if rows else tag("p", "None.")


QUESTION: Final = Question(
    "",
    "The state of the crawl.",
    lambda a: answer_of(a.name, a.web, a.seen),
    lambda a, found: page_of(found),
    kind=Overview,
    live=lambda a: fragments(answer_of(a.name, a.web, a.seen)),
)
