"""Tests of the results of sitemaps: what a worker reads, what it sends to the desk, and what the tables contain."""

from __future__ import annotations

import gzip
import random

import numpy as np
import pytest

from gossamer.base.model import NONE, Ask, Assignment, LinkKind, Outcome
from gossamer.collection.journal.effects import HINT, Effects
from gossamer.collection.tables import segments
from gossamer.config import Settings, override
from gossamer.gatherer import sitemaps
from gossamer.gatherer.reader import Reader
from gossamer.robots import Rules
from gossamer.robots.parse import LIMIT
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.message import HEAD, Links, Results, decode_results

URL = b"http://a.example/sitemap.xml.gz"
BODY = b"<urlset>" + b"".join(
    b"<url><loc>http://a.example/%d</loc>%s</url>" % (i, b"<lastmod>2024</lastmod>" if i % 2 else b"") for i in range(9)
)


def result(body: bytes, status: int = 200, **headers: str) -> Results:
    return asked(Ask.SITEMAP, body, status, **headers)


def asked(ask: Ask, body: bytes, status: int = 200, **headers: str) -> Results:
    settings = override(Settings(), ('seeder.domains=["example"]', "seeder.sitemaps_per_site=3"))
    assignment = Assignment(1, ask, NONE, 0, 0, URL, "192.0.2.1", 80)
    fetched = Fetched(
        assignment,
        None,
        "",
        1.0,
        2.0,
        status=status,
        body=body,
        headers={k.replace("_", "-"): v for k, v in headers.items()},
    )
    return decode_results([Reader(settings, 7).result(fetched)[HEAD.size :]])


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (BODY, {}),
        (BODY, {"content_type": "text/html"}),
        (gzip.compress(BODY), {"content_type": "application/gzip"}),
        (gzip.compress(BODY), {"content_encoding": "gzip"}),
        (gzip.compress(gzip.compress(BODY)), {"content_encoding": "gzip", "content_type": "application/x-gzip"}),
        (gzip.compress(BODY[:200]) + gzip.compress(BODY[200:]), {}),
        (BODY, {"content_encoding": "gzip"}),
    ],
)
def test_a_sitemap_becomes_links_however_it_is_compressed(body: bytes, headers: dict[str, str]) -> None:
    found = result(body, 200, **headers)
    assert found.visits["outcome"][0] == Outcome.OK
    assert found.links.texts.split() == [b"http://a.example/%d" % i for i in range(9)]
    assert set(found.links.kind.tolist()) == {LinkKind.SITEMAP}
    assert found.links.anchors.split() == [b"1704067200" if i % 2 else b"" for i in range(9)]
    assert (found.visits["out_degree"][0], found.visit_texts().all()[0]["title"]) == (9, URL)


def test_a_cut_gzip_file_or_a_bomb_is_read_as_far_as_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = result(gzip.compress(BODY)[:-30])
    assert 0 < len(cut.links) <= 9
    monkeypatch.setattr("gossamer.gatherer.reader.MOST_BYTES", 300)
    monkeypatch.setattr(sitemaps, "MOST_BYTES", 300)
    bomb = result(gzip.compress(BODY + b" " * 10_000_000))
    assert 0 < len(bomb.links) < 9
    encoded = result(gzip.compress(BODY + b" " * 10_000_000), content_encoding="gzip")
    assert encoded.visits["outcome"][0] == Outcome.OK
    assert encoded.links.texts.split() == bomb.links.texts.split()


LONG = b"<urlset>" + b"".join(b"<url><loc>http://a.example/%x</loc></url>" % (i**9) for i in range(3_000))


@pytest.mark.parametrize("headers", [{}, {"content_encoding": "gzip"}], ids=["file", "encoding"])
def test_a_damaged_sitemap_is_read_up_to_the_damage(headers: dict[str, str]) -> None:
    coded = gzip.compress(LONG)
    half = len(coded) // 2
    found = result(coded[:half] + b"\xff" * 40 + coded[half + 40 :], 200, **headers)
    assert found.visits["outcome"][0] == Outcome.OK
    whole = result(LONG).links.texts.split()
    assert found.links.texts.split()[:700] == whole[:700]
    assert found.links.texts.split() != whole


def test_a_body_that_is_not_gzip_is_a_bad_encoding() -> None:
    assert result(b"\1\2\3" * 99, content_encoding="gzip").visits["outcome"][0] == Outcome.BAD_ENCODING


@pytest.mark.parametrize("behind", [b"# padding\n" * 1_000_000, b"damaged"])
def test_the_first_500_kib_of_a_robots_txt_are_used_if_the_rest_is_damaged_or_too_large(behind: bytes) -> None:
    text = b"User-agent: *\nDisallow: /no\nSitemap: http://a.example/s.xml\n"
    head = gzip.compress(text + bytes(random.Random(1).choices(range(97, 123), k=LIMIT)) + behind)
    body = head if behind != b"damaged" else head[: len(head) - 9] + b"\xff" * 9
    found = asked(Ask.ROBOTS, body, content_encoding="gzip")
    assert found.visits["outcome"][0] == Outcome.OK
    assert found.visit_texts().all()[0]["rules"] == Rules.parse(text, "Gossamer").compiled()
    assert found.visit_texts().all()[0]["sitemaps"] == b"http://a.example/s.xml"
    damaged = asked(Ask.ROBOTS, body[:5000] + b"\xff" * 99, content_encoding="gzip")
    assert damaged.visits["outcome"][0] == Outcome.BAD_ENCODING


def test_an_index_becomes_names_of_sitemaps_up_to_the_maximum() -> None:
    body = b"".join(b"<sitemap><loc>/part%d.xml</loc></sitemap>" % i for i in range(9))
    found = result(b"<sitemapindex>" + body + b"</sitemapindex>")
    assert len(found.links) == 0
    assert found.visit_texts().all()[0]["sitemaps"].split() == [b"http://a.example/part%d.xml" % i for i in range(3)]


def test_a_redirect_of_a_sitemap_has_a_target_and_no_link() -> None:
    found = result(b"", 301, location="http://www.b.example/x")
    assert found.visit_texts().all()[0]["redirect"] == b"http://www.b.example/x"
    assert len(found.links) == 0


def test_the_pieces_of_links_together_are_the_links() -> None:
    links = result(BODY).links
    pieces = links.pieces(4)
    assert [len(piece) for piece in pieces] == [4, 4, 1]
    for name in ("fingerprint", "origin", "kind", "flags", "tag", "position"):
        np.testing.assert_array_equal(np.concatenate([getattr(p, name) for p in pieces]), getattr(links, name))
    assert [t for p in pieces for t in p.texts.split()] == links.texts.split()
    assert [t for p in pieces for t in p.anchors.split()] == links.anchors.split()
    odd = links.where(np.arange(9) % 2 == 1)
    assert odd.texts.split() == links.texts.split()[1::2]
    assert odd.anchors.split() == [b"1704067200"] * 4
    assert Links.none().pieces(4) == []


def test_hints_pass_through_the_journal_into_a_table_of_their_own() -> None:
    ticks = [Effects(i, 1_700_000_000.0 + i, 0.0) for i in range(1, 4)]
    for tick in ticks[1:]:
        tick.hints = np.array([(tick.tick, 1_600_000_000.0), (9, 1_650_000_000.0)], HINT)
        tick.hinted_by = b"http://a.example/%d.xml" % tick.tick
    again = [Effects.decode(tick.encode()) for tick in ticks]
    assert [tick.encode() for tick in again] == [tick.encode() for tick in ticks]
    table = segments.tables(again, 0)["hints"]
    assert table.column("page").to_pylist() == [2, 9, 3, 9]
    assert table.column("sitemap").to_pylist() == ["http://a.example/2.xml"] * 2 + ["http://a.example/3.xml"] * 2
    assert table.column("tick").to_pylist() == [2, 2, 3, 3]
    assert table.column("lastmod").to_pylist()[0].year == 2020
    read = list(segments.effects(segments.tables(again, 0).get, 0))
    assert [tick.encode() for tick in read] == [tick.essential().encode() for tick in ticks]
