"""Sections about sites: pages, bytes, depth and age (8.4), links between them (8.6), quality by size (6.4)."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64
from gossamer.laboratory.findings.finding import Column, Plot, Series, Table
from gossamer.laboratory.report.data import Data, SiteGraph
from gossamer.laboratory.report.fits import Law
from gossamer.laboratory.report.pages import NOTHING, YEAR
from gossamer.laboratory.report.parts import Distribution, Fact, Named, Section, Shares, absent, distribution, share
from gossamer.rank.names import PARTS

_TOP: Final = 25
_NAMES: Final = """
select count(*), count(*) filter (not found) from (
    select site, bool_or(event in ('resolved', 'moved')) as found from stored.events
    where event in ('resolved', 'moved', 'name_failed') group by site)
"""
CHILEAN: Final = {
    "main_norm": 0.0289,
    "main_main": 0.0316,
    "main_in": 0.0120,
    "main_out": 0.0326,
    "in": 0.0723,
    "out": 0.1815,
    "tentacle_in": 0.0275,
    "tentacle_out": 0.0423,
    "tunnel": 0.0033,
    "island": 0.5681,
}

_COMPONENTS: Final = {1: 17_393, 2: 283, 3: 54, 4: 20, 5: 4, 6: 3, 7: 2, 8: 2, 9: 2, 10: 1, 5_202: 1}
"""Strong components of each size (table 8.5)."""


def top_tenth(sample: F64 | I64) -> float | None:
    """The share of the sum that the largest tenth has."""
    ordered = np.sort(sample)[::-1]
    return share(float(ordered[: max(1, len(ordered) // 10)].sum()), float(ordered.sum()))


def by_site(data: Data) -> Section:
    pages = data.fetched
    if not len(pages["page"]):
        return absent(NOTHING)
    _, site = np.unique(pages["site"], return_inverse=True)
    count = np.bincount(site)
    size = np.bincount(site, np.nan_to_num(pages["length"]))
    deepest = np.zeros(len(count), np.int64)
    np.maximum.at(deepest, site, pages["depth"])
    ages = data.rows(
        "select max(age), avg(age), min(age) from (select site, epoch(time - modified)::double as age from placed) "
        "where age is not null group by site"
    )
    charts = (_ages(np.maximum(np.array(ages, np.float64), 0.0) / YEAR),) if ages else ()
    oldest = [row[0] / YEAR for row in ages]
    return Section(
        f"{len(count):,} sites with a fetched page, {len(pages['page']):,} pages; ages of {len(ages):,} sites with a "
        "credible Last-Modified: the oldest page is a lower bound of the age of its site",
        (
            *_names(data),
            Fact("pages a site, mean", float(count.mean()), ",.1f", 67.1),
            Fact("pages a site, median", float(np.median(count)), ",.1f"),
            Fact("sites of one page", share(int((count == 1).sum()), len(count)), ".1%", "about half"),
            Fact("share of pages in the largest tenth of sites", top_tenth(count), ".1%", "over 90%"),
            Fact("bytes a site, mean", float(size.mean()), ",.0f", 1_100_000),
            Fact("share of bytes in the largest tenth of sites", top_tenth(size), ".1%", "over 95%"),
            Fact("maximum depth, mean", float(deepest.mean()), ".2f", 1.5),
            Fact("sites with an oldest page of this year", share(sum(a < 1 for a in oldest), len(oldest)), ".1%", 0.55),
            Fact("of the last two years", share(sum(a < 2 for a in oldest), len(oldest)), ".1%", 0.75),
        ),
        distributions=(
            distribution(
                "pages-per-site",
                "Pages a site (figures 8.11 and 8.25)",
                "sites",
                "pages",
                count,
                laws=(Law(1, None, "1.77 (.cl)"),),
            ),
            distribution(
                "bytes-per-site",
                "Bytes a site (figure 8.12)",
                "sites",
                "fetched, KB",
                np.ceil(size / 1000).astype(np.int64),
                cumulative=True,
            ),
            distribution(
                "site-depth",
                "Maximum depth of sites, cumulated (figure 8.13)",
                "sites",
                "maximum depth",
                deepest,
                logarithmic=False,
                cumulative=True,
            ),
        ),
        plots=charts,
    )


def _names(data: Data) -> tuple[Fact, ...]:
    names, without = data.rows(_NAMES)[0]
    return (
        Fact("names looked up", names),
        Fact("of these, without an address", share(without, names), ".1%", "half have no site"),
    )


def _ages(ages: F64) -> Plot:
    """The cumulated shares of sites by the age of their oldest, newest and mean page."""
    curves = []
    for label, column in (("oldest page", 0), ("mean", 1), ("newest page", 2)):
        ordered = np.sort(ages[:, column])
        at = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), 400)).astype(int))
        curves.append(Series(label, ordered[at].tolist(), ((at + 1) / len(ordered)).tolist(), "steps"))
    return Plot("site-age", "Age of sites (figure 8.14)", "age in years, at most", "share of sites", tuple(curves))


def graph(data: Data) -> Section:
    found = data.site_graph
    sites, into, out = len(found.site), found.in_degree, found.out_degree
    if not sites:
        return absent(NOTHING)
    either = (into > 0) | (out > 0)
    sizes = np.bincount(found.parts.component[either]) if either.any() else np.zeros(0, np.int64)
    sizes = sizes[sizes > 0]
    giant = int(sizes.max(initial=0))
    return Section(
        f"{sites:,} sites with a fetched page; one link from a site to another, however many pages link; components "
        f"of the {int(either.sum()):,} sites that have a link",
        (
            Fact("links between sites", len(found.links.targets)),
            Fact("sites with a link from another", share(int((into > 0).sum()), sites), ".1%", 0.36),
            Fact("sites with a link to another", share(int((out > 0).sum()), sites), ".1%", 0.28),
            Fact("sites with either", share(int(either.sum()), sites), ".1%", 0.47),
            Fact("strong components", len(sizes), cl=17_765),
            Fact("sites in the largest", giant, cl=5_202),
        ),
        shares=(
            Shares(
                "site-parts",
                "Parts of the bow-tie (figures 8.22 and 8.27)",
                "sites",
                found.parts.counts(),
                CHILEAN,
            ),
        ),
        distributions=(
            distribution(
                "site-in-degree",
                "Links from other sites (figure 8.19)",
                "sites with one",
                "sites that link to it",
                into[into > 0],
                laws=(Law(1),),
                cumulative=True,
            ),
            distribution(
                "site-out-degree",
                "Links to other sites (figure 8.19)",
                "sites with one",
                "sites that it links to",
                out[out > 0],
                laws=(Law(1),),
                cumulative=True,
            ),
            _component_sizes(sizes),
        ),
        tables=(_most_linked(data), _meanings()),
        named=(Named("site-moves", "Parts of the bow-tie (8.6.5)", "sites", _where(found), tuple(PARTS)),),
        parts={name: number / sites for name, number in found.parts.counts().items()},
    )


def _component_sizes(sizes: I64) -> Distribution:
    title = "Sizes of strong components of sites (table 8.5, figure 8.21)"
    return distribution("site-components", title, "components", "sites", sizes, cl=_COMPONENTS)


def _where(found: SiteGraph) -> dict[str, str]:
    """The part of each site."""
    words = list(PARTS)
    return {name: words[part] for name, part in zip(found.names, found.parts.part.tolist(), strict=True)}


def _most_linked(data: Data) -> Table:
    found = data.site_graph
    into = found.in_degree
    top = [i for i in np.lexsort((found.site, -into))[:_TOP] if into[i]]
    rows = tuple((found.names[i], int(into[i]), int(found.out_degree[i])) for i in top)
    columns = (Column("site"), Column("sites that link to it", ",d"), Column("sites that it links to", ",d"))
    return Table("most-linked", "Most linked sites (table 8.4)", columns, rows)


def _meanings() -> Table:
    return Table("parts", "What the parts are", (Column("part"), Column("meaning")), tuple(PARTS.items()))


def quality(data: Data) -> Section:
    """Mean PageRank of sites against their size."""
    graph = data.graph.graph
    site = data.sites_of_graph[data.in_pages]
    values = data.ranks.values[data.in_pages]
    _, place = np.unique(site, return_inverse=True)
    count = np.bincount(place)
    if len(count) < 3:
        return absent("There are fewer than three sites with fetched pages.")
    mean = np.bincount(place, values) / count * graph.pages
    return Section(
        f"{len(count):,} sites, {len(values):,} fetched pages; PageRank over links between fetched pages, times the "
        "number of pages, so that 1 is the mean",
        (Fact("correlation of size and mean PageRank (logarithms)", correlation(count, mean), ".3f", "none"),),
        plots=(
            Plot(
                "quality-size",
                "Mean PageRank of sites, by size (figure 6.4)",
                "fetched pages",
                "mean PageRank, relative",
                (Series("sites", *thinned(count, mean), "points"),),
                x_log=True,
                y_log=True,
            ),
        ),
    )


def correlation(x: F64 | I64, y: F64 | I64) -> float | None:
    """Pearson's coefficient of the logarithms; None for fewer than three pairs, or constant values."""
    keep = (x > 0) & (y > 0)
    if keep.sum() < 3:
        return None
    a, b = np.log(x[keep]), np.log(y[keep])
    return float(np.corrcoef(a, b)[0, 1]) if a.std() and b.std() else None


def thinned(x: F64 | I64, y: F64 | I64, most: int = 3_000) -> tuple[list[float], list[float]]:
    """At most so many points, drawn at random, always the same ones."""
    if len(x) > most:
        chosen = np.sort(np.random.default_rng(1).choice(len(x), most, replace=False))
        x, y = x[chosen], y[chosen]
    return x.tolist(), y.tolist()
