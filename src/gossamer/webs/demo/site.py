"""A site of the demonstration Web: its names and address, and how it behaves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DOMAIN: Final = "gossamer.test"
WWW: Final = "www."


class Declared(StrEnum):
    """Where a page declares its charset."""

    MIXED = "in the header, in a meta element, in both or nowhere, page by page"
    HEADER = "in the header"
    META = "in a meta element (plain text: in the header)"
    NOWHERE = "nowhere: it has to be detected"


@dataclass(frozen=True, slots=True)
class Charset:
    """A charset as pages declare it and as it is encoded."""

    label: str
    """The name that pages use."""
    codec: str
    """Python's codec with which pages are encoded."""
    meant: str
    """Python's name of the charset that the label means on the Web, by the WHATWG Encoding standard."""
    declared: Declared
    mark: bytes = b""
    """The byte order mark at the beginning of a page."""


class Robots(StrEnum):
    """What a site answers to a request for robots.txt."""

    MISSING = "404: everything is allowed"
    REFUSED = "403: everything is allowed"
    EMPTY = "rules that allow everything"
    FOLDERS = "a folder is forbidden, except for one folder in it"
    PATTERNS = "paths are forbidden by wildcards"
    NAMED = "everything is forbidden, but the crawler's name has its own rules"
    UNAVAILABLE = "503: nothing is allowed"


class SiteNames(StrEnum):
    """The names under which a site answers. With any of them it is one site with one set of pages (A.2.5)."""

    BARE = "the bare name only"
    BOTH = "www. and the bare name, with the same pages"
    TO_WWW = "the bare name redirects to www."
    TO_BARE = "www. redirects to the bare name"
    WWW_ONLY = "www. only: the bare name has no address"


class Down(StrEnum):
    """Why a site cannot be reached."""

    NO = "it can"
    REFUSED = "nothing listens at its address"
    NAMELESS = "its name has no address"
    SILENT = "it accepts connections and never answers"


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast a site answers."""

    latency: float = 0.0
    """Mean seconds before an answer begins; 0: none."""
    speed: float = 0.0
    """Mean bytes of a body per second; 0: as many as the machine can send."""
    slow: bool = False
    """Slower to answer than all other sites."""


@dataclass(frozen=True, slots=True)
class Ties:
    """How a site is connected with other sites."""

    linked: bool = False
    """Some other site links to it."""
    linking: bool = False
    """Whether it links to other sites."""
    mirrored: bool = False
    """Another site repeats it, so its internal links are written as paths."""
    mirror_of: int = -1
    """The number of the site that it repeats; -1: none."""
    promised: tuple[int, ...] = ()
    """Sites that its home page links to, and other pages may, on a national Web."""


@dataclass(frozen=True, slots=True)
class Http:
    """How a site speaks HTTP."""

    dated: bool = False
    """Sends Last-Modified."""
    tagged: bool = False
    """Sends ETag."""
    old: bool = False
    """Speaks HTTP/1.0."""
    secure: bool = False
    """Speaks https only."""


@dataclass(frozen=True, slots=True)
class Features:
    """What a site has that most other sites do not have."""

    session: str = ""
    """The parameter that carries a session id in every internal link; "": none does."""
    calendar: bool = False
    """A calendar with a next and a previous month without end."""
    soft: bool = False
    """Answers 200 where there is no page."""
    torn: int = 0
    """Number of pages whose connection breaks off."""
    sitemap: str = ""
    """The form of its sitemap (`sitemaps.FORMS`); "": it has none."""


@dataclass(frozen=True, slots=True)
class Moods:
    """What changes with the time at a site (see the module `moods`)."""

    moody: bool = False
    """Whether it sometimes answers with errors."""
    changing: bool = False
    """Its robots.txt changes."""
    failing: bool = False
    """Its robots.txt fails at times."""


@dataclass(frozen=True, slots=True)
class Site:
    """A site, in parts by subject; the defaults are the usual site."""

    number: int
    host: str
    """The bare name, without `www.`: the URLs of the truth use it."""
    address: str
    pages: int
    """Number of pages that answer 200 and are meant to be found."""
    language: str
    charset: Charset
    robots: Robots
    delay: float = 0.0
    """Crawl-delay in robots.txt; 0: none."""
    names: SiteNames = SiteNames.BARE
    down: Down = Down.NO
    timing: Timing = Timing()
    ties: Ties = Ties()
    http: Http = Http()
    features: Features = Features()
    moods: Moods = Moods()

    @property
    def home(self) -> str:
        return f"{self.scheme}://{self.host}/"

    @property
    def scheme(self) -> str:
        return "https" if self.http.secure else "http"

    @property
    def name(self) -> str:
        """The preferred name."""
        return WWW + self.host if self.names in (SiteNames.TO_WWW, SiteNames.WWW_ONLY) else self.host

    @property
    def all_names(self) -> tuple[str, ...]:
        """All names under which it answers, with pages or with redirects."""
        if self.names is SiteNames.BARE:
            return (self.host,)
        return (WWW + self.host,) if self.names is SiteNames.WWW_ONLY else (self.host, WWW + self.host)

    @property
    def moved_name(self) -> str | None:
        """The name whose every path redirects to the other name."""
        return {SiteNames.TO_WWW: self.host, SiteNames.TO_BARE: WWW + self.host}.get(self.names)

    @property
    def has_rules(self) -> bool:
        return self.robots in (Robots.FOLDERS, Robots.PATTERNS, Robots.NAMED)

    @property
    def readable(self) -> bool:
        """Whether its pages can and may be requested at all."""
        return self.down is Down.NO and self.robots is not Robots.UNAVAILABLE
