"""What can be asked of the demonstration Web: numbers and shares, nothing else.

The fields are the arguments of `DemoWeb`; the access log stores them, and any process makes the same Web of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """0 switches a kind off. Shares count per page, `broken` per link. Whole numbers count sites: at most a tenth or a
    twentieth of them for each kind. Mirrors and sites that are down are added to `sites`, their pages to `pages`."""

    seed: int = 1
    sites: int = 120
    pages: int = 20_000
    largest: int = 2_000
    """Most pages of one site. One site is asked for one page at a time, so this bounds how soon a crawl can end."""
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
    """Pages of the sizes that the HTTP Archive sees: half of them above 35 KB, a tenth above 152 KB."""
    counted: bool = True
    """Links to images, files, other domains and schemes."""
    retry_after: int = 1
    """Seconds that a busy page asks for."""
    slow: int = 3
    latency: float = 0.3
    """Seconds, about, before a slow site answers."""
    delays: int = 2
    """Sites with a Crawl-delay of 1."""
    unavailable: int = 2
    """Sites whose robots.txt answers 503."""
    shared: int = 3
    """Addresses with two to four sites."""
    pace: float = 0.004
    """Median over the sites of the seconds before an answer; transfer speeds go with it. 0: all answer at once."""
    languages: int = 12
    """Sites in other languages and charsets than the usual ones."""
    sessions: int = 2
    """Sites whose links carry another session id on every answer."""
    calendars: int = 2
    """Sites with a calendar that has a next and a previous month for ever."""
    soft: int = 2
    """Sites that answer 200, and always the same, where there is no page."""
    mirrors: int = 2
    """Sites whose pages are those of another site, byte for byte."""
    twins: int = 4
    """Sites with a name that begins with www. beside the bare one."""
    torn: int = 1
    """Sites with pages whose connection breaks off in the middle."""
    old: int = 3
    """Sites that speak HTTP/1.0."""
    tls: int = 3
    """Sites that speak https only; they need the openssl program or the cryptography package."""
    sitemaps: int = 4
    """Sites with a sitemap, and with pages that only it lists."""
    down: int = 3
    """Sites that cannot be reached: no one listens at their address, or their name has none."""
    silent: int = 0
    """Sites that accept connections and never answer: whoever crawls them should have small time limits."""
    moody: int = 0
    """Sites that answer 429, 503, 500 or 402 at times, some with Retry-After in seconds or as a date."""
    changing: int = 0
    """Sites whose robots.txt changes."""
    failing: int = 0
    """Sites whose robots.txt fails at times."""
    mood: float = 20.0
    """Seconds after which these three kinds change their minds. What a crawl finds of them depends on the time: the
    truth is that of a Web without."""
    bulk: bool = False
    """Plain pages of `size` bytes and `links` links, all alike, for benchmarks; everything else above is off."""
    size: int = 25_000
    links: int = 75
