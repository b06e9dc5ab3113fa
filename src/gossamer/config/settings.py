"""The settings of a crawl: a typed tree named like the folders. Defaults come from the thesis (table 7.1), where it
has one.

Durations are seconds, sizes are bytes; `crawl.toml` and `--set` write them with units (`15s`, `400KB`). The sentence
below each field is its documentation: `gossamer config` prints it, and docs/reference.md is generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from gossamer.base.units import Duration, Size, Speed

# fmt: off
_SEGMENTS: Final = (
    "log[-_]?(?:in|out|on|off)", "sign[-_]?(?:in|out|on|off|up)", "register", "user[-_]?login", "member[-_]?login",
    "lost[-_]?password", "forgot[-_]?password", "edit", "delete", "reply", "add[-_]to[-_](?:cart|basket|wishlist)",
    "wp-(?:login|admin)", "xmlrpc", "special:(?:userlogin|userlogout|createaccount)",
)
"""Path segments (regular expressions) of pages that are of no use to a search engine: log in, register, edit …"""
_QUERIES: Final = (
    "(?:special:user)?(?:log|sign)[-_]?(?:in|out|on|off|up)(?:[&;=]|$)",
    r"(?:regist(?:er|ration)|edit|delete|reply(?:tocom)?|add.to.\w+)(?:[&;=]|$)",
    "(?:action|do|mode|task|op)=(?:add|history|print)(?:[&;]|$)",
    "(?:action|do|mode|task|op)=(?:quote|remove|submit)(?:[&;]|$)",
)
"""Query parameters (regular expressions) that lead to such pages."""
_SESSION_IDS: Final = (
    "cfid", "cftoken", "phpsessid", "jsessionid", "aspsessionid*", "sessionid", "session_id", "sessid", "sid",
    "zenid", "oscsid", "osc_sid", "xtcsid", "sess_id", "session-id", "asp.net_sessionid",
)
_DYNAMIC: Final = (
    "action", "ashx", "asmx", "asp", "aspx", "axd", "cfc", "cfm", "cfml", "cgi", "do", "fcgi", "jhtml", "jsf", "jsp",
    "jspa", "jspx", "php", "php3", "php4", "php5", "php7", "phtml", "pl", "rhtml",
)
_IMAGES: Final = (
    "ai", "apng", "avif", "bmp", "cr2", "cur", "gif", "heic", "heif", "ico", "jfif", "jp2", "jpe", "jpeg", "jpg",
    "jxl", "nef", "pbm", "pcx", "pgm", "png", "pnm", "ppm", "psd", "raw", "svg", "svgz", "tga", "tif", "tiff", "webp",
    "xbm", "xcf", "xpm",
)
_AUDIO: Final = (
    "aac", "aif", "aiff", "amr", "au", "flac", "m3u", "m3u8", "m4a", "m4b", "mid", "midi", "mka", "mp2", "mp3",
    "mpga", "oga", "ogg", "opus", "pls", "ra", "ram", "snd", "wav", "weba", "wma",
)
_VIDEO: Final = (
    "3g2", "3gp", "asf", "avi", "divx", "f4v", "flv", "m2ts", "m4v", "mkv", "mov", "mp4", "mpe", "mpeg", "mpg", "mts",
    "ogv", "qt", "rm", "rmvb", "swf", "ts", "vob", "webm", "wmv",
)
_DOCUMENTS: Final = (
    "atom", "azw", "azw3", "bib", "chm", "csv", "djvu", "doc", "docm", "docx", "dot", "dotx", "dvi", "dwg", "eps",
    "epub", "gpx", "ics", "json", "jsonld", "kml", "kmz", "mdb", "mobi", "odp", "ods", "odt", "pdf", "pot", "potx",
    "pps", "ppsx", "ppt", "pptm", "pptx", "ps", "pub", "rdf", "rss", "rtf", "sxw", "tex", "tsv", "vcf", "vsd", "wpd",
    "xls", "xlsb", "xlsm", "xlsx", "xml",
)
_SOFTWARE: Final = (
    "apk", "app", "bin", "class", "deb", "dll", "dmg", "exe", "img", "ipa", "iso", "jar", "jnlp", "msi", "msix",
    "ova", "pkg", "rpm", "scr", "snap", "vmdk", "wasm", "woff", "woff2", "xpi",
)
_SOURCE: Final = (
    "c", "cc", "cpp", "cs", "css", "cxx", "diff", "f", "f90", "go", "h", "hh", "hpp", "java", "js", "kt", "less",
    "lua", "m4", "map", "mjs", "pas", "patch", "py", "r", "rb", "rs", "scala", "scss", "sh", "sql", "swift", "vb",
)
_ARCHIVES: Final = (
    "7z", "ace", "arj", "bz2", "cab", "cpio", "gz", "lha", "lz", "lz4", "lzh", "lzma", "rar", "tar", "tbz", "tbz2",
    "tgz", "txz", "warc", "xz", "z", "zip", "zst",
)
_LINKS: Final = (
    "a href", "area href", "frame src", "iframe src", "img src", "script src", "source src", "video src", "audio src",
    "embed src", "object data", "link href", "meta refresh",
)
# fmt: on


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """What the collection stores, its limits, and the size of its files."""

    max_pages: int = 10_000_000
    """Maximum number of known pages. Memory for them is reserved at the start, and used only as needed."""
    max_sites: int = 100_000
    """Maximum number of known sites. Memory for them is reserved at the start, and used only as needed."""
    max_memory: Size = Size(0)
    """Memory of all processes of the crawl together at which it stops cleanly. 0 means nine tenths of the memory that
    is free on the machine, or in the container, when the crawl starts. In any case the crawl also stops when almost no
    memory is left."""
    seal_visits: int = 100_000
    """Number of visits in the journal after which it is sealed into segments."""
    seal_every: Duration = Duration(300)
    """Time after which the journal is sealed into segments."""
    warc_size: Size = Size(1_000_000_000)
    """Size at which an archive file is closed and the next one is opened."""
    warc_every: Duration = Duration(86_400)
    """Time after which an archive file that is not full is closed, too: every day, at midnight UTC. 0: never."""
    revisit_records: bool = True
    """Archive an exact repeat of a body as a WARC revisit record that refers to the first copy, instead of storing the
    body again."""
    private_webhooks: bool = False
    """Also tell webhooks of `gossamer watch` at loopback, private, link-local and other special addresses."""


@dataclass(frozen=True, slots=True)
class SeederSettings:
    """Which links become pages, and in which canonical form (7.2.4).

    A link becomes a page if its host is in `domains`, its port is in `ports`, its extension is in none of the lists of
    files that are only counted, no pattern rejects it, and it is neither too long nor too deep. All other links are
    counted, for each page.
    """

    domains: tuple[str, ...] = ()
    """Accepted domain suffixes. "example.org" accepts itself and every name below it, an IP address only itself, "*"
    everything. If empty: the registrable domains of the seeds; on a resume, the domains that the collection already
    has."""
    ports: tuple[str, ...] = ("80", "443", "8000", "8008", "8080", "8081", "8443", "8888")
    """Ports of URLs that may become pages: numbers, or "*" for all. The ports of the seeds are added."""
    pages_per_site: int = 25_000
    """Maximum number of known pages per site. It limits new pages; pages that are known already stay."""
    sites_per_domain: int = 1_000
    """Maximum number of known sites per registrable domain ("example.co.uk") that no other domain links to, and never
    more than a quarter of `collection.max_sites` (or an equal share, if fewer than four domains are in scope). Each
    other domain that links to it adds a quarter of this number. So one name server that answers for every name cannot
    fill the collection. If `domains` names only one registrable domain, there is no limit."""
    pages_per_domain: int = 1_000_000
    """Maximum number of known pages per registrable domain, in the same way: never more than a quarter of
    `collection.max_pages`, and a quarter of this number more for each other domain that links to it."""
    depth_static: int = 15
    """Maximum depth of static pages, in clicks from the start page of the site or from a page that another site links
    to."""
    depth_dynamic: int = 5
    """Maximum depth of dynamic pages."""
    follow: str = "links"
    """What becomes a page, besides seeds: "links" (what pages link to and what sitemaps list), "sitemaps" (only what
    sitemaps list) or "none". Targets of redirects become pages in any case. Other targets of links are known and
    excluded."""
    url_length: int = 2_000
    """Maximum length of a URL, in bytes of its canonical form."""
    repeats: int = 2
    """How often the same path segment, or the same parameter with the same value, may occur in a URL. A link with more
    occurrences is counted as a trap and not fetched (A.6.2: a/b/c/c/c). 0 disables the check. Numeric path segments and
    seeds are exempt."""
    sitemaps: bool = True
    """Read the sitemaps of sites: the sitemaps that robots.txt names or, if it names none, /sitemap.xml."""
    sitemap_every: Duration = Duration(7 * 86_400)
    """Time after which the sitemaps of a site are read again. They are read when robots.txt is next read after that. In
    a continuous crawl it is a seventh of this: the dates in sitemaps tell which pages have changed."""
    sitemaps_per_site: int = 50
    """Maximum number of sitemaps read per site each time, including sitemaps that other sitemaps name."""
    www: bool = True
    """Treat www.example.org and example.org as one site, and their pages as the same pages (A.2.5). Requests use the
    name that answers."""
    session_ids: tuple[str, ...] = _SESSION_IDS
    """Parameters that carry a session. They are removed from URLs if their value looks like a session: 32 or more
    letters and digits. At a site where pairs of pages prove that it makes no difference, other values are removed too.
    Case is ignored, and a final * matches any ending. If the list is not empty, path segments in the form that ASP.NET
    uses, /(S(value))/, are removed too."""
    url_form: int = 2
    """Number of the canonical form of URLs. A collection keeps the form that it began with. Form 1, of older versions,
    keeps percent-encodings as they are written, encodes all queries in UTF-8, and removes session parameters whatever
    their value is."""
    accept: tuple[str, ...] = ()
    """Regular expressions, searched in the canonical URL: only links that match one of them become pages. If empty, all
    links may. A pattern without capital letters ignores case."""
    reject: tuple[str, ...] = (
        *(rf"/{segment}(?:/|(?:\.\w+)?(?:[?;]|$))" for segment in _SEGMENTS),
        *(rf"\?(?:[^?]*[&;=])?{query}" for query in _QUERIES),
    )
    """Regular expressions, searched in the canonical URL as with `accept`: links that match one of them are counted and
    not fetched (7.2.4: log in, log out, register ...). Seeds are never rejected."""
    transform: tuple[str, ...] = ()
    """Rewrites of canonical URLs, each written as "regular expression => replacement" (\\1 for a group). They are
    applied in this order until nothing changes. Case matters."""
    static: tuple[str, ...] = ("htm", "html", "shtml", "txt", "xhtml")
    """Extensions of static pages. A page whose extension is in none of these lists, or that has none, is static too."""
    dynamic: tuple[str, ...] = _DYNAMIC
    """Extensions of dynamic pages. A page with a query is dynamic too."""
    images: tuple[str, ...] = _IMAGES
    """Extensions of images. Links to them are counted and not fetched."""
    audio: tuple[str, ...] = _AUDIO
    """Extensions of audio files. Links to them are counted and not fetched."""
    video: tuple[str, ...] = _VIDEO
    """Extensions of video files. Links to them are counted and not fetched."""
    documents: tuple[str, ...] = _DOCUMENTS
    """Extensions of documents. Links to them are counted and not fetched."""
    software: tuple[str, ...] = _SOFTWARE
    """Extensions of software. Links to them are counted and not fetched."""
    source: tuple[str, ...] = _SOURCE
    """Extensions of source code, scripts and style sheets. Links to them are counted and not fetched."""
    archives: tuple[str, ...] = _ARCHIVES
    """Extensions of archives. Links to them are counted and not fetched."""

    @property
    def reads_sitemaps(self) -> bool:
        return self.sitemaps and self.follow != "none"


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """Which pages are fetched first (3.4, 7.2.1): the pages whose fetch adds most to the value of the index.

    The value of a page is quality^alpha x freshness^gamma; the profit of a fetch is the value
    after it minus the value now. Quality is the weighted sum of the scores, each between 0 and 1.
    """

    policy: str = "value"
    """Order of pages: "value" (by profit, using all settings below), or one of the studied strategies alone. `gossamer
    simulate` tries them on a graph. "plugin" is your own: `plugins.strategy`."""
    weights: dict[str, float] = field(default_factory=lambda: {"completed": 1.0})
    """Weights of the scores in the quality of a page. completed: an estimate of the PageRank that the page will have;
    opic: the cash of links not yet followed; pagerank; indegree; hub and authority; siterank: PageRank of its site;
    linkrank: weighted link rank; depth: 1 at the start page; static: 1 if static, 0 if dynamic; pending: how many pages
    of its site are pending; boost: see `boosts`; plugin: that of `plugins.score`."""
    boosts: dict[str, float] = field(default_factory=dict)
    """Regular expressions with a boost from 0 to 1 each. The boost of the first expression found in the URL of a page
    is its score "boost"."""
    history: str = ""
    """Folder of an older collection of the same sites that has link scores (`gossamer rank`): under the policy
    "historical-pagerank-parent", pages are ordered by the PageRank that they had there, and pages that it did not know
    by the share of the page where they were found. It is read once, when the crawl begins."""
    preset: str = "general"
    """The purpose of the crawl (figure 3.6): research, archive, news, mirror or general. The preset determines alpha
    and gamma, and when a page is fetched again (news: after 6h; mirror: after a day; archive: after 30d; research and
    general: never), unless these are set here."""
    alpha: float = -1.0
    """Exponent of quality; -1: the value of the preset."""
    gamma: float = -1.0
    """Exponent of freshness (the probability that the stored copy is still what the server has); -1: the value of the
    preset."""
    rank_every: int = 20_000
    """Number of visits after which link scores are computed again, in the background. The computation also waits until
    it costs at most a twentieth of the processor time of the crawl, all runs together. When the crawl stops, the scores
    are computed once more, if that costs at most a twentieth too, or at most one second."""
    continuous: bool = False
    """Fetch pages again and again until the crawl is stopped, as often as `revisit` says (`gossamer crawl
    --continuous`). What is gone is asked for again after growing intervals. If false, the crawl ends when nothing is
    left, and pages are fetched once, or again when `min_period` has passed."""
    revisit: str = "expected"
    """In a continuous crawl: which copies are asked for again first. expected: the expected gain in freshness; profit:
    what a visit adds to the value of the index; outdated: the copy that is most probably outdated; uniform: each as
    often as any other; proportional: as often as it changes; freshness, age, harmonic: the best frequencies for the
    share of copies that are up to date, for their age, and against missed changes; webfountain: freshness at first,
    then uniform; adaptive: intervals that shrink with a change and grow without; fronts, fronts-evenly: from eight
    queues by rate of change (Mercator), from each half as often as from the one before, or as often; quality: as often
    as it is worth; random: as uniform, but in random order."""
    new_share: float = 0.5
    """In a continuous crawl: share of the requests that goes to pages that were never fetched. What they do not need
    goes to re-visits, and the other way round."""
    min_period: Duration = Duration(-1)
    """Minimum time between two visits of a page that was fetched; 0: pages are fetched once, or once a day in a
    continuous crawl; -1: the value of the preset."""
    change_period: Duration = Duration(60 * 86_400)
    """Mean time between changes of a page, before anything was learned about it or about other pages."""
    batch_size: int = 100_000
    """Maximum number of pages in a plan."""
    batch_per_site: int = 500
    """Maximum number of pages of one site in a plan."""


@dataclass(frozen=True, slots=True)
class HarvesterSettings:
    """How requests are sent: the identity of the crawler, the waits, the limits, and when it gives up."""

    contact: str = ""
    """Mail address, or Web page, of the person who runs the crawl. It is sent with every request. Crawls beyond
    loopback need this or `about`."""
    about: str = ""
    """Web page that says who crawls, why, and how to stop it (docs/webmasters.md is a draft). If it is set, User-Agent
    contains it, and a mail address in `contact` is sent only in From; a `contact` of another kind stands next to it in
    User-Agent."""
    agent: str = "Gossamer"
    """Product token: the name by which robots.txt files address this crawler."""
    workers: int = 0
    """Number of worker processes; 0: one per core."""
    connections: int = 300
    """Maximum number of requests in flight."""
    least_connections: int = 10
    """If fewer requests than this are in flight, the current plan closes and the next one is made soon. Pages of the
    plan that were not requested are returned without penalty (4.4). At most `connections` of it count. 0: a plan closes
    only when its sites cannot keep the connections busy."""
    pace: str = "polite"
    """How fast sites are requested: a preset of `wait`, `wait_large` and `wait_factor`, each of which wins if it is
    set. "polite": 15 s after each answer, 5 s at large sites. "gentle": after each answer ten times as long as it took,
    as Mercator does, and at least 1 s."""
    mine: bool = False
    """Request your own sites one page after another without waits, at most 10 in a second, as long as they answer well.
    `gossamer mine` says how a site proves that it is yours; the proof is checked every day. All other sites have the
    usual waits, and so has an address that your sites share with others."""
    mine_key: str = ""
    """File of the key with which `gossamer mine` makes proofs; empty: ~/.config/gossamer/mine.key. An absolute path, or
    one relative to the working folder."""
    wait: Duration = Duration(15)
    """Time between the end of one turn at a site and the next turn."""
    wait_large: Duration = Duration(5)
    """The same for large sites."""
    large_site: int = 100
    """A site with more known pages than this is large."""
    per_turn: int = 1
    """Number of pages per turn, over one connection (c)."""
    pause: Duration = Duration(1)
    """Time between the pages of a turn."""
    address_wait: Duration = Duration(1)
    """Minimum time between requests to one IP address, however many sites it serves."""
    domain_wait: Duration = Duration(0)
    """Minimum time between requests to one registrable domain ("example.co.uk"), however many sites it has, and at most
    one request to it at a time (PolyBot); 0: no such limit."""
    wait_factor: float = 0.0
    """The wait of a site is at least this factor times the duration of its last answer (k of Mercator, where it is 10);
    0: the wait does not depend on it."""
    max_delay: Duration = Duration(300)
    """Longest Crawl-delay that is honoured. A site that asks for a longer one is not requested, except for its
    robots.txt once a week. A Crawl-delay below the wait is taken if it is for `agent` by name, but `address_wait` is
    the least."""
    name_timeout: Duration = Duration(10)
    """Timeout for resolving a name."""
    connect_timeout: Duration = Duration(30)
    """Timeout for connecting, TLS included."""
    first_byte_timeout: Duration = Duration(30)
    """Timeout from the request to the first byte of the answer."""
    http2: bool = False
    """Use HTTP/2 over TLS with servers that support it, still with one request at a time. Otherwise HTTP/1.1."""
    whole_timeout: Duration = Duration(180)
    """Timeout for the whole request. Within a bandwidth, time in which we held a server back does not count; but no
    request takes longer than this timeout plus the time of `max_download` bytes at `lowest_speed`: 16 minutes."""
    lowest_speed: Size = Size(500)
    """A transfer that is slower than this, in bytes per second, for `slow_time` is given up."""
    slow_time: Duration = Duration(20)
    """How long a transfer may be slower than `lowest_speed`."""
    max_download: Size = Size(400_000)
    """Maximum number of bytes read of a body. The rest is cut off, and the visit is marked. What comes around head and
    body (chunk sizes and extensions, TLS, frames) counts, too: beyond 64 KB, four bytes for each byte of the body and a
    quarter of this in all, the request is ended."""
    range: bool = False
    """Tell servers about `max_download` (Range header), and request pages uncompressed, as Range requires: fewer bytes
    for long pages, more for all others. A server that answers 416 is requested again without it. If false, a body that
    is too long is cut off."""
    max_sitemap: Size = Size(10_000_000)
    """The same for a sitemap, as received. Of its decompressed content, at most 50 MB are read."""
    retry: Duration = Duration(12 * 3600)
    """Time until a page that failed is tried again (A.1.1)."""
    tries: int = 3
    """Maximum number of tries per page."""
    robots_valid: Duration = Duration(24 * 3600)
    """How long robots.txt rules are used before robots.txt is requested again: at most a day (RFC 9309, 2.4)."""
    robots_unreachable: Duration = Duration(30 * 86_400)
    """How long a robots.txt that cannot be read forbids its site. After this time its last known rules are used, or
    none if it was never read (RFC 9309, 2.3.1.4), and it is requested again once a day. Only time in which it was
    requested repeatedly counts."""
    soft_404: bool = True
    """Recognise pages that do not exist although their site answers as if they did (A.3.4). If pages of a site resemble
    one another, the site gets a request for a page that cannot exist: one per folder, at most eight. Pages with the
    same content as its answer, or redirected to the same address, are soft 404, and so are pages that are redirected to
    the same address as sixteen others."""
    bandwidth: Speed = Speed(0)
    """Bytes per second that the crawl may read from all servers together. The crawl uses them fully. 0: no limit."""
    bandwidth_by_hour: dict[str, str] = field(default_factory=dict)
    """The same by hour of the day, instead of `bandwidth`: { "08-18" = "500KB/s", "22-06" = "0" }. A span begins with
    its first hour and ends before its last."""
    bandwidth_depth: int = 6
    """Maximum number of requests in a row that are skipped in search of one that fits into the free bandwidth (max_d of
    003). A larger value uses the bandwidth better, and changes the order of pages more often."""
    bandwidth_patience: Duration = Duration(5)
    """Time after which a request that never fits starts anyway, no faster than the free bandwidth, so that fast servers
    are requested too."""
    bandwidth_adapts: bool = True
    """Start more requests than the predictions allow while bandwidth is unused. If false, the predictions are taken as
    they are, as in 003."""
    bandwidth_enforced: bool = True
    """Never read more than the bandwidth allows, whatever was predicted. If false, a crawl may exceed it; for
    experiments."""
    quiet_hours: tuple[str, ...] = ()
    """Times of the day at which nothing is requested, not even a robots.txt: "22:00-06:00". Requests under way end.
    Times are in `time_zone`, or in the zone that a span names: "09:00-17:30 Europe/Rome"."""
    time_zone: str = ""
    """Time zone of hours of the day ("Europe/Rome"); empty: the time zone of the system."""
    holidays: tuple[str, ...] = ()
    """Days on which servers are expected to be as fast as on Saturdays and Sundays: dates like "2026-04-06", or "12-25"
    for every year."""
    allow_private: bool = False
    """Also visit loopback, private, link-local and other special addresses (RFC 6890)."""
    forbidden: tuple[str, ...] = ()
    """Addresses and networks ("192.0.2.0/24") that are never visited, in addition to the special ones, even if
    `allow_private` is set."""
    resolve: dict[str, str] = field(default_factory=dict)
    """Table of name patterns to address and port ("*.example" = "127.0.0.1:8080"), or to "none" for names that do not
    exist; for tests and demonstrations."""
    resolvers: tuple[str, ...] = ()
    """Addresses of name servers, with the port if it is not 53 ("192.0.2.53:5353"). All are used in parallel. If empty:
    the name servers of the system."""
    lookups: int = 32
    """Number of names looked up at a time at each name server."""
    families: tuple[str, ...] = ("ipv4", "ipv6")
    """Address families used to connect to sites, in this order. The second is used only if a name has no address of the
    first, or if this machine has no route to the first."""
    invalid_certificates: bool = False
    """Also fetch pages from servers whose certificate is expired, self-signed, for another name or otherwise invalid;
    their visits are marked and say what is wrong. If false, such requests end as `tls_failed`."""
    trusted: str = ""
    """File of certificates (PEM) to trust in addition to those of the system, for your own sites. An absolute path, or
    one relative to the collection's folder or to the working folder."""


@dataclass(frozen=True, slots=True)
class GathererSettings:
    """What is extracted from a page, and what of it is stored."""

    timeout: Duration = Duration(60)
    """Maximum time that a worker may spend on one fetched page. A worker that takes longer is considered hung: it is
    replaced, and the page is tried once more, alone."""
    max_stored: Size = Size(300_000)
    """Maximum number of bytes of a body that are archived."""
    max_decoded: Size = Size(4_000_000)
    """Maximum size of a body after decompression."""
    max_links: int = 5_000
    """Maximum number of distinct links of a page that are kept."""
    links: tuple[str, ...] = _LINKS
    """Tags that contain links, each with its attribute: "a href"."""
    nofollow_inside: bool = True
    """Obey `rel=nofollow`, `ugc` and `sponsored` also on links from a site to itself. If false, such a link is like any
    other: it is followed, and has no mark in the table `links`. Sites put it on log-ins, baskets, and lists sorted and
    filtered in many ways; some on pages found nowhere else. A page that says `nofollow` as a whole is obeyed
    anyway."""
    drop: tuple[str, ...] = ("script", "style", "template")
    """Tags that are removed from the text together with their content."""
    keep: tuple[str, ...] = ()
    """Tags that stay in the cleaned text, without their attributes. All other tags are removed, and their text
    stays."""
    keep_noindex: bool = False
    """Archive pages that say `noindex` or `noarchive` like all others. If false, their bodies are not stored; for pages
    that say `noindex`, neither are title, description and link texts: only the visit, what the page says, and where its
    links lead."""
    text: bool = False
    """Also archive the cleaned text, as WARC conversion records: about a third of the size of the page."""
    anchors: bool = True
    """Store the texts of links in the table `anchors`."""
    anchor_length: int = 200
    """Maximum length of a link text that is stored, in characters."""
    mentions: bool = True
    """Store what pages mention in the table `mentions`: addresses of links to hosts out of scope, canonical addresses,
    languages of other versions, and the first heading. An audit reads it."""
    language: bool = True
    """Detect the language of each page."""


@dataclass(frozen=True, slots=True)
class ExtractRule:
    """A rule that fills a column of a table from pages, without code. In crawl.toml each begins with [[extract]]."""

    table: str
    """Name of the table. SQL and exports know it by this name."""
    column: str
    """Name of the column."""
    css: str = ""
    """CSS selector of the element that has the value. If empty, it is the page, or the element of `each`."""
    attribute: str = ""
    """Attribute of the element that has the value. If empty, its text is the value."""
    type: str = "text"
    """text, int, float, bool, date (ISO 8601; without a time zone, UTC) or url. Where the page has no such value, the
    column is null."""
    many: bool = False
    """The values of all elements, as a list. If false, the value of the first that has one."""
    url: str = ""
    """Regular expression, searched in the canonical URL: the rule is for pages that match. A pattern without capital
    letters ignores case. If empty, it is for all pages."""
    each: str = ""
    """CSS selector: each element that it finds is a row, and `css` is sought in it. If empty, a page is one row. All
    rules of a table have the same."""


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """Code of your own that the crawl runs, by kind.

    Each is named as "my.py:extract" (a function in a file in the collection's folder, or by its absolute path), by its
    name in an installed package, or by the name of one that is built in. `gossamer plugins` lists them. A file runs
    only after you have confirmed it on this machine.
    """

    process: tuple[str, ...] = ()
    """Processors: each sees the pages that are fetched, and returns rows, which are stored in a table of its own. Built
    in: json-ld, opengraph and microdata."""
    filter: tuple[str, ...] = ()
    """Filters: each says of the links of a page which are followed, after all other rules. Seeds are never left out."""
    score: tuple[str, ...] = ()
    """One score: it gives each page a number between 0 and 1, whose weight is `plugin` in `manager.weights`."""
    strategy: tuple[str, ...] = ()
    """One strategy: it orders pages, under `manager.policy` "plugin"."""
    report: tuple[str, ...] = ()
    """Sections of `gossamer report`."""
    audit: tuple[str, ...] = ()
    """Checks of `gossamer audit`."""
    timeout: Duration = Duration(10)
    """Time that a processor or a filter may take for a page. A slower one is ended, and gives an error row."""
    memory: Size = Size(1_000_000_000)
    """Memory that the processors and filters of a worker may use together; and each score and strategy. When half of it
    is used, the process beside a worker is exchanged."""
    extract: tuple[ExtractRule, ...] = ()
    """Extraction rules. In crawl.toml each is a table of its own, [[extract]]; the manual has their keys."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a crawl, by section."""

    collection: CollectionSettings = field(default_factory=CollectionSettings)
    seeder: SeederSettings = field(default_factory=SeederSettings)
    manager: ManagerSettings = field(default_factory=ManagerSettings)
    harvester: HarvesterSettings = field(default_factory=HarvesterSettings)
    gatherer: GathererSettings = field(default_factory=GathererSettings)
    plugins: PluginSettings = field(default_factory=PluginSettings)
