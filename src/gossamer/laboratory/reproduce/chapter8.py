"""Chapter 8: what the report finds of a Web that is made with the distributions of the Web of Chile.

The Web is `webs.demo.national`. It is crawled as any other, and `gossamer report` describes the collection; each row of
`ROWS` takes a table or a figure of it, and says what the thesis found and what was found here. A statement that agrees
says two things: the Web was made so, and the crawl and the report find it again. A second Web, from another seed,
stands for that of Greece where 8.7 compares two. Figure 8.18 needs exports by country, which no collection has
(`gossamer report --by-country`).

Shares agree within a point or a tenth, exponents within two standard errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64
from gossamer.laboratory.findings.finding import Cell, Finding, Plot, Sentence, Series
from gossamer.laboratory.report import make
from gossamer.laboratory.report.sites import CHILEAN
from gossamer.laboratory.reproduce.lab import Lab, number, percent, says
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.national import SHAPE

POINTS: Final = 400
"""Most points of a scatter plot."""
GIANT: Final = 5_202 / 23_499
"""Share of the largest strong component among the sites with links (tables 8.3 and 8.5)."""
_MAIN: Final = ("main_norm", "main_main", "main_in", "main_out")
_LINUX, _WINDOWS = ("rpm", "deb"), ("exe", "msi")


class Fitted(NamedTuple):
    """A row of a table of power laws."""

    range: str
    exponent: float
    error: float
    plausible: float
    regression: float


class View:
    """A section of the report, for statements about it."""

    def __init__(self, finding: Finding, column: int = 1) -> None:
        self.finding, self._column = finding, column

    def fact(self, label: str) -> float:
        return next(v for name, v in self._rows(f"{self.finding.name}-facts", self._column) if name == label)

    def counts(self, table: str) -> dict[str, float]:
        """The numbers of a table of kinds."""
        return (
            dict(self._rows(table, 2 * self._column - 1)) if any(t.name == table for t in self.finding.tables) else {}
        )

    def shares(self, table: str) -> dict[str, float]:
        found = self.counts(table)
        return {word: value / max(1.0, sum(found.values())) for word, value in found.items()}

    def laws(self, distribution: str) -> list[Fitted]:
        """The power laws of a distribution that have an exponent, in the order of their ranges."""
        (table,) = (t for t in self.finding.tables if t.name == f"{distribution}-laws")
        found = [row for row in table.rows if row[3] is not None]
        return [
            Fitted(str(row[1]), *(float(row[i]) if row[i] is not None else float("nan") for i in (3, 4, 6, 7)))  # type: ignore[arg-type]
            for row in found
        ]

    def plot(self, name: str) -> Plot:
        return next(plot for plot in self.finding.plots if plot.name == name)

    def curve(self, plot: str, label: str) -> tuple[F64, F64]:
        found = next((s for s in self.plot(plot).series if s.label == label), Series(label, (), ()))
        return np.asarray(found.x, np.float64), np.asarray(found.y, np.float64)

    def _rows(self, name: str, column: int) -> Iterator[tuple[str, float]]:
        (table,) = (t for t in self.finding.tables if t.name == name)
        for row in table.rows:
            yield str(row[0]), _float(row[column])


def _float(cell: Cell) -> float:
    return float(cell) if isinstance(cell, int | float) else float("nan")


Statements = Callable[[View], Sequence[Sentence]]


class Row(NamedTuple):
    """A table or figure of the chapter."""

    sentence: str
    source: str
    section: str
    """Section of the report."""
    statements: Statements
    tables: tuple[str, ...] = ()
    """Names in the report."""
    plots: tuple[str, ...] = ()
    compared: bool = False
    """Whether two Webs stand side by side."""


def close(ours: float, paper: float) -> bool:
    return abs(ours - paper) <= max(0.01, 0.1 * abs(paper))


def _share(what: str, paper: float, ours: float) -> Sentence:
    return says(f"{what}: {_points(paper)}", _points(ours), close(ours, paper))


def _points(share: float) -> str:
    return f"{100 * share:.1f} %"


def _law(what: str, paper: float, laws: Sequence[Fitted], at: int = 0) -> Sentence:
    if len(laws) <= at:
        return says(f"{what}: exponent {paper:g}", "too few values to tell", False)
    law = laws[at]
    ours = f"{law.exponent:.2f} ± {law.error:.2f} ({law.range}; by regression {law.regression:.2f})"
    return says(f"{what}: exponent {paper:g}", ours, abs(law.exponent - paper) <= 2 * law.error)


def _order(what: str, found: Mapping[str, float], wanted: Sequence[str]) -> Sentence:
    """Whether the kinds come in this order, and before all others."""
    ordered = sorted(found, key=lambda word: -found[word])[: len(wanted)]
    return says(f"{what}: {', then '.join(wanted)}", f"{', then '.join(ordered) or 'none'}", ordered == [*wanted])


# --- pages (8.2, 8.3) -------------------------------------------------------------------------------------------------


def _summary(view: View) -> list[Sentence]:
    pages = view.fact("pages a site")
    return [
        _share("static pages", 0.6615, view.fact("share of static pages")),
        _share("duplicates", 0.0612, view.fact("share of duplicates")),
        says(
            "67.13 pages a site",
            f"{pages:.2f}: with an exponent of 1.77 the mean grows with the largest site",
            close(pages, 67.13),
        ),
    ]


def _status(view: View) -> list[Sentence]:
    found = view.shares("status-groups")
    ok, missing = found.get("ok", 0.0), found.get("not found", 0.0)
    return [
        says("75 to 85 % of the responses transfer a page", percent(ok), 0.75 <= ok <= 0.85),
        says("more than 9 % are broken links", _points(missing), missing > 0.09),
    ]


def _length(view: View) -> list[Sentence]:
    size, pages = view.curve("length", "pages")
    (law, *_) = view.laws("length")
    small, peak = pages[(size >= 4) & (size < 8)].mean(), pages[(size >= 12) & (size < 15)].mean()
    predicted = peak * (13.0 / 5.5) ** law.exponent
    cut = view.fact("share of pages that were cut")
    return [
        _law("from 12 KB on", 3.54, [law]),
        says(
            "below 12 KB there are fewer pages than the law predicts",
            f"{small:.0f} pages of each KB from 4 to 8 KB, where it predicts {predicted:.0f}",
            small < predicted,
        ),
        says("very few pages have more than 300 KB", f"{100 * cut:.2f} % were cut", cut < 0.01),
    ]


def _age(view: View) -> list[Sentence]:
    month, pages = view.curve("age-months", "pages")
    seen = np.cumsum(pages) / pages.sum()
    mean = float((month + 0.5) @ pages / pages.sum())
    apart = float(np.abs(seen - (1 - np.exp(-(month + 1) / mean))).max())
    year = view.fact("changed in the last year")
    return [
        _share("sites that give a date", 0.83, view.fact("sites with one")),
        says("more than 60 % of the pages changed in the last year", _points(year), year > 0.6),
        says(
            "ages decrease exponentially",
            f"cumulated shares are at most {number(apart)} from those of an exponential law with a mean of "
            f"{mean:.1f} months",
            apart < 0.05,
        ),
    ]


def _depth(view: View) -> list[Sentence]:
    level, static = view.curve("depth-kinds", "static")
    _, dynamic = view.curve("depth-kinds", "dynamic")
    most = int(level[np.argmax(np.where(level > 0, static, 0))])
    grows = dynamic[: int(np.argmax(dynamic)) + 1]
    return [
        says("most static pages are on the fifth level", f"at depth {most}; home pages are at 0", most in (4, 5)),
        says(
            "dynamic pages grow with the depth, up to the limit of five levels",
            f"{', '.join(f'{n:.0f}' for n in dynamic[:7])} pages at depths 0 to {min(6, len(dynamic) - 1)}",
            len(grows) >= 4 and bool((np.diff(grows) > 0).all()),
        ),
    ]


def _languages(view: View) -> list[Sentence]:
    found = view.shares("languages")
    depth, spanish = view.curve("languages-depth", "es")
    at = dict(zip(depth.tolist(), spanish.tolist(), strict=True))
    home, deep = at.get(0.0, 0.0), at.get(5.0, 0.0)
    return [
        _share("pages in Spanish", 0.71, found.get("es", 0.0)),
        _share("pages in English", 0.27, found.get("en", 0.0)),
        says("over 90 % of the home pages are in Spanish", percent(home), home > 0.9),
        says("at depth 5 it is 60 %", percent(deep), abs(deep - 0.6) <= 0.1),
    ]


def _technology(view: View) -> list[Sentence]:
    return [_order("most dynamic pages", view.counts("technology"), ("PHP", "ASP", "Java"))]


def _documents(view: View) -> list[Sentence]:
    what = "most documents (plain text, which is fetched as a page here, left out)"
    return [_order(what, view.counts("files-document"), ("pdf", "doc"))]


def _media(view: View) -> list[Sentence]:
    images, audio = view.counts("files-image"), view.counts("files-audio")
    kinds = view.counts("files")
    part = kinds.get("video files", 0.0) / max(1.0, kinds.get("images", 0.0))
    return [
        _order("most images", images, ("gif", "jpg")),
        says("PNG is rarely used", percent(images.get("png", 0.0) / max(1.0, sum(images.values()))),
             images.get("png", 0.0) < 0.1 * sum(images.values())),
        says("RealAudio and MP3 are the most used formats of audio", ", ".join(list(audio)[:2]) or "none",
             {*list(audio)[:2]} == {"ram", "mp3"}),
        says("links to video are a thousandth of those to images", f"{1000 * part:.1f} thousandths", part < 0.005),
    ]  # fmt: skip


def _software(view: View) -> list[Sentence]:
    found = view.counts("files-software")
    linux, windows = (sum(found.get(word, 0.0) for word in words) for words in (_LINUX, _WINDOWS))
    ratio = linux / max(1.0, windows)
    return [says("packages for Linux are twice those for Windows", f"{ratio:.1f} times", abs(ratio - 2) <= 0.6)]


def _archives(view: View) -> list[Sentence]:
    return [_order("most archives", view.counts("files-archive"), ("gz",))]


# --- sites (8.4) ------------------------------------------------------------------------------------------------------


def _pages_per_site(view: View) -> list[Sentence]:
    top = view.fact("share of pages in the largest tenth of sites")
    return [
        _law("pages per site", 1.77, view.laws("pages-per-site")),
        _share("sites of one page", 0.5, view.fact("sites of one page")),
        says("the largest tenth of the sites has over 90 % of the pages", percent(top), top > 0.9),
    ]


def _bytes_per_site(view: View) -> list[Sentence]:
    pages, size = (view.fact(f"share of {what} in the largest tenth of sites") for what in ("pages", "bytes"))
    return [
        says("the largest tenth of the sites has over 95 % of the bytes", percent(size), size > 0.95),
        says("bytes are distributed more unevenly than pages", f"{_points(size)} and {_points(pages)}", size > pages),
    ]


def _site_depth(view: View) -> list[Sentence]:
    deep = view.fact("maximum depth, mean")
    return [says("the mean of the greatest depths of sites is 1.5", f"{deep:.2f}", abs(deep - 1.5) <= 0.15)]


def _site_age(view: View) -> list[Sentence]:
    return [
        _share("sites that were made this year", 0.55, view.fact("sites with an oldest page of this year")),
        _share("in the last two years", 0.75, view.fact("of the last two years")),
    ]


# --- links (8.5) ------------------------------------------------------------------------------------------------------


def _degrees(view: View) -> list[Sentence]:
    most, mean = ({w: view.fact(f"{w}-degree, {of}") for w in ("in", "out")} for of in ("most", "mean"))
    ours = f"the most linked page has {most['in'] / mean['in']:.0f} times the mean, the most linking one "
    skewed = most["in"] / mean["in"] > most["out"] / mean["out"]
    into, out = view.laws("in-degree"), view.laws("out-degree")
    return [
        says("in-degrees are more skewed than out-degrees", f"{ours}{most['out'] / mean['out']:.0f} times", skewed),
        _law("in-degree, up to 350", 2.11, into),
        _law("out-degree, up to 350", 2.40, out),
        _law("in-degree, from 50 (8.7.2)", 2.3, into, 1),
        _law("out-degree, from 50 (8.7.2)", 2.8, out, 1),
    ]


def _length_links(view: View) -> list[Sentence]:
    found = view.fact("correlation of length and links (logarithms)")
    return [says("length and number of links are correlated", f"r = {found:.2f}", found > 0.1)]


def _scores(view: View) -> list[Sentence]:
    least = view.fact("least PageRank, times the number of pages")
    return [
        _share("pages with a hub score above zero", 0.12, view.fact("pages with a hub score above zero")),
        _share("pages with an authority score above zero", 0.03, view.fact("pages with an authority score above zero")),
        says("no page has a PageRank of zero; the least is below 1/N", f"{least:.2f}/N", 0 < least < 1),
    ]


def _domains(view: View) -> list[Sentence]:
    found = view.shares("domains")
    return [
        _share(f"external links to {word}", share, found.get(word, 0.0))
        for word, share in (("com", 0.6511), ("org", 0.11806), ("net", 0.08406))
    ]


# --- the graph of sites (8.6) -----------------------------------------------------------------------------------------


def _site_links(view: View) -> list[Sentence]:
    return [
        _share("sites with a link from another", 0.36, view.fact("sites with a link from another")),
        _share("sites with a link to another", 0.28, view.fact("sites with a link to another")),
        _share("sites with either", 0.47, view.fact("sites with either")),
    ]


def _site_degrees(view: View) -> list[Sentence]:
    """Networks are called scale-free if their exponent is between 2 and 3."""
    return [
        says(
            f"the {which}-degrees of sites are those of a scale-free network",
            f"exponent {law.exponent:.2f} ± {law.error:.2f}; of samples of such a law, {percent(law.plausible)} are as "
            "far from it",
            2 <= law.exponent <= 3,
        )
        for which in ("in", "out")
        for law in view.laws(f"site-{which}-degree")[:1]
    ]


def _nothing(view: View) -> list[Sentence]:
    return [Sentence("The thesis says nothing of it in words: it shows a plot.")]


def _most_linked(view: View) -> list[Sentence]:
    (table,) = (t for t in view.finding.tables if t.name == "most-linked")
    first, last = _float(table.rows[0][1]), _float(table.rows[min(9, len(table.rows) - 1)][1])
    return [
        says(
            "the tenth site has half of the links of the first (354 and 675)",
            f"{last:.0f} and {first:.0f}",
            0.3 <= last / max(1.0, first) <= 0.7,
        )
    ]


def _components(view: View) -> list[Sentence]:
    sizes, counts = view.curve("site-components", "components")
    giant, second = float(sizes[-1]), float(sizes[-2]) if len(sizes) > 1 else 0.0
    share = giant / float(sizes @ counts)
    single = float(counts[sizes == 1].sum() / counts.sum())
    return [
        says("a giant component appears", f"it has {giant:.0f} sites, the next {second:.0f}", giant > 10 * second),
        _share("its share of the sites with links", GIANT, share),
        says("nearly all others are single sites (17,393 of 17,765)", percent(single), single > 0.9),
    ]


def _bow_tie(view: View) -> list[Sentence]:
    found = view.shares("site-parts")
    return [_share(part.replace("_", "-").upper(), share, found.get(part, 0.0)) for part, share in CHILEAN.items()]


# --- two Webs (8.7) ---------------------------------------------------------------------------------------------------


def _two_summaries(view: View) -> list[Sentence]:
    label = "of these, answered by a page (200 or 206)"
    ours = [View(view.finding, column).fact(label) for column in (1, 2)]
    said = f"{_points(ours[0])} and {_points(ours[1])}"
    return [says("pages with HTTP OK hardly differ (78.3 and 77.8 %)", said, abs(ours[0] - ours[1]) <= 0.02)]


def _alike(plot: str, what: str, most: float, view: View) -> list[Sentence]:
    apart = distance(view.plot(plot))
    return [says(what, f"cumulated shares are at most {number(apart)} apart", apart <= most)]


def _two_sizes(view: View) -> list[Sentence]:
    said = _alike("length", "the lengths of pages are very similar", 0.05, view)
    size, share = np.asarray(view.plot("length").series[0].x), np.asarray(view.plot("length").series[0].y)
    most = int(size[np.argmax(share)])
    return [*said, says("the peak is between 10 and 15 KB", f"at {most} KB", 10 <= most <= 15)]


def _two_degrees(view: View) -> list[Sentence]:
    found = []
    for which in ("in", "out"):
        one, two = (law for law in view.laws(f"{which}-degree") if law.range.startswith("1 to"))
        off = abs(one.exponent - two.exponent) / np.hypot(one.error, two.error)
        ours = f"{one.exponent:.2f} ± {one.error:.2f} and {two.exponent:.2f} ± {two.error:.2f}"
        said = "2.11 and 2.02" if which == "in" else "2.40 and 2.17"
        found.append(says(f"the exponents of the {which}-degree up to 350 are close ({said})", ours, bool(off <= 3)))
    return found


def _two_bow_ties(view: View) -> list[Sentence]:
    one, two = (View(view.finding, column).shares("site-parts") for column in (1, 2))
    main = [sum(each.get(part, 0.0) for part in _MAIN) for each in (one, two)]
    apart = max(abs(one[part] - two[part]) for part in one)
    return [
        Sentence(
            f"MAIN has {_points(main[0])} and {_points(main[1])}; the parts differ by {_points(apart)} at most. Both "
            "Webs are made with the shares of .cl, so nothing is said of the larger MAIN of .gr."
        )
    ]


def _two_domains(view: View) -> list[Sentence]:
    one, two = (View(view.finding, column).counts("domains") for column in (1, 2))
    orders = [[w for w in sorted(each, key=lambda w: -each[w]) if w in ("com", "org", "net")] for each in (one, two)]
    ours = " and ".join(", ".join(each) for each in orders)
    return [says("COM, ORG and NET are equally important in both", ours, orders == [["com", "org", "net"]] * 2)]


def distance(plot: Plot) -> float:
    """The greatest distance between the cumulated shares of two distributions."""
    one, two = plot.series[:2]
    at = np.union1d(one.x, two.x)
    heights = [
        np.concatenate([[0.0], np.cumsum(s.y)])[np.searchsorted(np.asarray(s.x), at, "right")] for s in (one, two)
    ]
    return float(np.abs(heights[0] - heights[1]).max())


ROWS: Final[dict[str, Row]] = {
    "table-8.1": Row("Summary of the collection.", "8.2", "summary", _summary, ("summary-facts",)),
    "fig-8.1": Row("HTTP status.", "8.3.1", "status", _status, ("status-groups",)),
    "fig-8.2": Row("Content length of pages.", "8.3.2", "length", _length, ("length-laws",), ("length",)),
    "fig-8.3": Row("Age of pages.", "8.3.3", "age", _age, ("age-facts",), ("age-months", "age-years")),
    "fig-8.4": Row("Pages by depth.", "8.3.4", "depth", _depth, ("depth-kinds-numbers",), ("depth-kinds",)),
    "fig-8.5": Row("Languages by depth.", "8.3.5", "languages", _languages, ("languages",), ("languages-depth",)),
    "fig-8.6": Row("Dynamic pages by technology.", "8.3.6", "technology", _technology, ("technology",)),
    "fig-8.7": Row("Links to documents.", "8.3.7", "files", _documents, ("files-document",)),
    "fig-8.8": Row(
        "Links to multimedia.", "8.3.8", "files", _media, ("files-image", "files-audio", "files-video")
    ),
    "fig-8.9": Row(
        "Links to source code and software.", "8.3.9", "files", _software, ("files-source", "files-software")
    ),
    "fig-8.10": Row("Links to compressed files.", "8.3.10", "files", _archives, ("files-archive",)),
    "fig-8.11": Row(
        "Pages per site.", "8.4.1", "sites", _pages_per_site, ("pages-per-site-laws",), ("pages-per-site",)
    ),
    "fig-8.12": Row("Bytes per site.", "8.4.2", "sites", _bytes_per_site, (), ("bytes-per-site",)),
    "fig-8.13": Row("Greatest depth of sites.", "8.4.3", "sites", _site_depth, (), ("site-depth",)),
    "fig-8.14": Row("Age of sites.", "8.4.4", "sites", _site_age, (), ("site-age",)),
    "fig-8.15": Row(
        "In- and out-degree.", "8.5.1", "links", _degrees, ("in-degree-laws", "out-degree-laws"),
        ("in-degree", "out-degree"),
    ),
    "fig-8.16": Row("Content length and links.", "8.5.1", "links", _length_links, (), ("length-links",)),
    "fig-8.17": Row("PageRank, hubs, authorities.", "8.5.2", "scores", _scores, ("scores-facts",), ("scores",)),
    "table-8.2": Row("Links to other top-level domains.", "8.5.3", "domains", _domains, ("domains",)),
    "table-8.3": Row("Sites with links from and to others.", "8.6", "site-graph", _site_links, ("site-graph-facts",)),
    "fig-8.19": Row(
        "Degrees of sites.", "8.6.1", "site-graph", _site_degrees, ("site-in-degree-laws", "site-out-degree-laws"),
        ("site-in-degree", "site-out-degree"),
    ),
    "fig-8.20": Row("Sums of scores by site.", "8.6.2", "scores", _nothing, (), ("scores-sites",)),
    "table-8.4": Row("Most linked sites.", "8.6.3", "site-graph", _most_linked, ("most-linked",)),
    "table-8.5": Row(
        "Strong components of sites, with figure 8.21.", "8.6.4", "site-graph", _components,
        ("site-components-numbers",), ("site-components",),
    ),
    "fig-8.22": Row("The bow-tie of sites.", "8.6.5", "site-graph", _bow_tie, ("site-parts",)),
    "table-8.6": Row("Two Webs: summary.", "8.7", "summary", _two_summaries, ("summary-facts",), (), True),
    "fig-8.23": Row(
        "Two Webs: depth.", "8.7.1", "depth",
        partial(_alike, "depth", "the depths of pages are almost identical", 0.05), (), ("depth",), True,
    ),
    "fig-8.24": Row("Two Webs: length of pages.", "8.7.1", "length", _two_sizes, (), ("length",), True),
    "fig-8.25": Row(
        "Two Webs: pages per site.", "8.7.1", "sites",
        partial(_alike, "pages-per-site", "pages per site are distributed alike", 0.05), (), ("pages-per-site",), True,
    ),
    "fig-8.26": Row(
        "Two Webs: in- and out-degree.", "8.7.2", "links", _two_degrees, ("in-degree-laws", "out-degree-laws"),
        ("in-degree", "out-degree"), True,
    ),
    "fig-8.27": Row("Two Webs: the bow-tie.", "8.7.2", "site-graph", _two_bow_ties, ("site-parts",), (), True),
    "table-8.7": Row("Two Webs: top-level domains.", "8.7.2", "domains", _two_domains, ("domains",), (), True),
}  # fmt: skip


def reproduction(name: str) -> Callable[[Lab], Finding]:
    """The function that makes this table or figure."""
    return lambda lab: made(name, lab)


def made(name: str, lab: Lab) -> Finding:
    row = ROWS[name]
    found = _section(lab, row)
    kind, _, digits = name.partition("-")
    title = f"{'Figure' if kind == 'fig' else 'Table'} {digits}: {row.sentence.rstrip('.')}"
    if found.sentences and not found.tables:
        sentences: Sequence[Sentence] = [Sentence(each.text, None) for each in found.sentences]
    else:
        sentences = row.statements(View(found))
    tables = [
        t for t in found.tables if t.name in row.tables or (row.tables and t.name.startswith(f"{row.tables[0]}-"))
    ]
    new = {old: _renamed(name, old, number) for number, old in enumerate(row.plots)}
    return Finding(
        name,
        title,
        f"Thesis, {'figure' if kind == 'fig' else 'table'} {digits}, {row.source}",
        f"The demonstration Web with the distributions of chapter 8. {found.setting}.",
        tuple(replace(t, name=f"{name}-{t.name}", below="") for t in tables),
        tuple(replace(_thinned(p), name=new[p.name]) for p in found.plots if p.name in new),
        tuple(sentences),
        tuple(replace(d, name=name) for d in found.drawings) if name == "fig-8.22" else (),
    )


def _renamed(name: str, old: str, number: int) -> str:
    """The first plot has the name of the figure."""
    return name if not number else f"{name}-{old}"


def _thinned(plot: Plot) -> Plot:
    return replace(plot, series=tuple(_few(series) for series in plot.series))


def _few(series: Series) -> Series:
    """At most POINTS points, those of a scatter plot drawn at random, always the same ones."""
    if series.kind != "points" or len(series.x) <= POINTS:
        return series
    kept = np.sort(np.random.default_rng(1).choice(len(series.x), POINTS, replace=False))
    return replace(series, x=np.asarray(series.x)[kept].tolist(), y=np.asarray(series.y)[kept].tolist())


def _section(lab: Lab, row: Row) -> Finding:
    """The section of the report, computed once for each collection or pair of them."""
    key = f"{row.section} of {1 + row.compared}"
    if key not in lab.reported:
        webs = [lab.crawls.collection(number, national(lab.random_seed + number)) for number in range(1 + row.compared)]
        (lab.reported[key],) = make.report(webs, [row.section], show=lab.bench.show)
    return lab.reported[key]


def national(seed: int) -> DemoWeb:
    """A national Web. Its ages end today, as the report counts them to the time of a visit."""
    return DemoWeb(**(SHAPE | {"seed": seed, "now": int(time.time())}))
