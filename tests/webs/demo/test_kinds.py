"""The kinds of the demonstration Web, without sockets: each exists, can be switched and counted, and is as
described."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from urllib.parse import urlsplit

import pycld2
import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.cli.web import settings_for
from gossamer.config import loads
from gossamer.config.settings import SeederSettings
from gossamer.gatherer.charset import decode
from gossamer.urls import canonical
from gossamer.webs import demo
from gossamer.webs.demo import DemoWeb, Truth, UrlKind
from gossamer.webs.demo.answer import DemoAnswers
from gossamer.webs.demo.kinds import SITES, SWITCHES, lines
from gossamer.webs.demo.layout import PAGES
from gossamer.webs.demo.links import links, only_counted
from gossamer.webs.demo.pace import DEVIATIONS, factors
from gossamer.webs.demo.site import Down, SiteNames
from gossamer.webs.demo.sites import ALL_ANSWERS, TOGETHER

WEB = DemoWeb(seed=3, sites=120, pages=4_800, largest=400)
USUAL = SeederSettings()
TRUTH = WEB.truth()
ANSWERS = DemoAnswers(WEB)


def body(t: Truth) -> bytes:
    return ANSWERS.get(WEB.all_sites[t.site], WEB.layout(t.site).target[t.number], False).body


def text(t: Truth) -> str:
    """The decoded text of a page."""
    answer = ANSWERS.get(WEB.all_sites[t.site], WEB.layout(t.site).target[t.number], False)
    declared = re.search(r"charset=([\w-]+)", answer.fields.decode())
    return decode(answer.body, declared[1] if declared else "")[0]


@pytest.fixture(scope="module")
def counted() -> dict[str, demo.Count]:
    return demo.counts(WEB)


OFF = ("silent", "moody", "changing", "failing", "heavy", "national")


def test_the_count_of_every_kind_is_the_requested_one(counted: dict[str, demo.Count]) -> None:
    for kind in set(SITES) - {"pace", "shared", *OFF}:
        assert counted[kind].sites == getattr(WEB, kind), kind
        assert counted[kind].urls >= counted[kind].sites
    assert not any(counted[kind].sites for kind in OFF)
    assert counted["shared"].sites == 2 + 3 + 4
    assert all(count.urls > 0 for kind, count in counted.items() if kind not in OFF)


@pytest.mark.parametrize("kind", SWITCHES)
def test_a_kind_that_is_switched_off_is_not_there(kind: str) -> None:
    small = DemoWeb(
        seed=3, sites=24, pages=700, silent=1, moody=1, changing=1, failing=1, busy=0.01, errors=0.01, heavy=True,
        national=kind == "national",
    )  # fmt: skip
    without = demo.without(small, [kind])
    assert without == demo.without(without, [kind]) != small
    assert demo.counts(small)[kind].sites > 0
    assert demo.counts(without)[kind] == demo.Count(0, 0)


@pytest.mark.parametrize(
    ("wanted", "field"), [("silent=2", 2), ("calendars=4", 4), ("broken=0.2", 0.2), ("counted=0", False)]
)
def test_a_kind_has_the_requested_number(wanted: str, field: float) -> None:
    kind = wanted.partition("=")[0]
    having = demo.having(WEB, [wanted])
    assert getattr(having, kind) == field
    assert type(getattr(having, kind)) is type(field)
    if type(field) is int:
        assert demo.counts(having)[kind].sites == field


@pytest.mark.parametrize("wanted", ["silent", "silent=", "silent=x", "silent=-1", "silent=121", "broken=1.1"])
def test_an_invalid_number_is_an_error_with_an_example(wanted: str) -> None:
    with pytest.raises(UsageError, match="needs a number") as raised:
        demo.having(WEB, [wanted])
    assert re.search(r"Example: (silent=2|broken=0\.09)", str(raised.value.cure))


def test_links_that_are_only_counted_lead_to_no_page(counted: dict[str, demo.Count]) -> None:
    targets = {url for t in TRUTH.values() for url in only_counted(WEB, t.site, t.number)}
    assert len(targets) == counted["counted"].urls > 100
    assert targets.isdisjoint(TRUTH)
    assert {urlsplit(url).scheme for url in targets} == {"http", "https", "mailto", "javascript"}


def test_the_list_says_at_which_depth_a_calendar_was_counted(counted: dict[str, demo.Count]) -> None:
    (line,) = [line for line in lines(counted) if line.startswith("calendars")]
    assert f"seeder.depth_dynamic = {USUAL.depth_dynamic}" in line
    sites = {s.number for s in WEB.all_sites if s.features.calendar}
    known = [url for url in WEB.reachable(USUAL.depth_dynamic) if TRUTH[url].site in sites]
    assert counted["calendars"].urls == len(known)


def test_an_unknown_kind_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="calendar") as raised:
        demo.without(WEB, ["calendar"])
    assert "calendars" in str(raised.value.cure)


def test_no_url_is_rejected_by_the_usual_settings() -> None:
    rejected = [url for url in TRUTH for pattern in USUAL.reject if re.search(pattern, url, re.IGNORECASE)]
    assert rejected == []


def test_bulk_switches_all_kinds_off() -> None:
    bulk = DemoWeb(bulk=True, sites=5, pages=50, silent=1)
    assert len(bulk.all_sites) == 5
    assert {(count.sites, count.urls) for count in demo.counts(bulk).values()} == {(0, 0)}
    assert not any(s.timing.speed or s.timing.latency for s in bulk.all_sites)


# --- latency and speed


def test_latency_and_speed_of_the_sites_are_log_normal_and_correlated() -> None:
    many = DemoWeb(seed=5, sites=3_000, pages=60_000, largest=100, slow=0)
    latency = [math.log(s.timing.latency) for s in many.all_sites if s.timing.speed]
    speed = [math.log(s.timing.speed) for s in many.all_sites if s.timing.speed]
    assert statistics.correlation(latency, speed) == pytest.approx(TOGETHER, abs=0.05)
    assert math.exp(statistics.median(latency)) == pytest.approx(many.pace, rel=0.1)
    assert statistics.mean(latency) == pytest.approx(statistics.median(latency), abs=0.05), (
        "the logarithms are symmetric"
    )


def test_all_answers_of_an_ordinary_site_take_a_few_seconds_at_most() -> None:
    assert any(s.timing.slow for s in DemoWeb().all_sites)
    for s in DemoWeb().all_sites:
        assert s.timing.slow or s.pages * s.timing.latency <= ALL_ANSWERS + 1e-9


def test_latency_varies_within_a_site_by_96_percent_and_speed_by_42() -> None:
    for values, deviation in zip(zip(*factors(1), strict=True), DEVIATIONS, strict=True):
        mean = statistics.mean(values)
        assert mean == pytest.approx(1, abs=0.05)
        assert statistics.pstdev(values) / mean == pytest.approx(deviation, rel=0.1)


# --- traps


def test_a_calendar_is_endless_and_the_truth_has_what_each_depth_limit_allows() -> None:
    site = next(s for s in WEB.all_sites if s.features.calendar)
    for limit in (4, 5, 9):
        months = [e for e in WEB.reachable(limit).values() if e.kind is UrlKind.CALENDAR and site.host in e.url]
        assert sum(not e.too_deep for e in months) == 2 * limit - 1
        assert sum(e.too_deep for e in months) == 2
        assert all(e.excluded == e.too_deep for e in months)
    for month in (0, 5, -7, 123_456, -999_999):
        answer = ANSWERS.get(site, f"/calendar?month={month}", False)
        assert answer.status == 200
        for other in (month - 1, month + 1):
            assert f'"/calendar?month={other}"'.encode() in answer.body or site.charset.codec.startswith("utf-16")
    for odd in ("x", "", "007", "1&x=1"):
        assert ANSWERS.get(site, f"/calendar?month={odd}", False).status == 404
    with pytest.raises(UsageError):
        WEB.reachable(1_000)


def test_a_soft_site_answers_every_missing_target_with_the_same_text() -> None:
    site = next(s for s in WEB.all_sites if s.features.soft)
    soft = [t for t in TRUTH.values() if t.site == site.number and t.kind is UrlKind.SOFT]
    assert len(soft) > 1
    assert {body(t) for t in soft} == {ANSWERS.get(site, "/never/heard-of.html", False).body}
    assert len({t.same_as for t in soft}) == 1
    known = [e for e in WEB.reachable().values() if e.kind is UrlKind.SOFT and site.host in e.url]
    outcomes = frozenset({Outcome.OK, Outcome.DUPLICATE, Outcome.SOFT_404})
    assert len(known) < 2 or {e.outcomes for e in known} == {outcomes}
    assert ANSWERS.get(site, "/robots.txt", False).status == 200


def test_a_session_site_knows_its_pages_by_any_session() -> None:
    assert any(s.features.session for s in WEB.all_sites)
    for site in (s for s in WEB.all_sites if s.features.session):
        mark = 2 * "0123456789abcdef"
        for target in WEB.layout(site.number).target:
            query = "&" if "?" in target else "?"
            path, question, rest = target.partition("?")
            asked = (
                f"{target}{query}PHPSESSID={mark}"
                if site.features.session == "PHPSESSID"
                else f"{path};jsessionid={mark}{question}{rest}"
            )
            assert ANSWERS.get(site, asked, False) is ANSWERS.get(site, target, False)
            assert canonical(site.home[:-1] + asked, None, USUAL.session_ids, form=2) == site.home[:-1] + target


# --- mirrors and names


def test_a_mirror_has_the_bytes_of_its_original_and_leads_to_itself() -> None:
    pairs = [(t, TRUTH[t.copy_of]) for t in TRUTH.values() if t.copy_of]
    assert len(pairs) > 50
    for copy, original in pairs:
        assert body(copy) == body(original)
        assert (copy.kind, copy.title, copy.language) == (original.kind, original.title, original.language)
        there, here = (links(WEB, WEB.all_sites[t.site], t.number) for t in (original, copy))
        assert [(k.url, k.role) for k in there] == [(k.url, k.role) for k in here]
        assert not any(k.site == original.site for k in here)
    mirrors = {copy.site for copy, _ in pairs}
    for t in TRUTH.values():
        if t.site in mirrors and t.leads_to:
            assert not any(t.leads_to.startswith(WEB.all_sites[o.site].home) for _, o in pairs if o.site != t.site)


def test_pages_without_links_are_duplicates_across_a_mirror_and_others_are_not() -> None:
    expected, kinds = WEB.reachable(), Counter[UrlKind]()
    for t in (t for t in TRUTH.values() if t.copy_of and t.url in expected):
        kinds[t.kind] += 1
        if t.kind is UrlKind.PLAIN:
            assert expected[t.url].same_as == expected[t.copy_of or ""].same_as == t.copy_of
        elif t.kind is UrlKind.PAGE and t.same_as is None:
            assert expected[t.url].outcomes == frozenset({Outcome.OK})
    assert kinds[UrlKind.PLAIN]
    assert kinds[UrlKind.PAGE]


def test_a_site_with_two_names_is_one_site_under_either_name() -> None:
    assert {s.names for s in WEB.all_sites} == set(SiteNames)
    resolve, seeds = WEB.resolve(80), Counter(WEB.seeds)
    for s in (s for s in WEB.all_sites if s.names is not SiteNames.BARE):
        assert not any("://www." in url for url in TRUTH)
        assert WEB.by_host[f"www.{s.host}"] is WEB.by_host[s.host] is s
        assert resolve[f"www.{s.host}"] == f"{s.address}:80"
        assert resolve[s.host] == ("none" if s.names is SiteNames.WWW_ONLY else f"{s.address}:80")
        assert seeds[s.home] + seeds[s.home.replace("://", "://www.")] == 1
        assert WEB.robots_of(f"http://{s.name}") == WEB.robots_of(f"http://{s.name}:80")
        if s.moved_name:
            assert WEB.robots_of(f"http://{s.moved_name}") is None
    written = "".join(
        link.html
        for t in TRUTH.values()
        if t.kind is UrlKind.PAGE
        for link in links(WEB, WEB.all_sites[t.site], t.number)
        if "://" in link.html
    )
    linked = [s for s in WEB.all_sites if s.names is not SiteNames.BARE and s.ties.linked]
    assert linked
    assert any(f"://www.{s.host}/" in written and f"://{s.host}/" in written for s in linked)


# --- languages and charsets


def test_the_detected_charset_of_every_page_is_that_of_the_truth() -> None:
    seen = Counter[tuple[str, str]]()
    for t in (t for t in TRUTH.values() if t.charset):
        answer = ANSWERS.get(WEB.all_sites[t.site], WEB.layout(t.site).target[t.number], False)
        declared = re.search(r"charset=([\w-]+)", answer.fields.decode())
        found, name = decode(answer.body, declared[1] if declared else "")
        assert name == t.charset, t.url
        assert "\ufffd" not in found
        seen[t.language, t.charset] += 1
    assert {language for language, _ in seen} == {"en", "es", "de", "fr", "ru", "el", "ja", "zh"}
    assert len({charset for _, charset in seen}) >= 8


def test_the_language_of_every_page_can_be_detected() -> None:
    pages = [t for t in TRUTH.values() if t.kind in PAGES]
    some = [*pages[::10], *(t for t in pages if t.language not in ("en", "es"))]
    wrong = []
    for t in some:
        read = text(t)
        if t.kind is not UrlKind.PLAIN:
            tree = LexborHTMLParser(read)
            assert tree.body
            read = tree.body.text()
        assert len(read) > 200
        found = pycld2.detect(read[-600:])[2][0][1]
        if found != t.language:
            wrong.append((t.url, t.language, found))
    assert wrong == []
    assert len({t.language for t in some}) == 8


def test_titles_descriptions_and_the_texts_of_links_are_on_the_page() -> None:
    described = 0
    pages = [t for t in TRUTH.values() if t.kind in (UrlKind.PAGE, UrlKind.DUPLICATE, UrlKind.CALENDAR, UrlKind.SOFT)]
    for t in pages[::7]:
        tree = LexborHTMLParser(text(t))
        assert [node.text() for node in tree.css("title")] == [t.title]
        meta = tree.css_first('meta[name="description"]')
        assert (meta.attributes["content"] if meta else "") == t.description
        described += bool(t.description)
        for anchor in tree.css("a[href]"):
            assert anchor.text().strip()
    assert described / len(pages[::7]) == pytest.approx(WEB.descriptions, abs=0.08)


# --- what is expected


def test_unreachable_sites_wait_and_their_pages_are_never_requested() -> None:
    expected = WEB.reachable()
    down = [s for s in WEB.all_sites if s.down is not Down.NO]
    assert down
    for s in down:
        assert expected[s.home].excluded
        assert expected[s.home].waits
    torn = [e for e in expected.values() if e.kind is UrlKind.TORN]
    assert {(e.outcomes, e.waits) for e in torn} == {(frozenset({Outcome.BROKEN_OFF}), True)}


def test_the_settings_name_the_file_to_trust_only_if_there_is_one() -> None:
    assert 'trusted = "/tmp/x.pem"' in settings_for(["a.test"], {"b.a.test": "127.0.0.1:1"}, "/tmp/x.pem")
    assert "trusted" not in settings_for(["a.test"], {})


def test_the_settings_for_sites_that_never_answer_have_a_short_timeout() -> None:
    assert loads(settings_for(["a.test"], {}, hasty=True), "here").harvester.first_byte_timeout < 5
    assert loads(settings_for(["a.test"], {}), "here").harvester.first_byte_timeout > 5
