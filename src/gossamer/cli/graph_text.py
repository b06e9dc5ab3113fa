"""The statistics of a graph, as lines for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gossamer.base.units import human_size, thousands

if TYPE_CHECKING:
    from gossamer.laboratory.graphs.figures import Check, GraphFigures
    from gossamer.laboratory.graphs.powerlaw import Fit


def figure_lines(f: GraphFigures) -> list[str]:
    links, sites, depths, whole = f.linkage, f.by_site, f.depths, f.connected
    rows = [
        ("pages", thousands(f.pages)),
        ("links", f"{thousands(f.links)}, {links.links_per_page:.1f} per page; {_part(links.inside)} inside the site"),
        (
            "sites",
            f"{thousands(f.sites)}; {_part(sites.single)} of one page, the largest has {thousands(sites.largest_site)}",
        ),
        ("pages per site", f"exponent {_fit(sites.pages_per_site)}; the largest tenth has {_part(sites.top_tenth)}"),
        ("without links", f"{_part(links.dangling)} of the pages"),
        ("out-degree", f"at most {thousands(links.most_out)}; exponent from 50 on {_fit(links.out_degree)}"),
        ("in-degree", f"at most {thousands(links.most_in)}; exponent from 50 on {_fit(links.in_degree)}"),
        ("size", f"{human_size(f.size)} on average; exponent from 12 KB on {_fit(f.size_tail)}"),
        (
            "linked sites",
            f"{_part(sites.linked)} from others, {_part(sites.linking)} to others; {sites.site_links:,} pairs",
        ),
        ("reached", f"{_part(depths.reached)} of the pages, from {thousands(f.start)} start pages"),
        ("depth", _depths(depths.depth)),
        (
            "depth in the site",
            f"{_depths(depths.depth_in_site)}; the deepest page of a site {depths.deepest_of_site:.1f}",
        ),
        ("components", f"{thousands(whole.components)}; the largest {thousands(whole.largest_component)} pages"),
        ("of sites", f"{thousands(whole.site_components)} components"),
    ]
    width = max(len(name) for name, _ in rows)
    return [*(f"{name:<{width}}  {value}" for name, value in rows), "", *part_lines(whole.parts, whole.site_parts)]


def part_lines(pages: Mapping[str, int], sites: Mapping[str, int]) -> list[str]:
    """The table of the parts of the bow-tie."""
    of_pages, of_sites = max(1, sum(pages.values())), max(1, sum(sites.values()))
    rows = [
        f"{name:<13}  {thousands(n):>11}  {_part(n / of_pages):>6}  {thousands(sites[name]):>9}  "
        f"{_part(sites[name] / of_sites):>6}"
        for name, n in pages.items()
    ]
    return [f"{'bow-tie':<13}  {'pages':>11}  {'':>6}  {'sites':>9}", *rows]


def verdict_lines(verdicts: Sequence[Check]) -> list[str]:
    if not verdicts:
        return ["The graph is too small to be checked."]
    width = max(len(v.name) for v in verdicts)
    return [
        f"{'as expected' if v.holds else 'UNEXPECTED':<11}  {v.name:<{width}}  {v.found:6.3g}  ({v.wanted})"
        for v in verdicts
    ]


def _fit(fit: Fit | None) -> str:
    return f"{fit.exponent:.2f} ± {fit.error:.2g}" if fit else "unknown (too few)"


def _part(share: float) -> str:
    return f"{100 * share:.1f} %"


def _depths(counts: Sequence[int]) -> str:
    total = max(1, sum(counts))
    mean = sum(d * n for d, n in enumerate(counts)) / total
    most = max(range(len(counts)), key=lambda d: counts[d], default=0)
    return f"{mean:.1f} on average, most pages at {most}, at most {max(0, len(counts) - 1)}"
