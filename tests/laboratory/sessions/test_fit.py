"""Fits: the parameters of a model are found again, and the model that made the visits foretells best."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.laboratory.sessions import made
from gossamer.laboratory.sessions.counts import Counts, Sample
from gossamer.laboratory.sessions.fit import by_likelihood, least_squares, minimum, scored
from gossamer.laboratory.sessions.gather import Asked, gather
from gossamer.laboratory.sessions.walk import walk
from gossamer.rank.surfers import MODELS, Parameter
from tests.rank.test_surfers import VALUES

SAME = 0.0005
"""Equal to the third digit."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "q"), [("A", 0.3), ("A", 0.4), ("B", 0.3), ("B", 0.7), ("C", 0.3), ("C", 0.6)])
def test_closed_forms_and_simulations_are_equal_to_the_third_digit(name: str, q: float) -> None:
    model = MODELS[name]
    walked = walk(model, (q,), 100_000_000)
    assert walked.levels[:40] == pytest.approx(model.levels((q,), 40), abs=SAME)
    assert walked.lengths[1:60] == pytest.approx(model.lengths((q,), 59), abs=SAME)
    assert np.cumsum(walked.levels[:40]) == pytest.approx(model.cumulated((q,), 40), abs=SAME)
    assert walked.length == pytest.approx(model.length((q,)), rel=SAME * 4)


@pytest.mark.parametrize("name", ["Huberman", "Lukose", "Levene", "memory"])
def test_rivals_walk_as_their_forms_say(name: str) -> None:
    model, values = MODELS[name], VALUES[name]
    walked = walk(model, values, 4_000_000)
    assert walked.levels[:20] == pytest.approx(model.levels(values, 20), abs=0.003)
    assert walked.lengths[1:20] == pytest.approx(model.lengths(values, 19), abs=0.003)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_found_again_in_exact_visits(name: str) -> None:
    model, values = MODELS[name], VALUES[name]
    visits = np.round(1e9 * model.levels(values, 4_000)).astype(np.int64)
    fitted = by_likelihood(model, visits)
    assert model.levels(fitted.values, 30) == pytest.approx(model.levels(values, 30), abs=1e-4)
    if len(values) == 1:
        assert fitted.q == pytest.approx(values[0], rel=1e-3)
        squares = least_squares(model, visits)
        assert squares.q == pytest.approx(values[0], rel=1e-3)
        assert squares.error is not None
        assert squares.error < 1e-3


def test_the_error_is_the_asymptotic_standard_error_of_least_squares() -> None:
    """Against the formula for a curve of one parameter, on a curve that is not the model's."""
    visits = np.asarray([5_000, 2_500, 1_500, 500, 400, 100])
    fitted = least_squares(MODELS["B"], visits)
    level = np.arange(6)
    rest = 1 - fitted.q ** (level + 1) - np.cumsum(visits) / visits.sum()
    slope = -(level + 1) * fitted.q**level
    assert float(rest @ slope) == pytest.approx(0, abs=1e-5)
    assert fitted.error == pytest.approx(np.sqrt((rest @ rest) / 5 / (slope @ slope)) / fitted.q, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["B", "C", "memory", "Levene"])
def test_the_model_that_made_the_visits_foretells_best(name: str) -> None:
    model, values = MODELS[name], VALUES[name]
    counts, rng = Counts(), np.random.default_rng(1)
    for half in range(2):
        counts.visits[half] = rng.multinomial(200_000, model.levels(values, 256) / model.levels(values, 256).sum())
        found = model.lengths(values, 1_000)
        counts.lengths[half, 1:] = rng.multinomial(50_000, found / found.sum())
    found_by = scored(counts)
    own = next(score for score in found_by if score.fitted.model is model)
    assert own.visits - found_by[0].visits < 2e-4
    assert own.fitted.values == pytest.approx(values, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "q"), [("A", 0.3), ("A", 0.4), ("B", 0.5), ("B", 0.7), ("C", 0.3), ("C", 0.5)])
def test_q_comes_back_from_a_log_that_the_model_made(name: str, q: float, tmp_path: Path) -> None:
    model, site = MODELS[name], made.site()
    wrote = made.write(tmp_path / "made.log", model, (q,), 40_000, 3)
    found = gather([tmp_path / "made.log"], "made", Asked(site=lambda hosts: site))
    visits = found.counts.visits.sum(0)
    assert found.counts.sessions == 40_000
    assert found.counts.visited == wrote, "nothing is added, nothing is dropped"
    assert by_likelihood(model, visits).q == pytest.approx(q, rel=0.01)
    assert least_squares(model, visits).q == pytest.approx(q, rel=0.01)
    others = [each for each in "BC" if each != name and not (name == "A" and each == "B")]
    errors = {each: least_squares(MODELS[each], visits).error or 0 for each in (name, *others)}
    assert min(errors, key=lambda each: errors[each]) == name


def test_a_minimum_is_found_within_the_ranges() -> None:
    two = (Parameter("x", 0, 10, 5), Parameter("y", -1, 1, 0.5))
    found = minimum(lambda v: (v[0] - 3) ** 2 + 10 * (v[1] + 0.2) ** 2 + v[0] * v[1], two)
    assert found == pytest.approx((3.2, -0.36), abs=0.1)
    assert minimum(lambda v: (v[0] - 20) ** 2, two[:1]) == pytest.approx((10,), abs=1e-3)


def test_a_sample_of_pages_is_all_of_them_or_a_fair_part() -> None:
    rng = np.random.default_rng(1)
    page = rng.integers(0, 2**64, 50_000, dtype=np.uint64)
    directories = (page % np.uint64(5)).astype(np.uint8)
    whole, few = Sample(), Sample(1_000)
    for at in range(0, 50_000, 5_000):
        for sample in (whole, few):
            sample.add(page[at : at + 5_000], directories[at : at + 5_000])
            sample.add(page[:100], directories[:100])
    assert whole.by_directories.sum() == len(np.unique(page))
    assert len(few.page) <= 1_000
    assert few.by_directories.sum() == pytest.approx(50_000, rel=0.15)
    assert few.by_directories == pytest.approx(whole.by_directories, rel=0.3)
