"""Tests of reading sitemaps: every format, broken files, limits."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from unittest.mock import patch
from xml.sax.saxutils import escape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.base.model import Counted, LinkKind
from gossamer.gatherer import sitemaps
from gossamer.gatherer.sitemaps import EARLIEST, Entry, Format, further, lastmod, listed, read
from gossamer.urls import Scope
from tests.support.timing import grows_less

NOW = 1_767_225_600.0
SCOPE = Scope(("example",))

ADDRESSES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=30)
    .map(lambda text: f"http://a.example/{text}")
    .filter(lambda text: text == text.strip(sitemaps._WHITE)),
    max_size=8,
)


def xml(addresses: list[str], root: str = "urlset", entry: str = "url", prefix: str = "", dates: bool = False) -> str:
    p = f"{prefix}:" if prefix else ""
    body = "".join(
        f"<{p}{entry}>\n  <{p}loc> {escape(each)} </{p}loc>"
        + (f"<{p}lastmod>2024-02-03</{p}lastmod>" if dates else "")
        + f"</{p}{entry}>"
        for each in addresses
    )
    return f'<?xml version="1.0"?>\n<!-- made -->\n<{p}{root} xmlns="http://www.sitemaps.org/">{body}</{p}{root}>'


def rss(addresses: list[str]) -> str:
    items = "".join(f"<item><title>x</title><link>{escape(a)}</link></item>" for a in addresses)
    return f'<rss version="2.0"><channel><link>http://a.example/</link>{items}</channel></rss>'


def atom(addresses: list[str]) -> str:
    entries = "".join(
        f'<entry><link rel="edit" href="http://no.example/"/><link href="{escape(a, {chr(34): "&quot;"})}"/></entry>'
        for a in addresses
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.example/"/>{entries}</feed>'


@given(ADDRESSES, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]), st.booleans())
def test_every_format_and_charset_is_read(addresses: list[str], charset: str, dates: bool) -> None:
    when = 1_706_918_400.0 if dates else None
    expected = [Entry(a, when) for a in addresses]
    for prefix in ("", "sm"):
        found = read(xml(addresses, prefix=prefix, dates=dates).encode(charset), "", NOW)
        assert (found.format, found.entries, found.whole) == (Format.URLSET, expected, True)
    assert read(xml(addresses, "sitemapindex", "sitemap").encode(charset), "", NOW).entries == [
        Entry(a) for a in addresses
    ]
    for text, format_ in ((rss(addresses), Format.RSS), (atom(addresses), Format.ATOM)):
        found = read(text.encode(charset), "", NOW)
        assert (found.format, [e.address for e in found.entries], found.whole) == (format_, addresses, True)
    if charset in ("utf-8", "utf-8-sig", "utf-16"):
        found = read("\r\n".join([*addresses, "no address"]).encode(charset), "", NOW)
        assert (found.format, [e.address for e in found.entries]) == (Format.TEXT, addresses)


@given(ADDRESSES, st.integers(0, 3000))
def test_a_cut_file_is_read_as_far_as_it_goes(addresses: list[str], size: int) -> None:
    """Only the last address may be cut."""
    body = xml(addresses).encode()
    found = read(body[:size], "", NOW)
    whole = [e.address for e in found.entries][: len(addresses)]
    assert whole[:-1] == addresses[: len(whole)][:-1]
    assert found.whole is (size >= len(body)) or found.format is not Format.URLSET
    assert len(read(body, "", NOW).entries) == len(addresses)


PIECES = st.sampled_from(
    [
        b"<urlset>",
        b"<url>",
        b"</url>",
        b"<loc>",
        b"</loc>",
        b"http://a.example/",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<!DOCTYPE x [",
        b"]>",
        b"<?",
        b"?>",
        b"&",
        b"&amp;",
        b"&#0;",
        b"&#x110000;",
        b"&#99999999;",
        b"&x;",
        b"\0",
        b"\xff",
        b"<rss>",
        b"<item>",
        b"<link>",
        b"<feed>",
        b"<entry>",
        b"<link href='",
        b"'/>",
        b"<lastmod>",
        b"2024",
        b"\xfe\xff",
        b"<a:urlset>",
        b"<a:url>",
        b"<",
        b">",
        b"<rdf:RDF>",
        b"<sitemapindex>",
        b"<sitemap>",
        b"\x1f\x8b",
        b"</urlset>",
    ]
)


@settings(deadline=None)
@given(
    st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=40).map(b"".join)),
    st.sampled_from(["", "utf-16", "x"]),
)
@example(b"<!DOCTYPE [", "")
@example(b"<urlset><url><loc><![CDATA[", "")
def test_anything_can_be_read(body: bytes, declared: str) -> None:
    found = read(body, declared, NOW)
    assert all(e.address and len(e.address) <= sitemaps.LONGEST for e in found.entries)
    listed(found, "http://a.example/sitemap.xml", SCOPE)
    further(found, "http://a.example/sitemap.xml", 50)


LAUGHS = (
    "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY a 'ha'>"
    + "".join(f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(9))
    + "<!ENTITY file SYSTEM 'file:///etc/passwd'><!ENTITY % p SYSTEM 'http://127.0.0.1/x.dtd'> %p;]>"
    + "<urlset><url><loc>http://a.example/&j;&file;</loc></url><url><loc>http://a.example/2</loc></url></urlset>"
)


def test_no_entity_is_expanded() -> None:
    assert [e.address for e in read(LAUGHS.encode(), "", NOW).entries] == [
        "http://a.example/&j;&file;",
        "http://a.example/2",
    ]


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("http://a.example/?x=1&amp;y=2", "http://a.example/?x=1&y=2"),
        ("http://a.example/?x=1&y=2", "http://a.example/?x=1&y=2"),
        ("http://a.example/?x=1&copy=2", "http://a.example/?x=1&copy=2"),
        ("\n  http://a.example/ \t", "http://a.example/"),
        ("\u00a0\u2003http://a.example/\u200b\u3000\u2028", "http://a.example/"),
        ("&#160;http://a.example/&#xa0;", "http://a.example/"),
        ("<![CDATA[http://a.example/?a=1&b=2]]>", "http://a.example/?a=1&b=2"),
        ("<!-- old -->http://a.example/<!-- new -->", "http://a.example/"),
        ("http://a.example/&#228;&#xE4;&apos;&quot;&lt;&gt;", "http://a.example/ää'\"<>"),
        ("http://a.example/&nbsp;&#0;", "http://a.example/&nbsp;&#0;"),
        ("/relative", "/relative"),
    ],
)
def test_addresses_are_read_in_every_spelling(written: str, address: str) -> None:
    text = f"<urlset><url><loc>{written}</loc></url><url><loc>http://a.example/next</loc></url></urlset>"
    assert [e.address for e in read(text.encode(), "", NOW).entries] == [address, "http://a.example/next"]


@pytest.mark.parametrize(
    "text",
    [
        '<urlset xmlns:image="i"><url><loc>http://a.example/1</loc><image:image><image:loc>http://a.example/i.jpg'
        "</image:loc></image:image></url></urlset>",
        "<urlset><!-- <url><loc>http://a.example/0</loc></url> --><url><loc>http://a.example/1</loc></url></urlset>",
        "<URLSET><URL><LOC>http://a.example/1</LOC></URL></URLSET>",
        "<urlset><url><loc>http://a.example/1</loc><url><loc></loc></url><url/><url><lastmod>2024</lastmod></url>",
        "<urlset><url><loc>http://a.example/1",
        "<urlset><url><loc><url>http://a.example/1</url></loc><lastmod>2024</lastmod></url></urlset>",
        "<urlset><url>http://a.example/1</url></urlset>",
        "<sitemapindex><sitemap>\n http://a.example/1 <lastmod>2024</lastmod></sitemap></sitemapindex>",
        "<rss><channel><item><title>x</title><guid>http://a.example/1</guid></item></channel></rss>",
        "<rss><item><guid>http://a.example/2</guid><link>http://a.example/1</link></item></rss>",
        "<rss><item><link>http://a.example/1</link></item><item><guid>tag:a,1</guid></item>"
        "<item><guid isPermaLink='false'>http://a.example/3</guid></item></rss>",
        "<urlset>\0<url\n><loc attribute='x'>http://a.example/1</loc ></url ></urlset>",
        "<!DOCTYPE urlset SYSTEM 'http://127.0.0.1/x'><urlset><url><loc>http://a.example/1</loc></url></urlset>",
        "<urlset><url><loc>http://a.example/1</loc></url></urlset><url><loc>http://a.example/2</loc></url>",
        "<rdf:RDF><channel><link>x</link></channel><item><link>http://a.example/1</link><dc:date>2024</dc:date></item></rdf:RDF>",
        "<rss><channel><atom:link href='x'/><item><atom:link href='y'/><link>http://a.example/1</link></item></channel></rss>",
    ],
)
def test_odd_markup_is_read(text: str) -> None:
    assert [e.address for e in read(text.encode(), "", NOW).entries] == ["http://a.example/1"]


def test_every_address_of_an_entry_counts() -> None:
    body = b"<urlset><url><priority>1</priority><loc>/1</loc><loc>/2</loc><lastmod>2024</lastmod></url></urlset>"
    when = 1_704_067_200.0
    assert read(body, "", NOW).entries == [Entry("/1", when), Entry("/2", when)]
    many = b"<urlset><url>" + b"<loc>/1</loc>" * 20 + b"</url></urlset>"
    with patch.object(sitemaps, "MOST_ENTRIES", 10):
        assert (len(read(many, "", NOW).entries), read(many, "", NOW).whole) == (10, False)


def test_dates_are_parsed_only_for_entries_that_count() -> None:
    """A date that cannot be read takes ten times as long as a tag."""
    body = (
        b"<urlset>" + b"<url><lastmod>odd</lastmod></url>" * 9 + b"<url><loc>/1</loc>" + b"<lastmod>odd</lastmod>" * 9
    )
    with patch.object(sitemaps, "lastmod", return_value=None) as dates:
        assert read(body, "", NOW).entries == [Entry("/1")]
    assert dates.call_count <= 4


@pytest.mark.parametrize(
    "body", [b"", b"<html><a href='http://a.example/'>none</a></html>", b"no such page", b"\0" * 99]
)
def test_a_file_that_is_not_a_sitemap_has_no_entries(body: bytes) -> None:
    assert read(body, "", NOW).entries == []


@pytest.mark.parametrize("charset", ["iso-8859-1", "windows-1251", "gb18030"])
def test_the_charset_comes_from_the_declaration_or_the_header(charset: str) -> None:
    address = {
        "iso-8859-1": "http://a.example/ä",
        "windows-1251": "http://a.example/ж",
        "gb18030": "http://a.example/中",
    }[charset]
    declared = f'<?xml version="1.0" encoding="{charset}"?>{xml([address])[22:]}'.encode(charset)
    assert read(declared, "", NOW).entries == [Entry(address)]
    assert read(xml([address]).encode(charset), charset, NOW).entries == [Entry(address)]
    lie = f'<?xml version="1.0" encoding="utf-16"?>{xml(["http://a.example/"])[22:]}'.encode()
    assert read(lie, "", NOW).entries == [Entry("http://a.example/")]


def test_the_limits_hold() -> None:
    body = xml([f"http://a.example/{i}" for i in range(12)]).encode()
    with patch.object(sitemaps, "MOST_ENTRIES", 10):
        assert (len(read(body, "", NOW).entries), read(body, "", NOW).whole) == (10, False)
        text = b"\n".join(b"http://a.example/%d" % i for i in range(12))
        assert (len(read(text, "", NOW).entries), read(text, "", NOW).whole) == (10, False)
    with patch.object(sitemaps, "MOST_ENTRIES", 12):
        assert read(body, "", NOW).whole
    with patch.object(sitemaps, "MOST_BYTES", 300):
        assert 0 < len(read(body, "", NOW).entries) < 12
    with patch.object(sitemaps, "MOST_TAGS", 15):
        found = read(body, "", NOW)
        assert (len(found.entries), found.whole) == (5, False)
        lines = read(b"\n\n".join([b"x"] * 10 + [text]), "", NOW)
        assert (len(lines.entries), lines.whole) == (5, False)
        parts = b"<urlset><url><loc>" + b"<![CDATA[]]>" * 20 + b"/1</loc></url></urlset>"
        assert (read(parts, "", NOW).entries, read(parts, "", NOW).whole) == ([], False)
    with patch.object(sitemaps, "MOST_MARKS", 23):
        assert (len(read(body, "", NOW).entries), read(body, "", NOW).whole) == (5, False)
    odd = b"<urlset>" + b"".join(b"<url><loc>/%d&lt;&#65;</loc><lastmod>2024</lastmod></url>" % i for i in range(9))
    with patch.object(sitemaps, "MOST_ODD", 4):
        assert [e.address for e in read(odd, "", NOW).entries][:3] == ["/0<A", "/1<A", "/2&lt;&#65;"]
    with patch.object(sitemaps, "MOST_ODD", 2):
        dated = odd.replace(b"&lt;&#65;", b"").replace(b"2024", b"never", 2)
        assert [e.lastmod for e in read(dated, "", NOW).entries] == [None] * 9
        assert read(odd.replace(b"&lt;&#65;", b"").replace(b"2024", b"never", 1), "", NOW).entries[1].lastmod
    assert (
        read(f"<urlset><url><loc>http://a.example/{'x' * 20_000}</loc></url></urlset>".encode(), "", NOW).entries == []
    )


@pytest.mark.parametrize(
    "piece",
    [
        b"<",
        b"<loc ",
        b"<!--",
        b"<![CDATA[",
        b"<url><loc>",
        b"<!---->",
        b"&",
        b"<!DOCTYPE",
        b"<?x?>",
        b"<!DOCTYPE[",
        b"<!DOCTYPE>",
        b"<!DOCTYPE x>",
        b"<a>",
        b"\n",
        b"http://a.example/\n",
    ],
)
@pytest.mark.parametrize("head", [b"<urlset>", b"<urlset><url><loc>", b""])
def test_hostile_text_takes_linear_time(head: bytes, piece: bytes) -> None:
    """Twenty times the size takes about twenty times the time, not four hundred times."""

    def reading(size: int) -> Callable[[], object]:
        body = head + piece * size
        return lambda: read(body, "", NOW)

    assert grows_less(reading, (2_000, 40_000), than=150)


def at(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2024", "2024-01-01T00:00:00+00:00"),
        ("2024-05", "2024-05-01T00:00:00+00:00"),
        ("2024-05-06", "2024-05-06T00:00:00+00:00"),
        (" 2024-5-6\n", "2024-05-06T00:00:00+00:00"),
        ("2024-05-06T07:08Z", "2024-05-06T07:08:00+00:00"),
        ("2024-05-06T07:08+01:00", "2024-05-06T06:08:00+00:00"),
        ("2024-05-06T07:08:09-0330", "2024-05-06T10:38:09+00:00"),
        ("2024-05-06T07:08:09.123456789Z", "2024-05-06T07:08:09+00:00"),
        ("2024-05-06 07:08:09", "2024-05-06T07:08:09+00:00"),
        ("20240506", "2024-05-06T00:00:00+00:00"),
        ("2024/05/06", "2024-05-06T00:00:00+00:00"),
        ("2024/5/6 7:08", "2024-05-06T07:08:00+00:00"),
        ("2024-05-06 07:08:09 UTC", "2024-05-06T07:08:09+00:00"),
        ("20240506T070809Z", "2024-05-06T07:08:09+00:00"),
        ("Mon, 06 May 2024 07:08:09 GMT", "2024-05-06T07:08:09+00:00"),
        ("Mon, 06 May 2024 07:08:09 +0200", "2024-05-06T05:08:09+00:00"),
    ],
)
def test_dates_of_all_precisions_are_parsed(text: str, when: str) -> None:
    assert lastmod(text, NOW) == at(when)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2024-13-01",
        "2024-02-30",
        "0000-00-00",
        "1970-01-01",
        "2031-01-01",
        "9999",
        "2024-05-06T25:00Z",
        "2024-05-06T07:08+99:99",
        "٢٠٢٤",
        "20240536",
        "2024/05-06",
        "06/05/2024",
        "Mon, 99 Foo 2024",
        "2024-05-06T07:08:09Z" + "x" * 100,
    ],
)
def test_invalid_and_future_dates_are_ignored(text: str) -> None:
    assert lastmod(text, NOW) is None


@given(st.text(max_size=40))
def test_a_date_is_between_the_first_web_page_and_now(text: str) -> None:
    found = lastmod(text, NOW)
    assert found is None or EARLIEST <= found <= NOW


def test_listed_pages_are_judged_like_links_of_a_page() -> None:
    addresses = [
        "http://www.a.example/1?y=2",
        "/2.html",
        "http://a.example/i.jpg",
        "http://other.test/",
        "mailto:x@y",
        "/2.html",
    ]
    made = listed(read(xml(addresses, dates=True).encode(), "", NOW), "http://a.example/map/s.xml", SCOPE)
    assert [(link.url, link.kind, link.text) for link in made.links] == [
        ("http://a.example/1?y=2", LinkKind.SITEMAP, "1706918400"),
        ("http://a.example/2.html", LinkKind.SITEMAP, "1706918400"),
    ]
    assert made.counted[Counted.IMAGE] == made.counted[Counted.OUT_OF_SCOPE] == made.counted[Counted.NOT_HTTP] == 1
    assert made.digest == 0


@pytest.mark.parametrize("address", ["/{}", "{}", "http://a.example/{}/" + "x" * 900, "/" + "é" * 180 + "{}"])
def test_listed_urls_are_bounded_in_bytes(address: str) -> None:
    """This holds even if the URL of the sitemap is long, or percent-encoding makes URLs longer."""
    url = f"http://a.example/{''.join(f'{n:04}/' for n in range(180))}"
    body = xml([address.format(i) for i in range(200)]).encode()
    whole = listed(read(body, "", NOW), url, SCOPE).links
    with patch.object(sitemaps, "MOST_LISTED", 50_000):
        some = listed(read(body, "", NOW), url, SCOPE).links
    assert 0 < len(some) < len(whole) == 200
    assert some == whole[: len(some)]
    assert sum(len(link.url) for link in some) <= 50_000


def test_reading_lines_takes_little_memory() -> None:
    tracemalloc.start()
    try:
        read(b"xyz\n" * 20_000, "", NOW)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


def test_an_index_gives_sitemaps_and_no_pages() -> None:
    body = xml(
        ["/s1.xml.gz", "http://www.a.example/s2.xml", "mailto:x", "/s1.xml.gz", "/s3.xml"], "sitemapindex", "sitemap"
    )
    found = read(body.encode(), "", NOW)
    assert listed(found, "http://a.example/i.xml", SCOPE).links == []
    assert further(found, "http://a.example/i.xml", 2) == ("http://a.example/s1.xml.gz", "http://www.a.example/s2.xml")
