"""Sitemaps of every format, in every charset, broken in every way."""

from __future__ import annotations

from typing import Final

from fuzz.target import Target
from fuzz.targets.made import bodies
from gossamer.gatherer.sitemaps import LONGEST, MOST_ENTRIES, MOST_LISTED, Format, further, listed, read
from gossamer.urls import Scope

_URL: Final = "http://example.org/sitemap.xml"
_NOW: Final = 1_700_000_000.0
_CHARSETS: Final = ("", "utf-8", "utf-16", "iso-8859-1", "shift_jis", "nonsense")
_SEEDS: Final = (
    "<urlset xmlns='x'><url><loc>http://example.org/a&amp;b</loc><lastmod>2020-01-02T03:04:05+01:00</lastmod></url>"
    "<url><loc><![CDATA[http://example.org/c]]></loc></url><!-- x --><url><loc>/d</loc><lastmod>2021</url></urlset>",
    "<?xml version='1.0' encoding='iso-8859-1'?><!DOCTYPE x [<!ENTITY a 'b'>]><s:urlset><s:url><s:loc>&a;&#65;</s:loc>"
    "<image:loc>http://i.example/</image:loc></s:url></s:urlset>",
    "<sitemapindex><sitemap><loc>http://example.org/1.xml.gz</loc></sitemap><sitemap><loc>2.xml</loc></sitemap>",
    "<rdf:RDF><item rdf:about='x'><link>http://example.org/x</link><dc:date>2020-02-30</dc:date></item></rdf:RDF>",
    "<feed><entry><link rel='alternate' href='http://example.org/e'/><updated>2020-01-01T00:00:00Z</updated></entry>",
    "http://example.org/1\r\nhttps://example.org/2\n\nno\n",
)


class SitemapsTarget(Target):
    """sitemaps: the first byte chooses the charset of the header, the rest is the body."""

    name = "sitemaps"
    parts = ("gatherer/sitemaps.py", "gatherer/links.py", "gatherer/charset.py")
    words = (
        b"<url>",
        b"</url>",
        b"<loc>",
        b"</loc>",
        b"<lastmod>",
        b"<urlset>",
        b"</urlset>",
        b"<sitemapindex>",
        b"<sitemap>",
        b"<rss>",
        b"<item>",
        b"<link>",
        b"<pubDate>",
        b"<feed>",
        b"<entry>",
        b"<link href='",
        b"<updated>",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<!DOCTYPE x [",
        b"<?xml encoding='utf-16'?>",
        b"&#",
        b"&#x41;",
        b"&lt;",
        b"&a;",
        b"x:",
        b"http://example.org/",
        b"Wed, 02 Oct 2002 13:00:00 GMT",
        b"2020-13-45T25:61:61+99:99",
        b"<",
        b">",
        b"/>",
    )
    longest = 1 << 18
    megabytes = 128

    def __init__(self) -> None:
        self._scope = Scope(("example.org", "example"))

    def seeds(self) -> list[bytes]:
        made = [body for kind in ("application/xml", "text/plain") for body, _ in bodies(kind, 3)]
        return [b"\0" + body for body in [*map(str.encode, _SEEDS), *made]]

    def check(self, data: bytes) -> None:
        charset = _CHARSETS[(data[0] if data else 0) % len(_CHARSETS)]
        found = read(data[1:], charset, _NOW)
        assert len(found.entries) <= MOST_ENTRIES
        assert all(len(entry.address) <= LONGEST for entry in found.entries)
        assert all(entry.lastmod is None or 0 < entry.lastmod <= _NOW for entry in found.entries)
        gathered = listed(found, _URL, self._scope)
        assert sum(len(link.url) for link in gathered.links) <= MOST_LISTED
        assert all(link.url.isascii() and link.url.isprintable() for link in gathered.links)
        named = further(found, _URL, 10)
        assert len(named) <= 10
        assert all(url.isascii() and url.isprintable() for url in named)
        if found.format is Format.NONE:
            assert not found.entries
