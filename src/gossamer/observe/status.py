"""The state of a page or a site, in words: pure functions over columns, of the desk or of an image.

Everything here only reads, in any thread: a change that the loop makes meanwhile makes an answer outdated, not wrong.
Answers are dictionaries of plain values: they cross the desk's socket (`socket.py`), and `explain --json` prints them.

Parts of the desk add what they know under the key `parts` (`Explaining`).

numba is not imported: `gossamer explain` reads images without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from gossamer.base.askable import BLOCKED, is_suspended
from gossamer.base.model import NONE, PageFlag, Reason, State
from gossamer.base.outcomes import FOR_GOOD, NO_OUTCOME, Aside, Outcome
from gossamer.config.presets import PACES
from gossamer.config.quiet import QuietHours
from gossamer.config.settings import Settings
from gossamer.harvester.bandwidth.schedule import Hours
from gossamer.harvester.waits import Waits, seconds_between
from gossamer.manager.next_visit import next_visit
from gossamer.manager.position import standing_of
from gossamer.manager.value import GIVEN, Value
from gossamer.robots import Rules

Array = npt.NDArray[Any]
Said = dict[str, Any]

HORIZON: Final = 60.0
"""Seconds. A site that may be requested sooner does not count as backing off, as in plans."""
_CHUNK: Final = 1 << 20


class Explaining(Protocol):
    """A part of the desk, or a kind of errand, that has something to tell about a page or a site."""

    @property
    def name(self) -> str: ...
    def explain_page(self, page: int) -> Mapping[str, object]: ...
    def explain_site(self, site: int) -> Mapping[str, object]: ...


class View(Protocol):
    """The source of an answer: the desk, or an image of one."""

    @property
    def columns(self) -> Any:
        """With `page`, `site` and `origin`: a `count` and arrays by name."""

    @property
    def parts(self) -> Iterable[Explaining]: ...

    def site_name(self, site: int) -> str: ...
    def address_of(self, site: int) -> str | None: ...
    def speeds_of(self, site: int) -> list[float]:
        """Bytes per second of its address, by the hour, on working days and then on holidays. Empty, or zeros: not
        measured."""

    def rules_of(self, origin: int) -> bytes:
        """The compiled rules of its robots.txt; the desk's are read under their lock."""


def page_standing(view: View, settings: Settings, wall: float, page: int, url: str) -> Said:
    """The state of a known page."""
    columns = view.columns
    rows, origin = columns.page, int(columns.page.origin[page])
    site = int(columns.origin.site[origin])
    state, flags = State(int(rows.state[page])), int(rows.flags[page])
    outcome = int(rows.outcome[page])
    clock = site_clock(view, settings, wall, site)
    held = state is State.PENDING and clock["aside"]
    said: Said = {
        "state": "waiting" if held else state.name.lower(),
        "held": clock["why"] if held else None,
        "reason": Reason(int(rows.reason[page])).name.lower() if state is State.EXCLUDED else None,
        "outcome": None if outcome == NO_OUTCOME else Outcome(outcome).word,
        "tries": int(rows.tries[page]),
        "due": float(rows.due[page]) if state is State.WAITING else clock["next"] if held else None,
        "depth": int(rows.depth[page]),
        "dynamic": bool(flags & PageFlag.DYNAMIC),
        "seed": bool(flags & PageFlag.SEED),
        "in_flight": bool(flags & PageFlag.ASSIGNED),
        "robots": _robots(view, wall, origin, url),
        "site": clock,
    }
    said["words"] = _state_words(said, wall)
    return said | _of_parts((part.name, part.explain_page(page)) for part in view.parts)


def _of_parts(told: Iterable[tuple[str, Mapping[str, object]]]) -> Said:
    """Without the parts that have nothing to tell."""
    parts: dict[str, Said] = {}
    for name, values in told:
        if values:
            parts[name] = parts.get(name, {}) | dict(values)
    return {"parts": parts} if parts else {}


def _state_words(said: Said, wall: float) -> str:
    state, outcome = State[said["state"].upper()], said["outcome"]
    if said["in_flight"]:
        return "It is being requested right now."
    if state is State.EXCLUDED:
        return Reason[said["reason"].upper()].sentence
    if said["held"]:
        return f"Its whole site waits. {said['site']['words']}"
    if outcome is None:
        return "It will be requested when its turn comes."
    sentence = Outcome[outcome.upper()].sentence
    if state is State.WAITING:
        when = "It is due to be tried again." if said["due"] <= wall else "It will be tried again later."
        return f"{sentence} {when}"
    return sentence if state is State.DONE else f"{sentence} It will be requested again."


def unknown_standing(view: View, settings: Settings, wall: float, site: int, url: str) -> Said:
    """For a URL that is no page yet, on a known site: the verdict of robots.txt, and the site's clock.

    `url` is canonical, so it has a port only if that is not the default.
    """
    origins, secure = view.columns.origin, url.startswith("https:")
    _, _, port = url.partition("://")[2].partition("/")[0].rpartition("]")[2].partition(":")
    number = int(port) if port else 443 if secure else 80
    used = slice(0, origins.count)
    same = (origins.site[used] == site) & (origins.port[used] == number) & ((origins.secure[used] != 0) == secure)
    origin = np.flatnonzero(same)
    robots = _robots(view, wall, int(origin[0]), url) if len(origin) else _not_read(0, None)
    return {"robots": robots, "site": site_clock(view, settings, wall, site)}


def _not_read(failures: int, again: float | None) -> Said:
    return {"verdict": None, "rule": None, "until": None, "failures": failures, "again": again, "unreachable": None}


def _robots(view: View, wall: float, origin: int, url: str) -> Said:
    """The verdict of the current rules. Until there are any, only robots.txt is requested; `again` says when, if it
    failed.

    A robots.txt that could be read once, and no longer can, has no verdict either, until its last rules are used again:
    then `unreachable` says since when it cannot be read.
    """
    origins, sites = view.columns.origin, view.columns.site
    until, failures = float(origins.valid[origin]), int(origins.failures[origin])
    next_ = float(sites.next[int(origins.site[origin])])
    said = _not_read(failures, next_ if failures and next_ > wall else None) | {"until": until or None}
    if failures:
        said["unreachable"] = float(origins.unreachable[origin])
        said["again"] = until if until > wall else said["again"]
    if until > wall or (until and not failures):
        rules = Rules.from_compiled(view.rules_of(origin))
        said["verdict"] = "allowed" if rules.allows(url) else "forbidden"
        said["rule"] = rules.deciding(url)
        said["outdated"] = until <= wall
    return said


def site_clock(view: View, settings: Settings, wall: float, site: int) -> Said:
    """When a site may be requested again, and why not now."""
    sites = view.columns.site
    refused, next_ = bool(sites.refused[site]), float(sites.next[site])
    why = (
        _why_refused(int(sites.refused[site]))
        if refused
        else Aside(int(sites.why[site]))
        if next_ > wall
        else Aside.NONE
    )
    return {
        "number": site,
        "name": view.site_name(site),
        "www": bool(sites.www[site]),
        "address": view.address_of(site),
        "pages": int(sites.pages[site]),
        "pending": int(sites.pending[site]),
        "requests": int(sites.asked[site]),
        "failures": int(sites.failures[site]),
        "name_failures": int(sites.name_failures[site]),
        "wait": round(seconds_between(Waits.of(sites, settings.harvester), site), 3),
        "delay": round(float(sites.delay[site]), 3),
        "pace": pace_of(sites, settings, site),
        **_slowness(sites, site),
        "next": None if refused or not next_ or next_ >= FOR_GOOD else next_,
        "now": not refused and next_ <= wall,
        "why": None if why is Aside.NONE else why.word,
        "words": "Its wait is not over." if why is Aside.NONE and next_ > wall else why.sentence,
        "aside": is_suspended(refused, next_, wall + HORIZON) and why is not Aside.NONE,
    }


def pace_of(sites: Any, settings: Settings, site: int) -> str:
    """Why a site has its wait: "mine" or "shared" (mine, but not all sites of its address are), "Crawl-delay", the pace
    of the settings, or "set" if the waits are those of no pace."""
    harvester, waits = settings.harvester, Waits.of(sites, settings.harvester)
    if waits.owned[site]:
        there = sites.address[: sites.count] == sites.address[site]
        return "mine" if waits.owned[: sites.count][there].all() else "shared"
    usual = waits.wait_large if waits.pages[site] > waits.large_site else waits.wait
    if waits.delay[site] > usual or (waits.named[site] and usual > waits.address_wait):
        return "Crawl-delay"
    return harvester.pace if all(getattr(harvester, n) == v for n, v in PACES[harvester.pace].items()) else "set"


def _slowness(sites: Any, site: int) -> Said:
    """By how much the waits of a site are multiplied, in all and by failures alone, and its seconds to the first byte.

    Images of earlier versions do not have it.
    """
    try:
        slow, stretch = float(sites.slow[site]), float(sites.stretch[site])
        usual, lately = float(sites.usual[site]), float(sites.lately[site])
    except AttributeError:
        slow, stretch, usual, lately = 1.0, 1.0, 0.0, 0.0
    return {
        "factor": round(slow * stretch, 3),
        "slow": round(slow, 3),
        "usual": round(usual, 3) or None,
        "lately": round(lately, 3) or None,
    }


def set_aside(site: Any, wall: float, horizon: float = HORIZON) -> Array:
    """For each site, the `Aside` for which it is backing off; NONE if it is not."""
    used = slice(0, site.count)
    aside: Array = site.why[used] * is_suspended(site.refused[used], site.next[used], wall + horizon)
    aside[site.refused[used] != 0] = Aside.DELAY_TOO_LONG
    aside[np.asarray(site.refused[used]) & BLOCKED != 0] = Aside.BLOCKED
    return aside


def _why_refused(bits: int) -> Aside:
    return Aside.BLOCKED if bits & BLOCKED else Aside.DELAY_TOO_LONG


def sites_aside(site: Any, wall: float, horizon: float = HORIZON) -> list[tuple[int, str, float | None]]:
    """Number, reason, and end, of each site that is backing off; None: for as long as the reason holds."""
    aside = set_aside(site, wall, horizon)
    return [
        (number, Aside(int(aside[number])).word, None if site.refused[number] else float(site.next[number]))
        for number in np.flatnonzero(aside).tolist()
    ]


def site_standing(view: View, settings: Settings, issued: int, wall: float, site: int) -> Said:
    """The state of a site and of its pages. Scans all pages: 20 ms at 10^7. `issued` as for `scores_of`.

    As in `status`, pending pages of a site that is backing off are waiting.
    """
    columns = view.columns
    origins = np.flatnonzero(columns.origin.site[: columns.origin.count] == site)
    pages = _pages_of(columns, origins)
    state = columns.page.state[pages]
    clock = site_clock(view, settings, wall, site)
    counts = {s.name.lower(): int(np.count_nonzero(state == s)) for s in State}
    waiting = _words(Outcome, columns.page.outcome[pages[state == State.WAITING]])
    if clock["aside"] and counts["pending"]:
        waiting[f"site: {clock['why']}"] = counts["pending"]
        counts["waiting"], counts["pending"] = counts["waiting"] + counts["pending"], 0
    cash = columns.page.cash[pages] & np.uint64(GIVEN - 1)
    return {
        "clock": clock,
        "pages": counts,
        "why": {
            "waiting": waiting,
            "done": _words(Outcome, columns.page.outcome[pages[state == State.DONE]]),
            "excluded": _words(Reason, columns.page.reason[pages[state == State.EXCLUDED]]),
        },
        "scores": {
            "cash": float(cash.sum(dtype=np.float64)) / issued if issued else 0.0,
            "links": float(columns.page.merit[pages].mean()) if len(pages) else 0.0,
        },
        "origins": [_origin(view, wall, int(origin)) for origin in origins],
        "speeds": _speeds(view, settings, wall, site),
        "sitemap_due": float(due[site]) if (due := getattr(columns.site, "sitemap_due", None)) is not None else None,
        **_of_parts((part.name, part.explain_site(site)) for part in view.parts),
    }


def _speeds(view: View, settings: Settings, wall: float, site: int) -> Said | None:
    """Bytes per second that its address is expected to give, now and at each hour. None: nothing was measured."""
    nodes = view.speeds_of(site)
    if not nodes or not nodes[0]:
        return None
    now = Hours.of(settings.harvester).at(wall)
    days = nodes[:24], nodes[24:]
    first, share = int(now.minute // 60) % 24, now.minute / 60 % 1
    begin, end = days[now.holiday][first], days[now.holiday][(first + 1) % 24]
    return {
        "now": round(begin + share * (end - begin)),
        "working_day": [round(speed) for speed in days[0]],
        "holiday": [round(speed) for speed in days[1]],
    }


def _pages_of(columns: Any, origins: Array) -> Array:
    page, pages = columns.page, [np.zeros(0, np.int64)]
    for start in range(0, page.count, _CHUNK):
        rows = page.origin[start : min(start + _CHUNK, page.count)]
        for origin in origins:
            pages.append(start + np.flatnonzero(rows == origin))
    return np.concatenate(pages)


def _words(words: type[Outcome] | type[Reason], codes: Array) -> dict[str, int]:
    counts = np.bincount(codes, minlength=1).tolist()
    return {words(code).name.lower(): count for code, count in enumerate(counts) if count}


def _origin(view: View, wall: float, origin: int) -> Said:
    origins = view.columns.origin
    until, compiled = float(origins.valid[origin]), view.rules_of(origin)
    scheme = "https" if origins.secure[origin] else "http"
    name = view.site_name(int(origins.site[origin]))
    return {
        "number": origin,
        "origin": f"{scheme}://{name}:{int(origins.port[origin])}",
        "robots_until": until or None,
        "robots_outdated": bool(until) and until <= wall,
        "robots_failures": int(origins.failures[origin]),
        "robots_unreachable": float(origins.unreachable[origin]) or None,
        "delay": round(float(origins.delay[origin]), 3) or None,
        "rules": Rules.from_compiled(compiled).lines() if until else None,
    }


def scores_of(columns: Any, settings: Settings, issued: int, wall: float, page: int) -> Said:
    """Score, quality and its parts, rank among the pending, and whether the next plan would hold the page.

    `issued` is all cash given out: `totals[TOTAL]` (`manager/value.py`) of the desk or of an image.
    """
    manager = settings.manager
    position = standing_of(
        columns,
        manager.policy,
        Value.of(manager),
        issued,
        wall,
        page,
        manager.batch_size,
        manager.batch_per_site,
        HORIZON,
    )
    held = int(columns.page.cash[page]) & (GIVEN - 1)
    quiet = QuietHours.of(settings.harvester.quiet_hours, settings.harvester.time_zone)
    following = next_visit(columns, manager.policy, Value.of(manager), issued, wall, page, quiet)
    said = {**asdict(position), "cash": held / issued if issued else 0.0}
    return said | ({"next_visit": asdict(following)} if following else {})


def plan_standing(plan: Any, made: float, settings: Settings, said: Said, page: int) -> Said:
    """Whether the current plan holds the page, and if not, why. `plan` has sites, offsets and pages."""
    manager, place = settings.manager, np.flatnonzero(plan.pages == page)
    site = said["site"]["number"]
    of_site = np.flatnonzero(plan.sites == site)
    begin, end = (plan.offsets[of_site[0]], plan.offsets[of_site[0] + 1]) if len(of_site) else (0, 0)
    answer: Said = {"made": made, "pages": len(plan.pages), "of_site": int(end - begin), "planned": bool(len(place))}
    if len(place):
        answer["place_in_site"] = int(place[0] - begin) + 1
        answer["words"] = f"It is number {answer['place_in_site']} of the {answer['of_site']} planned for its site."
    else:
        answer["words"] = _why_unplanned(said, answer, manager.batch_per_site, manager.batch_size)
    return answer


def _why_unplanned(said: Said, plan: Said, cap: int, batch: int) -> str:
    if said["in_flight"]:
        return "It is being requested right now."
    if said["state"] in ("done", "excluded"):
        return f"It is {said['state']}."
    if said["site"]["aside"]:
        return "Its whole site is backing off."
    if said["state"] == "waiting" and said["due"] > plan["made"]:
        return "It was not due yet."
    if plan["of_site"] >= cap:
        return f"Better pages of its site filled manager.batch_per_site = {cap}."
    if plan["pages"] >= batch:
        return f"Better pages filled manager.batch_size = {batch}."
    return "It became known, or could be requested, only after the plan was made: the next plan can hold it."


def no_site(columns: Any, site: int) -> bool:
    return site == NONE or not 0 <= site < columns.site.count
