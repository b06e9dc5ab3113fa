"""An explanation for people: short sections, one fact a line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from gossamer.base.model import VisitFlag
from gossamer.base.outcomes import Outcome
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.read.explain.page import LEGEND

Said = dict[str, Any]

MOST_ADDRESSES: Final = 10
"""The last that a site has had."""
_ASKS: Final = {
    VisitFlag.NOINDEX: "noindex",
    VisitFlag.NOFOLLOW: "nofollow",
    VisitFlag.NOARCHIVE: "noarchive",
    VisitFlag.UNAVAILABLE: "unavailable_after, which has passed",
}
_SOURCES = {"sitemap": "listed by a sitemap"}
"""Of pages that were found on no page."""


def lines_of(said: Said, now: float) -> Iterator[str]:
    yield from _site_lines(said, now) if "site" in said else _page_lines(said, now)


def _page_lines(said: Said, now: float) -> Iterator[str]:
    yield said["url"] or said["given"]
    for step in said["steps"]:
        yield f"  {step['what']}: it was {step['before']}"
    if not said["known"]:
        if asked := said.get("sitemap"):
            pages = plural(asked["out_degree"], "page")
            yield f"  asked for as a sitemap {when_of(asked['time'], now)}, {asked['outcome']}: {asked['sentence']}"
            yield f"  {pages} listed" if asked["outcome"] == Outcome.OK.word else "  no pages were taken from it"
        yield "  not known as a page" if asked else "  not known"
        yield from (f"  {words}" for words in said["why_not"])
        yield from (f"  known is: {url}" for url in said.get("near", ()))
        if said.get("scope", {}).get("accepted"):
            yield f"  scope: {said['scope']['words']}"
        if said.get("would"):
            yield f"  robots.txt: {_robots_words(said['would']['robots'], now)}"
            yield from clock_lines(said["would"]["site"], None, now)
        return
    yield f"  known as page {said['page']}{_as_of(said['as_of'], now)}"
    yield f"  scope: {said['scope']['words']}"
    yield from _found_lines(said["found"], now)
    yield from _standing_lines(said, now)
    yield from _score_lines(said)
    yield from _visit_lines(said)


def _as_of(as_of: Said, now: float) -> str:
    if as_of["source"] == "desk":
        return ", as the running crawl says"
    if as_of["source"] == "files":
        return ", as far as the files tell: how it stands now is known when the crawl goes on (gossamer crawl DIR)"
    when = when_of(as_of["time"], now)
    if as_of["source"] == "replay":
        return f", as of the last commit before the crawl was killed, at {when}"
    return f", as of the stop at {when}" if as_of["exact"] else f", AS OF {when}: what came after is not counted"


def _found_lines(found: Said, now: float) -> Iterator[str]:
    yield "found"
    source = f"by {found['kind']} on {found['on']}" if found["on"] else _SOURCES.get(found["kind"], "a seed")
    yield f"  {when_of(found['time'], now)}, {source}"
    if len(found["urls"]) > 1:
        yield f"  way {found['way']} ({LEGEND})"
        yield from (f"    {letter} {url}" for letter, url in zip(found["way"], found["urls"], strict=True))


def _standing_lines(said: Said, now: float) -> Iterator[str]:
    standing = said["standing"]
    yield f"state: {standing['state']}"
    yield f"  {standing['words']}"
    if standing.get("held"):
        yield f"  until {when_of(standing['due'], now)}" if standing["due"] else "  for as long as that is so"
    elif standing.get("due"):
        tries = plural(standing.get("tries", 1), "try", "tries")
        yield f"  due {when_of(standing['due'], now)}, after {tries} without success"
    yield f"  depth {standing['depth']}" + (", dynamic" if standing.get("dynamic") else "")
    robots = standing.get("robots")
    if robots is not None:
        yield f"  robots.txt: {_robots_words(robots, now)}"
    for plan in said.get("plans") or ():
        size = f"plan {thousands(plan['number'])} of {when_of(plan['made'], now)}, {plural(plan['pages'], 'page')}"
        yield f"  {size}: {plan['words']}"
    if said.get("plan") and not said.get("plans"):
        yield f"  plan of {when_of(said['plan']['made'], now)}: {said['plan']['words']}"
    if standing.get("site"):
        yield from clock_lines(standing["site"], said.get("next_turn"), now)
    yield from part_lines(standing)


def part_lines(standing: Said) -> Iterator[str]:
    """What parts of the desk tell about a page or a site (`observe/status.py`)."""
    for name, values in standing.get("parts", {}).items():
        yield f"{name}: " + ", ".join(f"{word} {value}" for word, value in values.items())


def _robots_words(robots: Said, now: float) -> str:
    if robots["verdict"] is None:
        if not robots["failures"]:
            return "not asked for yet; until it is, nothing else is"
        return f"{_failed(robots, now)}, and until it is, nothing else is, for harvester.robots_unreachable at most"
    rule = f' by "{robots["rule"]}"' if robots["rule"] else ", no rule is about it"
    if robots["failures"]:
        return f"{robots['verdict']}{rule}, in its last copy, if there is one; {_failed(robots, now)}"
    return f"{robots['verdict']}{rule}" + ("; to be asked for again" if robots.get("outdated") else "")


def _failed(robots: Said, now: float) -> str:
    since = f" since {stamp(robots['unreachable'])}" if robots["unreachable"] else ""
    again = f"asked for again {when_of(robots['again'], now)}" if robots["again"] else "to be asked for again"
    return f"asked for {plural(robots['failures'], 'time')}{since} and not readable; {again}"


def clock_lines(clock: Said, next_turn: float | None, now: float) -> Iterator[str]:
    yield f"site: {clock['name']}" + (f", asked as www.{clock['name']}" if clock["www"] else "")
    yield (
        f"  {plural(clock['pages'], 'page')} known, {thousands(clock['pending'])} not asked for, "
        f"{plural(clock['requests'], 'request')}, address {clock['address'] or 'not known'}"
    )
    turn = max(filter(None, (clock["next"], next_turn)), default=0.0)
    if not clock["now"] and clock["next"] is None:
        yield f"  never asked: {clock['words']}"
    elif turn > now:
        words = clock["words"] if clock["next"] else "Its wait is not over."
        yield f"  may be asked again {when_of(turn, now)}: {words}"
    else:
        yield "  may be asked now"
    yield f"  {human_time(clock['wait'])} between turns" + (
        f", {plural(clock['failures'], 'failure')} in a row" if clock["failures"] else ""
    )
    if clock["factor"] > 1:
        yield f"  slowed: {clock['factor']:.3g} times as long now: {_why_slowed(clock)}"


def _why_slowed(clock: Said) -> str:
    why = ["it failed, or asked us to slow down; each good answer takes a tenth off"] if clock["slow"] > 1 else []
    if clock["factor"] > clock["slow"]:
        why.append(
            f"its pages begin to come after {human_time(clock['lately'])}, usually after {human_time(clock['usual'])}"
        )
    return "; ".join(why)


def _score_lines(said: Said) -> Iterator[str]:
    scores = said.get("scores")
    if not scores:
        return
    parts = " + ".join(f"{name} {value:.4g}" for name, value in scores["parts"].items())
    yield f"score: {scores['score']:.6g}"
    yield f"  quality {scores['quality']:.4g} = {parts}; {scores['cash']:.3g} of all cash (OPIC)"
    yield f"  profit of a fetch {scores['profit']:.4g}; value of our copy {scores['value']:.4g}"
    if scores["rank"]:
        yield (
            f"  rank {thousands(scores['rank'])} of {thousands(scores['candidates'])} that may be asked for, "
            f"{thousands(scores['site_rank'])} in its site"
        )
    yield f"  the next plan would {'hold it' if scores['planned'] else 'not hold it: ' + scores['reason']}"


def _visit_lines(said: Said) -> Iterator[str]:
    yield f"visits: {len(said['visits']) or 'none'}"
    for visit in said["visits"]:
        status = f" ({visit['status']})" if visit["status"] else ""
        yield f"  {stamp(visit['time'])}  {visit['outcome']}{status}: {visit['sentence']}"
        if visit["redirect"]:
            yield f"    to {visit['redirect']}"
        if visit["detail"]:
            yield f"    {visit['detail']}"
        if asks := [name for flag, name in _ASKS.items() if (visit["flags"] or 0) & flag]:
            yield f"    it says {', '.join(asks)}"
        yield from (f"    {line}" for line in (visit["preferences"] or "").splitlines())
        if visit["warc_file"]:
            size = human_size(visit["received"])
            yield f"    in {visit['warc_file']} at byte {visit['warc_offset']}, {size} received"
    yield from _probe_lines(said["probes"])
    if said["duplicate_of"]:
        yield f"  it has the text and links of {said['duplicate_of']}"
    if said["duplicates"]["pages"]:
        yield f"  {plural(said['duplicates']['pages'], 'page has', 'pages have')} its text and links:"
        yield from (f"    {url}" for url in said["duplicates"]["urls"])


def _site_lines(said: Said, now: float) -> Iterator[str]:
    if not said["known"]:
        yield f"{said['site'] or said['given']}: not known"
        yield from (f"  {words}" for words in said["why_not"])
        return
    yield f"{said['site']}: site {said['number']}{_as_of(said['as_of'], now)}"
    standing = said.get("standing")
    if standing:
        yield "pages: " + ", ".join(f"{thousands(n)} {state}" for state, n in standing["pages"].items())
        for part, counts in standing["why"].items():
            yield from (f"  {part:<9} {thousands(count):>10}  {word}" for word, count in counts.items())
        shares = standing["scores"]
        yield f"scores: {shares['cash']:.3g} of all cash (OPIC), link scores {shares['links']:.4g} in the mean"
        yield from clock_lines(standing["clock"], said.get("next_turn"), now)
        yield from _speed_lines(standing.get("speeds"))
        yield from part_lines(standing)
    if said["addresses"]:
        yield f"addresses: {len(said['addresses'])}"
        for each in said["addresses"][-MOST_ADDRESSES:]:
            span = f"{stamp(each['first_seen'])} to {stamp(each['last_seen'])}"
            yield f"  {each['address']:<39} {span}, {plural(each['lookups'], 'lookup')}"
    yield from _robots_lines(said, standing)
    yield from _sitemap_lines(said, standing, now)
    yield from _probe_lines(said["probes"])
    yield f"visits: {thousands(sum(said['visits'].values()))}, {human_size(said['bytes'])} received"
    for word, count in said["visits"].items():
        yield f"  {thousands(count):>10}  {word:<20} {Outcome[word.upper()].sentence}"
    if said.get("queue"):
        yield f"planned: {plural(said['planned'], 'page')}, first of them"
        yield from (f"  {entry['url']}" for entry in said["queue"])


def _speed_lines(speeds: Said | None) -> Iterator[str]:
    """In a line if it is the same at all hours."""
    if not speeds:
        return
    yield f"speed: {human_size(speeds['now'])}/s at this hour, as its address has answered"
    for name, day in (("on working days", speeds["working_day"]), ("on holidays", speeds["holiday"])):
        least, most = min(day), max(day)
        if human_size(least) != human_size(most):
            slow, fast = (f"{human_size(speed)}/s at {day.index(speed)}:00" for speed in (least, most))
            yield f"  {name} {slow} to {fast}"


def _robots_lines(said: Said, standing: Said | None) -> Iterator[str]:
    origins = {o["number"]: o for o in (standing or {}).get("origins", ())}
    for number in sorted({*origins, *said["robots"]}):
        origin, asked = origins.get(number), said["robots"].get(number)
        name = origin["origin"] if origin else f"origin {number}"
        last = f"asked {stamp(asked['time'])}: {asked['outcome']}" if asked else "never asked here"
        if origin and origin["robots_failures"]:
            last += f", {plural(origin['robots_failures'], 'failure')} in a row; "
            holds = origin["robots_until"] and not origin["robots_outdated"]
            last += "its last copy holds, if there is one" if holds else "the site waits until it can be read"
        delay = asked["delay"] if asked and asked["delay"] is not None else None
        yield f"robots.txt of {name}: {last}" + (f", Crawl-delay {delay:g} s" if delay is not None else "")
        yield from (f"  {line}" for line in ((asked or {}).get("preferences") or "").splitlines())
        if origin and origin["rules"]:
            yield from (f"  {rule}" for rule in origin["rules"][:20])
            if len(origin["rules"]) > 20:
                yield f"  … and {plural(len(origin['rules']) - 20, 'more rule')}"


def _sitemap_lines(said: Said, standing: Said | None, now: float) -> Iterator[str]:
    due = (standing or {}).get("sitemap_due")
    if not said["sitemaps"] and not due:
        return
    yield "sitemaps: " + (f"to be read again {when_of(due, now)}" if due else "not all read yet")
    for url, read in said["sitemaps"].items():
        yield f"  {stamp(read['time'])}  {read['outcome']:<12} {plural(read['out_degree'], 'page')}  {url}"


def _probe_lines(probes: dict[str, Said]) -> Iterator[str]:
    """Of a page that is a soft 404, and of its site."""
    if probes:
        yield "probes: what the site answered for pages that cannot exist"
    for url, asked in probes.items():
        to = f" to {asked['redirect']}" if asked["redirect"] else ""
        yield f"  {stamp(asked['time'])}  {asked['outcome']} ({asked['status']}){to}  {url}"


def stamp(wall: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall))


def when_of(wall: float | None, now: float) -> str:
    """With the distance from now, which is what people want to know."""
    if wall is None:
        return "at an unknown time"
    away = wall - now
    return f"{stamp(wall)} ({'in ' + human_time(away) if away > 0 else human_time(-away) + ' ago'})"
