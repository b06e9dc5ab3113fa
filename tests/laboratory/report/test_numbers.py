"""The arithmetic of the report: fits, tests of difference, near duplicates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.laboratory.graphs.powerlaw import draw
from gossamer.laboratory.report.fits import DOUBTFUL, Law, fit
from gossamer.laboratory.report.parts import distribution
from gossamer.laboratory.report.present import kolmogorov_smirnov
from gossamer.laboratory.report.servers import copies
from gossamer.read.near import BITS, near


@pytest.mark.parametrize("exponent", [1.8, 2.1, 2.8])
def test_a_planted_exponent_is_found_within_its_error(exponent: float) -> None:
    rng = np.random.default_rng(7)
    x = np.arange(1, 200_001, dtype=np.float64)
    sample = 1 + draw(rng, x**-exponent, 20_000)
    values, counts = np.unique(sample, return_counts=True)
    found = fit(Law(1, 200_000), values.astype(np.float64), counts)
    assert found is not None
    assert abs(found.exponent - exponent) < 4 * found.error < 0.1
    assert found.plausible >= DOUBTFUL


def test_a_sample_that_is_no_power_law_is_doubtful() -> None:
    sample = np.random.default_rng(7).poisson(30, 5_000) + 1
    values, counts = np.unique(sample, return_counts=True)
    found = fit(Law(1), values.astype(np.float64), counts)
    assert found is not None
    assert found.plausible < DOUBTFUL


def test_few_values_are_not_fitted() -> None:
    assert fit(Law(1), np.array([1.0, 2.0]), np.array([3, 3])) is None


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=200),
    st.lists(st.integers(0, 40), min_size=1, max_size=200),
)
def test_two_distributions_are_compared_as_kolmogorov_and_smirnov_do(a: list[int], b: list[int]) -> None:
    first, second = (distribution("", "", "", "", np.array(each)) for each in (a, b))
    distance, chance = kolmogorov_smirnov(first, second)
    shares = [(np.mean(np.array(a) <= x), np.mean(np.array(b) <= x)) for x in {*a, *b}]
    assert distance == pytest.approx(max(abs(one - other) for one, other in shares))
    scaled = distance * (len(a) * len(b) / (len(a) + len(b))) ** 0.5
    assert chance == pytest.approx(scipy.stats.kstwobign.sf(scaled), abs=1e-6)


def test_pages_of_few_words_are_no_copies_of_each_other() -> None:
    """They have neither sketch nor digest."""
    columns = {"sketch": [0, 0, 0, 8, 9], "digest": [0, 0, 0, 1, 2], "copy": [False] * 5}
    found = copies(cast(Any, SimpleNamespace(columns=lambda _: {k: np.array(v) for k, v in columns.items()})))
    facts = {fact.label: fact.value for fact in found.facts}
    assert facts["pages with a near duplicate"] == 2
    assert facts["share of pages with a near duplicate"] == 1
    assert found.distributions[0].counts.tolist() == [2], "two contents of one page each"


@settings(max_examples=50)
@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=40), st.data())
def test_near_duplicates_are_those_of_a_comparison_of_all_pairs(sketches: list[int], data: st.DataObject) -> None:
    for original in list(sketches[:10]):
        flips = data.draw(st.lists(st.integers(0, 63), max_size=5))
        sketches.append(original ^ sum(1 << bit for bit in set(flips)))
    found = near(np.array(sketches, np.uint64))
    expected = [
        any((a ^ b).bit_count() <= BITS for j, b in enumerate(sketches) if i != j) for i, a in enumerate(sketches)
    ]
    assert found.tolist() == expected
