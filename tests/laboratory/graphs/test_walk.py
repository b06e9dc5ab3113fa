"""Samples by a random walk, on a graph that is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gossamer.base.arrays import F64
from gossamer.base.errors import UsageError
from gossamer.cli import app
from gossamer.laboratory.graphs.models import make
from gossamer.laboratory.graphs.walk import sample
from gossamer.laboratory.graphs.webgraph import save
from gossamer.rank.pagerank import EXACT, pagerank

PAGES, DRAWN, TIMES = 2000, 100, 200
LINKS = make("mixture", PAGES, 5.0).links
ERROR = np.sqrt(0.1 * 0.9 / (DRAWN * TIMES))
"""Standard error of the share of a tenth of the pages."""


def shares(corrected: bool) -> F64:
    """Of the drawn pages, the share in each tenth of the pages by PageRank."""
    order = np.argsort(pagerank(LINKS, tolerance=EXACT).values, kind="stable")
    tenth = np.empty(PAGES, np.int64)
    tenth[order] = np.arange(PAGES) * 10 // PAGES
    drawn = np.concatenate([sample(LINKS, DRAWN, corrected, seed) for seed in range(TIMES)])
    return np.asarray(np.bincount(tenth[drawn], minlength=10) / len(drawn))


def test_a_corrected_sample_is_uniform() -> None:
    assert np.abs(shares(corrected=True) - 0.1).max() < 4 * ERROR


def test_an_uncorrected_sample_prefers_linked_pages() -> None:
    found = shares(corrected=False)
    assert found[-1] > 0.1 + 40 * ERROR
    assert found[0] < 0.1 - 10 * ERROR


def test_a_sample_has_no_page_twice_and_may_have_all() -> None:
    assert sorted(sample(LINKS, PAGES).tolist()) == list(range(PAGES))


def test_more_pages_than_there_are_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="2,000 pages"):
        sample(LINKS, PAGES + 1)


def test_the_command_prints_the_sample(tmp_path: Path) -> None:
    graph = make("mixture", 300, 3.0)
    save(tmp_path / "web.npz", graph)
    asked = ["graph", "sample", str(tmp_path / "web.npz"), "--pages", "20", "--random-seed", "3"]
    printed = CliRunner().invoke(app, asked, catch_exceptions=False).stdout.split()
    assert printed == [str(page) for page in sample(graph.links, 20, seed=3).tolist()]
    assert CliRunner().invoke(app, [*asked, "--uncorrected"], catch_exceptions=False).stdout.split() != printed
