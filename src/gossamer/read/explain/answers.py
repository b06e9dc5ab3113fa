"""The values that make up an explanation. They are typed dictionaries, because `gossamer explain --json` prints them as
they are: names and types of the keys are part of the command's interface.

`Clock`, `Robots`, `PageState`, `SiteState`, `Scores` and `Plan` are made by `observe/status.py`, in this process or at
the desk of a running crawl; the other values are made in this package.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Live = dict[str, Any]
"""An answer of the desk of a running crawl, as it came over its socket (`observe/socket.py`)."""


class AsOf(TypedDict):
    """Which source knows the state, and how recent that is."""

    source: str
    """desk, image, replay or files."""
    time: float | None
    """Wall time of the state; None if nothing was committed."""
    exact: bool
    """False if the crawl may have changed the state since."""


class Rewrite(TypedDict):
    """One step from the given URL to its canonical form."""

    what: str
    before: str
    after: str


ScopeVerdict = TypedDict("ScopeVerdict", {"accepted": bool, "why": str | None, "class": str, "words": str})
"""Whether a link to a URL becomes a page, by URL and settings alone: `why` not, as a word; its `class`; a sentence."""


class Robots(TypedDict, total=False):
    """What robots.txt says about a URL."""

    verdict: str | None
    """allowed or forbidden; None if there are no rules yet."""
    rule: str | None
    """The rule that decided."""
    until: float | None
    failures: int
    again: float | None
    """When it is requested again, after a failure."""
    unreachable: float | None
    """Since when it cannot be read."""
    outdated: bool


class SiteCounters(TypedDict):
    """Name, address and counters of a site."""

    number: int
    name: str
    www: bool
    address: str | None
    pages: int
    pending: int
    requests: int
    failures: int
    name_failures: int


class Clock(SiteCounters):
    """When a site may be requested, and its counters."""

    wait: float
    """Seconds between turns, without `factor`."""
    delay: float
    """Crawl-delay, in seconds."""
    pace: str
    """Why it has this wait: mine, shared (mine, at an address with others), Crawl-delay, polite, gentle, or set."""
    factor: float
    """The wait is multiplied by this: `slow`, because of failures, times the stretch, because of slow answers."""
    slow: float
    usual: float | None
    """Usual time to the first byte, in seconds."""
    lately: float | None
    """The same for the last answers."""
    next: float | None
    """When it may be requested again; None if it never was, or never may be."""
    now: bool
    """Whether it may be requested now."""
    why: str | None
    """Why it waits, as a word."""
    words: str
    """The same as a sentence."""
    aside: bool
    """Whether it is suspended."""


class PageState(TypedDict, total=False):
    """The state of a page. Tables and journal alone tell `state`, `reason`, `depth`, `due`, `words` and `outcome`."""

    state: str
    held: str | None
    """Why the whole site waits, if it does."""
    reason: str | None
    outcome: str | None
    tries: int
    due: float | None
    depth: int
    dynamic: bool
    seed: bool
    in_flight: bool
    robots: Robots
    site: Clock
    parts: dict[str, dict[str, Any]]
    """What parts of the desk report about the page, by name of the part."""
    words: str


class Scores(TypedDict):
    """Scores of a page, and its rank among the pages that may be planned."""

    score: float
    quality: float
    parts: dict[str, float]
    freshness: float
    value: float
    profit: float
    candidates: int
    rank: int
    site_rank: int
    planned: bool
    reason: str
    cash: float
    next_visit: NotRequired[dict[str, Any]]
    """When a page of a continuous crawl is requested again (`manager/next_visit.py`)."""


class PlanFacts(TypedDict):
    """A plan, as far as it decides about one page (`manager/history.py`)."""

    number: int
    made: float
    pages: int
    candidates: int
    of_site: int
    place_in_site: int | None
    known: bool
    aside: bool
    batch: int
    cap: int


class Plan(PlanFacts):
    """The same with a sentence: whether the plan contained the page, and if not, why."""

    planned: bool
    words: str


class Found(TypedDict):
    """How a page was found."""

    time: float
    kind: str
    on: str | None
    """The page that contained the link; None for a seed, and for a page that a sitemap lists."""
    depth: int
    way: str
    """One letter for each step from a seed to the page (`page.LEGEND`)."""
    urls: list[str]
    """The pages of these steps."""


class Request(TypedDict, total=False):
    """One request and its answer: columns of the table `visits`; None for null."""

    time: float
    status: int | None
    outcome: str
    latency: float
    received: int
    links: int
    duplicate_of: int | None
    redirect: str | None
    address: str | None
    detail: str | None


class Visit(Request, total=False):
    """The same with more columns, and what the outcome means."""

    mime: str | None
    title: str | None
    warc_file: str | None
    warc_offset: int
    retry_after: float | None
    delay: float | None
    origin: int
    out_degree: int
    flags: int
    preferences: str | None
    change: str | None
    sentence: str


class Duplicates(TypedDict):
    pages: int
    """Number of pages with the same text and links."""
    urls: list[str]
    """The first of them."""


class Hypothetical(TypedDict):
    """For an unknown URL of a known site: what robots.txt says about it, and when the site may be requested."""

    robots: Robots
    site: Clock


class UrlAnswer(TypedDict, total=False):
    """What is known about any URL."""

    given: str
    url: str | None
    """Its canonical form; None if it is not a URL of a page."""
    steps: list[Rewrite]
    known: bool
    why_not: list[str]
    """If it is not known: the reasons."""
    scope: ScopeVerdict
    as_of: AsOf
    near: list[str]
    """If it is not known: other spellings of it that are."""
    sitemap: Visit | None
    """If it is not known: the last request for it as a sitemap."""
    would: Hypothetical | None


class PageAnswer(UrlAnswer, total=False):
    """What `gossamer explain DIR URL --json` prints. The keys of this class are there if the page is known."""

    page: int
    found: Found
    standing: PageState
    scores: Scores | None
    plan: Any
    plans: list[Plan]
    next_turn: float | None
    quiet_until: float | None
    """Nothing is requested before: `harvester.quiet_hours`."""
    visits: list[Visit]
    duplicate_of: str | None
    probes: dict[str, Visit]
    duplicates: Duplicates


class SiteScores(TypedDict):
    cash: float
    links: float


class Origin(TypedDict):
    """A scheme, host and port of a site, and its robots.txt."""

    number: int
    origin: str
    robots_until: float | None
    robots_outdated: bool
    robots_failures: int
    robots_unreachable: float | None
    delay: float | None
    rules: list[str] | None


class SiteSpeeds(TypedDict):
    """Bytes per second that the address of a site is expected to deliver: now, and at each full hour."""

    now: float
    working_day: list[float]
    holiday: list[float]


class SiteState(TypedDict):
    """The state of a site and of its pages."""

    clock: Clock
    pages: dict[str, int]
    """Number of pages by state."""
    why: dict[str, dict[str, int]]
    """The same by state and outcome or reason."""
    scores: SiteScores
    origins: list[Origin]
    speeds: SiteSpeeds | None
    sitemap_due: float | None
    parts: NotRequired[dict[str, dict[str, Any]]]
    """What parts of the desk report about the site, by name of the part."""


class NameAddress(TypedDict):
    """An address that the name of a site has had."""

    address: str
    first_seen: float
    last_seen: float
    lookups: int


class Queued(TypedDict):
    page: int
    url: str
    depth: int


class ChangeHours(TypedDict):
    """When the pages of a site change (`read.sql.clocks.Hours`)."""

    first: int
    """Hour of the day at which the window begins, UTC."""
    length: int
    weekdays: bool
    """From Monday to Friday alone."""
    share: float
    """Share of the changes in the window."""
    visits: int
    changes: int
    words: str
    """All of it as a phrase."""


class NameAnswer(TypedDict, total=False):
    """What is known about any name of a site."""

    given: str
    site: str | None
    """Its name; None if it cannot be one."""
    known: bool
    why_not: list[str]
    as_of: AsOf
    in_scope: bool


class SiteAnswer(NameAnswer, total=False):
    """What `gossamer explain DIR SITE --json` prints. The keys of this class are there if the site is known."""

    number: int
    visits: dict[str, int]
    """Number of requests for pages by outcome."""
    bytes: int
    robots: dict[int, Visit]
    """The last request for robots.txt of each origin."""
    addresses: list[NameAddress]
    sitemaps: dict[str, Visit]
    probes: dict[str, Visit]
    change_hours: ChangeHours | None
    """When its pages change; None if it keeps no hours, as far as is known."""
    standing: SiteState | None
    planned: int
    queue: list[Queued]
    """The first planned pages."""
    next_turn: float | None
    quiet_until: float | None
    """Nothing is requested before: `harvester.quiet_hours`."""
