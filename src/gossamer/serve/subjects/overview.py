"""How a crawl stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from gossamer.base.units import human_size, human_time, thousands
from gossamer.library.collection import Collection
from gossamer.observe.crawl_status import read_crawl_status
from gossamer.serve.html import Html, joined, tag
from gossamer.serve.question import STATES, Question
from gossamer.serve.shell import SENTENCES, bars, cells, shell, site_link, table


class Part(msgspec.Struct, frozen=True):
    """A share of the known pages."""

    name: str
    pages: int


class Counts(msgspec.Struct, frozen=True):
    """What there is, in all runs."""

    visits: int
    stored: int
    known: int
    sites: int
    slowed: int
    """Sites whose waits are longer than usual."""
    bytes: int


class Pace(msgspec.Struct, frozen=True):
    """How fast it goes, and what it waits for."""

    rates: dict[str, float]
    """In a second, lately: visits, bytes, known pages."""
    left: float | None
    left_why: str
    """Seconds that it will take at least, and why."""
    longest: list[dict[str, Any]]
    """The sites that politeness makes last longest."""
    awaited: dict[str, Any]


class Use(msgspec.Struct, frozen=True):
    """What it uses of the machine and the line."""

    connections: int
    memory: int | None
    bandwidth: dict[str, Any] | None


class Overview(msgspec.Struct, frozen=True):
    """How a crawl stands."""

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


def answer_of(name: str, web: Collection) -> Overview:
    found = read_crawl_status(web.folder).to_json()
    why: Mapping[str, Any] = found.get("why") or {}
    waiting = {reason: int(span["pages"]) for reason, span in (why.get("waiting") or {}).items()}
    left: Mapping[str, Any] = found.get("left") or {}
    habits = (found.get("parts") or {}).get("habits") or {}
    return Overview(
        name=name,
        running=bool(found["running"]),
        ending=str(found.get("ending") or ""),
        time=float(found.get("time") or 0.0),
        counts=Counts(*(found[key] for key in Counts.__struct_fields__)),
        states=[Part(state, found[state]) for state in STATES],
        reasons={"waiting": waiting, "done": why.get("done") or {}, "excluded": why.get("excluded") or {}},
        outcomes=found["outcomes"],
        pace=Pace(
            found.get("rates") or {},
            left.get("seconds"),
            str(left.get("why") or ""),
            found.get("longest") or [],
            found.get("awaited") or {},
        ),
        use=Use(int(found.get("open") or 0), found.get("rss"), found.get("bandwidth")),
        value=[list(map(float, point)) for point in found.get("value") or []],
        freshness=habits.get("freshness"),
    )


def figures(found: Overview) -> dict[str, tuple[str, str]]:
    """The figures of the overview by key: what each is, and its text."""
    return {
        "visits": ("visits", thousands(found.counts.visits)),
        "stored": ("pages stored", thousands(found.counts.stored)),
        "known": ("known pages", thousands(found.counts.known)),
        "sites": ("sites", thousands(found.counts.sites)),
        "bytes": ("received", human_size(found.counts.bytes)),
        "rate": ("visits a second", f"{found.pace.rates.get('visits', 0.0):.1f}"),
        "speed": ("bytes a second", human_size(int(found.pace.rates.get("bytes", 0)))),
        "connections": ("connections", thousands(found.use.connections)),
        "memory": ("memory", "–" if found.use.memory is None else human_size(found.use.memory)),
        "slowed": ("sites slowed", thousands(found.counts.slowed)),
        "left": (f"left, at least ({found.pace.left_why})" if found.pace.left_why else "left", _left(found)),
        "freshness": ("of the copies up to date", "–" if found.freshness is None else f"{found.freshness:.1%}"),
    }


def state_of(found: Overview) -> str:
    return "running" if found.running else f"not running: {found.ending}"


def live(found: Overview) -> dict[str, str]:
    """The texts of the overview that change, by their `data-live`."""
    return {"state": state_of(found), **{key: text for key, (_, text) in figures(found).items()}}


def page_of(found: Overview) -> str:
    tiles = [
        tag("div", tag("dt", label), tag("dd", shown, data_live=key), class_="tile")
        for key, (label, shown) in figures(found).items()
    ]
    return shell(
        "Overview",
        tag("p", tag("span", state_of(found), data_live="state"), role="status", class_="state"),
        tag("dl", *tiles, class_="tiles"),
        tag("h2", "Known pages"),
        bars([(part.name, part.pages) for part in found.states], found.counts.known, "state", found.name),
        _value(found.value),
        tag("h2", "Outcomes of requests"),
        bars(sorted(found.outcomes.items(), key=lambda one: -one[1]), found.counts.visits, "outcome", found.name),
        tag("h2", "Why pages wait or are excluded"),
        _reasons(found.reasons),
        tag("h2", "Sites that take longest"),
        table(
            ("site", "pages", "seconds each", "time"),
            [
                tag(
                    "tr",
                    cells(
                        (
                            site_link(found.name, one["site"]),
                            thousands(one["pages"]),
                            f"{one['each']:g}",
                            human_time(one["seconds"]),
                        )
                    ),
                )
                for one in found.pace.longest
            ],
        ),
        name=found.name,
        here="",
    )


def _left(found: Overview) -> str:
    return "unknown" if found.pace.left is None else human_time(found.pace.left)


def _reasons(reasons: Mapping[str, Mapping[str, int]]) -> Html:
    rows = [
        tag("tr", cells((state, reason, thousands(count), SENTENCES.get(reason, ""))))
        for state in ("waiting", "excluded")
        for reason, count in sorted(reasons.get(state, {}).items(), key=lambda one: -one[1])
    ]
    return table(("state", "reason", "pages", "meaning"), rows) if rows else tag("p", "None.")


def _value(points: Sequence[Sequence[float]]) -> Html | None:
    """V(I) over time, as a line."""
    if len(points) < 2:
        return None
    wide, high = 600.0, 120.0
    first, last = points[0][0], points[-1][0]
    most = max(point[1] for point in points) or 1.0
    line = " ".join(
        f"{wide * (p[0] - first) / max(1e-9, last - first):.1f},{high - high * p[1] / most:.1f}" for p in points
    )
    drawn = tag("polyline", points=line, fill="none", stroke="currentColor", stroke_width=2)
    return joined(
        tag("h2", "Value of the index, V(I)"),
        tag(
            "svg",
            drawn,
            viewBox=f"-2 -4 {wide + 4:g} {high + 8:g}",
            role="img",
            class_="value",
            aria_label=f"From {points[0][1]:.4g} to {points[-1][1]:.4g} in {human_time(last - first)}",
        ),
        tag("p", f"{points[-1][1]:,.4g} after {human_time(last - first)}.", class_="small"),
    )


QUESTION: Final = Question(
    "",
    "How the crawl stands.",
    lambda a: answer_of(a.name, a.web),
    lambda a, found: page_of(found),
    kind=Overview,
)
