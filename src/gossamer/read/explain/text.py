"""An explanation for people: short sections, one fact per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from gossamer.base.model import Change, VisitFlag
from gossamer.base.outcomes import Outcome
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.observe.account import stamp
from gossamer.read.explain import answers
from gossamer.read.explain.answers import Clock, PageAnswer, Robots, SiteAnswer, SiteState, Visit
from gossamer.read.explain.page import LEGEND

MOST_ADDRESSES: Final = 10
"""Maximum number of addresses of a site that are shown: the most recent ones."""
_UNKNOWN: Final = Change.UNKNOWN.name.lower()
_ASKS: Final = {
    VisitFlag.NOINDEX: "noindex",
    VisitFlag.NOFOLLOW: "nofollow",
    VisitFlag.NOARCHIVE: "noarchive",
    VisitFlag.UNAVAILABLE: "unavailable_after, which has passed",
}
_PACES: Final = {
    "mine": "since it has proven to be yours",
    "shared": "since it has proven to be yours, but harvester.address_wait holds: its address has other sites too",
    "Crawl-delay": "as its robots.txt asks",
    "polite": "at the pace polite",
    "gentle": "at the pace gentle, and ten times as long as its last answer took",
    "set": "as the settings say",
}


def lines_of(answer: PageAnswer | SiteAnswer, now: float) -> Iterator[str]:
    """The explanation of a page or of a site; `now` is the wall time."""
    if "site" in answer:
        yield from _site_lines(cast(SiteAnswer, answer), now)
    else:
        yield from _page_lines(cast(PageAnswer, answer), now)


def _page_lines(answer: PageAnswer, now: float) -> Iterator[str]:
    yield answer["url"] or answer["given"]
    for step in answer["steps"]:
        yield f"  {step['what']}: it was {step['before']}"
    if not answer["known"]:
        yield from _unknown_lines(answer, now)
        return
    yield f"  known as page {answer['page']}{_as_of(answer['as_of'], now)}"
    yield f"  scope: {answer['scope']['words']}"
    yield from _found_lines(answer["found"], now)
    yield from _state_lines(answer, now)
    yield from _score_lines(answer, now)
    yield from _visit_lines(answer)


def _unknown_lines(answer: PageAnswer, now: float) -> Iterator[str]:
    sitemap = answer.get("sitemap")
    if sitemap:
        when, pages = when_of(sitemap["time"], now), plural(sitemap["out_degree"], "page")
        yield f"  requested as a sitemap {when}, {sitemap['outcome']}: {sitemap['sentence']}"
        yield f"  it lists {pages}" if sitemap["outcome"] == Outcome.OK.word else "  no pages were taken from it"
    yield "  not known as a page" if sitemap else "  not known"
    yield from (f"  {words}" for words in answer["why_not"])
    yield from (f"  known instead: {url}" for url in answer.get("near", ()))
    if "scope" in answer and answer["scope"]["accepted"]:
        yield f"  scope: {answer['scope']['words']}"
    if would := answer.get("would"):
        yield f"  robots.txt: {_robots_words(would['robots'], now)}"
        yield from clock_lines(would["site"], None, now)


def _as_of(as_of: answers.AsOf, now: float) -> str:
    if as_of["source"] == "desk":
        return ", as the running crawl reports"
    if as_of["source"] == "files":
        return ", as far as the files tell: resume the crawl to see the current state (gossamer crawl DIR)"
    when = when_of(as_of["time"], now)
    if as_of["source"] == "replay":
        return f", as of the last commit before the crawl was killed, at {when}"
    return f", as of the stop at {when}" if as_of["exact"] else f", AS OF {when}: later changes are not included"


def _found_lines(found: answers.Found, now: float) -> Iterator[str]:
    yield "found"
    alone = "listed by a sitemap" if found["kind"] == "sitemap" else "a seed"
    source = f"by {found['kind']} on {found['on']}" if found["on"] else alone
    yield f"  {when_of(found['time'], now)}, {source}"
    if len(found["urls"]) > 1:
        yield f"  way {found['way']} ({LEGEND})"
        yield from (f"    {letter} {url}" for letter, url in zip(found["way"], found["urls"], strict=True))


def _state_lines(answer: PageAnswer, now: float) -> Iterator[str]:
    state = answer["standing"]
    yield f"state: {state['state']}"
    yield f"  {state['words']}"
    if state.get("held"):
        yield f"  until {when_of(state['due'], now)}" if state["due"] else "  for as long as the reason holds"
    elif state.get("due"):
        tries = plural(state.get("tries", 1), "failed try", "failed tries")
        yield f"  due {when_of(state['due'], now)}, after {tries}"
    yield f"  depth {state['depth']}" + (", dynamic" if state.get("dynamic") else "")
    robots = state.get("robots")
    if robots is not None:
        yield f"  robots.txt: {_robots_words(robots, now)}"
    for plan in answer.get("plans") or ():
        size = f"plan {thousands(plan['number'])} of {when_of(plan['made'], now)}, {plural(plan['pages'], 'page')}"
        yield f"  {size}: {plan['words']}"
    if answer.get("plan") and not answer.get("plans"):
        yield f"  plan of {when_of(answer['plan']['made'], now)}: {answer['plan']['words']}"
    if state.get("site"):
        yield from clock_lines(state["site"], answer.get("next_turn"), now, answer.get("quiet_until"))
    yield from part_lines(state)


def part_lines(state: Mapping[str, object]) -> Iterator[str]:
    """What the parts of the desk report about a page or a site (`observe/status.py`)."""
    parts = cast(dict[str, dict[str, Any]], state.get("parts", {}))
    for name, values in parts.items():
        yield f"{name}: " + ", ".join(word if value is True else f"{word} {value}" for word, value in values.items())


def _robots_words(robots: Robots, now: float) -> str:
    if robots["verdict"] is None:
        if not robots["failures"]:
            return "not requested yet; nothing else of the site is requested before it"
        until = "until then nothing else is requested, for harvester.robots_unreachable at most"
        return f"{_failed(robots, now)}; {until}"
    rule = f' by "{robots["rule"]}"' if robots["rule"] else ", no rule applies"
    if robots["failures"]:
        return f"{robots['verdict']}{rule}, by its last readable copy, if there is one; {_failed(robots, now)}"
    return f"{robots['verdict']}{rule}" + ("; due to be requested again" if robots.get("outdated") else "")


def _failed(robots: Robots, now: float) -> str:
    since = f" since {stamp(robots['unreachable'])}" if robots["unreachable"] else ""
    again = f"requested again {when_of(robots['again'], now)}" if robots["again"] else "due to be requested again"
    return f"requested {plural(robots['failures'], 'time')}{since} and not readable; {again}"


def clock_lines(clock: Clock, next_turn: float | None, now: float, quiet_until: float | None = None) -> Iterator[str]:
    """When a site may be requested, and why not now."""
    yield f"site: {clock['name']}" + (f", requested as www.{clock['name']}" if clock["www"] else "")
    yield (
        f"  {plural(clock['pages'], 'page')} known, {thousands(clock['pending'])} pending, "
        f"{plural(clock['requests'], 'request')}, address {clock['address'] or 'unknown'}"
    )
    turn = max(filter(None, (clock["next"], next_turn)), default=0.0)
    if not clock["now"] and clock["next"] is None:
        yield f"  never requested: {clock['words']}"
    elif turn > now:
        words = clock["words"] if clock["next"] else "Its wait is not over."
        yield f"  may be requested again {when_of(turn, now)}: {words}"
    elif not quiet_until:
        yield "  may be requested now"
    if quiet_until:
        yield f"  quiet hours until {when_of(quiet_until, now)}: nothing is requested (harvester.quiet_hours)"
    yield f"  {human_time(clock['wait'])} between turns, {_PACES[clock['pace']]}" + (
        f", {plural(clock['failures'], 'failure')} in a row" if clock["failures"] else ""
    )
    if clock["factor"] > 1:
        yield f"  slowed: this wait is multiplied by {clock['factor']:.3g}: {_why_slowed(clock)}"


def _why_slowed(clock: Clock) -> str:
    why = ["it failed, or asked us to slow down; each good answer reduces it by a tenth"] if clock["slow"] > 1 else []
    if clock["factor"] > clock["slow"]:
        why.append(
            f"its pages begin to arrive after {human_time(clock['lately'] or 0)}, usually after "
            f"{human_time(clock['usual'] or 0)}"
        )
    return "; ".join(why)


def _score_lines(answer: PageAnswer, now: float) -> Iterator[str]:
    scores = answer.get("scores")
    if not scores:
        return
    parts = " + ".join(f"{name} {value:.4g}" for name, value in scores["parts"].items())
    yield f"score: {scores['score']:.6g}"
    yield f"  quality {scores['quality']:.4g} = {parts}; {scores['cash']:.3g} of all cash (OPIC)"
    yield f"  profit of a fetch {scores['profit']:.4g}; value of the stored copy {scores['value']:.4g}"
    if scores["rank"]:
        yield (
            f"  rank {thousands(scores['rank'])} of {thousands(scores['candidates'])} that may be requested, "
            f"{thousands(scores['site_rank'])} in its site"
        )
    yield f"  the next plan would {'contain it' if scores['planned'] else 'not contain it: ' + scores['reason']}"
    if following := scores.get("next_visit"):
        yield from _next_lines(following, now)


def _next_lines(following: Mapping[str, Any], now: float) -> Iterator[str]:
    if following["not_before"] is None:
        yield f"next visit: none, as long as {following['why']}"
        return
    yield f"next visit: not before {when_of(following['not_before'], now)}, when {following['why']}"
    worth, best = following["worth_it"], following["threshold"]
    others = f"the best other page of its site that waits has {best:.4g}" if best else "no other page of its site waits"
    when = "not within 20 years" if worth is None else f"from {when_of(worth, now)} on"
    yield f"  worth it {when}: its score will be {following['score']:.4g} when it may be requested, and {others}"
    yield f"  {following['rate']:.3g} changes a day are believed: {100 * following['chance']:.0f} % that it has changed"


def _visit_lines(answer: PageAnswer) -> Iterator[str]:
    yield f"visits: {len(answer['visits']) or 'none'}"
    for visit in answer["visits"]:
        status = f" ({visit['status']})" if visit["status"] else ""
        yield f"  {stamp(visit['time'])}  {visit['outcome']}{status}: {visit['sentence']}"
        if visit["redirect"]:
            yield f"    to {visit['redirect']}"
        if (visit["change"] or _UNKNOWN) != _UNKNOWN:
            yield f"    change since the version before: {visit['change']}"
        if visit["detail"]:
            yield f"    {visit['detail']}"
        if asks := [name for flag, name in _ASKS.items() if (visit["flags"] or 0) & flag]:
            yield f"    it says {', '.join(asks)}"
        yield from (f"    {line}" for line in (visit["preferences"] or "").splitlines())
        if visit["warc_file"]:
            size = human_size(visit["received"])
            yield f"    in {visit['warc_file']} at byte {visit['warc_offset']}, {size} received"
    yield from _probe_lines(answer["probes"])
    if answer["duplicate_of"]:
        yield f"  it has the text and links of {answer['duplicate_of']}"
    if answer["duplicates"]["pages"]:
        yield f"  {plural(answer['duplicates']['pages'], 'page has', 'pages have')} its text and links:"
        yield from (f"    {url}" for url in answer["duplicates"]["urls"])


def _site_lines(answer: SiteAnswer, now: float) -> Iterator[str]:
    if not answer["known"]:
        yield f"{answer['site'] or answer['given']}: not known"
        yield from (f"  {words}" for words in answer["why_not"])
        return
    yield f"{answer['site']}: site {answer['number']}{_as_of(answer['as_of'], now)}"
    site = answer.get("standing")
    if site:
        yield "pages: " + ", ".join(f"{thousands(n)} {state}" for state, n in site["pages"].items())
        for part, counts in site["why"].items():
            yield from (f"  {part:<9} {thousands(count):>10}  {word}" for word, count in counts.items())
        shares = site["scores"]
        yield f"scores: {shares['cash']:.3g} of all cash (OPIC), mean link score {shares['links']:.4g}"
        yield from clock_lines(site["clock"], answer.get("next_turn"), now, answer.get("quiet_until"))
        yield from _speed_lines(site.get("speeds"))
        yield from part_lines(site)
    if answer["addresses"]:
        yield f"addresses: {len(answer['addresses'])}"
        for address in answer["addresses"][-MOST_ADDRESSES:]:
            span = f"{stamp(address['first_seen'])} to {stamp(address['last_seen'])}"
            yield f"  {address['address']:<39} {span}, {plural(address['lookups'], 'lookup')}"
    yield from _robots_lines(answer, site)
    yield from _sitemap_lines(answer, site, now)
    yield from _probe_lines(answer["probes"])
    yield f"visits: {thousands(sum(answer['visits'].values()))}, {human_size(answer['bytes'])} received"
    for word, count in answer["visits"].items():
        yield f"  {thousands(count):>10}  {word:<20} {Outcome[word.upper()].sentence}"
    if hours := answer["change_hours"]:
        yield f"its pages change {hours['words']}"
    if answer.get("queue"):
        yield f"planned: {plural(answer['planned'], 'page')}, beginning with"
        yield from (f"  {entry['url']}" for entry in answer["queue"])


def _speed_lines(speeds: answers.SiteSpeeds | None) -> Iterator[str]:
    """The expected speed of the site's address: one line if it is the same at all hours."""
    if not speeds:
        return
    yield f"speed: {human_size(speeds['now'])}/s at this hour, by earlier answers of its address"
    for name, day in (("on working days", speeds["working_day"]), ("on holidays", speeds["holiday"])):
        least, most = min(day), max(day)
        if human_size(least) != human_size(most):
            slow, fast = (f"{human_size(speed)}/s at {day.index(speed)}:00" for speed in (least, most))
            yield f"  {name} {slow} to {fast}"


def _robots_lines(answer: SiteAnswer, site: SiteState | None) -> Iterator[str]:
    origins = {o["number"]: o for o in (site["origins"] if site else ())}
    for number in sorted({*origins, *answer["robots"]}):
        origin, visit = origins.get(number), answer["robots"].get(number)
        name = origin["origin"] if origin else f"origin {number}"
        last = f"requested {stamp(visit['time'])}: {visit['outcome']}" if visit else "never requested"
        if origin and origin["robots_failures"]:
            last += f", {plural(origin['robots_failures'], 'failure')} in a row; "
            holds = origin["robots_until"] and not origin["robots_outdated"]
            last += (
                "its last readable copy is used, if there is one" if holds else "the site waits until it can be read"
            )
        delay = visit["delay"] if visit else None
        yield f"robots.txt of {name}: {last}" + (f", Crawl-delay {delay:g} s" if delay is not None else "")
        yield from (f"  {line}" for line in ((visit["preferences"] if visit else None) or "").splitlines())
        if origin and origin["rules"]:
            yield from (f"  {rule}" for rule in origin["rules"][:20])
            if len(origin["rules"]) > 20:
                yield f"  … and {plural(len(origin['rules']) - 20, 'more rule')}"


def _sitemap_lines(answer: SiteAnswer, site: SiteState | None, now: float) -> Iterator[str]:
    due = site.get("sitemap_due") if site else None
    if not answer["sitemaps"] and not due:
        return
    yield "sitemaps: " + (f"to be read again {when_of(due, now)}" if due else "not all read yet")
    for url, visit in answer["sitemaps"].items():
        yield f"  {stamp(visit['time'])}  {visit['outcome']:<12} {plural(visit['out_degree'], 'page')}  {url}"


def _probe_lines(probes: dict[str, Visit]) -> Iterator[str]:
    """The probes of a site, for the site itself and for its soft 404s."""
    if probes:
        yield "probes: answers of the site to requests for pages that cannot exist"
    for url, visit in probes.items():
        to = f" to {visit['redirect']}" if visit["redirect"] else ""
        yield f"  {stamp(visit['time'])}  {visit['outcome']} ({visit['status']}){to}  {url}"


def when_of(wall: float | None, now: float) -> str:
    """A wall time as local date and time, with its distance from now."""
    if wall is None:
        return "at an unknown time"
    away = wall - now
    return f"{stamp(wall)} ({'in ' + human_time(away) if away > 0 else human_time(-away) + ' ago'})"
