"""The options of the demonstration Web: numbers and shares, nothing else.

The fields are the arguments of `DemoWeb` and the kinds of `gossamer web --with`. The access log stores them, and any
process can make the same Web from them. It is one flat table, because options are given by name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The options, with their defaults. 0 switches a kind off. Shares count per page, `broken` per link. Integers count
    sites: at most a tenth or a twentieth of all sites for each kind. Mirrors and sites that are down are added to
    `sites`, their pages to `pages`."""

    seed: int = 1
    sites: int = 120
    pages: int = 20_000
    largest: int = 2_000
    """Most pages of one site. A site is requested one page at a time, so this limits how soon a crawl can end."""
    agent: str = "Gossamer"
    """The product token that some robots.txt files name."""
    dynamic: float = 0.34
    duplicates: float = 0.06
    plain: float = 0.02
    broken: float = 0.09
    redirects: float = 0.04
    errors: float = 0.003
    busy: float = 0.0005
    forbidden: float = 0.02
    nofollow: float = 0.01
    descriptions: float = 0.4
    heavy: bool = False
    """Page sizes as in the HTTP Archive: half of them above 35 KB, a tenth above 152 KB."""
    national: bool = False
    """The distributions of the Web of Chile (see `national`, which has the options that go with it)."""
    now: int = 1_767_225_600
    """Seconds since 1970: the time from which ages of pages are counted (1 January 2026), so that a seed always makes
    the same Web."""
    counted: bool = True
    """Links to images, files, other domains and schemes."""
    retry_after: int = 1
    """Retry-After of a busy page, in seconds."""
    slow: int = 3
    latency: float = 0.3
    """Approximate seconds before a slow site answers."""
    delays: int = 2
    """Sites with a Crawl-delay of 1 s."""
    unavailable: int = 2
    """Sites whose robots.txt answers 503."""
    shared: int = 3
    """Addresses with two to four sites."""
    pace: float = 0.004
    """Median latency of the sites in seconds; transfer speeds go with it. 0: all answer at once."""
    languages: int = 12
    """Sites in languages and charsets other than the usual ones."""
    sessions: int = 2
    """Sites whose links carry a new session id in every answer."""
    calendars: int = 2
    """Sites with a calendar that has a next and a previous month without end."""
    soft: int = 2
    """Sites that answer 200, and always the same text, where there is no page."""
    mirrors: int = 2
    """Sites whose pages are those of another site, byte for byte."""
    twins: int = 4
    """Sites with a name that begins with www. in addition to the bare name."""
    torn: int = 1
    """Sites with pages whose connection breaks off in the middle of the body."""
    old: int = 3
    """Sites that speak HTTP/1.0."""
    tls: int = 3
    """Sites that speak https only; they need the openssl program or the cryptography package."""
    sitemaps: int = 4
    """Sites with a sitemap, and with pages that only it lists."""
    down: int = 3
    """Sites that cannot be reached: nothing listens at their address, or their name has no address."""
    silent: int = 0
    """Sites that accept connections and never answer: a crawl of them should have short timeouts."""
    moody: int = 0
    """Sites that answer 429, 503, 500 or 402 at times, some with Retry-After in seconds or as a date."""
    changing: int = 0
    """Sites whose robots.txt changes."""
    failing: int = 0
    """Sites whose robots.txt fails at times."""
    mood: float = 20.0
    """Seconds after which these three kinds change. What a crawl finds of them depends on the time; the truth is that
    of a Web without them."""
    speed: float = 0.0
    """Seconds of the life of the Web in a second: its pages change, move, vanish and return (see `life`). 0: nothing
    does."""
    bulk: bool = False
    """Plain pages of `size` bytes and `links` links, all alike, for benchmarks; all options above are off then."""
    size: int = 25_000
    links: int = 75
