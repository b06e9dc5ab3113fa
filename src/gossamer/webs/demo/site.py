"""A site of the demonstration Web: where it listens, and how it behaves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gossamer.webs.demo.charsets import Charset

DOMAIN: Final = "gossamer.test"
WWW: Final = "www."


class Robots(StrEnum):
    """What a site answers when asked for robots.txt."""

    MISSING = "404: everything is allowed"
    REFUSED = "403: everything is allowed"
    EMPTY = "rules that allow everything"
    FOLDERS = "a folder is forbidden, but for one folder in it"
    PATTERNS = "paths are forbidden by wildcards"
    NAMED = "everything is forbidden, but our name has rules of its own"
    UNAVAILABLE = "503: nothing is allowed"


class SiteNames(StrEnum):
    """Under which names a site answers. Whatever they are, it is one site with one set of pages (A.2.5)."""

    BARE = "the bare name only"
    BOTH = "www. and the bare name, with the same pages"
    TO_WWW = "the bare name redirects to www."
    TO_BARE = "www. redirects to the bare name"
    WWW_ONLY = "www. only: the bare name has no address"


class Down(StrEnum):
    """Why a site cannot be reached."""

    NO = "it can"
    REFUSED = "no one listens at its address"
    NAMELESS = "its name has no address"
    SILENT = "it accepts connections and never answers"


@dataclass(frozen=True, slots=True)
class Site:
    number: int
    host: str
    """The bare name: with it the URLs of its pages are written in the truth."""
    address: str
    pages: int
    """Pages that answer with 200 and are meant to be found."""
    language: str
    charset: Charset
    robots: Robots
    dated: bool = False
    """Sends Last-Modified."""
    tagged: bool = False
    """Sends ETag."""
    delay: float = 0.0
    """Crawl-delay in robots.txt; 0: none."""
    latency: float = 0.0
    """Seconds before each answer, in the mean; 0: none."""
    slow: bool = False
    """Slower to answer than all others."""
    speed: float = 0.0
    """Bytes of a body a second, in the mean; 0: as many as the machine can."""
    linked: bool = False
    """Some other site has links to it."""
    linking: bool = False
    """It has links to other sites."""
    names: SiteNames = SiteNames.BARE
    session: str = ""
    """The parameter that carries a session id in each link inside the site; "": none does."""
    calendar: bool = False
    soft: bool = False
    torn: int = 0
    """Pages whose connection breaks off."""
    old: bool = False
    """Speaks HTTP/1.0."""
    secure: bool = False
    """Speaks https only."""
    down: Down = Down.NO
    moody: bool = False
    changing: bool = False
    """Its robots.txt does."""
    failing: bool = False
    """Its robots.txt does, at times."""
    sitemap: str = ""
    """What its sitemap is, as `sitemaps.FORMS` has it; "": it has none."""
    mirrored: bool = False
    """Another site repeats it, so its links inside are written as paths."""
    mirror_of: int = -1
    """The site that it repeats; -1: none."""

    @property
    def home(self) -> str:
        return f"{self.scheme}://{self.host}/"

    @property
    def scheme(self) -> str:
        return "https" if self.secure else "http"

    @property
    def name(self) -> str:
        """The name that its owner prefers."""
        return WWW + self.host if self.names in (SiteNames.TO_WWW, SiteNames.WWW_ONLY) else self.host

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names under which it answers, with pages or with redirects."""
        if self.names is SiteNames.BARE:
            return (self.host,)
        return (WWW + self.host,) if self.names is SiteNames.WWW_ONLY else (self.host, WWW + self.host)

    @property
    def moved_name(self) -> str | None:
        """The name whose every path redirects to the other."""
        return {SiteNames.TO_WWW: self.host, SiteNames.TO_BARE: WWW + self.host}.get(self.names)

    @property
    def has_rules(self) -> bool:
        return self.robots in (Robots.FOLDERS, Robots.PATTERNS, Robots.NAMED)

    @property
    def readable(self) -> bool:
        """Whether its pages may be asked for at all."""
        return self.down is Down.NO and self.robots is not Robots.UNAVAILABLE
