"""Sections about links: degrees, link scores, links to other domains (8.5), and PageRank by depth (5.17)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.laboratory.findings.finding import Plot, Series
from gossamer.laboratory.report.countries import COUNTRIES
from gossamer.laboratory.report.data import LOCAL, Data, quantiles
from gossamer.laboratory.report.fits import Law
from gossamer.laboratory.report.pages import NOTHING
from gossamer.laboratory.report.parts import Distribution, Fact, Section, Shares, absent, distribution, share
from gossamer.laboratory.report.sites import correlation, thinned

_CHILEAN: Final = {
    "com": 0.65110, "org": 0.11806, "net": 0.08406, "de": 0.01621, "mx": 0.01059, "br": 0.00977, "ar": 0.00846,
    "co": 0.00809, "uk": 0.00644, "edu": 0.00609, "pe": 0.00558, "es": 0.00494, "fr": 0.00464, "jp": 0.00462,
    "nl": 0.00444, "it": 0.00431, "ve": 0.00400, "tw": 0.00382, "sg": 0.00371, "kr": 0.00370,
}  # fmt: skip
_GREEK: Final = {
    "com": 0.492, "org": 0.179, "net": 0.085, "de": 0.037, "uk": 0.026, "edu": 0.026, "tv": 0.013, "ru": 0.013,
    "tw": 0.011, "nl": 0.009, "it": 0.008, "gov": 0.006, "no": 0.006, "fr": 0.005, "ca": 0.005,
}  # fmt: skip
_BINS: Final = 60


def degrees(data: Data) -> Section:
    pages = data.fetched
    if not len(pages["page"]):
        return absent(NOTHING)
    out = pages["out_degree"].astype(np.int64)
    into = data.ranks.indegree[data.in_pages].astype(np.int64)
    facts = [Fact("links between fetched pages", len(data.graph.graph.links.targets))]
    for label, sample in (("out-degree", out), ("in-degree", into)):
        mean, middle, _, high, most = quantiles(sample)
        facts += [Fact(f"{label}, mean", mean, ",.2f"), Fact(f"{label}, median", middle, ",.1f")]
        facts += [Fact(f"{label}, 99th percentile", high, ",.0f"), Fact(f"{label}, most", most, ",.0f")]
    facts.append(Fact("pages without a link to another page", share(int((out == 0).sum()), len(out)), ".1%"))
    size = pages["length"]
    kept = (size > 0) & (out > 0)
    facts.append(Fact("correlation of length and links (logarithms)", correlation(size[kept], out[kept]), ".3f"))
    return Section(
        f"{len(out):,} fetched pages; out-degree: distinct links of a page, also to files that are not fetched; "
        "in-degree: fetched pages that link to it",
        tuple(facts),
        distributions=(
            _degree("in", into, "2.11 (.cl), 2.02 (.gr)", "2.3"),
            _degree("out", out, "2.40 (.cl), 2.17 (.gr)", "2.8"),
        ),
        plots=(
            Plot(
                "length-links",
                "Content length and links (figure 8.16)",
                "length in bytes",
                "links",
                (Series("pages", *thinned(size[kept], out[kept]), "points"),),
                x_log=True,
                y_log=True,
            ),
        ),
    )


def _degree(which: str, sample: Array, small: str, tail: str) -> Distribution:
    title = f"{which.capitalize()}-degree (figures 8.15 and 8.26)"
    laws = (Law(1, 350, small), Law(50, None, tail))
    x = "links to the page" if which == "in" else "links of the page"
    return distribution(f"{which}-degree", title, "pages", x, sample[sample > 0], laws=laws)


def scores(data: Data) -> Section:
    inside = data.in_pages
    pages = int(inside.sum())
    if not pages:
        return absent(NOTHING)
    ranks = data.ranks.values[inside] * data.graph.graph.pages
    hub, authority = data.hits.hub[inside], data.hits.authority[inside]
    curves = tuple(
        curve
        for label, sample in (("PageRank", ranks), ("hub", hub * pages), ("authority", authority * pages))
        if (curve := _histogram(label, sample)) is not None
    )
    return Section(
        f"{pages:,} fetched pages, {len(data.graph.graph.links.targets):,} links between them; scores of all pages "
        "have the sum 1, and are shown times the number of pages",
        (
            Fact("pages with a hub score above zero", share(int((hub > 0).sum()), pages), ".1%", 0.12),
            Fact("pages with an authority score above zero", share(int((authority > 0).sum()), pages), ".1%", 0.03),
            Fact("pages with less PageRank than the mean", share(int((ranks < 1).sum()), pages), ".1%"),
            Fact("least PageRank, times the number of pages", float(ranks.min()), ".3f"),
        ),
        plots=(
            Plot(
                "scores",
                "PageRank, hub and authority (figure 8.17)",
                "score, times the number of pages",
                "pages",
                curves,
                x_log=True,
                y_log=True,
            ),
            _by_level(data, ranks),
            _by_site(data, ranks, hub, authority),
        ),
    )


def _histogram(label: str, sample: Array, weights: Array | None = None) -> Series | None:
    """Pages by score, in bins of equal ratio; None if all are zero."""
    kept = sample[sample > max(0.0, float(sample.max(initial=0.0)) * 1e-12)]
    if not len(kept):
        return None
    low, high = float(kept.min()), float(kept.max())
    edges = np.geomspace(low * 0.999, high * 1.001, _BINS + 1)
    counts, _ = np.histogram(kept, edges, weights=weights)
    there = counts > 0
    return Series(label, np.sqrt(edges[1:] * edges[:-1])[there].tolist(), counts[there].tolist(), "points")


def _by_level(data: Data, ranks: Array) -> Plot:
    """PageRank that the levels up to each depth hold together."""
    page = data.graph.page[data.in_pages].astype(np.int64)
    order = np.searchsorted(page, data.fetched["page"] & LOCAL)
    held = np.bincount(data.fetched["depth"], ranks[order])
    pages = np.bincount(data.fetched["depth"])
    levels = list(range(len(held)))
    return Plot(
        "scores-depth",
        "PageRank and pages up to a depth (figure 5.17)",
        "depth, at most",
        "share",
        (
            Series("PageRank", levels, (np.cumsum(held) / held.sum()).tolist()),
            Series("pages", levels, (np.cumsum(pages) / pages.sum()).tolist()),
        ),
    )


def _by_site(data: Data, ranks: Array, hub: Array, authority: Array) -> Plot:
    _, site = np.unique(data.sites_of_graph[data.in_pages], return_inverse=True)
    sums = [(label, np.bincount(site, s)) for label, s in (("PageRank", ranks), ("hub", hub), ("authority", authority))]
    curves = tuple(
        curve for label, sample in sums if (curve := _histogram(label, sample / sample.sum() * len(sample))) is not None
    )
    return Plot(
        "scores-sites",
        "Sums of scores by site (figure 8.20)",
        "sum of the site, times the number of sites",
        "sites",
        curves,
        x_log=True,
        y_log=True,
    )


def domains(data: Data) -> Section:
    beyond: dict[str, float] = defaultdict(float)
    for domain, number in data.rows(
        "select domain, sum(number) from stored.counts where class = 'out_of_scope' group by 1"
    ):
        beyond[_top(str(domain or ""))] += float(number)
    inside = _inside(data)
    if not beyond and not inside:
        return absent("No page links to another site.")
    own = max(inside, key=lambda word: inside[word]) if inside else ""
    both = {word: beyond.get(word, 0) + inside.get(word, 0) for word in {*beyond, *inside}}
    outside = {word: number for word, number in both.items() if word != own} or both
    shown = dict(sorted(outside.items(), key=lambda item: (-item[1], item[0])))
    return Section(
        f"{int(sum(both.values())):,} links from a site to another: {int(sum(inside.values())):,} to known pages, "
        f"{int(sum(beyond.values())):,} beyond the scope"
        + (f"; links to .{own}, which has the most known pages, are left out" if own and own in both else ""),
        (
            Fact("links to other sites", int(sum(both.values()))),
            Fact(f"of these, to .{own}" if own else "of these, to the own domain", int(both.get(own, 0))),
            Fact("top-level domains", len(both)),
        ),
        shares=(
            Shares(
                "domains",
                "Links to other top-level domains (tables 8.2 and 8.7)",
                "links",
                {_named(word): number for word, number in shown.items()},
                {_named(word): number for word, number in _CHILEAN.items()},
                {_named(word): number for word, number in _GREEK.items()},
            ),
        ),
        plots=_against_figures(data.figures, both),
    )


def _against_figures(figures: Mapping[str, float], found: Mapping[str, float]) -> tuple[Plot, ...]:
    """Links against the numbers of the user, by country."""
    words = [word for word in figures if figures[word] > 0 and found.get(word, 0) > 0]
    if not words:
        return ()
    x, y = np.array([figures[word] for word in words]), np.array([found[word] for word in words])
    related = correlation(x, y)
    said = f", correlation of logarithms {related:.3f}" if related is not None else ""
    curve = Series("domains", x.tolist(), y.tolist(), "points")
    title = f"Links and the given numbers, of {len(words)} domains{said} (figure 8.18)"
    return (Plot("domains-figures", title, "given number", "links", (curve,), x_log=True, y_log=True),)


def _inside(data: Data) -> dict[str, float]:
    """Links between known pages of different sites, by top-level domain of the target."""
    whole = data.known
    found: dict[str, float] = defaultdict(float)
    counts = np.zeros(whole.sites, np.int64)
    for block in whole.graph.blocks():
        source = np.repeat(whole.site[block.sources], np.diff(block.ends, prepend=block.begin))
        target = whole.site[block.targets[block.begin : block.begin + len(source)]]
        counts += np.bincount(target[target != source], minlength=whole.sites)
    for site in np.flatnonzero(counts):
        found[_top(data.site_names.get(int(site), ""))] += float(counts[site])
    return found


def _top(name: str) -> str:
    """The top-level domain of a name; "address" for an IP address."""
    last = name.rstrip(".").rpartition(".")[2].lower()
    return "address" if last.isdigit() or ":" in name else last


def _named(word: str) -> str:
    return f"{word} – {COUNTRIES[word]}" if word in COUNTRIES else word
