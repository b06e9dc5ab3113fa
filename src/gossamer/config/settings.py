"""The settings: a typed tree named like the folders. Defaults are those of the thesis (table 7.1) where it has one.

Durations are seconds, sizes are bytes; `crawl.toml` and `--set` write them with units (`15s`, `400KB`). The sentence
below each field is its documentation: `gossamer config` prints it, docs/reference.md is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from gossamer.base.units import Duration, Size, Speed

_SEGMENTS: Final = (
    "log[-_]?(?:in|out|on|off)",
    "sign[-_]?(?:in|out|on|off|up)",
    "register",
    "user[-_]?login",
    "member[-_]?login",
    "lost[-_]?password",
    "forgot[-_]?password",
    "edit",
    "delete",
    "reply",
    "add[-_]to[-_](?:cart|basket|wishlist)",
    "wp-(?:login|admin)",
    "xmlrpc",
    "special:(?:userlogin|userlogout|createaccount)",
)
"""Parts of paths that lead to what is of no use to a search engine."""
_QUERIES: Final = (
    "(?:special:user)?(?:log|sign)[-_]?(?:in|out|on|off|up)(?:[&;=]|$)",
    r"(?:regist(?:er|ration)|edit|delete|reply(?:tocom)?|add.to.\w+)(?:[&;=]|$)",
    "(?:action|do|mode|task|op)=(?:add|history|print)(?:[&;]|$)",
    "(?:action|do|mode|task|op)=(?:quote|remove|submit)(?:[&;]|$)",
)
"""Names and values of parameters that do."""


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """What is kept, how much of it, and in pieces of what size."""

    max_pages: int = 10_000_000
    """Most known pages; memory for them is reserved, not used, from the start."""
    max_sites: int = 100_000
    """Most known sites; memory for them is reserved, not used, from the start."""
    max_memory: Size = Size(0)
    """Memory of all processes of the crawl together, at which it stops cleanly; 0: nine tenths of what the machine, or
    the container, has free when the crawl begins. Whatever it is, the crawl stops too when next to nothing is left."""
    seal_visits: int = 100_000
    """Visits in the journal after which it is sealed into segments."""
    seal_every: Duration = Duration(300)
    """Time after which the journal is sealed into segments."""
    warc_size: Size = Size(1_000_000_000)
    """Size at which an archive file is closed and the next one opened."""
    revisit_records: bool = True
    """Archive an exact repeat of a body as a WARC revisit record that names the first, instead of once more."""


@dataclass(frozen=True, slots=True)
class SeederSettings:
    """Which links become pages, and in which form (7.2.4).

    A link becomes a page if its host is in `domains`, its port in `ports`, its extension in none of the lists that are
    counted only, no pattern rejects it, and it is not too long or too deep. Whatever does not is counted, page by page.
    """

    domains: tuple[str, ...] = ()
    """Accepted domain suffixes: "example.org" takes in itself and every name below it, an address only itself, "*" all;
    empty: the registrable domains of the seeds; on a resume, those that the collection has."""
    ports: tuple[str, ...] = ("80", "443", "8000", "8008", "8080", "8081", "8443", "8888")
    """Ports of URLs that become pages: numbers, or "*" for all. Those of the seeds are added."""
    pages_per_site: int = 25_000
    """Most known pages of one site. It holds for new pages: those that are known stay."""
    depth_static: int = 15
    """Greatest depth of static pages, in clicks from the site's start page or from an entry from outside."""
    depth_dynamic: int = 5
    """Greatest depth of dynamic pages."""
    url_length: int = 2_000
    """Longest URL, in bytes of its canonical form."""
    repeats: int = 2
    """How often the same part of a path, or the same parameter with the same value, may stand in a URL: links that say
    it more often are counted as traps, not fetched (A.6.2: a/b/c/c/c); 0: as often as they like. Numbers in paths, and
    seeds, may."""
    sitemaps: bool = True
    """Read the sitemaps of sites: those that robots.txt names or, if it names none, /sitemap.xml."""
    sitemap_every: Duration = Duration(7 * 86_400)
    """Time after which the sitemaps of a site are read again; it is done when its robots.txt is read again."""
    sitemaps_per_site: int = 50
    """Sitemaps that are read of one site each time, those that others name included."""
    www: bool = True
    """Take www.example.org and example.org for one site, and their pages for the same pages (A.2.5). The site is asked
    by the name that answers."""
    session_ids: tuple[str, ...] = (
        "cfid",
        "cftoken",
        "phpsessid",
        "jsessionid",
        "aspsessionid*",
        "sessionid",
        "session_id",
        "sessid",
        "sid",
        "zenid",
        "oscsid",
        "osc_sid",
        "xtcsid",
        "sess_id",
        "session-id",
        "asp.net_sessionid",
    )
    """Parameters that carry a session and are removed from URLs; case does not matter, * ends a prefix. With any of
    them, so are parts of paths as ASP.NET writes them: /(S(value))/."""
    accept: tuple[str, ...] = ()
    """Regular expressions, searched in the canonical URL: only links that match one become pages; empty: all may. One
    without capital letters does not look at case."""
    reject: tuple[str, ...] = (
        *(rf"/{segment}(?:/|(?:\.\w+)?(?:[?;]|$))" for segment in _SEGMENTS),
        *(rf"\?(?:[^?]*[&;=])?{query}" for query in _QUERIES),
    )
    """Regular expressions, searched in the canonical URL like those of `accept`: links that match one are counted, not
    fetched (7.2.4: log in, log out, register ...). Seeds are never rejected."""
    transform: tuple[str, ...] = ()
    """Rewrites of canonical URLs, each "regular expression => replacement" (\\1 for a group), in this order, until
    nothing changes. The regular expressions look at case."""
    static: tuple[str, ...] = ("htm", "html", "shtml", "txt", "xhtml")
    """Extensions of static pages. One that is in none of these lists, and none at all, is a static page too."""
    dynamic: tuple[str, ...] = (
        "action",
        "ashx",
        "asmx",
        "asp",
        "aspx",
        "axd",
        "cfc",
        "cfm",
        "cfml",
        "cgi",
        "do",
        "fcgi",
        "jhtml",
        "jsf",
        "jsp",
        "jspa",
        "jspx",
        "php",
        "php3",
        "php4",
        "php5",
        "php7",
        "phtml",
        "pl",
        "rhtml",
    )
    """Extensions of dynamic pages. A query makes a page dynamic too."""
    images: tuple[str, ...] = (
        "ai",
        "apng",
        "avif",
        "bmp",
        "cr2",
        "cur",
        "gif",
        "heic",
        "heif",
        "ico",
        "jfif",
        "jp2",
        "jpe",
        "jpeg",
        "jpg",
        "jxl",
        "nef",
        "pbm",
        "pcx",
        "pgm",
        "png",
        "pnm",
        "ppm",
        "psd",
        "raw",
        "svg",
        "svgz",
        "tga",
        "tif",
        "tiff",
        "webp",
        "xbm",
        "xcf",
        "xpm",
    )
    """Extensions of images: counted, not fetched."""
    audio: tuple[str, ...] = (
        "aac",
        "aif",
        "aiff",
        "amr",
        "au",
        "flac",
        "m3u",
        "m3u8",
        "m4a",
        "m4b",
        "mid",
        "midi",
        "mka",
        "mp2",
        "mp3",
        "mpga",
        "oga",
        "ogg",
        "opus",
        "pls",
        "ra",
        "ram",
        "snd",
        "wav",
        "weba",
        "wma",
    )
    """Extensions of audio: counted, not fetched."""
    video: tuple[str, ...] = (
        "3g2",
        "3gp",
        "asf",
        "avi",
        "divx",
        "f4v",
        "flv",
        "m2ts",
        "m4v",
        "mkv",
        "mov",
        "mp4",
        "mpe",
        "mpeg",
        "mpg",
        "mts",
        "ogv",
        "qt",
        "rm",
        "rmvb",
        "swf",
        "ts",
        "vob",
        "webm",
        "wmv",
    )
    """Extensions of video: counted, not fetched."""
    documents: tuple[str, ...] = (
        "atom",
        "azw",
        "azw3",
        "bib",
        "chm",
        "csv",
        "djvu",
        "doc",
        "docm",
        "docx",
        "dot",
        "dotx",
        "dvi",
        "dwg",
        "eps",
        "epub",
        "gpx",
        "ics",
        "json",
        "jsonld",
        "kml",
        "kmz",
        "mdb",
        "mobi",
        "odp",
        "ods",
        "odt",
        "pdf",
        "pot",
        "potx",
        "pps",
        "ppsx",
        "ppt",
        "pptm",
        "pptx",
        "ps",
        "pub",
        "rdf",
        "rss",
        "rtf",
        "sxw",
        "tex",
        "tsv",
        "vcf",
        "vsd",
        "wpd",
        "xls",
        "xlsb",
        "xlsm",
        "xlsx",
        "xml",
    )
    """Extensions of documents: counted, not fetched."""
    software: tuple[str, ...] = (
        "apk",
        "app",
        "bin",
        "class",
        "deb",
        "dll",
        "dmg",
        "exe",
        "img",
        "ipa",
        "iso",
        "jar",
        "jnlp",
        "msi",
        "msix",
        "ova",
        "pkg",
        "rpm",
        "scr",
        "snap",
        "vmdk",
        "wasm",
        "woff",
        "woff2",
        "xpi",
    )
    """Extensions of software: counted, not fetched."""
    source: tuple[str, ...] = (
        "c",
        "cc",
        "cpp",
        "cs",
        "css",
        "cxx",
        "diff",
        "f",
        "f90",
        "go",
        "h",
        "hh",
        "hpp",
        "java",
        "js",
        "kt",
        "less",
        "lua",
        "m4",
        "map",
        "mjs",
        "pas",
        "patch",
        "py",
        "r",
        "rb",
        "rs",
        "scala",
        "scss",
        "sh",
        "sql",
        "swift",
        "vb",
    )
    """Extensions of source code, scripts and styles: counted, not fetched."""
    archives: tuple[str, ...] = (
        "7z",
        "ace",
        "arj",
        "bz2",
        "cab",
        "cpio",
        "gz",
        "lha",
        "lz",
        "lz4",
        "lzh",
        "lzma",
        "rar",
        "tar",
        "tbz",
        "tbz2",
        "tgz",
        "txz",
        "warc",
        "xz",
        "z",
        "zip",
        "zst",
    )
    """Extensions of archives: counted, not fetched."""


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """Which pages come first (3.4, 7.2.1): those whose fetch adds most to the value of the index.

    The value of a page is quality^alpha x representation^beta x freshness^gamma; the profit of a fetch is the value
    after it less the value now. Quality is the sum of the scores, each between 0 and 1, times their weights.
    """

    policy: str = "value"
    """Which pages come first: "value" (by profit, all settings below), or one of the strategies that were studied, by
    itself; `gossamer simulate` tries them on a graph."""
    weights: dict[str, float] = field(default_factory=lambda: {"completed": 1.0})
    """Weights of the scores in the quality of a page. completed: the PageRank that it will have, as far as can be told;
    opic: the cash of links not yet followed; pagerank; indegree; hub
    and authority; siterank: PageRank of its site; linkrank: weighted link rank; depth: 1 at the start page; static: 1
    if static, 0 if dynamic; pending: how many pages of its site are pending; boost: see `boosts`."""
    boosts: dict[str, float] = field(default_factory=dict)
    """Regular expression to boost, from 0 to 1: the score "boost" of pages whose URL it is found in; the first that
    matches counts."""
    preset: str = "general"
    """For whom the crawl is (figure 3.6): research, archive, news or general. It sets alpha, beta and gamma, and when a
    page is fetched again (news: after 6h; archive: 30d; research and general: never), unless they are set here."""
    alpha: float = -1.0
    """Exponent of quality; -1: the preset's."""
    beta: float = -1.0
    """Exponent of representation (1 if the page was fetched, 0 if not); -1: the preset's."""
    gamma: float = -1.0
    """Exponent of freshness (the probability that our copy is what the server has now); -1: the preset's."""
    index_value: str = "sum"
    """The value of the index is the "sum" of the values of its pages, or their "minimum"."""
    rank_every: int = 20_000
    """Visits after which link scores are computed anew, in the background; it also waits until that costs at most a
    twentieth of the processor time of the crawl, all runs together. They are computed once more when the crawl stops,
    if they cost no more than that, or at most a second."""
    min_period: Duration = Duration(-1)
    """Least time between two visits of a page that was fetched; 0: pages are fetched once; -1: the preset's."""
    change_period: Duration = Duration(60 * 86_400)
    """Mean time between changes of a page about which nothing else is known."""
    batch_size: int = 100_000
    """Pages of a plan."""
    batch_per_site: int = 500
    """Pages of one site in a plan."""


@dataclass(frozen=True, slots=True)
class HarvesterSettings:
    """How servers are asked: who we say we are, how long we wait, and when we give up."""

    contact: str = ""
    """Mail address of whoever runs the crawl, or a web page; sent with every request. This, or `about`, is needed
    beyond loopback."""
    about: str = ""
    """Web page that says who crawls, why, and how to stop it (docs/webmasters.md is a draft): then it stands in
    User-Agent, and the mail address of `contact` in From only; a `contact` of another kind stands beside it."""
    agent: str = "Gossamer"
    """Product token: the name that robots.txt files use for us."""
    workers: int = 0
    """Worker processes; 0: one per core."""
    connections: int = 300
    """Requests in flight at most."""
    least_connections: int = 10
    """When fewer requests than this are in flight, the present plan closes and the next one is made soon; pages that
    were not asked for go back, without penalty (4.4). More than `connections` count as that many; 0: a plan closes only
    when its sites cannot keep the connections busy."""
    wait: Duration = Duration(15)
    """Time between the end of one turn at a site and the next."""
    wait_large: Duration = Duration(5)
    """The same at large sites."""
    large_site: int = 100
    """Known pages above which a site is large."""
    per_turn: int = 1
    """Pages of a turn, over one connection (c)."""
    pause: Duration = Duration(1)
    """Time between the pages of a turn."""
    address_wait: Duration = Duration(1)
    """Time between requests to one address, whatever the number of sites behind it."""
    domain_wait: Duration = Duration(0)
    """Time between requests to one registrable domain ("example.co.uk"), whatever the number of sites in it, and one
    request to it at a time (PolyBot); 0: no such limit."""
    wait_factor: float = 0.0
    """A site is left in peace at least so many times as long as its last answer took (k of Mercator, which has 10); 0:
    its wait does not depend on that."""
    max_delay: Duration = Duration(300)
    """Longest Crawl-delay that is honoured; a site that asks for more is left alone, but for its robots.txt once a
    week."""
    name_timeout: Duration = Duration(10)
    """Time limit for resolving a name."""
    connect_timeout: Duration = Duration(30)
    """Time limit for connecting, TLS included."""
    first_byte_timeout: Duration = Duration(30)
    """Time limit from the request to the first byte of the answer."""
    http2: bool = False
    """Speak HTTP/2 with servers that can, over TLS; a single request at a time all the same. HTTP/1.1 if not."""
    whole_timeout: Duration = Duration(180)
    """Time limit for the whole request."""
    lowest_speed: Size = Size(500)
    """Bytes a second below which, for `slow_time`, a transfer is given up."""
    slow_time: Duration = Duration(20)
    """For how long a transfer may be slower than `lowest_speed`."""
    max_download: Size = Size(400_000)
    """Bytes of an answer's body that are read at most; the rest is cut and the visit marked."""
    range: bool = False
    """Tell servers of `max_download` (Range), and ask for pages uncompressed, as that needs: fewer bytes of long pages,
    more of all others. A server that answers 416 is asked again without it. Without this, what is too long is broken
    off."""
    max_sitemap: Size = Size(10_000_000)
    """The same for a sitemap, as it comes over the wire; decompressed, 50 MB of it are read at most."""
    retry: Duration = Duration(12 * 3600)
    """Time until a page that failed is tried again (A.1.1)."""
    tries: int = 3
    """How often a page is tried."""
    robots_valid: Duration = Duration(24 * 3600)
    """How long robots.txt rules are used before they are asked for again: a day at most (RFC 9309, 2.4)."""
    robots_unreachable: Duration = Duration(30 * 86_400)
    """How long a robots.txt that cannot be read forbids its site. After so long the rules that it had are used, or none
    if it was never read (RFC 9309, 2.3.1.4), and it is asked for again once a day. Only time counts in which it was
    asked for again and again."""
    soft_404: bool = True
    """Find pages that do not exist though their site answers as if they did (A.3.4). A site whose pages resemble one
    another is asked for one that cannot exist, once in a folder and eight times at most; pages that say the same, or
    lead to the same address, are soft 404, and so are those that are redirected to where sixteen others were."""
    bandwidth: Speed = Speed(0)
    """Bytes a second that the crawl may read, all servers together, and makes full use of; 0: no limit."""
    bandwidth_by_hour: dict[str, str] = field(default_factory=dict)
    """The same at hours of the day, instead of `bandwidth`: { "08-18" = "500KB/s", "22-06" = "0" }, from the first hour
    up to the last, which is not of them any more."""
    bandwidth_depth: int = 6
    """How many requests in a row are passed over, at most, in search of those that fit into what is free of the
    bandwidth (max_d of 003): more make better use of it, and more often break the order of pages."""
    bandwidth_patience: Duration = Duration(5)
    """Time after which a request that never fits is started all the same, no faster than what is free: so that fast
    servers are asked too."""
    bandwidth_adapts: bool = True
    """Start more requests than the predictions allow while the bandwidth is not used up; without it they count as they
    are, as in 003."""
    bandwidth_enforced: bool = True
    """Read no more than is granted, whatever was predicted. Without it a crawl may take more: for experiments."""
    time_zone: str = ""
    """Name of the time zone that hours of the day are meant in ("Europe/Rome"); empty: the system's."""
    holidays: tuple[str, ...] = ()
    """Days on which servers are expected to be as fast as on Saturdays and Sundays: dates like "2026-04-06", or "12-25"
    for every year."""
    allow_private: bool = False
    """Visit loopback, private, link-local and other special addresses (RFC 6890) too."""
    forbidden: tuple[str, ...] = ()
    """Addresses and networks ("192.0.2.0/24") that are never visited, besides the special ones and even where those are
    allowed."""
    resolve: dict[str, str] = field(default_factory=dict)
    """Name pattern to address and port ("*.example" = "127.0.0.1:8080"), or to "none" for names that do not exist; for
    tests and demonstrations."""
    resolvers: tuple[str, ...] = ()
    """Addresses of name servers, with a port if it is not 53 ("192.0.2.53:5353"), all asked side by side; empty: the
    system's."""
    lookups: int = 32
    """Names that are looked up at a time, at each name server."""
    families: tuple[str, ...] = ("ipv4", "ipv6")
    """Kinds of addresses that sites are asked at, in this order: the second only where a name has none of the first, or
    where this machine has no way to the first."""
    invalid_certificates: bool = False
    """Fetch pages of servers whose certificate is expired, self-signed, for another name or otherwise not valid, too;
    their visits are marked, and say what is wrong. Otherwise they end as `tls_failed`."""
    trusted: str = ""
    """File of certificates (PEM) that are trusted besides the system's, for sites of your own: its whole path, or one
    from the collection's folder or from the working folder."""


@dataclass(frozen=True, slots=True)
class GathererSettings:
    """What is read from a page, and what of it is stored."""

    timeout: Duration = Duration(60)
    """Time that a worker may take over one page, once it is fetched. One that takes longer is taken to hang: it is
    replaced, and the page tried once more, alone."""
    max_stored: Size = Size(300_000)
    """Bytes of a body that are archived at most."""
    max_decoded: Size = Size(4_000_000)
    """Bytes to which a compressed body may grow."""
    max_links: int = 5_000
    """Distinct links of a page that are kept."""
    links: tuple[str, ...] = (
        "a href",
        "area href",
        "frame src",
        "iframe src",
        "img src",
        "script src",
        "source src",
        "video src",
        "audio src",
        "embed src",
        "object data",
        "link href",
        "meta refresh",
    )
    """Tags that bear links, each with its attribute: "a href"."""
    drop: tuple[str, ...] = ("script", "style", "template")
    """Tags that are dropped from the text, with all that is inside."""
    keep: tuple[str, ...] = ()
    """Tags that stay in the cleaned text, without their attributes; all others leave their text only."""
    keep_noindex: bool = False
    """Archive pages that say `noindex` or `noarchive` like all others. Otherwise nothing of their bodies is kept, and
    neither title nor description nor the texts of links of those that say `noindex`: only the visit, with what the page
    says, and where its links lead."""
    text: bool = False
    """Archive the cleaned text too, as WARC conversion records: about a third of the size of the page."""
    anchors: bool = True
    """Keep the texts of links, in the table `anchors`."""
    anchor_length: int = 200
    """Longest text of a link that is kept, in characters."""
    language: bool = True
    """Find out the language of each page."""


@dataclass(frozen=True, slots=True)
class Settings:
    collection: CollectionSettings = field(default_factory=CollectionSettings)
    seeder: SeederSettings = field(default_factory=SeederSettings)
    manager: ManagerSettings = field(default_factory=ManagerSettings)
    harvester: HarvesterSettings = field(default_factory=HarvesterSettings)
    gatherer: GathererSettings = field(default_factory=GathererSettings)
