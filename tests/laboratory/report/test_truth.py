"""The report, and the audit, of a crawl of the demonstration Web say what the Web knows of itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest

from gossamer.base.model import Outcome
from gossamer.laboratory.findings.finding import Finding
from gossamer.laboratory.report import make
from gossamer.read.audit import run
from gossamer.read.audit.checks import Limits
from gossamer.webs.demo import DemoWeb, UrlKind
from gossamer.webs.demo.links import FOLLOWED, Role, links, only_counted
from gossamer.webs.demo.national import SHAPE
from gossamer.webs.demo.render import render
from gossamer.webs.demo.site import Down, Robots, Site
from gossamer.webs.demo.truth import Truth
from tests.laboratory.report.test_report import facts, rows
from tests.support.crawling import LIGHT, serve
from tests.support.reading import Found

WEBS = {
    "usual": DemoWeb(
        sites=24,
        pages=500,
        busy=0,
        torn=0,
        mirrors=0,
        soft=0,
        calendars=0,
        sessions=0,
        errors=0,
        slow=0,
        delays=0,
        sitemaps=0,
    ),
    "national": DemoWeb(**(SHAPE | {"sites": 60, "pages": 600, "errors": 0})),
}
_TO_PAGES = (*FOLLOWED, Role.NOFOLLOW)
FETCHED = {frozenset({Outcome.OK}), frozenset({Outcome.OK, Outcome.DUPLICATE})}


@dataclass
class Known:
    """What the Web knows, over the pages that a complete crawl fetches."""

    web: DemoWeb
    folder: Path
    """Of the collection."""

    def __post_init__(self) -> None:
        web, reachable = self.web, self.web.reachable()
        self.truths = web.truth()
        self.pages = {url: e for url, e in reachable.items() if e.outcomes in FETCHED}
        redirects = {url for url, e in reachable.items() if e.kind is UrlKind.REDIRECT and e.outcomes}
        stored = {url for url, (_, outcome) in Found(self.folder).states.items() if outcome == Outcome.OK}
        first = {e.same_as: url for url, e in self.pages.items() if e.same_as and url in stored}  # as the crawl went
        assert len(first) == len({e.same_as for e in self.pages.values() if e.same_as})
        self.out = {url: self._targets(url, first.get(e.same_as or "", url)) for url, e in self.pages.items()}
        self.out |= {url: {str(self.truths[url].leads_to)} for url in redirects}
        self.whole = nx.DiGraph([(a, b) for a, of in self.out.items() for b in of if b in self.out and a != b])
        self.whole.add_nodes_from(self.out)

    def _targets(self, url: str, first: str) -> set[str]:
        """The pages that a page links to. Duplicates have the same links, which count once."""
        truth = self.truths[url]
        site = self.web.all_sites[truth.site]
        if url != first:
            return set()
        found = (link for link in links(self.web, site, truth.number) if link.role in FOLLOWED and link.site >= 0)
        return {self.web.url(link.site, link.number) for link in found}

    def out_degree(self, url: str) -> int:
        """Distinct links of a page, also to files and of a duplicate, but none to itself."""
        truth = self.truths[url]
        found = links(self.web, self.web.all_sites[truth.site], truth.number)
        pages = {self.web.url(each.site, each.number) for each in found if each.role in _TO_PAGES and each.site >= 0}
        return len(pages - {url}) + len(only_counted(self.web, truth.site, truth.number))

    def site(self, url: str) -> int:
        return self.truths[url].site

    def nameless(self, url: str) -> bool:
        """Whether the name of its site has no address."""
        return self.web.all_sites[self.site(url)].down is Down.NAMELESS

    def depths(self) -> dict[str, int]:
        """Clicks inside the site, from a home page or from a page that another site links to; a redirect is none."""
        entered = {b for a, b in self.whole.edges if self.site(a) != self.site(b)}
        best = dict.fromkeys(entered | {s.home for s in self.web.all_sites if s.home in self.out}, 0)
        todo = list(best)
        for url in todo:
            step = url in self.pages
            for target in self.whole[url]:
                if self.site(target) == self.site(url) and best.get(target, 99) > best[url] + step:
                    best[target] = best[url] + step
                    todo.append(target)
        return {url: best[url] for url in self.pages}

    def sites(self) -> nx.DiGraph:
        graph = nx.DiGraph()
        graph.add_nodes_from({self.site(url) for url in self.pages})
        ends = ((self.site(a), self.site(b)) for a, b in self.whole.edges)
        graph.add_edges_from((a, b) for a, b in ends if a != b and a in graph and b in graph)
        return graph

    def copies(self) -> int:
        groups = Counter(e.same_as for e in self.pages.values() if e.same_as)
        return sum(number - 1 for number in groups.values())


Crawled = tuple[Known, dict[str, Finding]]


def whole_crawl(place: Path, name: str) -> Known:
    with serve(WEBS[name], place) as served:
        arguments = [word for setting in LIGHT for word in ("--set", setting)]
        assert served.crawl(place / "crawl", *arguments).code == 0
        return Known(served.web, place / "crawl")


@pytest.fixture(scope="module", params=WEBS)
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    place: Path = tmp_path_factory.mktemp(request.param)
    known = whole_crawl(place, request.param)
    sections = ["summary", "status", "depth", "languages", "links", "site-graph", "sites", "servers"]
    return known, {each.name: each for each in make.report([known.folder], sections)}


def test_the_summary_is_that_of_the_web(crawled: Crawled) -> None:
    known, found = crawled
    said = facts(found["summary"])
    dynamic = sum("?" in url for url in known.pages)
    assert said["pages fetched"] == len(known.pages) > 300
    assert said["dynamic pages"] == dynamic > 50
    assert said["static pages"] == len(known.pages) - dynamic
    assert said["duplicates"] == known.copies() > 5
    assert said["unique pages"] == len(known.pages) - known.copies()
    assert said["sites with a fetched page"] == len({known.site(url) for url in known.pages})


def test_the_summary_of_requests_is_that_of_the_web(crawled: Crawled) -> None:
    known, found = crawled
    said, reachable = facts(found["summary"]), known.web.reachable()
    assert said["pages known"] == len(reachable)
    asked = [each for each in reachable.values() if each.outcomes]
    assert said["requests for pages"] == len(asked) > len(known.pages)
    assert said["of these, answered by a page (200 or 206)"] == pytest.approx(len(known.pages) / len(asked))
    assert said["sites known"] == len({known.site(url) for url in reachable})
    words = Counter(min(each.outcomes).word if len(each.outcomes) == 1 else "copy" for each in asked)
    outcomes = rows(found["status"], "outcomes")
    assert outcomes.pop("duplicate") == known.copies()
    assert outcomes.pop("ok") == len(known.pages) - known.copies()
    assert outcomes == {word: number for word, number in words.items() if word not in ("ok", "copy")}


def points(finding: Finding, name: str) -> dict[str, dict[float, float]]:
    """The points of a plot, by series."""
    (plot,) = (each for each in finding.plots if each.name == name)
    return {series.label: dict(zip(series.x, series.y, strict=True)) for series in plot.series}


def test_depths_are_those_of_the_web(crawled: Crawled) -> None:
    known, found = crawled
    depths = known.depths()
    assert rows(found["depth"], "depth-numbers") == {str(k): v for k, v in Counter(depths.values()).items()}
    for kind, shown in points(found["depth"], "depth-kinds").items():
        of_kind = Counter(depth for url, depth in depths.items() if ("?" in url) == (kind == "dynamic"))
        assert {depth: number for depth, number in shown.items() if number} == of_kind
    assert facts(found["depth"])["mean depth"] == pytest.approx(sum(depths.values()) / len(depths))


def test_languages_are_those_of_the_web(crawled: Crawled) -> None:
    known, found = crawled
    languages = {url: known.truths[url].language for url in known.pages}
    assert rows(found["languages"], "languages") == Counter(languages.values())
    pairs = Counter((depth, languages[url]) for url, depth in known.depths().items())
    at_depth = Counter(known.depths().values())
    curves = points(found["languages"], "languages-depth")
    assert len(curves) > 1
    for word, curve in curves.items():
        assert curve == pytest.approx({depth: pairs[depth, word] / at_depth[depth] for depth in at_depth})


def test_degrees_are_those_of_the_web(crawled: Crawled) -> None:
    known, found = crawled
    into = Counter(known.whole.in_degree(url) for url in known.pages)
    assert points(found["links"], "in-degree")["pages"] == {k: v for k, v in into.items() if k}
    inner = sum(b in known.pages for a in known.pages for b in known.whole[a])
    assert inner > 1000
    out = Counter(map(known.out_degree, known.pages))
    assert points(found["links"], "out-degree")["pages"] == {k: v for k, v in out.items() if k}
    mean = sum(number * pages for number, pages in out.items()) / len(known.pages)
    said = facts(found["links"])
    assert said["out-degree, mean"] == pytest.approx(mean)
    assert said["pages without a link to another page"] == pytest.approx(out[0] / len(known.pages))


def test_the_structure_of_sites_is_that_of_the_web(crawled: Crawled) -> None:
    known, found = crawled
    graph = known.sites()
    for name, degrees in (("site-in-degree", graph.in_degree()), ("site-out-degree", graph.out_degree())):
        shown = points(found["site-graph"], name)["sites with one"]
        linked = [degree for _, degree in degrees if degree]
        assert shown == pytest.approx({d: sum(each >= d for each in linked) / len(linked) for d in {*linked}})
    main = max(nx.strongly_connected_components(graph), key=len)
    inside = min(main)
    before, behind = nx.ancestors(graph, inside) - main, nx.descendants(graph, inside) - main
    parts = rows(found["site-graph"], "site-parts")
    assert sum(number for part, number in parts.items() if part.startswith("main")) == len(main)
    assert (parts["in"], parts["out"]) == (len(before), len(behind))
    assert sum(parts.values()) == len(graph)


def test_components_and_pages_of_sites_are_those_of_the_web(crawled: Crawled) -> None:
    known, found = crawled
    graph, said = known.sites(), facts(found["site-graph"])
    assert said["links between sites"] == graph.number_of_edges() > 5
    linked = graph.subgraph(n for n in graph if graph.degree(n))
    sizes = Counter(len(each) for each in nx.strongly_connected_components(linked))
    listed = rows(found["site-graph"], "site-components-numbers")  # with the sizes that the thesis found
    assert {size: number for size, number in listed.items() if number} == {str(k): v for k, v in sizes.items()}
    count = Counter(known.site(url) for url in known.pages)
    assert facts(found["sites"])["sites of one page"] == sum(n == 1 for n in count.values()) / len(count)
    assert facts(found["sites"])["pages a site, mean"] == pytest.approx(len(known.pages) / len(count))


def test_protocols_and_software_are_read_from_the_archive(crawled: Crawled) -> None:
    known, found = crawled
    sites = len({known.site(url) for url in known.pages})
    assert found["servers"].sentences == ()
    assert rows(found["servers"], "software") == {"gossamer-web": sites}
    assert sum(rows(found["servers"], "protocols").values()) == sites
    secure = sum(site.home.startswith("https:") for site in known.web.all_sites)
    if secure:  # the national Web has none
        assert rows(found["servers"], "tls") == {"TLS 1.3": secure}
    assert bool(secure) == any(each.name == "tls" for each in found["servers"].tables)


# --- the audit --------------------------------------------------------------------------------------------------------


def rendered(web: DemoWeb, truth: Truth) -> bytes:
    return render(web, web.source(web.all_sites[truth.site]), truth.number).plain


def unreadable(site: Site) -> bool:
    return site.down in (Down.REFUSED, Down.SILENT) or (site.robots is Robots.UNAVAILABLE and site.down is Down.NO)


def faults(known: Known) -> dict[str, set[str]]:
    """The addresses that each check must name."""
    truths, linked = known.truths, set().union(*(known.out[url] for url in known.pages))
    redirects = {url: str(t.leads_to) for url, t in truths.items() if t.kind is UrlKind.REDIRECT and url in known.out}
    pages = {url: truths[url] for url in known.pages}
    shown = {url for url in pages if b'content="noindex"' not in rendered(known.web, truths[url])}
    shown -= {url for url in pages if truths[url].kind is UrlKind.PLAIN}
    return {
        "broken-link": {url for url in linked if truths[url].kind is UrlKind.BROKEN or known.nameless(url)},
        "redirected-link": linked & set(redirects),
        "redirect-chain": {url for url, target in redirects.items() if target in redirects},
        "blocked-link": {url for url in linked if truths[url].kind is UrlKind.FORBIDDEN},
        "robots-failing": {site.home + "robots.txt" for site in known.web.all_sites if unreadable(site)},
        "title-missing": {url for url in shown if not truths[url].title},
        "description-missing": {url for url in shown if not truths[url].description},
        "description-long": {url for url in shown if len(truths[url].description) > Limits().description},
        "charset": {url for url, t in pages.items() if t.charset not in ("utf-8", "ascii", "")},
        "deep": {url for url, depth in known.depths().items() if depth > 4},
    }


def test_the_audit_names_what_the_web_has_and_nothing_else(crawled: Crawled) -> None:
    known, _ = crawled
    found = {result.name: result for result in run.audit(known.folder).results}
    wanted = faults(known)
    named = {name: {each.url for each in found[name].found} for name in wanted}
    assert named == wanted
    assert len([name for name in wanted if wanted[name]]) >= 5
    assert found["duplicate"].number == known.copies() > 5
    others = {name for name, result in found.items() if result.number} - set(wanted)
    assert others <= {"duplicate", "near-duplicate", "parameter", "important-and-deep"}
