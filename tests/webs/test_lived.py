"""The judge of crawls of a living Web: of a simple crawler that compares bodies, it says the truth."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from gossamer.webs.coverage.lived import Judge, Lived, Seen, as_json, lines_of_life
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.life import Happening, Validators
from gossamer.webs.demo.living import LivingAnswers
from tests.support.crawling import LIGHT, gossamer, serve

SPEED = 1440.0
WEB = DemoWeb(seed=4, sites=30, pages=400, speed=SPEED)
NOW, HOURS = 1_790_000_000.0, 1.0
END = NOW + HOURS * 3600
DIGITS = re.compile(rb"\d")
OUTCOMES = {200: "ok", 304: "not_modified", 301: "redirect", 308: "redirect", 404: "not_found", 410: "not_found"}


def urls() -> list[str]:
    plain = [s for s in WEB.all_sites if s.readable and not (s.features.session or s.features.soft)]
    found = [WEB.url(s.number, n) for s in plain for n in range(0, s.pages, 2)]
    standings = [WEB.standing(url, NOW) for url in found]
    moved = [
        url.rpartition(".test")[0] + ".test" + s.location
        for url, s in zip(found, standings, strict=True)
        if s and s.location
    ]
    return [url for url, s in zip(found, standings, strict=True) if s] + moved + list(WEB.born(NOW - 600, NOW))[:60]


def visited(url: str, times: list[float], conditional: bool = False, every: int = 0) -> Iterator[Seen]:
    """What a crawler sees that keeps the last body, and compares. `every`: so many visits, one is not conditional."""
    answers, kept, conditions = LivingAnswers(WEB), b"", dict[str, str]()
    for number, at in enumerate(times, 1):
        asked = conditions if conditional and not (every and number % every == 0) else {}
        found = answers.answer(*WEB.located(url), asked, at)
        outcome, change = OUTCOMES[found.status], "unknown"
        if found.status == 200:
            change = (
                "none"
                if found.body == kept
                else "minor"
                if DIGITS.sub(b"", found.body) == DIGITS.sub(b"", kept)
                else "major"
            )
            kept = found.body
            named = {"if-none-match": found.etag, "if-modified-since": found.modified}
            conditions = {name: value for name, value in named.items() if value}
        yield Seen(at, 0.0, outcome, change, found.location or None, len(found.body) + 300)


def times(url: str) -> list[float]:
    """From a few seconds to minutes apart."""
    random, at, found = Random(url), NOW, list[float]()
    while at < END - 60:
        at += random.choice((3.0, 30.0, 300.0)) * (0.5 + random.random())
        found.append(at)
    return found


@pytest.fixture(scope="module")
def honest() -> Lived:
    judge = Judge(WEB, END)
    for url in urls():
        judge.page(url, visited(url, times(url)))
    return judge.done()


def test_a_crawl_that_compares_bodies_notices_everything(honest: Lived) -> None:
    kinds = [each for each in Happening if each is not Happening.BORN]
    assert set(honest.claims) == {"none", *kinds}
    for what, claims in honest.claims.items():
        assert set(claims) == {what}
        assert claims[what] >= 3
    assert (honest.false, honest.noticed) == (0, honest.changes)
    assert (honest.not_modified, honest.saved) == (0, 0)


def test_freshness_and_lateness_are_those_of_the_truth(honest: Lived) -> None:
    """Compared with samples of the time, and with a list of all delays."""
    samples, delays, held = list[bool](), list[float](), 0
    for url in urls():
        seen = list(visited(url, times(url)))
        held += seen[-1].outcome == "ok"
        for one, two in zip(seen, [*seen[1:], None], strict=True):
            end = two.at if two else END
            if one.outcome == "ok":
                steps = int((end - one.at) / 10)
                samples += [WEB.standing(url, one.at + 10 * n) == WEB.standing(url, one.at) for n in range(steps)]
            events = list(WEB.history(url, one.at, end))
            if two and events and WEB.standing(url, one.at) != WEB.standing(url, two.at):
                delays.append(two.at - events[0].time)
    assert honest.copies == held
    assert honest.mean_fresh == pytest.approx(statistics.mean(samples), abs=0.01)
    assert honest.late == pytest.approx(statistics.median(delays), rel=0.03)
    assert 0 < honest.mean_fresh < honest.mean_fresh_words < 1
    assert 0 < honest.age < HOURS * 3600
    assert 0 < honest.pending < honest.happened


def test_a_crawl_that_believes_everything_is_found_out() -> None:
    """With conditional requests it is deceived where servers lie, and nowhere else; weak tags hide minor changes."""
    judge = Judge(WEB, END)
    for url in urls():
        judge.page(url, visited(url, times(url), conditional=True))
    found = judge.done()
    wrong = {kind: told.wrong for kind, told in found.validators.items() if told.wrong}
    assert set(wrong) == {Validators.ALWAYS_304.value}
    silent = {Validators.NONE, Validators.TAG_EACH, Validators.DATE_NOW}
    assert {kind for kind, told in found.validators.items() if not told.not_modified} <= {kind.value for kind in silent}
    assert found.noticed < found.changes
    assert found.not_modified > 100
    assert found.saved > 1_000 * found.not_modified


def test_what_a_304_has_hidden_is_found_by_a_full_request() -> None:
    """The change is then no false one, although nothing has happened since the visit before."""
    judge = Judge(WEB, END)
    for url in urls():
        judge.page(url, visited(url, times(url), conditional=True, every=3))
    found = judge.done()
    assert found.validators[Validators.ALWAYS_304.value].wrong > 0
    assert found.false == 0
    assert found.claims["major"]["none"] <= found.validators[Validators.ALWAYS_304.value].wrong


def test_claims_of_changes_that_were_none_are_counted(honest: Lived) -> None:
    judge = Judge(WEB, END)
    for url in urls():
        judge.page(url, (seen._replace(change="major") for seen in visited(url, times(url))))
    found = judge.done()
    there = sum(honest.claims["none"].values())
    assert 0 < found.false == found.claims["none"]["major"] <= there
    assert found.noticed == found.changes


def test_what_happens_during_a_visit_is_not_judged() -> None:
    url = urls()[0]
    change = next(event.time for event in WEB.history(url, NOW, NOW + 40_000))
    judge = Judge(WEB, change + 10)
    around = [Seen(change - 5, 0.0, "ok", "unknown", None, 9), Seen(change - 1, 2.0, "ok", "none", None, 9)]
    judge.page(url, around)
    assert (judge.done().doubtful, judge.done().claims) == (1, {})


def test_news_are_counted() -> None:
    judge, born = Judge(WEB, END), list(WEB.born(NOW, END))
    judge.news(NOW, [*born[:7], *WEB.born(NOW - 600, NOW), "http://nowhere/news/"][:-1])
    assert (judge.result.born, judge.result.found) == (len(born), 7)
    assert len(born) > 20


def test_the_result_is_told_in_lines_and_in_json(honest: Lived) -> None:
    text = "\n".join(lines_of_life(honest))
    assert f"noticed: {honest.noticed:,} of {honest.changes:,}" in text
    assert all(kind.value in text for kind in Validators)
    assert as_json(honest)["noticed"] == honest.noticed
    assert "nothing was noticed" in "\n".join(lines_of_life(replace(honest, late=None)))


@pytest.mark.slow
def test_a_crawl_that_visits_again_is_judged_by_its_collection(tmp_path: Path) -> None:
    web, folder = DemoWeb(seed=4, sites=12, pages=120, tls=0, slow=0, delays=0, speed=1e5), tmp_path / "crawl"
    options = ("--sites", "12", "--pages", "120", "--seed", "4", "--without", "tls,slow,delays", "--speed", "100000")
    with serve(web, tmp_path, *LIGHT) as served:
        assert served.crawl(folder, "--workers", "1", "--for", "4s").code == 0
        assert gossamer("again", folder, "--yes").code == 0
        assert served.crawl(folder, "--workers", "1", "--for", "4s").code == 0
    found = gossamer("web", *options, "--against", folder, "--json").figures
    pairs = sum(sum(claims.values()) for claims in found["claims"].values())
    assert pairs > 50
    assert found["changes"] > 10
    assert found["copies"] > 50
    assert 0 < found["mean_fresh"] < 1
    assert 0 < found["found"] <= found["born"]
    wrong = {kind: told["wrong"] for kind, told in found["validators"].items() if told["wrong"]}
    assert set(wrong) <= {Validators.ALWAYS_304.value}
    assert found["claims"]["major"].get("none", 0) <= sum(wrong.values())
    for what in ("gone", "back", "moved"):
        assert set(found["claims"].get(what, {})) <= {what}
