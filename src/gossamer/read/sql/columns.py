"""What `gossamer sql` shows: every view with its columns, their types and a sentence each. The docs are made from it.

The order is that of `select *`. Types are DuckDB's. Times are UTC. A table that has no file yet, and a column that
older segments lack, are there all the same, empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gossamer.base.model import Counted


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    sentence: str


@dataclass(frozen=True, slots=True)
class View:
    sentence: str
    columns: tuple[Column, ...]
    stored: tuple[str, ...] = ()
    """Names of those columns that stand in the segments of the table; empty: all."""

    def in_segments(self) -> list[Column]:
        return [c for c in self.columns if not self.stored or c.name in self.stored]


def _columns(text: str) -> tuple[Column, ...]:
    """A line each: name, type, sentence; a line that begins with white space goes on with the one before."""
    lines = text.strip().replace("\n  ", " ").splitlines()
    return tuple(Column(*" ".join(line.split()).split(" ", 2)) for line in lines)


_PAGES: Final = _columns("""
page BIGINT Number of the page, in the order of discovery.
url VARCHAR Its canonical form.
state VARCHAR pending, waiting, done or excluded, as of the last segment; pages of a site that is set aside (`aside` in
  sites) are pending here, waiting in `gossamer status`.
reason VARCHAR Why it is excluded: robots, depth or rejected; none if it is not.
outcome VARCHAR What became of the last request for it; null if it was not asked for.
status USMALLINT HTTP status of that answer.
visits BIGINT How often it was asked for.
stored BIGINT How often a copy of it was archived.
last_visit TIMESTAMP When it was asked for last.
due TIMESTAMP If it waits: when it may be asked for again.
site BIGINT Number of its site.
origin BIGINT Number of its scheme, host and port.
depth UTINYINT Clicks from the start page of its site, or from an entry from outside, when it was found.
kind VARCHAR Kind of the link by which it was found: anchor, frame, embedded, canonical, alternate or redirect; else
  seed or sitemap.
source BIGINT Page on which it was found; null for a seed, and for what a sitemap lists.
flags UTINYINT Bits: 1 dynamic, 2 seed, 4 robots.txt was applied when it was found. Times 16: redirects in a row by
  which it was found.
found_state VARCHAR State when it was found.
found_reason VARCHAR Reason when it was found.
time TIMESTAMP When it was found.
tick UBIGINT Tick in which it was found.
fingerprint UBIGINT 64-bit fingerprint of the URL under the seed of the collection.
current_depth UTINYINT Depth as it is now, as of the last image (a clean stop, or one made meanwhile); null for a page
  found since, or without any. Likewise the four that follow.
opic DOUBLE Its share of all cash: what it holds, or, fetched, what it held.
boost DOUBLE By the patterns of manager.boosts.
quality DOUBLE Weighted sum of its scores, from 0 to 1.
value DOUBLE Of our copy, as it stood; 0 without one.
pagerank DOUBLE Score of the last computation; null before the first, and where it was not computed. Likewise those
  that follow. `gossamer rank` computes them all.
indegree DOUBLE Pages that link to it.
siterank DOUBLE PageRank of its site in the graph of sites.
linkrank DOUBLE Weighted link rank.
hub DOUBLE Hub score.
authority DOUBLE Authority score.
component BIGINT Number of its strong component.
part VARCHAR Part of the bow-tie: main_norm, main_main, main_in, main_out, in, out, tentacle_in, tentacle_out, tunnel or
  island.
merit DOUBLE Weighted sum of the link scores, as the settings have the weights.
""")

_VISITS_BEFORE: Final = """
page BIGINT The page asked for; null for robots.txt, sitemaps and probes.
site BIGINT Number of the site.
origin BIGINT Number of the scheme, host and port.
ask VARCHAR page, robots, sitemap, or probe (for a page that cannot exist).
outcome VARCHAR What became of the request: one word of the closed set.
status USMALLINT HTTP status; null without an answer.
time TIMESTAMP When it ended.
mime VARCHAR Type of the answer.
charset VARCHAR Charset of the page.
language VARCHAR Language of the page, ISO 639-1.
title VARCHAR Title of the page; of a sitemap, its URL; of a probe, its URL, a space, and the title of the answer.
description VARCHAR Description that the page gives of itself.
preferences VARCHAR What the answer says about the use of its content, or that of its origin (robots.txt): a line "name:
  value" each: content-usage, content-signal, tdm-reservation, tdm-policy, license.
length UINTEGER Bytes of the decoded body.
text_length UINTEGER Characters of the cleaned text, white space left out.
out_degree UINTEGER Distinct links of the page, those only counted included; of a sitemap, what it lists.
links UINTEGER Links of the page that are in `links`.
duplicate_of BIGINT Page that has the same text and links.
digest UBIGINT Of cleaned text and links; equal for duplicates.
sketch UBIGINT Of the cleaned text: near duplicates differ in few bits.
payload BLOB SHA-1 of the body as archived.
redirect VARCHAR Where the server sent us.
etag VARCHAR Header of the answer.
last_modified VARCHAR Header of the answer.
modified TIMESTAMP When the page was last changed, as far as Last-Modified can be believed (A.3.5): null before 1993 and
  more than a day ahead, the time of the visit if it is less than a day ahead.
address VARCHAR IP address that was asked.
detail VARCHAR What went wrong, in words, or why a page is a soft 404.
retry_after FLOAT Seconds that the server asked us to wait.
delay FLOAT Crawl-delay of robots.txt, in seconds.
rules BLOB Rules of robots.txt, compiled.
sitemaps VARCHAR Sitemaps that robots.txt, or an index of sitemaps, names.
start DOUBLE Start of the request, on the monotonic clock.
connect DOUBLE Seconds until connected.
latency DOUBLE Seconds until the first byte.
end DOUBLE End, on the monotonic clock.
speed FLOAT Bytes a second after the first byte.
received UINTEGER Bytes read from the wire.
sent UINTEGER Bytes sent.
warc_file VARCHAR Archive file; null if nothing was archived.
warc_offset UBIGINT Where the response (or revisit) record starts in it.
warc_end UBIGINT Where what this visit archived ends.
flags USMALLINT Bits: 1 cut, 2 stored, 4 noindex, 8 nofollow, 16 noarchive, 32 connection reused, 64 almost no text,
  128 more links than kept, 256 redirect of robots.txt not followed, 512 revisit record, 1024 redirect to its other
  spelling (www), 2048 cleaned text archived, 4096 redirect to the site's other name (www), 8192 unavailable_after has
  passed, 16384 the certificate is not valid, 32768 we held it back for the bandwidth granted: the server is at least
  so fast.
number UBIGINT Number of the assignment, within its run.
tick UBIGINT Tick in which the result was taken.
"""
_COUNTED: Final = "\n".join(
    f"counted_{c.name.lower()} USMALLINT Links that were only counted, of this class." for c in Counted
)

_SITES: Final = _columns("""
site BIGINT Number of the site.
name VARCHAR Its host, without www.
www BOOLEAN Whether it was written with www. when it was found.
pages BIGINT Known pages.
static BIGINT Of them static.
dynamic BIGINT Of them dynamic.
visits BIGINT Requests for pages.
ok BIGINT Of them ended well.
errors BIGINT Of them failed by the site's fault.
bytes BIGINT Bytes received, robots.txt and sitemaps included.
tick UBIGINT Tick in which it was found.
pending BIGINT Of its pages, those pending as of the last image; null without any.
siterank DOUBLE Score of the last computation; null before the first, and where it was not computed. Likewise those that
  follow. `gossamer rank` computes them all.
pagerank DOUBLE Sum over its pages.
indegree DOUBLE Sites that link to it.
component BIGINT Number of its strong component in the graph of sites.
part VARCHAR Part of the bow-tie of sites, as of pages.
aside VARCHAR Why its pending pages wait, as the running crawl says, else as of the last stop or image; null if they
  need not.
until TIMESTAMP Until when they wait; null if they need not, or for as long as the reason holds.
""")

VIEWS: Final = {
    "pages": View(
        "A row for each known page, as it stands.",
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
    "visits": View("A row for each request, not only for pages.", _columns(f"{_VISITS_BEFORE.strip()}\n{_COUNTED}")),
    "links": View(
        "A row for each link between known pages.",
        _columns("""
source BIGINT Page that has the link.
target BIGINT Page that it leads to.
kind VARCHAR anchor, frame, embedded, canonical, alternate or redirect.
flags UTINYINT Bits: 1 nofollow, 2 dynamic, 4 written with www.
"""),
    ),
    "sites": View(
        "A row for each site (host), all segments added up.",
        _SITES,
        ("site", "name", "www", "pages", "static", "dynamic", "visits", "ok", "errors", "bytes", "tick"),
    ),
    "anchors": View(
        "A row for each link that has a text.",
        _columns("""
source BIGINT Page that has the link.
target BIGINT Page that it leads to.
text VARCHAR Text of the link.
position USMALLINT Ordinal of the element among those of its tag.
tag VARCHAR Element that bears the link.
"""),
    ),
    "counts": View(
        "What was seen and not fetched, added up by site.",
        _columns("""
site BIGINT Site whose pages have the links.
class VARCHAR image, audio, video, document, software, source, archive, out_of_scope, too_long, nofollow, not_http …
extension VARCHAR Extension of the target; of one that is not HTTP, its scheme.
domain VARCHAR Domain of the target.
number BIGINT Links.
"""),
    ),
    "hints": View(
        "A row for each time that a sitemap said when a page was changed.",
        _columns("""
page BIGINT The page.
lastmod TIMESTAMP When it was changed, as the sitemap has it.
sitemap VARCHAR URL of the sitemap.
time TIMESTAMP When that was read.
tick UBIGINT Tick in which it was taken.
"""),
    ),
    "origins": View(
        "A row for each scheme, host and port.",
        _columns("""
origin BIGINT Number of the origin.
site BIGINT Its site.
port USMALLINT Its port.
secure UTINYINT 1 for https.
tick UBIGINT Tick in which it was found.
"""),
    ),
    "events": View(
        "A row for each change of a site's address or of our patience with it.",
        _columns("""
site BIGINT Number of the site.
event VARCHAR resolved, moved (resolved, to none of its former addresses), name_failed, forbidden_address, patience,
  respelled, name_again, robots_away, slowed or sitemaps_read.
time TIMESTAMP When.
until TIMESTAMP resolved, moved: how long the address is good; sitemaps_read: its sitemaps are not asked for before;
  else: the site is not asked before.
address VARCHAR IP address.
port USMALLINT Port to use instead of the origin's; 0: the origin's; robots_away: the port of the origin.
failures UTINYINT Lookups that failed in a row.
tick UBIGINT Tick of the event.
"""),
    ),
    "addresses": View(
        "A row for each address that a site has had: the history of its name.",
        _columns("""
site BIGINT Number of the site.
name VARCHAR Its host, without www.
address VARCHAR IP address.
first_seen TIMESTAMP When its name was first found to lead there.
last_seen TIMESTAMP When it last was; the address was good for `until` of that event in `events`.
lookups BIGINT How often it was.
"""),
    ),
    "preferences": View(
        "A row for each line about the use of a page's content.",
        _columns("""
page BIGINT Number of a page that was fetched.
said_by VARCHAR page: itself, when it was last fetched; robots.txt: that of its origin, when it was last read.
preference VARCHAR "name: value", as in `preferences` of `visits`.
"""),
    ),
    "speeds": View(
        "How fast addresses answer, by the hour of local time, as of the last image: what a crawl within a"
        " bandwidth expects of them.",
        _columns("""
address VARCHAR IP address; null: all of them together.
holiday BOOLEAN On Saturdays, Sundays and the days of harvester.holidays; false: on working days.
hour UTINYINT Full hour, 0 to 23; between two of them it is in between.
speed DOUBLE Bytes a second from the issue of a request to the end of its answer.
"""),
    ),
    "verdicts": View(
        "A row for each page decided on after it was found.",
        _columns("""
page BIGINT Number of the page.
state VARCHAR pending or excluded; the state that it had if only `judged` matters.
reason VARCHAR Why it is excluded: robots, depth or rejected; else none.
judged UTINYINT Flags: 1 by the robots.txt rules at hand, 2 a seed from now on, 4 dynamic, 8 static from now on, 16 to
  be asked for once more although it was done, 32 a sitemap lists it.
tick UBIGINT Tick of the verdict.
"""),
    ),
    "ticks": View(
        "A row for each tick, the unit of the journal.",
        _columns("""
tick UBIGINT Number of the tick.
time TIMESTAMP Wall clock.
monotonic DOUBLE Monotonic clock.
first_site BIGINT Number of its first new site.
first_origin BIGINT Number of its first new origin.
first_page BIGINT Local number of its first new page.
sites UINTEGER New sites.
origins UINTEGER New origins.
pages UINTEGER New pages.
visits UINTEGER Visits.
links UINTEGER Links.
verdicts UINTEGER Verdicts.
events UINTEGER Events.
"""),
    ),
}
