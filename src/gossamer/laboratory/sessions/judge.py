"""Which lines of a log are page views, and who asked: the rules of 5.3 that need one line only.

Each line that is left out is counted under the first rule that concerns it. A line of a *client*, an address with a
User-Agent, also counts for what the client is: whether it has asked for robots.txt, attacks, or asks for no images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U64, Bools, Records
from gossamer.config import Settings
from gossamer.laboratory.sessions.formats import Fields
from gossamer.laboratory.sessions.texts import (
    NO_TIME,
    Parts,
    Phrases,
    Texts,
    joined,
    none,
    numbers,
    packed,
    parts,
    statuses,
    times,
)

HIT: Final = np.dtype(
    [("address", "<u8"), ("client", "<u8"), ("time", "<i8"), ("page", "<u8"), ("referer", "<u8"),
     ("directories", "u1"), ("home", "?"), ("from_directories", "u1"), ("from_home", "?")]
)  # fmt: skip
"""A page view. `referer`: the number of a page of the site, or `NOWHERE` or `OUTSIDE`."""
TALLY: Final = np.dtype(
    [("address", "<u8"), ("client", "<u8"), ("requests", "<u4"), ("views", "<u4"), ("parts", "<u4"), ("heads", "<u4"),
     ("errors", "<u4"), ("robots_txt", "<u4"), ("attacks", "<u4"), ("referers", "<u4"), ("named", "<u4")]
)  # fmt: skip
"""What a client has asked for in one block. `parts`: images and styles; `named`: its User-Agent is a robot's."""
COUNTED: Final = TALLY.names[2:] if TALLY.names else ()
NOWHERE: Final = np.uint64(0)
OUTSIDE: Final = np.uint64(1)

ROBOTS: Final = (
    "bot", "crawl", "spider", "slurp", "archiver", "harvest", "wget", "curl/", "libwww", "lwp", "python", "perl",
    "java/", "ruby", "go-http", "okhttp", "httpclient", "http-client", "http_request", "guzzle", "axios", "node-fetch",
    "scrapy", "feed", "rss", "netvibes", "superfish", "monitor", "pingdom", "uptime", "statuscake", "nagios",
    "zabbix", "validator", "checker", "linkcheck", "scan", "nessus", "nikto", "sqlmap", "masscan", "nmap", "openvas",
    "headless", "phantomjs", "selenium", "puppeteer", "lighthouse", "preview", "facebookexternalhit", "embedly",
    "whatsapp", "httrack", "teleport", "webcopier", "indexer", "metauri", "yahoo!",
    "ia_archiver", "mediapartners", "http://", "https://", "+www.", "@",
)  # fmt: skip
"""Parts of User-Agents of programs that no person browses with. An address or a mailbox is a robot's contact."""
ATTACKS: Final = (
    "../..", "..\\..", "/etc/passwd", "/proc/self", "/bin/sh", "/bin/bash", "cmd.exe", "root.exe", "default.ida",
    "win.ini", "boot.ini", "xp_cmdshell", "union select", "union+select", "union all select", "' or '1", "or 1=1",
    "<script", "javascript:", "onerror=", "${jndi", "() {", "php://", "allow_url_include", "auto_prepend_file",
    "phpmyadmin", "/pma/", "myadmin", "setup.php", "wlwmanifest.xml", "xmlrpc.php", "/wp-config", "/.env", "/.git/",
    "/.svn/", "/.aws", "/.ssh", "/cgi-bin/php", "shell.php", "c99.php", "eval(", "base64_decode", "/vendor/phpunit",
    "/hnap1", "/boaform", "/actuator", "/solr/admin", "/manager/html", "/_vti_bin", "muieblackcat", "zmeu", "w00tw00t",
    "\x00", "\u0090\u0090",
)  # fmt: skip
"""Parts of addresses that only who looks for security holes asks for."""
APPLICATIONS: Final = (
    "/webmail", "/roundcube", "/squirrelmail", "/horde/", "/owa/", "/zimbra", "/wp-admin",
    "/wp-login", "/wp-json", "/administrator/", "/admin/", "/cpanel", "/plesk", "/typo3/", "/umbraco", "/moodle/mod",
    "/login", "/logout", "/signin", "/user/login", "/cart/add", "/checkout", "/graphql", "/ajax", "/socket.io",
)  # fmt: skip
"""Parts of addresses of mail, content management and other applications (rule 7)."""
_PARTS: Final = ("css", "js", "mjs", "map", "ico", "cur", "woff", "woff2", "ttf", "eot", "otf", "json", "wasm",
                 "webmanifest", "swf", "vtt")  # fmt: skip
"""Further extensions of what a page is made of."""
_NO_PAGES: Final = ("xml", "rss", "atom", "rdf", "wsdl", "dtd", "xsl", "pac", "dat")


class Left(IntEnum):
    """Why a line, or a view, is left out."""

    BAD = 0
    ROBOTS_TXT = 1
    ATTACK = 2
    METHOD = 3
    PART = 4
    APPLICATION = 5
    STATUS = 6
    VIEW = 7
    """Not left out: a page view."""


WHY: Final = {
    Left.BAD: "not a line of this format",
    Left.ROBOTS_TXT: "requests for robots.txt",
    Left.ATTACK: "attacks: addresses that only who looks for holes asks for",
    Left.METHOD: "no GET (rule 2)",
    Left.PART: "no pages and no documents: images, styles, programs, feeds (rule 2)",
    Left.APPLICATION: "Web applications, and what --ignore names (rule 7)",
    Left.STATUS: "not answered with a page: redirects, errors (rule 2)",
    Left.VIEW: "page views",
}


@dataclass
class Judge:
    """Judges the lines of one site."""

    hosts: set[int]
    """Numbers of its host names; a Referer with another host is outside."""
    counts: I64 = field(default_factory=lambda: np.zeros(len(Left), np.int64))
    settings: Settings = field(default_factory=Settings)
    ignored: Sequence[str] = ()
    """Further parts of addresses to be left out."""
    agents: bool = True
    """Whether the log has User-Agents: then a client without one is a robot."""

    def __post_init__(self) -> None:
        seeder = self.settings.seeder
        listed = (*seeder.images, *seeder.audio, *seeder.video, *seeder.software, *seeder.source, *seeder.archives)
        pages = {*seeder.static, *seeder.dynamic, *seeder.documents}
        self._embedded = _sorted({*seeder.images, *seeder.audio, *seeder.video, *_PARTS} - pages)
        self._others = _sorted(({*listed, *_PARTS} - pages) | set(_NO_PAGES))
        self._robots, self._attacks = Phrases.of(ROBOTS), Phrases.of(ATTACKS)
        self._applications = Phrases.of((*APPLICATIONS, *self.ignored))
        self._robots_txt = int(parts(_one(b"/robots.txt"), _one(b"")).page[0])
        self._get = {name: int(numbers(_one(name.encode()))[0]) for name in ("GET", "HEAD")}

    def judge(self, fields: Fields) -> tuple[Records, Records, I64]:
        """The page views of some lines, what their clients are, and the numbers of lines that are bad after all."""
        texts = fields.texts
        time = times(texts["time"])
        bad = (time == NO_TIME) | (texts["address"].end <= texts["address"].begin)
        if bad.any():
            texts, time = {name: each.take(~bad) for name, each in texts.items()}, time[~bad]
        self.counts[Left.BAD] += len(fields.bad) + int(bad.sum())
        asked, came = parts(texts["target"], texts["query"]), parts(texts["referer"], none(len(time)))
        why, tallied = self._why(texts, asked)
        address = numbers(texts["address"])
        client = address ^ (numbers(texts["agent"]) * np.uint64(0x9E3779B97F4A7C15))
        self.counts += np.bincount(why, minlength=len(Left))
        view = why == Left.VIEW
        referer = self._referers(texts["referer"], came)
        tallied["views"] = view
        tallied["referers"] = view & (referer != NOWHERE)
        return (
            _hits(view, address, client, time, asked, came, referer),
            _tallies(address, client, tallied),
            fields.line[bad],
        )

    def _why(self, texts: dict[str, Texts], asked: Parts) -> tuple[I64, dict[str, Bools]]:
        """By line why it is left out, and what it says of its client."""
        method, status = numbers(texts["method"]), statuses(texts["status"])
        target = texts["target"]
        robots_txt = asked.page == self._robots_txt
        attack = self._attacks.are_in(target) | (target.end - target.begin > 2_048)
        get, head = method == self._get["GET"], method == self._get["HEAD"]
        part = _among(asked.extension, self._others)
        answered = ((status >= 200) & (status < 300)) | (status == 304)
        why = np.select(
            [
                robots_txt,
                attack,
                ~get | (target.end <= target.begin),
                part,
                self._applications.are_in(target),
                ~answered,
            ],
            [Left.ROBOTS_TXT, Left.ATTACK, Left.METHOD, Left.PART, Left.APPLICATION, Left.STATUS],
            Left.VIEW,
        ).astype(np.int64)
        agent = texts["agent"]
        tallied = {
            "requests": np.ones(len(why), np.bool_),
            "parts": _among(asked.extension, self._embedded) & (answered | get),
            "heads": head,
            "errors": (status >= 400) & (status < 500),
            "robots_txt": robots_txt,
            "attacks": attack,
            "named": self._robots.are_in(agent) | (self.agents & (agent.end <= agent.begin)),
        }
        return why, tallied

    def _referers(self, referer: Texts, came: Parts) -> U64:
        """By line the page that its Referer names, `OUTSIDE` or `NOWHERE`."""
        inside = np.isin(came.host, np.asarray(sorted(self.hosts), np.uint64))
        found = np.where(inside, came.page, OUTSIDE)
        return np.where(referer.end > referer.begin, found, NOWHERE)


def hosts_of(fields: Fields, settings: Settings) -> dict[str, int]:
    """The host names of the site that a log is of, and how often they are said: the log's own field; else the Referers
    of images and styles, which the site's own pages embed; else those of pages, the most frequent one."""
    own = fields.texts["host"]
    if (own.end > own.begin).any():
        return _common(own.take(own.end > own.begin), 0.05)
    judge = Judge(set(), settings=settings)
    asked = parts(fields.texts["target"], fields.texts["query"])
    referer = fields.texts["referer"]
    said = referer.end > referer.begin
    embedded = said & _among(asked.extension, judge._embedded)
    if embedded.sum() >= 10:
        return _common(referer.take(embedded), 0.1)
    return dict(list(_common(referer.take(said), 0.0).items())[:1])


def _common(texts: Texts, share: float) -> dict[str, int]:
    """Host names in texts, the most frequent first, with at least this share of them. The texts are few enough to be
    looked at one by one only once for each number."""
    number = parts(_absolute(texts), none(len(texts.begin))).host
    values, first, counts = np.unique(number, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    whole = _absolute(texts)
    return {
        host_in(whole.of(int(first[i]))): int(counts[i])
        for i in order
        if values[i] and counts[i] >= share * counts.sum()
    }


def _absolute(texts: Texts) -> Texts:
    """Host names as addresses, so that they get the same numbers."""
    if not len(texts.begin) or b"://" in texts.buffer[texts.begin[0] : texts.end[0]].tobytes():
        return texts
    return joined(f"http://{texts.of(i)}/".encode() for i in range(len(texts.begin)))


def host_in(address: str) -> str:
    """The host of an address as it counts: without scheme, www. and port, in lower case."""
    return (
        address.partition("://")[2].partition("/")[0].partition("?")[0].partition(":")[0].lower().removeprefix("www.")
    )


def host_number(host: str) -> int:
    return int(parts(_one(f"http://{host}/".encode()), _one(b"")).host[0])


def _one(text: bytes) -> Texts:
    return joined([text])


def _sorted(extensions: set[str]) -> U64:
    return np.asarray(sorted(filter(None, map(packed, extensions))), np.uint64)


def _among(values: U64, listed: U64) -> Bools:
    place = np.minimum(np.searchsorted(listed, values), len(listed) - 1)
    return np.asarray(listed[place] == values)


def _hits(view: Bools, address: U64, client: U64, time: I64, asked: Parts, came: Parts, referer: U64) -> Records:
    hits = np.zeros(int(view.sum()), HIT)
    hits["address"], hits["client"], hits["time"] = address[view], client[view], time[view]
    hits["page"], hits["referer"] = asked.page[view], referer[view]
    hits["directories"], hits["home"] = asked.directories[view], asked.home[view]
    hits["from_directories"], hits["from_home"] = came.directories[view], came.home[view]
    return hits


def _tallies(address: U64, client: U64, tallied: dict[str, Bools]) -> Records:
    clients, first, place = np.unique(client, return_index=True, return_inverse=True)
    found = np.zeros(len(clients), TALLY)
    found["client"], found["address"] = clients, address[first]
    for name, said in tallied.items():
        found[name] = np.bincount(place[said], minlength=len(clients))
    return found
