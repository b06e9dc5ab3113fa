"""The views of `gossamer sql`: their columns, with type and description. The documentation is generated from it.

The order is that of `select *`. Types are DuckDB's. Times are UTC. A table without files, and a column that older
segments lack, exist too and are empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gossamer.base.model import Counted


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view."""

    name: str
    type: str
    sentence: str


@dataclass(frozen=True, slots=True)
class View:
    """A view of `gossamer sql`."""

    sentence: str
    columns: tuple[Column, ...]
    stored: tuple[str, ...] = ()
    """Names of the columns that the segments of the table contain; empty: all."""

    def in_segments(self) -> list[Column]:
        return [c for c in self.columns if not self.stored or c.name in self.stored]


def _columns(text: str) -> tuple[Column, ...]:
    """Parses one column per line: name, type, sentence. A line that begins with white space continues the line
    before."""
    lines = text.strip().replace("\n  ", " ").splitlines()
    return tuple(Column(*" ".join(line.split()).split(" ", 2)) for line in lines)


_PAGES: Final = _columns("""
page BIGINT Number of the page, in order of discovery.
url VARCHAR Canonical URL.
state VARCHAR pending, waiting, done or excluded, as of the last segment. Pages of a suspended site (`aside` in sites)
  are pending here, and waiting in `gossamer status`.
reason VARCHAR Why the page is excluded: robots, depth, rejected, trap or redirects; none if it is not excluded.
outcome VARCHAR Outcome of the last request for the page; null if it was never requested.
status USMALLINT HTTP status of the last answer.
visits BIGINT Number of requests for the page.
stored BIGINT Number of archived copies of the page.
last_visit TIMESTAMP Time of the last request.
due TIMESTAMP For a waiting page: when it may be requested again.
site BIGINT Number of its site.
origin BIGINT Number of its origin (scheme, host and port).
depth UTINYINT Depth when it was found: clicks from the start page of its site, or from a page that another site links
  to.
kind VARCHAR Kind of the link by which the page was found: anchor, frame, embedded, canonical, alternate or redirect;
  otherwise seed or sitemap.
source BIGINT Page on which it was found; null for seeds, and for pages that a sitemap lists.
flags UTINYINT Bits: 1 dynamic, 2 seed, 4 robots.txt was applied when it was found. The upper four bits (times 16):
  number of consecutive redirects by which it was found.
found_state VARCHAR State when the page was found.
found_reason VARCHAR Reason when the page was found.
time TIMESTAMP Time when the page was found.
tick UBIGINT Tick in which the page was found.
fingerprint UBIGINT 64-bit fingerprint of the URL, with the seed of the collection.
current_depth UTINYINT Current depth, as of the last image (made at a clean stop, and from time to time during a crawl);
  null for pages found since, or without an image. The same holds for the next four columns.
opic DOUBLE Share of the page of all cash (OPIC): what it holds or, if it was fetched, what it held.
boost DOUBLE Boost by the patterns of manager.boosts.
quality DOUBLE Weighted sum of the scores, from 0 to 1.
value DOUBLE Value of the stored copy at the time of the image; 0 without a copy.
pagerank DOUBLE PageRank by the last computation; null before the first one, or if it was not computed. The same holds
  for the following columns. `gossamer rank` computes all of them.
indegree DOUBLE Number of pages that link to the page.
siterank DOUBLE PageRank of its site in the graph of sites.
linkrank DOUBLE Weighted link rank.
hub DOUBLE Hub score.
authority DOUBLE Authority score.
component BIGINT Number of its strongly connected component.
part VARCHAR Part of the bow-tie: main_norm, main_main, main_in, main_out, in, out, tentacle_in, tentacle_out, tunnel or
  island.
merit DOUBLE Weighted sum of the link scores, with the weights of the settings.
""")

_VISITS_BEFORE: Final = """
page BIGINT Requested page; null for robots.txt, sitemaps and probes.
site BIGINT Number of the site.
origin BIGINT Number of the origin (scheme, host and port).
ask VARCHAR What was requested: page, robots, sitemap, or probe (a page that cannot exist).
outcome VARCHAR Outcome of the request: one word of the closed set.
status USMALLINT HTTP status; null without an answer.
time TIMESTAMP When the request ended.
mime VARCHAR Media type of the answer.
charset VARCHAR Charset of the page.
language VARCHAR Language of the page, ISO 639-1.
title VARCHAR Title of the page. For a sitemap: its URL. For a probe: its URL, a space, and the title of the answer.
description VARCHAR Description that the page gives of itself.
preferences VARCHAR What the answer says about the use of its content; for robots.txt, about the content of its origin.
  One line "name: value" each: content-usage, content-signal, tdm-reservation, tdm-policy, license.
length UINTEGER Length of the decoded body, in bytes.
text_length UINTEGER Length of the cleaned text, in characters, without white space.
out_degree UINTEGER Number of distinct links of the page, including those that are only counted. For a sitemap: number
  of listed pages.
links UINTEGER Number of links of the page in `links`.
duplicate_of BIGINT Page with the same text and links.
digest UBIGINT Hash of cleaned text and links; equal for duplicates.
sketch UBIGINT Sketch of the cleaned text: the sketches of near duplicates differ in few bits.
payload BLOB SHA-1 of the archived body.
redirect VARCHAR Target of the redirect.
etag VARCHAR ETag header of the answer.
last_modified VARCHAR Last-Modified header of the answer.
modified TIMESTAMP Time of the last change of the page, if Last-Modified is credible (A.3.5): null before 1993 and more
  than a day in the future; the time of the visit if it is less than a day in the future.
address VARCHAR IP address that was requested.
detail VARCHAR What went wrong, in words, or why the page is a soft 404.
retry_after FLOAT Seconds to wait, as requested by the server.
delay FLOAT Crawl-delay of robots.txt, in seconds.
rules BLOB Rules of robots.txt, compiled.
sitemaps VARCHAR Sitemaps named by robots.txt, or by a sitemap index.
start DOUBLE Start of the request, by the monotonic clock.
connect DOUBLE Seconds until the connection was made.
latency DOUBLE Seconds until the first byte.
end DOUBLE End of the request, by the monotonic clock.
speed FLOAT Bytes per second after the first byte.
received UINTEGER Bytes off the wire: head, body, and all around them.
sent UINTEGER Bytes sent.
warc_file VARCHAR Archive file; null if nothing was archived.
warc_offset UBIGINT Offset of the response (or revisit) record in it.
warc_end UBIGINT Offset of the end of what this visit archived.
flags USMALLINT Bits: 1 cut, 2 stored, 4 noindex, 8 nofollow, 16 noarchive, 32 connection reused, 64 almost no text, 128
  more links than are kept, 256 redirect of robots.txt not followed, 512 revisit record, 1024 redirect to its other
  spelling (www), 2048 cleaned text archived, 4096 redirect to the other name of the site (www), 8192 unavailable_after
  has passed, 16384 invalid certificate, 32768 held back by the bandwidth limit: the server is at least this fast.
number UBIGINT Number of the assignment within its run.
tick UBIGINT Tick in which the result was processed.
"""
_COUNTED: Final = "\n".join(
    f"counted_{c.name.lower()} USMALLINT Number of links of this class, which are only counted." for c in Counted
)

_SITES: Final = _columns("""
site BIGINT Number of the site.
name VARCHAR Host name, without www.
www BOOLEAN Whether the name had www. when it was found.
pages BIGINT Number of known pages.
static BIGINT Number of static pages.
dynamic BIGINT Number of dynamic pages.
visits BIGINT Number of requests for pages.
ok BIGINT Number of requests that succeeded.
errors BIGINT Number of requests that failed because of the site.
bytes BIGINT Bytes received, including robots.txt and sitemaps.
tick UBIGINT Tick in which the site was found.
pending BIGINT Number of pending pages, as of the last image; null without an image.
siterank DOUBLE SiteRank by the last computation; null before the first one, or if it was not computed. The same holds
  for the following columns. `gossamer rank` computes all of them.
pagerank DOUBLE Sum of the PageRank of its pages.
indegree DOUBLE Number of sites that link to the site.
component BIGINT Number of its strongly connected component in the graph of sites.
part VARCHAR Part of the bow-tie of sites, with the same words as for pages.
aside VARCHAR Why its pending pages wait: as the running crawl reports, otherwise as of the last stop or image; null if
  they do not wait.
until TIMESTAMP When the wait ends; null if they do not wait, or if they wait as long as the reason holds.
""")

VIEWS: Final = {
    "pages": View(
        "A row for each known page, with its current state.",
        _PAGES,
        (
            "page",
            "url",
            "site",
            "origin",
            "depth",
            "kind",
            "source",
            "flags",
            "time",
            "tick",
            "fingerprint",
            "state",
            "reason",
        ),
    ),
    "visits": View(
        "A row for each request: pages, robots.txt, sitemaps and probes.",
        _columns(f"{_VISITS_BEFORE.strip()}\n{_COUNTED}"),
    ),
    "links": View(
        "A row for each link between known pages.",
        _columns("""
source BIGINT Page that contains the link.
target BIGINT Page to which it leads.
kind VARCHAR Kind of the link: anchor, frame, embedded, canonical, alternate or redirect.
flags UTINYINT Bits: 1 nofollow, 2 dynamic, 4 written with www.
"""),
    ),
    "sites": View(
        "A row for each site (host), summed over all segments.",
        _SITES,
        ("site", "name", "www", "pages", "static", "dynamic", "visits", "ok", "errors", "bytes", "tick"),
    ),
    "anchors": View(
        "A row for each link with a text.",
        _columns("""
source BIGINT Page that contains the link.
target BIGINT Page to which it leads.
text VARCHAR Text of the link.
position USMALLINT Position of the element among the elements with its tag.
tag VARCHAR Tag of the element that contains the link.
"""),
    ),
    "counts": View(
        "Links that are only counted and not fetched, summed by site.",
        _columns("""
site BIGINT Site whose pages contain the links.
class VARCHAR Class: image, audio, video, document, software, source, archive, out_of_scope, too_long, nofollow,
  not_http …
extension VARCHAR Extension of the target; its scheme if it is not HTTP.
domain VARCHAR Domain of the target.
number BIGINT Number of links.
"""),
    ),
    "hints": View(
        "A row for each time that a sitemap gave the time of a page's last change.",
        _columns("""
page BIGINT Number of the page.
lastmod TIMESTAMP Time of the change, as the sitemap states it.
sitemap VARCHAR URL of the sitemap.
time TIMESTAMP When the sitemap was read.
tick UBIGINT Tick in which it was processed.
"""),
    ),
    "origins": View(
        "A row for each origin (scheme, host and port).",
        _columns("""
origin BIGINT Number of the origin.
site BIGINT Number of its site.
port USMALLINT Port.
secure UTINYINT 1 for https, 0 for http.
tick UBIGINT Tick in which it was found.
"""),
    ),
    "events": View(
        "A row for each change of the address or of the back-off of a site.",
        _columns("""
site BIGINT Number of the site.
event VARCHAR resolved, moved (resolved to none of its former addresses), name_failed, forbidden_address, patience,
  respelled, name_again, robots_away, slowed or sitemaps_read.
time TIMESTAMP Time of the event.
until TIMESTAMP resolved, moved: how long the address is valid; sitemaps_read: when its sitemaps may be requested again;
  otherwise: when the site may be requested again.
address VARCHAR IP address.
port USMALLINT Port to use instead of that of the origin; 0: that of the origin; robots_away: the port of the origin.
failures UTINYINT Number of failed lookups in a row.
tick UBIGINT Tick of the event.
"""),
    ),
    "addresses": View(
        "A row for each address that the name of a site has had.",
        _columns("""
site BIGINT Number of the site.
name VARCHAR Host name, without www.
address VARCHAR IP address.
first_seen TIMESTAMP Time of the first lookup that found this address.
last_seen TIMESTAMP Time of the last one; the address was valid `until` that of the event in `events`.
lookups BIGINT Number of such lookups.
"""),
    ),
    "preferences": View(
        "A row for each statement about the use of a page's content.",
        _columns("""
page BIGINT Number of a fetched page.
said_by VARCHAR Source of the line. page: the page, when it was last fetched; robots.txt: that of its origin, when it
  was last read.
preference VARCHAR "name: value", as in `preferences` of `visits`.
"""),
    ),
    "speeds": View(
        "Expected speed of addresses by hour of local time, as of the last image; a crawl with a bandwidth"
        " limit uses it.",
        _columns("""
address VARCHAR IP address; null: all addresses together.
holiday BOOLEAN true: Saturdays, Sundays and the days of harvester.holidays; false: working days.
hour UTINYINT Full hour, 0 to 23; between two hours the speed is interpolated.
speed DOUBLE Bytes per second from the start of a request to the end of its answer.
"""),
    ),
    "verdicts": View(
        "A row for each verdict on a page after it was found.",
        _columns("""
page BIGINT Number of the page.
state VARCHAR pending or excluded; unchanged if only `judged` matters.
reason VARCHAR Why the page is excluded: robots, depth, rejected, trap or redirects; otherwise none.
judged UTINYINT Bits: 1 judged by the current rules of robots.txt, 2 now a seed, 4 now dynamic, 8 now static, 16 to be
  requested once more although it was done, 32 a sitemap lists it.
tick UBIGINT Tick of the verdict.
"""),
    ),
    "ticks": View(
        "A row for each tick, the unit of the journal.",
        _columns("""
tick UBIGINT Number of the tick.
time TIMESTAMP Time, by the wall clock.
monotonic DOUBLE Time, by the monotonic clock.
first_site BIGINT Number of its first new site.
first_origin BIGINT Number of its first new origin.
first_page BIGINT Local number of its first new page.
sites UINTEGER Number of new sites.
origins UINTEGER Number of new origins.
pages UINTEGER Number of new pages.
visits UINTEGER Number of visits.
links UINTEGER Number of links.
verdicts UINTEGER Number of verdicts.
events UINTEGER Number of events.
"""),
    ),
}
