"""Every check finds what was planted, and nothing else.

The tables that checks read are filled by hand: each fault several times, and beside it a decoy that looks like it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import duckdb
import pytest

from gossamer.base.model import VisitFlag
from gossamer.read.audit.checks import CHECKS, Limits
from gossamer.read.audit.run import Found, _result, _runs

ROOT: Final = "https://a.example/"
_PAGE: Final = """
create table page (page bigint, url varchar, site bigint, depth integer, kind varchar, source bigint, state varchar,
reason varchar, in_sitemap boolean, linked bigint, outcome varchar, status integer, title varchar, description varchar,
length bigint, text_length bigint, flags integer, charset varchar, latency double, redirect varchar,
duplicate_of bigint, detail varchar, sketch ubigint, mime varchar, nameless boolean)
"""


class Planted:
    """The tables of an audit. A page that says nothing special has no fault."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        self.connection.execute(_PAGE)
        self.connection.execute(
            "create table link (source bigint, target bigint, kind varchar, text varchar, nofollow boolean)"
        )
        self.connection.execute(
            "create table robots (page bigint, url varchar, source bigint, outcome varchar, status int, detail varchar)"
        )
        self.connection.execute("create table near (page bigint)")
        self.connection.execute(
            "create table mention (page bigint, kind varchar, url varchar, text varchar, number int)"
        )
        self.connection.execute("create table outside (url varchar, outcome varchar, status int)")
        self.number = 0
        self.root = self.page(ROOT)

    def page(self, url: str, **said: Any) -> int:
        self.number += 1
        usual: dict[str, Any] = {
            "page": self.number, "url": url, "site": 1, "depth": 1, "kind": "anchor", "source": 1, "state": "done",
            "reason": "none", "in_sitemap": False, "linked": 1, "outcome": "ok", "status": 200,
            "title": f"Title of {url}"[:60], "description": f"About {url}", "length": 5000, "text_length": 900,
            "flags": 0, "charset": "utf-8", "latency": 0.1, "redirect": None, "duplicate_of": None, "detail": None,
            "sketch": self.number, "mime": "text/html", "nameless": False,
        }  # fmt: skip
        row = usual | said
        marks = ", ".join("?" * len(row))
        self.connection.execute(f"insert into page ({', '.join(row)}) values ({marks})", list(row.values()))
        return self.number

    def link(
        self, source: int, target: int, kind: str = "anchor", text: str | None = "here", nofollow: bool = False
    ) -> None:
        self.connection.execute("insert into link values (?, ?, ?, ?, ?)", [source, target, kind, text, nofollow])

    def robots(self, page: int, url: str, outcome: str, status: int | None = None, detail: str | None = None) -> None:
        self.connection.execute("insert into robots values (?, ?, 1, ?, ?, ?)", [page, url, outcome, status, detail])

    def mention(self, page: int, kind: str, url: str | None = None, text: str | None = None, number: int = 1) -> None:
        self.connection.execute("insert into mention values (?, ?, ?, ?, ?)", [page, kind, url, text, number])

    def outside(self, url: str, outcome: str, status: int | None, *pages: int) -> None:
        """An address of another site, which these pages link to."""
        self.connection.execute("insert into outside values (?, ?, ?)", [url, outcome, status])
        for page in pages:
            self.mention(page, "external", url, "there")

    def run(self, statement: str) -> list[Any]:
        return self.connection.execute(statement).fetchall()

    def found(self, name: str) -> list[Found]:
        (check,) = (each for each in CHECKS if each.name == name)
        return list(_result(self, check, asdict(Limits())).found)  # type: ignore[arg-type]


@pytest.fixture
def site() -> Planted:
    planted = Planted()
    good = planted.page(f"{ROOT}good", in_sitemap=True)
    planted.link(planted.root, good)
    return planted


def urls(found: list[Found]) -> list[str]:
    return [each.url.removeprefix(ROOT) for each in found]


def test_a_site_without_faults_has_no_findings(site: Planted) -> None:
    assert {check.name: site.found(check.name) for check in CHECKS} == {check.name: [] for check in CHECKS}


def test_broken_links_name_page_and_text(site: Planted) -> None:
    for name, outcome in (("b1", "not_found"), ("b2", "soft_404")):
        site.link(site.root, site.page(f"{ROOT}{name}", outcome=outcome, status=404), text=f"to {name}")
    site.page(f"{ROOT}unlinked", outcome="not_found", status=404)
    site.page("https://unlinked.example/", outcome=None, nameless=True)
    found = site.found("broken-link")
    assert [(each.url, each.source, each.anchor) for each in found] == [
        (f"{ROOT}b1", ROOT, "to b1"),
        (f"{ROOT}b2", ROOT, "to b2"),
    ]
    assert urls(site.found("soft-404")) == ["b2"]
    lost = site.page("https://lost.example/", outcome=None, status=None, nameless=True)
    site.link(site.root, lost)
    assert [(each.url, each.detail) for each in site.found("broken-link")][-1] == (
        "https://lost.example/",
        "the name has no address",
    )


def test_failures_of_server_and_certificate(site: Planted) -> None:
    site.page(f"{ROOT}f1", outcome="server_error", status=500)
    site.page(f"{ROOT}f2", outcome="timed_out", status=None)
    site.page(f"{ROOT}c1", outcome="tls_failed", status=None, detail="expired")
    site.page(f"{ROOT}c2", flags=int(VisitFlag.UNVERIFIED))
    for name, outcome, status in (
        ("e1", "tls_failed", None),
        ("e2", "server_error", 500),
        ("e3", "connect_failed", None),
    ):
        url = f"https://{name}.example/x"
        site.robots(site.page(url, outcome=None, status=None), url, outcome, status)
    site.robots(site.root, ROOT, "not_found", 404)
    assert urls(site.found("failing-page")) == ["f1", "f2"]
    assert urls(site.found("certificate")) == ["c1", "c2", "https://e1.example/x"]
    assert [(each.url, each.detail) for each in site.found("robots-failing")] == [
        ("https://e2.example/robots.txt", "server_error (500)"),
        ("https://e3.example/robots.txt", "connect_failed"),
    ]


def test_redirects_in_chains_and_loops(site: Planted) -> None:
    a, b, c = (site.page(f"{ROOT}r{i}", outcome="redirect", status=301, redirect="x") for i in range(3))
    end = site.page(f"{ROOT}end")
    site.link(a, b, "redirect")
    site.link(b, end, "redirect")
    site.link(c, end, "redirect")
    x, y = (site.page(f"{ROOT}l{i}", outcome="redirect", status=301) for i in range(2))
    site.link(x, y, "redirect")
    site.link(y, x, "redirect")
    site.link(site.root, c)
    assert urls(site.found("redirect-chain")) == ["r0"]
    assert urls(site.found("redirect-loop")) == ["l0", "l1"]
    assert urls(site.found("redirected-link")) == ["r2"]


def test_http_among_https(site: Planted) -> None:
    plain = site.page("http://a.example/plain")
    part = site.page("http://cdn.example/p", site=2)
    site.link(site.root, plain)
    site.link(site.root, part, "embedded")
    site.link(plain, site.page("http://a.example/other"))
    site.link(site.root, site.page("http://b.example/", site=3))
    assert [each.url for each in site.found("insecure-link")] == ["http://a.example/plain"]
    assert [each.url for each in site.found("insecure-part")] == ["http://cdn.example/p"]


def test_sitemaps_against_pages(site: Planted) -> None:
    site.page(f"{ROOT}orphan", kind="sitemap", in_sitemap=True)
    site.link(site.root, site.page(f"{ROOT}linked", kind="sitemap", in_sitemap=True))
    site.page(f"{ROOT}gone", kind="sitemap", in_sitemap=True, outcome="not_found", status=404)
    site.page(f"{ROOT}moved", kind="sitemap", in_sitemap=True, outcome="redirect", status=301, redirect="/x")
    site.link(site.root, site.page(f"{ROOT}hidden", in_sitemap=True, flags=int(VisitFlag.NOINDEX)))
    site.page(f"{ROOT}hidden-unlisted", flags=int(VisitFlag.NOINDEX))
    forbidden = {"state": "excluded", "reason": "robots", "outcome": None, "status": None}
    site.page(f"{ROOT}blocked", in_sitemap=True, **forbidden)
    site.link(site.root, site.page(f"{ROOT}blocked-linked", **forbidden))
    site.link(site.root, site.page(f"{ROOT}blocked-nofollow", **forbidden), nofollow=True)
    assert urls(site.found("orphan")) == ["orphan"]
    assert urls(site.found("sitemap-failing")) == ["gone"]
    assert urls(site.found("sitemap-redirect")) == ["moved"]
    assert urls(site.found("sitemap-noindex")) == ["hidden"]
    assert urls(site.found("sitemap-blocked")) == ["blocked"]
    assert urls(site.found("blocked-link")) == ["blocked-linked"]


def test_titles_and_descriptions(site: Planted) -> None:
    site.page(f"{ROOT}t1", title="", description=None)
    site.page(f"{ROOT}t2", title=None)
    for name in ("s1", "s2", "s3"):
        site.page(f"{ROOT}{name}", title="Welcome", description="The same")
    site.page("https://b.example/s", site=2, title="Welcome")
    site.page(f"{ROOT}long", title="x" * 66, description="y" * 161)
    site.page(f"{ROOT}just", title="x" * 65, description="y" * 160)
    site.page(f"{ROOT}text", title=None, description=None, mime="text/plain")
    site.page(f"{ROOT}hidden", title=None, description=None, flags=int(VisitFlag.NOINDEX))
    assert urls(site.found("title-missing")) == ["t1", "t2"]
    assert [(each.url, each.source) for each in site.found("title-shared")] == [
        (f"{ROOT}s2", f"{ROOT}s1"),
        (f"{ROOT}s3", f"{ROOT}s1"),
    ]
    assert urls(site.found("title-long")) == ["long"]
    assert urls(site.found("description-missing")) == ["t1"]
    assert urls(site.found("description-shared")) == ["s2", "s3"]
    assert urls(site.found("description-long")) == ["long"]


def test_canonicals(site: Planted) -> None:
    several, broken, elsewhere, fine, self_named = (site.page(f"{ROOT}c{i}") for i in range(5))
    target, next_one = site.page(f"{ROOT}x"), site.page(f"{ROOT}y")
    gone = site.page(f"{ROOT}gone", outcome="not_found", status=404)
    for a, b in (
        (several, target),
        (several, fine),
        (broken, gone),
        (elsewhere, target),
        (target, next_one),
        (fine, next_one),
    ):
        site.link(a, b, "canonical")
    site.link(self_named, self_named, "canonical")
    for url in (f"{ROOT}x", f"{ROOT}c3"):
        site.mention(several, "canonical", url, url)
    for written in ("/y", f"{ROOT}y"):
        site.mention(fine, "canonical", f"{ROOT}y", written)
    assert urls(site.found("canonical-several")) == ["c0"]
    assert urls(site.found("canonical-broken")) == ["c1"]
    assert urls(site.found("canonical-elsewhere")) == ["c0", "c0", "c2"]


def test_headings(site: Planted) -> None:
    for name, number in (("h0", 0), ("h1", 1), ("h2", 2), ("h3", 3)):
        site.mention(site.page(f"{ROOT}{name}"), "h1", None, "Welcome", number)
    site.page(f"{ROOT}unrecorded")
    site.mention(site.page(f"{ROOT}gone", outcome="not_found"), "h1", None, None, 0)
    assert urls(site.found("heading-missing")) == ["h0"]
    assert [(each.url[-2:], each.detail) for each in site.found("heading-several")] == [
        ("h2", "2 headings: Welcome"),
        ("h3", "3 headings: Welcome"),
    ]


def test_versions_in_other_languages(site: Planted) -> None:
    pages = {name: site.page(f"{ROOT}{name}") for name in ("en", "de", "fr", "es", "it", "old")}
    gone = site.page(f"{ROOT}gone", outcome="not_found", status=404)
    for name, page in pages.items():
        if name != "old":
            site.mention(page, "h1")
            site.mention(page, "hreflang", f"{ROOT}{name}", name)
    for a, b in (("en", "de"), ("de", "en"), ("en", "fr"), ("es", "fr"), ("it", "old")):
        site.mention(pages[a], "hreflang", f"{ROOT}{b}", "de" if b == "old" else b)
    site.mention(pages["en"], "hreflang", "https://other.example/", "pt")
    site.mention(pages["en"], "hreflang", f"{ROOT}gone", "nl")
    found = site.found("hreflang-return")
    assert [(each.url[-2:], each.source, each.detail) for each in found] == [
        ("en", f"{ROOT}fr", "fr"),
        ("es", f"{ROOT}fr", "fr"),
    ]
    assert [(each.url, each.source) for each in site.found("hreflang-broken")] == [(f"{ROOT}gone", f"{ROOT}en")]
    assert gone


def test_codes_of_languages(site: Planted) -> None:
    page = site.page(f"{ROOT}codes")
    good = ("de", "en-gb", "zh-hant", "zh-hant-tw", "x-default", "pt-br", "sr-latn")
    bad = ("en-uk", "english", "de_at", "xx", "en-eu", "", "-de", "at-de", "x-de", "de-")
    for code in (*good, *bad):
        site.mention(page, "hreflang", f"{ROOT}codes", code or None)
    assert {each.detail or "" for each in site.found("hreflang-code")} == set(bad)
    assert len(site.found("hreflang-code")) == len(bad)


def test_links_to_other_sites(site: Planted) -> None:
    other = site.page(f"{ROOT}other")
    site.outside("https://b.example/gone", "not_found", 404, site.root, other)
    site.outside("https://nowhere.example/", "name_failed", None, other)
    site.outside("https://b.example/down", "server_error", 503, site.root)
    site.outside("https://c.example/", "connect_failed", None, site.root)
    for outcome, status in (("ok", 200), ("refused", 403), ("other_type", 200), ("challenged", 403)):
        site.outside(f"https://b.example/{outcome}", outcome, status, site.root)
    site.outside("https://b.example/unlinked", "not_found", 404)
    site.mention(site.root, "external", "https://b.example/unasked", "there")
    assert [(each.url, each.source, each.anchor, each.detail) for each in site.found("external-broken")] == [
        ("https://b.example/gone", ROOT, "there", "404"),
        ("https://b.example/gone", f"{ROOT}other", "there", "404"),
        ("https://nowhere.example/", f"{ROOT}other", "there", "name_failed"),
    ]
    assert [each.url for each in site.found("external-failing")] == ["https://b.example/down", "https://c.example/"]


def test_parts_of_other_sites_by_http(site: Planted) -> None:
    site.mention(site.root, "part", "http://cdn.example/lib.js")
    site.mention(site.root, "part", "https://cdn.example/lib.js")
    site.mention(site.page("http://a.example/plain"), "part", "http://cdn.example/other.js")
    assert [each.url for each in site.found("insecure-part")] == ["http://cdn.example/lib.js"]


def test_duplicates(site: Planted) -> None:
    first = site.page(f"{ROOT}p")
    copy = site.page(f"{ROOT}q", outcome="duplicate", duplicate_of=first)
    sorted_ = site.page(f"{ROOT}p?sort=a", outcome="duplicate", duplicate_of=first)
    named = site.page(f"{ROOT}r", outcome="duplicate", duplicate_of=first)
    site.link(named, first, "canonical")
    site.connection.execute("insert into near values (?)", [copy])
    assert urls(site.found("duplicate")) == ["p?sort=a", "q"]
    assert urls(site.found("parameter")) == ["p?sort=a"]
    assert urls(site.found("near-duplicate")) == ["q"]
    assert sorted_


def test_slow_heavy_deep_and_bare_pages(site: Planted) -> None:
    site.page(f"{ROOT}slow", latency=2.1)
    site.page(f"{ROOT}heavy", length=300_001)
    site.page(f"{ROOT}deep", depth=5)
    site.page(f"{ROOT}bare", flags=int(VisitFlag.EMPTY))
    site.page(f"{ROOT}short", flags=int(VisitFlag.EMPTY), length=90)
    site.page(f"{ROOT}text", flags=int(VisitFlag.EMPTY), mime="text/plain")
    site.page(f"{ROOT}old", charset="windows-1252")
    site.page(f"{ROOT}cut", flags=int(VisitFlag.CUT))
    site.page(f"{ROOT}loved", depth=3, linked=50)
    site.page(f"{ROOT}limits", latency=2.0, length=300_000, depth=4)
    for name, expected in (
        ("slow", "slow"),
        ("heavy", "heavy"),
        ("deep", "deep"),
        ("only-javascript", "bare"),
        ("charset", "old"),
        ("cut", "cut"),
        ("important-and-deep", "loved"),
    ):
        assert urls(site.found(name)) == [expected], name


def test_every_check_is_planted_somewhere() -> None:
    """No check of the table is left out of these tests."""
    with open(__file__) as file:
        text = file.read()
    assert [check.name for check in CHECKS if f'"{check.name}"' not in text] == []


def test_runs_of_equal_values() -> None:
    import numpy as np

    assert list(_runs(np.array([1, 1, 2, 5, 5]))) == [(0, 2), (2, 3), (3, 5)]
    assert list(_runs(np.zeros(0))) == []
