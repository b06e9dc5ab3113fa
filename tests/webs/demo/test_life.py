"""The life of the demonstration Web: a pure function of seed, page and time, true to its own description."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter, defaultdict
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.cli import app
from gossamer.webs.demo import DemoWeb, start
from gossamer.webs.demo.answer import DemoAnswer, DemoAnswers
from gossamer.webs.demo.layout import PAGES
from gossamer.webs.demo.life import DAY, Caching, Dates, Event, Happening, Life, Pulse, Rhythm, Standing, Validators
from gossamer.webs.demo.life.pulse import _beats
from gossamer.webs.demo.living import LivingAnswers
from gossamer.webs.demo.site import Down, Site
from gossamer.webs.demo.sitemaps import sitemap_place
from tests.webs.demo.test_server import get

SPEED = 1440.0
WEB = DemoWeb(seed=7, sites=40, pages=600, largest=150, speed=SPEED)
NOW = 1_790_000_000.0
"""Wall time."""
RHYTHMS = st.sampled_from([Rhythm.STEADY, Rhythm.OFFICE, Rhythm.BURSTS])
PULSES = st.builds(
    Pulse,
    st.integers(0, 9),
    st.just("1/2"),
    st.floats(-9, -4).map(lambda e: 10**e),
    RHYTHMS,
    st.sampled_from([0.2, 0.9]),
)
TIMES = st.floats(-1e9, 1e13)


def alive() -> list[Site]:
    return [s for s in WEB.all_sites if s.down is Down.NO]


def targets(site: Site) -> list[str]:
    layout = WEB.layout(site.number)
    return [layout.target[n] for n in range(site.pages) if layout.kind[n] in PAGES]


@cache
def histories() -> dict[tuple[int, str], list[Event]]:
    """What happens in a year to the pages of the Web, their later addresses, and their news."""
    life, begin = Life(WEB), NOW * SPEED
    end, found = begin + 365 * DAY, dict[tuple[int, str], list[Event]]()
    for site in alive():
        more = {t for n in (0, *WEB.layout(site.number).hubs) for t in life.published(site, n, begin + 90 * DAY)}
        for target in targets(site):
            at = life.standing(site, target, begin + 180 * DAY)
            more |= {at.location} if at and at.location else set()
        for target in (*targets(site), *more):
            found[site.number, target] = list(life.history(site, target, begin, end))
    return found


@given(PULSES, st.lists(TIMES, min_size=1, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_schedule_is_the_same_whatever_the_order_of_questions(
    pulse: Pulse, times: list[float], random: Random
) -> None:
    asked, shuffled = {at: pulse.last(at) for at in times}, list(times)
    random.shuffle(shuffled)
    _beats.cache_clear()
    assert all(pulse.last(at) == asked[at] for at in shuffled)


@given(PULSES, TIMES, st.lists(st.floats(0, 1), max_size=5), st.floats(1, 1e8))
@settings(max_examples=40, deadline=None)
def test_the_changes_of_an_interval_are_those_of_its_parts(
    pulse: Pulse, begin: float, cuts: list[float], length: float
) -> None:
    length = min(length, 500 / pulse.rate)
    bounds = sorted({begin, begin + length, *(begin + cut * length for cut in cuts)})
    whole = list(pulse.between(bounds[0], bounds[-1]))
    assert whole == [beat for one, two in pairwise(bounds) for beat in pulse.between(one, two)]
    assert whole == sorted(whole)
    if whole:
        assert pulse.last(bounds[-1]) == whole[-1]


@pytest.mark.parametrize("rhythm", [Rhythm.STEADY, Rhythm.OFFICE, Rhythm.BURSTS])
def test_pages_change_at_their_rate_and_in_their_rhythm(rhythm: Rhythm) -> None:
    days = 4_000
    beats = [b for n in range(20) for b in Pulse(1, f"{n}", 1 / DAY, rhythm).between(0, days * DAY)]
    assert len(beats) / (20 * days) == pytest.approx(1, rel=0.06)
    assert statistics.mean(b.major for b in beats) == pytest.approx(0.7, abs=0.02)
    at_work = [b for b in beats if (b.time / DAY + 3) % 7 < 5 and 9 <= b.time / 3600 % 24 < 19]
    assert len(at_work) / len(beats) == pytest.approx(0.86 if rhythm is Rhythm.OFFICE else 50 / 168, abs=0.02)
    close = statistics.mean(0 < two.time - one.time < 3600 for one, two in pairwise(beats))
    assert close == pytest.approx({Rhythm.BURSTS: 0.52, Rhythm.OFFICE: 0.11}.get(rhythm, 0.04), abs=0.03)


def test_everything_that_can_happen_happens() -> None:
    happened = Counter(what for events in histories().values() for _, what in events)
    assert set(happened) == set(Happening)
    assert min(happened.values()) >= 10


def fits(what: Happening, before: Standing | None, after: Standing) -> bool:
    if what is Happening.BORN or before is None:
        return before is None and after.status in (200, 301, 308)
    return {
        Happening.GONE: before.status < 400 <= after.status,
        Happening.BACK: before.status >= 400 and after.status == 200,
        Happening.MOVED: after.status in (301, 308) and before.location != after.location,
        Happening.MAJOR: after.changed == after.written > before.written,
        Happening.MINOR: after.written == before.written and after.changed > before.changed,
    }[what]


def test_a_history_is_what_the_standings_say() -> None:
    """Between two times without an event the standing is the same; over one event it changes accordingly."""
    life, begin, alone = Life(WEB), NOW * SPEED, Counter[Happening]()
    for (number, target), events in histories().items():
        standings = [(at, life.standing(WEB.all_sites[number], target, at)) for at in grid(begin, 40)]
        for (one, before), (two, after) in pairwise(standings):
            between = [what for time, what in events if one < time <= two]
            if not between:
                assert before == after, target
            elif len(between) == 1:
                alone[between[0]] += 1
                assert after, target
                assert fits(between[0], before, after), (target, between, before, after)
    assert min(alone[what] for what in Happening) >= 10


def grid(begin: float, parts: int) -> list[float]:
    return [begin + 365 * DAY * n / parts for n in range(parts + 1)]


def test_what_has_moved_redirects_to_the_present_address_for_ever() -> None:
    life, at = Life(WEB), NOW * SPEED
    moved = [(s, t) for s in alive() for t in targets(s) if (found := life.standing(s, t, at)) and found.location]
    assert len(moved) > 10
    for site, target in moved:
        first = life.standing(site, target, at)
        assert first
        for years in range(1, 30):
            then = at + years * 365 * DAY
            now, old = life.standing(site, target, then), life.standing(site, first.location, then)
            assert now is not None
            assert old is not None
            assert now.status in (301, 308)
            assert old.location in ("", now.location)
            there = life.standing(site, now.location, then)
            assert there is not None
            assert there.status == 200


def test_some_pages_never_change_and_rates_differ_by_site_and_page() -> None:
    life, at, rates = Life(WEB), NOW * SPEED, defaultdict[int, list[float]](list)
    never = there = 0
    for site in alive():
        for target in targets(site):
            found = life.standing(site, target, at)
            if found and found.status == 200:
                there, never = there + 1, never + (not found.changed)
                if found.changed:
                    rates[site.number].append(life.interval(site, found))
    assert 0.2 < never / there < 0.5
    within = [max(r) / min(r) for r in rates.values() if len(r) > 20]
    assert min(within) > 5
    assert max(map(statistics.median, rates.values())) > 5 * min(map(statistics.median, rates.values()))


def ask(answers: DemoAnswers, site: Site, target: str, wall: float = NOW, **fields: str) -> DemoAnswer:
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return answers.answer(site, target, named, wall)


def test_bodies_change_exactly_when_the_truth_says_so() -> None:
    """A minor change touches digits alone; a major one changes words."""
    answers, seen = LivingAnswers(WEB), Counter[str]()
    digits = re.compile(rb"\d")
    sites = [s for s in alive() if s.charset.codec != "utf-16-le" and not s.features.session]
    for site in sites[:25]:
        for target in targets(site)[:12]:
            for day in range(0, 40, 8):
                one, two = (ask(answers, site, target, NOW + at * DAY / SPEED) for at in (day, day + 8))
                begin, end = ((NOW + at * DAY / SPEED) * SPEED for at in (day, day + 8))
                whats = [what for _, what in answers.life.history(site, target, begin, end)]
                if one.status != 200 or two.status != 200:
                    continue
                if not set(whats) - {Happening.MINOR}:
                    seen["minor" if whats else "none"] += 1
                    assert (one.body == two.body) == (not whats)
                    assert digits.sub(b"", one.body) == digits.sub(b"", two.body)
                elif Happening.BACK not in whats:
                    seen["major"] += 1
                    assert digits.sub(b"", one.body) != digits.sub(b"", two.body)
    assert len(seen) == 3
    assert min(seen.values()) > 20


def test_a_mirror_changes_as_its_original_does() -> None:
    answers, mirrors = LivingAnswers(WEB), [s for s in WEB.all_sites if s.ties.mirror_of >= 0]
    assert mirrors
    for mirror in mirrors:
        for target in targets(mirror):
            one, two = ask(answers, mirror, target), ask(answers, WEB.all_sites[mirror.ties.mirror_of], target)
            assert (one.status, one.body, one.location) == (two.status, two.body, two.location)


def test_news_are_linked_from_the_page_that_brings_them() -> None:
    answers, found = LivingAnswers(WEB), 0
    for site in (s for s in alive() if s.charset.codec != "utf-16-le"):
        for url in re.findall(rb'href="(/news/[^"]+)"', ask(answers, site, "/").body):
            found += 1
            assert ask(answers, site, url.decode()).status in (200, 404, 410)
    assert found > 40
    assert ask(answers, alive()[0], "/news/0-12345.html").status == 404
    assert ask(answers, alive()[0], "/news/99999-12345.html").status == 404
    assert ask(answers, alive()[0], "/moved/99999-1.html").status == 404


def of(kind: Validators) -> tuple[LivingAnswers, Site]:
    answers = LivingAnswers(WEB)
    found = (s for s in alive() if answers.life.habits[s.number].validators is kind)
    changing = (s for s in found if answers.life.habits[s.number].rhythm is not Rhythm.STILL)
    return answers, next(changing)


SENT = {
    Validators.NONE: (False, False), Validators.TAG: (True, False), Validators.DATE: (False, True),
    Validators.BOTH: (True, True), Validators.WEAK: (True, False), Validators.TAG_EACH: (True, False),
    Validators.DATE_NOW: (False, True), Validators.ALWAYS_304: (True, True),
}  # fmt: skip


@pytest.mark.parametrize("kind", Validators)
def test_validators_are_those_of_the_site(kind: Validators) -> None:
    answers, site = of(kind)
    events = list(answers.life.history(site, "/", NOW * SPEED, NOW * SPEED + 4000 * DAY))
    calm = next(one.time for one, two in pairwise(events) if two.time - one.time > 5 * SPEED)
    at, change = calm / SPEED + 2, next(e.time for e in events if e.time > calm and e.what is Happening.MAJOR) / SPEED
    first = ask(answers, site, "/", at)
    assert (bool(first.etag), bool(first.modified)) == SENT[kind]
    assert first.etag.startswith("W/") == (kind is Validators.WEAK)
    conditions = {"if_none_match": first.etag} if first.etag else {}
    conditions |= {"if_modified_since": first.modified} if first.modified else {}
    again, later = (ask(answers, site, "/", when, **conditions) for when in (at + 2, change + 1))
    same = 200 if kind in (Validators.NONE, Validators.TAG_EACH, Validators.DATE_NOW) else 304
    assert (again.status, later.status) == (same, 304 if kind is Validators.ALWAYS_304 else 200)
    assert (same == 304) == (again.body == b"")


def test_a_tag_for_each_request_does_not_come_again_after_a_restart() -> None:
    (one, site), (two, _) = of(Validators.TAG_EACH), of(Validators.TAG_EACH)
    tags = [ask(server, site, "/", NOW + n).etag for n, server in enumerate((one, one, two, two))]
    assert len(set(tags)) == 4


def test_caching_is_that_of_the_site() -> None:
    answers, seen = LivingAnswers(WEB), set()
    for site in alive():
        fields, kind = ask(answers, site, "/").fields, answers.life.habits[site.number].caching
        seen.add(kind)
        assert (b"max-age=31536000" in fields) == (kind is Caching.TOO_LONG) or b"max-age" in fields
        assert (b"Expires:" in fields) == (kind is Caching.EXPIRES)
        assert (b"no-cache" in fields) == (kind is Caching.NO_CACHE)
        assert (b"Cache-Control" in fields) == (kind in (Caching.MAX_AGE, Caching.TOO_LONG, Caching.NO_CACHE))
    assert seen == set(Caching)


def test_every_site_has_habits_and_the_list_counts_them() -> None:
    listed = json.loads(CliRunner().invoke(app, ["web", "--list", "--json", "--speed", "9", "--sites", "40"]).stdout)
    for sort, kinds in (("rhythm", Rhythm), ("validators", Validators), ("caching", Caching)):
        assert set(listed[sort]) == {kind.value for kind in kinds}
        assert min(listed[sort].values()) >= 1
    text = CliRunner().invoke(app, ["web", "--list", "--speed", "9", "--sites", "40"]).stdout
    assert f"{listed['rhythm']['never']:>8}  never" in text


def test_dates_of_sitemaps_are_honest_now_or_never_updated() -> None:
    answers, seen = LivingAnswers(WEB), Counter[Dates]()
    for site in (s for s in alive() if s.features.sitemap == "urlset" and s.readable):
        body = ask(answers, site, sitemap_place(site) or "").body.decode()
        rows = re.findall(r"<loc>[^<]*?gossamer\.test(/[^<]*)</loc><lastmod>([^<]*)", body)
        kind = answers.life.habits[site.number].dates
        for target, date in rows:
            standing = answers.life.standing(site, target.replace("&amp;", "&"), NOW * SPEED)
            if standing is None:  # only listed
                continue
            seen[kind] += 1
            assert standing.status == 200
            match kind:
                case Dates.HONEST if standing.changed:
                    assert datetime.fromisoformat(date).timestamp() == standing.changed / SPEED // 1
                case Dates.NOW:
                    assert date == "2026-09-21T14:13:20Z"
                case Dates.NEVER:
                    assert date == "2023-11-14"
    assert set(seen) == set(Dates)


def test_a_web_without_speed_does_not_live() -> None:
    """Its bytes are those of the Web that never changes, at every time."""
    fixed = DemoWeb(seed=7, sites=12, pages=200)
    answers = DemoAnswers(fixed)
    site = fixed.all_sites[0]
    assert ask(answers, site, "/", 0.0) == ask(answers, site, "/", NOW) == answers.get(site, "/", False)
    assert not any(s.features.sitemap == "urlset" for s in fixed.all_sites)


def test_a_served_web_lives_by_the_clock_of_its_server(tmp_path: Path) -> None:
    """Every answer is the one that the truth has for the moment in the access log, and pages change meanwhile."""
    web, log = DemoWeb(seed=7, sites=12, pages=100, tls=0, speed=2e6), tmp_path / "access.log"
    plain = [s for s in web.all_sites if s.readable and not s.features.session][:6]
    urls = [web.url(s.number, n) for s in plain for n in range(min(s.pages, 5))] * 2
    with start(web, log=log) as running:
        got = [get(running, url.replace(host, web.by_host[host].name)) for url in urls for host in [url.split("/")[2]]]
    walls = [float(line.split("\t")[1]) for line in log.read_text().splitlines()[2:]]
    answers, half = LivingAnswers(web), len(urls) // 2
    for url, found, wall in zip(urls, got, walls, strict=True):
        expected = ask(answers, *web.located(url), wall)
        assert (found.status, found.body) == (expected.status, expected.body), url
    seen = [(found.body, found.fields.get("location")) for found in got]
    changed = [bool([*web.history(*each)]) for each in zip(urls[:half], walls[:half], walls[half:], strict=True)]
    assert changed == [one != two for one, two in zip(seen[:half], seen[half:], strict=True)]
    assert any(changed)
