"""The views of `gossamer sql`: their columns, with type and description. The documentation is generated from it.

The order is that of `select *`. Types are DuckDB's. Times are UTC. A table without files, and a column that older
segments lack, exist too and are empty. Values that only the desk knows come from the newest image, which is written at
every clean stop, and from time to time during a crawl.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gossamer.base.model import Counted
from gossamer.desk.shown import Column, Shown, columns_of
from gossamer.harvester import shown as of_versions
from gossamer.harvester.bandwidth import shown as of_speeds
from gossamer.manager import shown as of_pages
from gossamer.manager.revisits import shown as of_habits

SHOWN: Final = (*of_pages.SHOWN, *of_habits.HEARD, *of_habits.SHOWN, *of_versions.SHOWN, *of_speeds.SHOWN)
"""What the parts of the desk show."""


@dataclass(frozen=True, slots=True)
class View:
    """A view of `gossamer sql`."""

    sentence: str
    columns: tuple[Column, ...]


SCORES: Final = {
    "pages": columns_of("""
pagerank* DOUBLE PageRank by the last computation; null before the first one, or if it was not computed. The same holds
  for the following columns. `gossamer rank` computes all of them.
indegree* DOUBLE Number of pages that link to the page.
siterank* DOUBLE PageRank of its site in the graph of sites.
linkrank* DOUBLE Weighted link rank.
hub* DOUBLE Hub score.
authority* DOUBLE Authority score.
plugin* DOUBLE Score of a plug-in (plugins.score).
component* BIGINT Number of its strongly connected component.
part* VARCHAR Part of the bow-tie: main_norm, main_main, main_in, main_out, in, out, tentacle_in, tentacle_out, tunnel
  or island.
merit* DOUBLE Weighted sum of the link scores, with the weights of the settings.
"""),
    "sites": columns_of("""
siterank* DOUBLE SiteRank by the last computation; null before the first one, or if it was not computed. The same holds
  for the following columns. `gossamer rank` computes all of them.
pagerank* DOUBLE Sum of the PageRank of its pages.
indegree* DOUBLE Number of sites that link to the site.
component* BIGINT Number of its strongly connected component in the graph of sites.
part* VARCHAR Part of the bow-tie of sites, with the same words as for pages.
"""),
}
"""The columns that come from the files of scores."""
_COUNTED: Final = "\n".join(
    f"counted_{c.name.lower()} USMALLINT Number of links of this class, which are only counted." for c in Counted
)
_VIEWS: Final = f"""
pages: A row for each known page, with its current state.
page BIGINT Number of the page, in order of discovery.
url VARCHAR Canonical URL.
state VARCHAR pending, waiting, done or excluded, as of the last segment. Pages of a suspended site (`aside` in sites)
  are pending here, and waiting in `gossamer status`.
reason VARCHAR Why the page is excluded: robots, depth, rejected, trap, redirects, unlisted or
  forgotten; none if it is not excluded.
outcome* VARCHAR Outcome of the last request for the page; null if it was never requested.
status* USMALLINT HTTP status of the last answer.
visits* BIGINT Number of requests for the page.
stored* BIGINT Number of archived copies of the page.
last_visit* TIMESTAMP Time of the last request.
due* TIMESTAMP For a waiting page: when it may be requested again.
site BIGINT Number of its site.
origin BIGINT Number of its origin (scheme, host and port).
depth UTINYINT Depth when it was found: clicks from the start page of its site, or from a page that another site links
  to.
kind VARCHAR Kind of the link by which the page was found: anchor, frame, embedded, canonical, alternate or redirect;
  otherwise seed or sitemap.
source BIGINT Page on which it was found; null for seeds, and for pages that a sitemap lists.
flags UTINYINT Bits: 1 dynamic, 2 seed, 4 robots.txt was applied when it was found. The upper four bits (times 16):
  number of consecutive redirects by which it was found.
found_state* VARCHAR State when the page was found.
found_reason* VARCHAR Reason when the page was found.
time TIMESTAMP Time when the page was found.
tick UBIGINT Tick in which the page was found.
fingerprint UBIGINT 64-bit fingerprint of the URL, with the seed of the collection.
+

visits: A row for each request: pages, robots.txt, sitemaps and probes.
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
lifetime FLOAT Seconds for which the server calls its answer fresh (Cache-Control, Expires, Age); null if it says
  nothing.
change VARCHAR What the visit found, compared with the version seen before: none, minor or major; unknown if there is
  nothing to compare.
numberless UBIGINT Digest of cleaned text and links without their digits: the same if only dates and numbers differ.
validators UTINYINT Of a page that was fetched before: whether it was requested by ETag (1) or Last-Modified (2),
  whether the answer has the same ETag (4) or another (8), the same Last-Modified (16) or another (32), and whether it
  was requested in full to test both (64).
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
{_COUNTED}

changes: A row for each event of a page: its first version, and what became of it from visit to visit.
page BIGINT Number of the page.
url VARCHAR Canonical URL.
site BIGINT Number of its site.
time TIMESTAMP Time of the visit that found it.
kind VARCHAR new (first version), changed, moved (it redirects), gone (not found), or back (there again).
change VARCHAR minor or major, compared with the version before; null if there is none, or no difference.
outcome VARCHAR Outcome of the visit.
status USMALLINT HTTP status.
title VARCHAR Title of the page, as of this visit.
target VARCHAR moved: where it redirects to.
tick UBIGINT Tick of the visit; with `number` it finds the visit in `visits`, and orders events.
number UBIGINT Number of the assignment of the visit.
before_time TIMESTAMP Time of the visit that saw the version before; null if there is none.
before_file VARCHAR Archive file of the version before; null if there is none, or nothing was archived.
before_offset UBIGINT Offset of its response (or revisit) record.
before_end UBIGINT Offset of the end of what its visit archived.
after_file VARCHAR Archive file of the version that was found; null if the page was moved or gone, or was not archived.
after_offset UBIGINT Offset of its response (or revisit) record.
after_end UBIGINT Offset of the end of what the visit archived.

links: A row for each link between known pages.
source BIGINT Page that contains the link.
target BIGINT Page to which it leads.
kind VARCHAR Kind of the link: anchor, frame, embedded, canonical, alternate or redirect.
flags UTINYINT Bits: 1 nofollow, 2 dynamic, 4 in a heading (h1 to h6) or around one, 8 in bold text (strong, b) or
  around some. The last two are missing in segments of earlier versions.

sites: A row for each site (host), summed over all segments.
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
+
aside* VARCHAR Why its pending pages wait: as the running crawl reports, otherwise as of the last stop or image; null if
  they do not wait.
until* TIMESTAMP When the wait ends; null if they do not wait, or if they wait as long as the reason holds.

anchors: A row for each link with a text.
source BIGINT Page that contains the link.
target BIGINT Page to which it leads.
text VARCHAR Text of the link.
position USMALLINT Position of the element among the elements with its tag.
tag VARCHAR Tag of the element that contains the link.
flags UTINYINT Bits, as in `links`; null in segments of earlier versions.

counts: Links that are only counted and not fetched, summed by site.
site BIGINT Site whose pages contain the links.
class VARCHAR Class: image, audio, video, document, software, source, archive, out_of_scope, too_long, nofollow,
  not_http …
extension VARCHAR Extension of the target; its scheme if it is not HTTP.
domain VARCHAR Domain of the target.
number BIGINT Number of links.

hints: A row for each time that a sitemap gave the time of a page's last change.
page BIGINT Number of the page.
lastmod TIMESTAMP Time of the change, as the sitemap states it.
sitemap VARCHAR URL of the sitemap.
time TIMESTAMP When the sitemap was read.
tick UBIGINT Tick in which it was processed.

mentions: What pages say and the crawl does not need, by visit; earlier versions recorded nothing.
page BIGINT Number of the page.
kind VARCHAR h1, canonical (an address that the page names as its own), hreflang (a version in another language),
  external (a link to a host out of scope), or part (a script or the like from such a host, or an image or the like by
  http on a page by https).
url VARCHAR Canonical URL; of a link to a host out of scope with www. if the page has it. Null for h1, and if it is no
  URL.
text VARCHAR Text of the first h1, canonical address as the page writes it, language, or text of the link.
number UINTEGER For h1: how many of them the page has, 0 for none; otherwise 1.
tick UBIGINT Tick of the visit: the rows of the last one hold.

origins: A row for each origin (scheme, host and port).
origin BIGINT Number of the origin.
site BIGINT Number of its site.
port USMALLINT Port.
secure UTINYINT 1 for https, 0 for http.
tick UBIGINT Tick in which it was found.

events: A row for each change of the address or of the back-off of a site.
site BIGINT Number of the site.
event VARCHAR resolved, moved (resolved to none of its former addresses), name_failed, forbidden_address, patience,
  respelled, name_again, robots_away, slowed, sitemaps_read, owned, disowned or forgotten (it is to be forgotten).
time TIMESTAMP Time of the event.
until TIMESTAMP resolved, moved: how long the address is valid; sitemaps_read: when its sitemaps may be requested again;
  otherwise: when the site may be requested again.
address VARCHAR IP address.
port USMALLINT Port to use instead of that of the origin; 0: that of the origin; robots_away: the port of the origin.
failures UTINYINT Number of failed lookups in a row.
tick UBIGINT Tick of the event.

addresses: A row for each address that the name of a site has had.
site BIGINT Number of the site.
name VARCHAR Host name, without www.
address VARCHAR IP address.
first_seen TIMESTAMP Time of the first lookup that found this address.
last_seen TIMESTAMP Time of the last one; the address was valid `until` that of the event in `events`.
lookups BIGINT Number of such lookups.

preferences: A row for each statement about the use of a page's content.
page BIGINT Number of a fetched page.
said_by VARCHAR Source of the line. page: the page, when it was last fetched; robots.txt: that of its origin, when it
  was last read.
preference VARCHAR "name: value", as in `preferences` of `visits`.

speeds: Expected speed of addresses by hour of local time, as of the last image; a crawl with a bandwidth limit uses
  it.
+

calibration: How good predictions of changes are, as of the last image: ten rows, by the predicted probability.
+

freshness: How up to date the copies of each site are expected to be, as of the last image.
+

clocks: When pages change: re-visits that compared a page with the version before, by page and hour of the week.
site BIGINT Number of the site.
page BIGINT Number of the page.
weekday UTINYINT 1 is Monday, 7 is Sunday; of the moment halfway between the two visits, in UTC, like the hour.
hour UTINYINT Hour of the day.
short BOOLEAN Whether the visit before was within 12 hours; else within 36, which tells the day but not the hour.
visits BIGINT Such visits.
changed BIGINT How many of them found a major change.

lives: A row for each page that was fetched: how long it has been seen, how often it changed, whether it is gone.
page BIGINT Number of the page.
url VARCHAR Canonical URL.
site BIGINT Number of its site.
first_seen TIMESTAMP Time of the first visit that fetched it.
last_seen TIMESTAMP Time of the last visit that found it there, before it was gone.
ended TIMESTAMP Time of the visit that found it gone, or moved to another page, for the first time; null: it was there
  when it was last visited, and how long it lives is not known (its life is censored).
visits BIGINT Visits from the first one to the last one before it ended.
changes BIGINT How many of these found a major change.
unchanged DOUBLE Days from the first visit to the last one that had found no major change yet.
changed DOUBLE Days from the first visit to the one that found the first major change; null if none did.
modified TIMESTAMP Last-Modified of the last visit that has a credible one.
born BOOLEAN Whether it is new in the Web: its link was found on a page that had been fetched before without it. Else it
  may be older than the crawl.

verdicts: A row for each verdict on a page after it was found. Of two in one tick, the one that opens the page counts.
page BIGINT Number of the page.
state VARCHAR pending or excluded; unchanged if only `judged` matters.
reason VARCHAR Why the page is excluded: robots, depth, rejected, trap, redirects, unlisted or
  forgotten; otherwise none.
judged UTINYINT Bits: 1 judged by the current rules of robots.txt, 2 now a seed, 4 now dynamic, 8 now static, 16 to be
  requested once more although it was done, 32 a sitemap lists it, 64 a sitemap dates it, 128 later than our copy.
tick UBIGINT Tick of the verdict.

orders: A row for each order that stays until it is undone (`gossamer steer`).
number BIGINT Number of the order.
time* TIMESTAMP When it was given.
who VARCHAR Who gave it, and by what.
name VARCHAR What was ordered: pause, go, stop, block …
target VARCHAR The site that it is about; empty if it is about the whole crawl.
value VARCHAR What else it says: a time, a number; of undo, the number of the order that it undoes.
key VARCHAR What was ordered again under the same key was not carried out again.
tick UBIGINT Tick of the order.

ticks: A row for each tick, the unit of the journal.
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
clock DOUBLE Seconds by which the clock was corrected after this tick: the times of this tick and of those before it are
  off by as much; null if it was not.
"""
"""Each view with its sentence and its columns. Those of the desk and of the scores are inserted at `+`."""


def views_of(shown: Sequence[Shown]) -> dict[str, View]:
    """The views, if the parts of the desk show this."""
    views = {}
    for block in _VIEWS.strip().replace("\n  ", " ").split("\n\n"):
        head, _, text = block.partition("\n")
        name, _, sentence = head.partition(": ")
        before, _, after = f"\n{text}".partition("\n+")
        inserted = (*(c for part in shown if part.view == name for c in part.columns), *SCORES.get(name, ()))
        views[name] = View(sentence, (*columns_of(before), *inserted, *columns_of(after)))
    return views


VIEWS: Final = views_of(SHOWN)

_OWN_OF_PLUGINS: Final = columns_of("""
page BIGINT Number of the page.
time TIMESTAMP Time of the visit that fetched the page.
tick UBIGINT Tick of the visit: the rows of the last one hold.
error VARCHAR What went wrong in the plug-in; null: nothing did.
""")


def view_of_plugin(name: str, columns: Mapping[str, str]) -> View:
    """The view of a table of plug-ins. `columns`: DuckDB's types of its own columns, by name."""
    own = {column.name for column in _OWN_OF_PLUGINS}
    said = f"As the plug-in or the rules of {name} gave it."
    made = (Column(each, kind, said, True) for each, kind in columns.items() if each not in own)
    return View("Rows of a plug-in or of extraction rules, by visit.", (*_OWN_OF_PLUGINS, *made))
