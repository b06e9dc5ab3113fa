"""The settings: a typed tree named like the folders. Defaults are those of the thesis (table 7.1) where it has one.

Durations are seconds, sizes are bytes; `crawl.toml` and `--set` write them with units (`15s`, `400KB`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gossamer.units import Duration, Size


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """What is kept, and how much of it."""

    max_pages: int = 10_000_000
    """Most known pages; memory for them is reserved, not used, from the start."""
    max_sites: int = 100_000
    """Most sites."""
    seal_visits: int = 100_000
    """Visits in the journal after which it is sealed into segments."""
    seal_every: Duration = Duration(300)
    """Time after which the journal is sealed into segments."""
    warc_size: Size = Size(1_000_000_000)
    """Size at which an archive file is closed and the next one opened."""


@dataclass(frozen=True, slots=True)
class SeederSettings:
    """Which links become pages."""

    domains: tuple[str, ...] = ()
    """Accepted domain suffixes; empty: the registrable domains of the seeds; "*": all."""
    pages_per_site: int = 25_000
    """Most known pages of one site."""
    depth_static: int = 15
    """Greatest depth of static pages."""
    depth_dynamic: int = 5
    """Greatest depth of dynamic pages."""
    url_length: int = 2_000
    """Longest URL, in bytes of its canonical form."""
    session_ids: tuple[str, ...] = (
        "cfid", "cftoken", "phpsessid", "jsessionid", "aspsessionid*", "sessionid", "session_id", "sessid", "sid",
        "zenid", "oscsid", "osc_sid",
    )  # fmt: skip
    """Parameters that carry a session and are removed from URLs; case does not matter, * ends a prefix."""


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """Which pages come first."""

    policy: str = "opic"
    """The order of pages: a name from the table of policies."""
    batch_size: int = 100_000
    """Pages of a plan."""
    batch_per_site: int = 500
    """Pages of one site in a plan."""


@dataclass(frozen=True, slots=True)
class HarvesterSettings:
    """How servers are asked."""

    contact: str = ""
    """Mail address or web page of whoever runs the crawl; sent with every request. Needed beyond loopback."""
    agent: str = "Gossamer"
    """Product token: the name that robots.txt files use for us."""
    workers: int = 0
    """Worker processes; 0: one per core."""
    connections: int = 300
    """Requests in flight at most."""
    wait: Duration = Duration(15)
    """Time between the end of one turn at a site and the next."""
    wait_large: Duration = Duration(5)
    """The same for large sites."""
    large_site: int = 100
    """Known pages above which a site is large."""
    per_turn: int = 1
    """Pages of a turn, over one connection."""
    pause: Duration = Duration(1)
    """Time between the pages of a turn."""
    address_wait: Duration = Duration(1)
    """Time between requests to one address, whatever the number of sites behind it."""
    max_delay: Duration = Duration(300)
    """Longest Crawl-delay that is honoured; a site that asks for more is left alone."""
    name_timeout: Duration = Duration(10)
    """Time limit for resolving a name."""
    connect_timeout: Duration = Duration(30)
    """Time limit for connecting, TLS included."""
    first_byte_timeout: Duration = Duration(30)
    """Time limit from the request to the first byte of the answer."""
    whole_timeout: Duration = Duration(180)
    """Time limit for the whole request."""
    lowest_speed: Size = Size(500)
    """Bytes a second below which, for `slow_time`, a transfer is given up."""
    slow_time: Duration = Duration(20)
    """See `lowest_speed`."""
    max_download: Size = Size(400_000)
    """Bytes of an answer's body that are read at most; the rest is cut and the visit marked."""
    retry: Duration = Duration(12 * 3600)
    """Time until a page that failed is tried again (A.1.1)."""
    tries: int = 3
    """How often a page is tried."""
    robots_valid: Duration = Duration(24 * 3600)
    """How long robots.txt rules are used before they are asked for again."""
    allow_private: bool = False
    """Visit loopback, private, link-local and other special addresses too."""
    resolve: dict[str, str] = field(default_factory=dict)
    """Name pattern to address and port ("*.example" = "127.0.0.1:8080"), for tests and demonstrations."""
    resolvers: tuple[str, ...] = ()
    """Addresses of name servers; empty: the system's."""


@dataclass(frozen=True, slots=True)
class GathererSettings:
    """What is read from a page."""

    max_stored: Size = Size(300_000)
    """Bytes of a body that are archived at most."""
    max_decoded: Size = Size(4_000_000)
    """Bytes to which a compressed body may grow."""
    max_links: int = 5_000
    """Distinct links of a page that are kept."""


@dataclass(frozen=True, slots=True)
class Settings:
    collection: CollectionSettings = field(default_factory=CollectionSettings)
    seeder: SeederSettings = field(default_factory=SeederSettings)
    manager: ManagerSettings = field(default_factory=ManagerSettings)
    harvester: HarvesterSettings = field(default_factory=HarvesterSettings)
    gatherer: GathererSettings = field(default_factory=GathererSettings)
