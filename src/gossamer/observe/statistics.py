"""The statistics of a crawl: a tree of frozen values, from which progress, `status`, `--json` and the ending are made.

`measure.py` makes them from the desk and the run. `to_json` and `from_json` are the only places that know the keys of
`--json` and of the status file (`collection/runs.py`); those are one flat object, because scripts read it.
`from_json` also reads what an earlier version wrote: missing keys have defaults.

Every known page is counted once (`measure.py` says how):

    known = pending + waiting + done + excluded, and waiting, done and excluded are the sums of their reasons

Light to import, because `status` does: neither numpy nor numba.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from gossamer.base.values import T, from_keys
from gossamer.harvester.bandwidth.use import BandwidthUse
from gossamer.manager.scores.made import LinkScores

UNKNOWN: Final = "too little got done to tell"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pages that wait for the same reason. Times are wall times; None: unknown, or never."""

    pages: int = 0
    first_due: float | None = None
    last_due: float | None = None


@dataclass(frozen=True, slots=True)
class Reasons:
    """Pages by outcome, by reason of exclusion, or by "site: " and the reason why a whole site waits."""

    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    done: Mapping[str, int] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageCounts:
    """The account of all known pages."""

    known: int = 0
    pending: int = 0
    waiting: int = 0
    done: int = 0
    excluded: int = 0
    why: Reasons = Reasons()
    dues_at: float = 0.0
    """Wall time at which the times of waiting pages were last looked up."""

    def parts(self) -> tuple[tuple[str, int], ...]:
        """The states that `known` consists of, by name."""
        return (("pending", self.pending), ("waiting", self.waiting), ("done", self.done), ("excluded", self.excluded))


@dataclass(frozen=True, slots=True)
class Requests:
    """What was requested, in all runs."""

    visits: int = 0
    """Requests for pages."""
    robots: int = 0
    sitemaps: int = 0
    probes: int = 0
    stored: int = 0
    """Pages whose content was stored."""
    bytes: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LargestSite:
    """The site that politeness makes last longest: its pending pages, one after the other."""

    site: str
    pages: int
    each: float
    """Seconds per page."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Sites:
    known: int = 0
    slowed: int = 0
    """Sites whose waits are longer than usual."""
    longest: tuple[LargestSite, ...] = ()
    """The sites that politeness makes last longest."""

    @property
    def largest(self) -> LargestSite | None:
        return self.longest[0] if self.longest else None


@dataclass(frozen=True, slots=True)
class Resources:
    """What this run uses of the machine, all processes together."""

    open: int = 0
    """Connections."""
    rss: int | None = None
    """Bytes of memory."""
    cpu_seconds: float = 0.0
    desk_seconds: float = 0.0
    """The desk's part of the processor time."""
    longest_turn: float = 0.0
    """Longest time, in seconds, that one turn of the desk's loop took."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is left of the pages and the seconds that the user asked for; None: no such limit."""

    seconds_left: float | None = None
    pages_left: int | None = None


@dataclass(frozen=True, slots=True)
class Awaited:
    """What the crawl waits for, besides answers."""

    names: int = 0
    """Host names that are being looked up."""
    sites: int = 0
    """Sites that rest, because they or their address were requested a moment ago."""
    site: str = ""
    """The site that may be requested next; empty if none rests."""
    seconds: float = 0.0
    """How long that takes."""
    quiet_until: float = 0.0
    """Wall time until which nothing is requested (`harvester.quiet_hours`); 0: it is not quiet."""
    paused: str = ""
    """Who has ordered that nothing is requested, and when; empty: nobody."""


class ValuePoint(NamedTuple):
    time: float
    """Wall."""
    value: float
    pages: int


@dataclass(frozen=True, slots=True)
class IndexValue:
    """The value of the index, V(I), over time."""

    points: tuple[ValuePoint, ...] = ()
    of: Mapping[str, Any] = field(default_factory=dict)
    """The settings that the value depends on."""

    def to_json(self) -> dict[str, Any]:
        return {"value": [list(point) for point in self.points], "value_of": self.of}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> IndexValue:
        points = (ValuePoint(float(time), float(value), int(pages)) for time, value, pages in json.get("value") or ())
        return cls(tuple(points), json.get("value_of") or {})


@dataclass(frozen=True, slots=True)
class Run:
    """What only this run knows."""

    seconds: float = 0.0
    visits: int = 0
    seeds_skipped: int = 0
    sites_active: int | None = None
    """Sites with a request in flight or a page planned."""
    names_fault: str = ""
    """Why names are not looked up at the moment; empty if they are."""
    awaited: Awaited = Awaited()
    resources: Resources = Resources()
    limits: Limits = Limits()
    index: IndexValue = IndexValue()
    scores: LinkScores | None = None
    bandwidth: BandwidthUse | None = None
    """None: no bandwidth was granted, so none is limited."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Per second, over the last seconds."""

    visits: float = 0.0
    bytes: float = 0.0
    known: float = 0.0
    settled: float = 0.0
    """Pages done or excluded: nothing remains to be done for them."""


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """A lower bound of the seconds until the crawl ends; None when nothing honest can be said."""

    seconds: float | None = None
    why: str = UNKNOWN


@dataclass(frozen=True, slots=True)
class Progress:
    rates: Rates = Rates()
    left: TimeLeft = TimeLeft()


@dataclass(frozen=True, slots=True)
class Ended:
    """How the run ended."""

    ending: str
    waits_until: str = ""
    """Local time at which the first waiting page is due; empty if nothing will ever be."""


PartStatistics = Mapping[str, Mapping[str, float]]


class Counting(Protocol):
    """A part of the desk, or a kind of errand, that has statistics of its own."""

    @property
    def name(self) -> str: ...
    def statistics(self) -> Mapping[str, float]: ...


def statistics_of_parts(parts: Iterable[Counting]) -> PartStatistics:
    """By name. Numbers that are 0 are left out, and so are parts without any other."""
    found: dict[str, dict[str, float]] = {}
    for part in parts:
        if numbers := {word: number for word, number in part.statistics().items() if number}:
            found[part.name] = found.get(part.name, {}) | numbers
    return found


@dataclass(frozen=True, slots=True)
class Statistics:
    time: float = 0.0
    """Wall."""
    pages: PageCounts = PageCounts()
    requests: Requests = Requests()
    sites: Sites = Sites()
    run: Run = Run()
    progress: Progress = Progress()
    ended: Ended | None = None
    """None while the crawl runs, and after a kill."""
    parts: PartStatistics = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """One flat object of plain values. Mappings are not copied."""
        pages, requests, sites, run, progress = self.pages, self.requests, self.sites, self.run, self.progress
        waiting = {word: asdict(span) for word, span in pages.why.waiting.items()}
        return {
            "known": pages.known,
            **dict(pages.parts()),
            "why": {"waiting": waiting, "done": pages.why.done, "excluded": pages.why.excluded},
            "visits": requests.visits,
            "robots_visits": requests.robots,
            "sitemap_visits": requests.sitemaps,
            "probe_visits": requests.probes,
            "stored": requests.stored,
            "sites": sites.known,
            "slowed": sites.slowed,
            "bytes": requests.bytes,
            "outcomes": requests.outcomes,
            "largest": None if sites.largest is None else asdict(sites.largest),
            "longest": [asdict(site) for site in sites.longest],
            "time": self.time,
            "dues_at": pages.dues_at,
            "seconds": run.seconds,
            "run_visits": run.visits,
            "seeds_skipped": run.seeds_skipped,
            "sites_active": run.sites_active,
            "names_fault": run.names_fault,
            "awaited": asdict(run.awaited),
            **asdict(run.resources),
            **asdict(run.limits),
            **run.index.to_json(),
            "scores": None if run.scores is None else asdict(run.scores),
            "bandwidth": None if run.bandwidth is None else asdict(run.bandwidth),
            **asdict(progress),
            **({} if self.ended is None else asdict(self.ended)),
            **({"parts": self.parts} if self.parts else {}),
        }

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Statistics:
        """ValueError if it is no such object."""
        try:
            return _read(json)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"no statistics: {error}") from error


def _read(json: Mapping[str, Any]) -> Statistics:
    return Statistics(
        float(json.get("time", 0.0)),
        _pages(json),
        _requests(json),
        _sites(json),
        _run(json),
        Progress(from_keys(Rates, json.get("rates") or {}), from_keys(TimeLeft, json.get("left") or {})),
        from_keys(Ended, json) if json.get("ending") else None,
        json.get("parts") or {},
    )


def _pages(json: Mapping[str, Any]) -> PageCounts:
    why = json.get("why") or {}
    waiting = {word: from_keys(Waiting, span) for word, span in (why.get("waiting") or {}).items()}
    return PageCounts(
        int(json.get("known", 0)),
        int(json.get("pending", 0)),
        int(json.get("waiting", 0)),
        int(json.get("done", 0)),
        int(json.get("excluded", 0)),
        Reasons(waiting, why.get("done") or {}, why.get("excluded") or {}),
        float(json.get("dues_at", 0.0)),
    )


def _requests(json: Mapping[str, Any]) -> Requests:
    return Requests(
        int(json.get("visits", 0)),
        int(json.get("robots_visits", 0)),
        int(json.get("sitemap_visits", 0)),
        int(json.get("probe_visits", 0)),
        int(json.get("stored", 0)),
        int(json.get("bytes", 0)),
        json.get("outcomes") or {},
    )


def _sites(json: Mapping[str, Any]) -> Sites:
    longest = json.get("longest") or [each for each in [json.get("largest")] if each is not None]
    return Sites(
        int(json.get("sites", 0)),
        int(json.get("slowed", 0)),
        tuple(from_keys(LargestSite, each) for each in longest),
    )


def _run(json: Mapping[str, Any]) -> Run:
    return Run(
        float(json.get("seconds", 0.0)),
        int(json.get("run_visits", 0)),
        int(json.get("seeds_skipped", 0)),
        json.get("sites_active"),
        json.get("names_fault") or "",
        from_keys(Awaited, json.get("awaited") or {}),
        from_keys(Resources, json),
        from_keys(Limits, json),
        IndexValue.from_json(json),
        _value(LinkScores, json.get("scores")),
        _value(BandwidthUse, json.get("bandwidth")),
    )


def _value(kind: type[T], json: Mapping[str, Any] | None) -> T | None:
    return None if json is None else from_keys(kind, json)
