"""The checks of an audit, in one table: name, severity, what is wrong, how to mend it, and the SQL that finds it.

Each query returns rows of address, page that leads to it, text of the link, and a detail; what does not apply is null.
It reads these tables, which `run.py` makes:

    page    each known page: number, url, site, depth, kind, state, reason, in_sitemap, outcome, status, and what its
            last copy says (title, description, length, text_length, flags, charset, latency, redirect, duplicate_of …);
            nameless: its site has no address
    robots  the first known page of each origin, and what its robots.txt answered last: outcome, status, detail
    link    each link between known pages: source, target, kind, text, nofollow
    mention what each page mentions: kind, url, text, number (`gatherer/mentions.py`)
    outside what is known of addresses of other sites: url, outcome, status (`outside.py`)

A *link* of a check is one to click; redirects, canonicals and parts of pages have other kinds. TLS before 1.2 is
not spoken: where nothing newer is, `certificate` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from gossamer.base.model import VisitFlag
from gossamer.read.audit.languages import is_language

Severity = Literal["error", "warning", "notice"]
SEVERITIES: Final[tuple[Severity, ...]] = ("notice", "warning", "error")
"""In the order of weight."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is too much. The defaults are what search engines show, and what visitors bear."""

    title: int = 65
    description: int = 160
    slow: float = 2.0
    """Seconds until the first byte."""
    heavy: int = 300_000
    """Bytes of a page, decoded."""
    deep: int = 4
    """Clicks."""
    similar: int = 3
    """Bits of the sketch."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of an audit."""

    name: str
    severity: Severity
    sentence: str
    cure: str
    sql: str
    """With the fields of `Limits` in braces."""


_OK: Final = "outcome in ('ok', 'duplicate')"
_CLICKED: Final = "l.kind in ('anchor', 'frame')"
_BROKEN: Final = "('not_found', 'soft_404')"
_FAILED: Final = (
    "('server_error', 'connect_failed', 'timed_out', 'too_slow', 'broken_off', 'protocol_error', 'bad_encoding', "
    "'no_content')"
)
_NO_ANSWER: Final = "('connect_failed', 'timed_out', 'tls_failed', 'server_error', 'broken_off', 'protocol_error')"
_VERSION: Final = "join mention m on m.page = s.page and m.kind = 'hreflang'"
_HTML: Final = "coalesce(t.mime, '') <> 'text/plain'"
_SHOWN: Final = f"{_HTML} and (t.flags & {VisitFlag.NOINDEX:d}) = 0"
"""Pages whose title and description are recorded, and shown in lists of results."""
_BARE: Final = 250
"""Bytes: a page with almost no text that is shorter is whole, and short."""
_STARTS: Final = "split_part(url, '?', 1)"


def _links_to(condition: str, detail: str) -> str:
    """SQL for the links whose targets fulfil a condition."""
    return f"""
select t.url, s.url, l.text, {detail} from link l join page s on s.page = l.source join page t on t.page = l.target
where {_CLICKED} and s.{_OK} and {condition} order by 1, 2"""


def _pages(condition: str, detail: str = "null") -> str:
    """SQL for the fetched pages that fulfil a condition."""
    return f"""
select t.url, s.url, null, {detail} from page t left join page s on s.page = t.source
where t.{_OK} and {condition} order by 1"""


def _heading(condition: str, detail: str) -> str:
    """SQL for the pages whose number of headings fulfils a condition."""
    return f"""
select t.url, null, null, {detail} from page t join mention m on m.page = t.page and m.kind = 'h1'
where t.{_OK} and {condition} order by 1"""


def _outside(condition: str) -> str:
    """SQL for the links to other sites whose answer fulfils a condition."""
    return f"""
select o.url, s.url, m.text, coalesce(o.status::varchar, o.outcome) from outside o
join mention m on m.url = o.url and m.kind = 'external' join page s on s.page = m.page
where {condition} order by 1, 2"""


def _shared(column: str) -> str:
    """SQL for pages that share a text, each with the first of them."""
    return f"""
select t.url, f.url, null, t.{column} from (
    select {column}, min(page) as first from page where outcome = 'ok' and coalesce({column}, '') <> ''
    group by site, {column} having count(*) > 1) d
join page t on t.{column} = d.{column} and t.outcome = 'ok'
join page f on f.page = d.first and f.site = t.site where t.page <> f.page order by 4, 1"""


CHECKS: Final = (
    Check(
        "broken-link", "error", "A link leads to a page that does not exist.",
        "Correct or remove the link, or bring the page back.",
        _links_to(
            f"(t.outcome in {_BROKEN} or t.nameless)",
            "coalesce(t.status::varchar, t.outcome, 'the name has no address')",
        ),
    ),
    Check(
        "failing-page", "error", "The server fails, or does not answer in time.",
        "Look into the log of the server for this address.",
        f"select t.url, s.url, null, t.outcome || coalesce(' (' || t.detail || ')', '') from page t "
        f"left join page s on s.page = t.source where t.outcome in {_FAILED} order by 1",
    ),
    Check(
        "certificate", "error", "The certificate is not valid, or no secure connection can be made.",
        "Renew the certificate, or correct the names in it.",
        "select t.url, s.url, null, coalesce(t.detail, 'the certificate is not valid') from page t "
        "left join page s on s.page = t.source "
        f"where t.outcome = 'tls_failed' or (t.flags & {VisitFlag.UNVERIFIED:d}) != 0 "
        "union select r.url, s.url, null, coalesce(r.detail, 'no secure connection') from robots r "
        "left join page s on s.page = r.source where r.outcome = 'tls_failed' order by 1",
    ),
    Check(
        "robots-failing", "error", "robots.txt cannot be read: crawlers request no page beside it.",
        "Answer with the file, or with status 404 if there is none.",
        "select regexp_extract(url, '^[a-z]+://[^/]+') || '/robots.txt', null, null, "
        f"outcome || coalesce(' (' || status || ')', '') from robots where outcome in {_FAILED} order by 1",
    ),
    Check(
        "redirect-loop", "error", "Redirects lead back to where they began.",
        "Let the address lead to a page.",
        """
with recursive way(first, reached, steps) as (
    select source, target, 1 from link where kind = 'redirect'
    union select w.first, l.target, w.steps + 1 from way w join link l on l.source = w.reached and l.kind = 'redirect'
    where w.steps < 12 and w.reached <> w.first)
select p.url, null, null, 'comes back after ' || min(steps) || ' redirects' from way w join page p on p.page = w.first
where w.reached = w.first group by p.url order by 1""",
    ),
    Check(
        "redirect-chain", "warning", "A redirect leads to another redirect.",
        "Redirect to the last address at once.",
        """
select a.url, null, null, b.url || ' leads on to ' || c.url from link x
join link y on y.source = x.target and y.kind = 'redirect' join page a on a.page = x.source
join page b on b.page = x.target join page c on c.page = y.target
where x.kind = 'redirect' and c.page <> a.page order by 1""",
    ),
    Check(
        "redirected-link", "notice", "A link leads to an address that redirects.",
        "Link to the page itself.",
        _links_to("t.outcome = 'redirect'", "t.redirect"),
    ),
    Check(
        "insecure-link", "warning", "A page fetched by https links to a page by http.",
        "Write https in the link.",
        _links_to("s.url like 'https:%' and t.url like 'http:%' and s.site = t.site", "null"),
    ),
    Check(
        "insecure-part", "error", "A page fetched by https has a part that comes by http.",
        "Write https in the address of the part.",
        "select t.url, s.url, null, null from link l join page s on s.page = l.source "
        f"join page t on t.page = l.target where l.kind in ('embedded', 'frame') and s.{_OK} "
        "and s.url like 'https:%' and t.url like 'http:%' union all "
        "select m.url, s.url, null, null from mention m join page s on s.page = m.page "
        "where m.kind = 'part' and s.url like 'https:%' and m.url like 'http:%' order by 1, 2",
    ),
    Check(
        "orphan", "warning", "A sitemap lists the page, and no page links to it.",
        "Link to it, or take it out of the sitemap.",
        f"select url, null, null, null from page where in_sitemap and kind = 'sitemap' and {_OK} "
        f"and page not in (select target from link where kind <> 'canonical') order by 1",
    ),
    Check(
        "sitemap-failing", "error", "A sitemap lists an address that brings no page.",
        "Take it out of the sitemap, or bring the page back.",
        "select url, null, null, coalesce(status::varchar, outcome) from page where in_sitemap "
        f"and outcome is not null and not {_OK} and outcome not in ('redirect', 'other_type') order by 1",
    ),
    Check(
        "sitemap-redirect", "warning", "A sitemap lists an address that redirects.",
        "List the address that it redirects to.",
        "select url, null, null, redirect from page where in_sitemap and outcome = 'redirect' order by 1",
    ),
    Check(
        "sitemap-noindex", "warning", "A sitemap lists a page that forbids its indexing (noindex).",
        "Remove one of the two.",
        f"select url, null, null, null from page where in_sitemap and {_OK} "
        f"and (flags & {VisitFlag.NOINDEX:d}) != 0 order by 1",
    ),
    Check(
        "sitemap-blocked", "warning", "A sitemap lists a page that robots.txt forbids.",
        "Remove one of the two.",
        "select url, null, null, null from page where in_sitemap and state = 'excluded' and reason = 'robots' "
        "order by 1",
    ),
    Check(
        "blocked-link", "notice", "A link leads to a page that robots.txt forbids.",
        "Allow it, or mark the link nofollow.",
        _links_to("not l.nofollow and t.state = 'excluded' and t.reason = 'robots' and s.site = t.site", "null"),
    ),
    Check(
        "soft-404", "error", "A page that does not exist is answered as if it did.",
        "Answer with status 404.",
        "select t.url, s.url, null, t.detail from page t left join page s on s.page = t.source "
        "where t.outcome = 'soft_404' order by 1",
    ),
    Check(
        "only-javascript", "warning", "The page has almost no text: perhaps only JavaScript fills it.",
        "Send the text with the page.",
        _pages(f"{_HTML} and (t.flags & {VisitFlag.EMPTY:d}) != 0 and t.length > {_BARE}"),
    ),
    Check(
        "title-missing", "error", "The page has no title.", "Write one.",
        _pages(f"{_SHOWN} and coalesce(trim(t.title), '') = ''"),
    ),
    Check("title-shared", "warning", "Pages have the same title.", "Say in each what is special.", _shared("title")),
    Check(
        "title-long", "notice", "The title is longer than {title} characters.", "Shorten it: results are cut.",
        _pages("length(t.title) > {title}", "length(t.title) || ' characters: ' || t.title"),
    ),
    Check(
        "description-missing", "notice", "The page has no description.", "Write one, for lists of results.",
        _pages(f"{_SHOWN} and coalesce(trim(t.description), '') = ''"),
    ),
    Check(
        "description-shared", "notice", "Pages have the same description.", "Say in each what is special.",
        _shared("description"),
    ),
    Check(
        "description-long", "notice", "The description is longer than {description} characters.", "Shorten it.",
        _pages("length(t.description) > {description}", "length(t.description) || ' characters'"),
    ),
    Check(
        "canonical-several", "error", "The page names several canonical addresses.", "Name one.",
        "select s.url, null, null, string_agg(distinct m.url, ' ' order by m.url) from mention m "
        "join page s on s.page = m.page where m.kind = 'canonical' group by s.url having count(distinct m.url) > 1 "
        "order by 1",
    ),
    Check(
        "canonical-broken", "error", "The canonical address of the page brings no page.",
        "Name the address of the page itself.",
        f"select s.url, null, null, t.url || ' (' || t.outcome || ')' from link l join page s on s.page = l.source "
        f"join page t on t.page = l.target where l.kind = 'canonical' and t.outcome is not null and not t.{_OK} "
        "and t.outcome <> 'redirect' order by 1",
    ),
    Check(
        "canonical-elsewhere", "warning", "The canonical address redirects, or names another as its own.",
        "Name the last address at once.",
        "select s.url, null, null, t.url || coalesce(' leads on to ' || c.url, ' redirects') from link l "
        "join page s on s.page = l.source join page t on t.page = l.target "
        "left join link m on m.source = t.page and m.kind = 'canonical' and m.target <> t.page "
        "left join page c on c.page = m.target "
        "where l.kind = 'canonical' and s.page <> t.page and (t.outcome = 'redirect' or c.page is not null) order by 1",
    ),
    Check(
        "hreflang-return", "warning", "A version in another language does not name this page as its version.",
        "Name the versions of a page in all of them.",
        f"select s.url, t.url, null, m.text from page s {_VERSION} join page t on t.url = m.url "
        f"where s.{_OK} and t.{_OK} and t.page <> s.page and t.page in (select page from mention where kind = 'h1') "
        "and not exists (select 1 from mention b where b.page = t.page and b.kind = 'hreflang' and b.url = s.url) "
        "order by 1, 2",
    ),
    Check(
        "hreflang-code", "warning", "The language of a version is not a code of a language, script and country.",
        "Write it like de, de-at, zh-hant or x-default.",
        f"select s.url, m.url, null, m.text from page s {_VERSION} where s.{_OK} and not {is_language('m.text')} "
        "order by 1, 2, 4",
    ),
    Check(
        "hreflang-broken", "error", "The address of a version in another language brings no page.",
        "Correct or remove it.",
        f"select t.url, s.url, null, m.text || ': ' || t.outcome from page s {_VERSION} join page t on t.url = m.url "
        f"where s.{_OK} and t.outcome is not null and not t.{_OK} order by 1, 2",
    ),
    Check(
        "heading-missing", "notice", "The page has no main heading (h1).", "Write one.",
        _heading("m.number = 0", "null"),
    ),
    Check(
        "heading-several", "notice", "The page has several main headings (h1).", "Keep one; the others are h2.",
        _heading("m.number > 1", "m.number || ' headings: ' || coalesce(m.text, '')"),
    ),
    Check(
        "external-broken", "error", "A link leads to a page of another site that does not exist (--external).",
        "Correct or remove the link.",
        _outside(f"o.outcome in {_BROKEN} or o.outcome = 'name_failed'"),
    ),
    Check(
        "external-failing", "warning", "A link leads to another site that fails, or does not answer (--external).",
        "Look at it again later; remove the link if it stays so.",
        _outside(f"o.outcome in {_NO_ANSWER}"),
    ),
    Check(
        "duplicate", "warning", "The page has the same text and links as another.",
        "Keep one, or name a canonical address.",
        "select t.url, f.url, null, null from page t join page f on f.page = t.duplicate_of "
        "where t.outcome = 'duplicate' and t.page not in (select source from link where kind = 'canonical' "
        "and source <> target) order by 2, 1",
    ),
    Check(
        "parameter", "notice", "Addresses that differ only in parameters bring the same page.",
        "Leave the parameters out of links, or name a canonical address.",
        "select t.url, f.url, null, null from page t join page f on f.page = t.duplicate_of "
        f"where t.outcome = 'duplicate' and t.url like '%?%' and {_STARTS.replace('url', 't.url')} = "
        f"{_STARTS.replace('url', 'f.url')} order by 2, 1",
    ),
    Check(
        "near-duplicate", "notice", "The page has nearly the same text as another.",
        "Put them together, or say in each what is special.",
        "select t.url, null, null, null from page t join near n on n.page = t.page order by 1",
    ),
    Check(
        "slow", "warning", "The first byte comes after more than {slow:g} seconds.", "Make the page faster.",
        _pages("t.latency > {slow}", "round(t.latency, 2) || ' s'"),
    ),
    Check(
        "heavy", "warning", "The page has more than {heavy:,} bytes.", "Shorten it, or load parts later.",
        _pages("t.length > {heavy}", "t.length || ' bytes'"),
    ),
    Check(
        "deep", "notice", "The page is more than {deep} clicks away.", "Link to it from higher up.",
        _pages("t.depth > {deep}", "t.depth || ' clicks'"),
    ),
    Check(
        "important-and-deep", "notice", "The page is of the tenth with the most links, and more than two clicks away.",
        "Link to it from higher up.",
        "select t.url, s.url, null, t.depth || ' clicks, ' || t.linked || ' links' from page t "
        "left join page s on s.page = t.source "
        f"where t.{_OK} and t.depth > 2 and t.linked > 3 and t.linked >= (select quantile_cont(linked, 0.9) from page "
        f"where {_OK}) order by t.linked desc, 1",
    ),
    Check(
        "charset", "notice", "The page is not in UTF-8.",
        "Use UTF-8, which every program reads.",
        _pages("t.charset is not null and lower(t.charset) not in ('utf-8', 'us-ascii', 'ascii')", "t.charset"),
    ),
    Check(
        "cut", "notice", "The page is longer than what the crawl keeps of a page.",
        "Shorten it: search engines cut long pages, too.",
        _pages(f"(t.flags & {VisitFlag.CUT:d}) != 0", "t.length || ' bytes'"),
    ),
)  # fmt: skip
"""All checks, in the order of a report."""

NAMES: Final = tuple(check.name for check in CHECKS)
