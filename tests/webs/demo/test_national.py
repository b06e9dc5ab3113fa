"""The demonstration Web with the distributions of chapter 8 has them."""

from __future__ import annotations

import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.laboratory.graphs.powerlaw import exponent
from gossamer.rank.components import bow_tie
from gossamer.rank.graph import csr
from gossamer.webs.demo import DemoWeb, UrlKind
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.links import FOLLOWED, links
from gossamer.webs.demo.national import EXTERNAL, PARTS, SHAPE, SITE_EXPONENT, age, deepest, external, length, sizes

WEB = DemoWeb(**SHAPE)


@given(st.integers(20, 800), st.integers(1, 30))
def test_sizes_of_sites_have_the_sum_that_was_asked_for(sites: int, mean: int) -> None:
    found = sizes(sites, sites * mean, 5_000)
    assert sum(found) == sites * mean
    assert len(found) == sites
    assert min(found) >= 1


def test_pages_of_sites_have_their_exponent_and_half_of_the_sites_one_page() -> None:
    pages = np.array([site.pages for site in WEB.all_sites])
    fit = exponent(pages)
    assert fit is not None
    assert abs(fit.exponent - SITE_EXPONENT) < 2 * fit.error
    assert abs((pages == 1).mean() - 0.5) < 0.03


def test_links_between_sites_make_the_parts_of_the_bow_tie() -> None:
    pairs = {(site.number, target) for site in WEB.all_sites for target in site.ties.promised}
    shares = bow_tie(csr(len(WEB.all_sites), *np.array(sorted(pairs)).T)).counts()
    for part, share in PARTS.items():
        assert abs(shares[part] - share * len(WEB.all_sites)) < 1.5, part
    linked, linking = {b for _, b in pairs}, {a for a, _ in pairs}
    for found, share in ((linked, 0.36), (linking, 0.28), (linked | linking, 0.47)):
        assert len(found) / len(WEB.all_sites) == pytest.approx(share, rel=0.1)


def test_pages_link_to_other_sites_only_as_their_home_page_promises() -> None:
    seen = 0
    for site in WEB.all_sites[:200]:
        for page in range(site.pages):
            found = [link for link in links(WEB, site, page) if link.role in FOLLOWED and link.site >= 0]
            others = {link.site for link in found} - {site.number}
            assert others <= set(site.ties.promised)
            seen += len(others)
    assert seen > 50


def test_sites_are_as_deep_and_as_old_as_those_of_the_thesis() -> None:
    deep = [max(WEB.layout(site.number).level[: site.pages]) for site in WEB.all_sites]
    assert np.mean(deep) == pytest.approx(1.5, abs=0.15)
    assert all(found <= deepest(site.pages) for found, site in zip(deep, WEB.all_sites, strict=True))
    oldest = np.array([age(WEB.seed, site, 0) for site in WEB.all_sites])
    assert (oldest < 1).mean() == pytest.approx(0.55, abs=0.06)
    assert (oldest < 2).mean() == pytest.approx(0.75, abs=0.06)


def test_no_page_is_older_than_the_home_page_of_its_site() -> None:
    for site in sorted(WEB.all_sites, key=lambda s: -s.pages)[:100]:
        ages = [age(WEB.seed, site, page) for page in range(site.pages)]
        assert ages[0] == max(ages)


def test_ages_decrease_exponentially() -> None:
    ages = np.sort([age(WEB.seed, site, page) for site in WEB.all_sites for page in range(site.pages)])
    assert (ages < 1).mean() > 0.6
    apart = np.abs(np.arange(len(ages)) / len(ages) - (1 - np.exp(-ages / ages.mean()))).max()
    assert apart < 0.05


@pytest.mark.parametrize("links", [2, 50])
def test_lengths_have_their_exponent_whatever_the_links(links: int) -> None:
    dice = Dice("lengths")
    found = np.array([length(dice, links) + 1_000 for _ in range(20_000)])
    tail = found[found >= 12_000]
    hill = 1 + len(tail) / np.log(tail / 12_000).sum()
    assert abs(hill - 3.54) < 4 * (hill - 1) / math.sqrt(len(tail))


def test_more_links_make_longer_pages() -> None:
    dice = Dice("lengths")
    few, many = (np.mean([length(dice, links) for _ in range(5_000)]) for links in (2, 50))
    assert many > 1.3 * few


def test_external_links_have_the_shares_of_domains() -> None:
    found = Counter(external(number) for number in range(1000))
    for name, share in EXTERNAL:
        assert abs(found[name] - 1000 * share) < 3


def test_external_links_lead_to_reserved_names_alone() -> None:
    assert {external(number) for number in range(1000)} == {"example.com", "example.org", "example.net", "invalid"}


def test_languages_and_kinds_have_their_shares() -> None:
    pages = Counter[str]()
    for site in WEB.all_sites:
        pages[site.language] += site.pages
    assert pages["es"] / pages.total() == pytest.approx(0.71, abs=0.02)
    assert pages["en"] / pages.total() == pytest.approx(0.27, abs=0.01)
    known = WEB.reachable()
    kinds = Counter(each.kind for each in known.values())
    answered = sum(kinds[kind] for kind in (UrlKind.PAGE, UrlKind.PLAIN, UrlKind.DUPLICATE))
    asked = sum(bool(each.outcomes) for each in known.values())
    assert 0.75 <= answered / asked <= 0.85
    assert kinds[UrlKind.BROKEN] / asked > 0.09
    dynamic = sum("?" in url for url, each in known.items() if each.kind in (UrlKind.PAGE, UrlKind.DUPLICATE))
    assert dynamic / answered == pytest.approx(0.34, abs=0.03)


def test_every_page_is_reached_from_the_home_pages() -> None:
    graph = nx.DiGraph()
    for site in WEB.all_sites[:100]:
        layout = WEB.layout(site.number)
        graph.add_edges_from((layout.parent[n], n) for n in range(1, site.pages))
        assert len(nx.descendants(graph, 0)) == site.pages - 1 if site.pages > 1 else True
        graph.clear()
