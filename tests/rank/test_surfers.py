"""Models of surfers: the closed forms of the thesis, and rivals that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rank.surfers import MODELS, Back, discounting, same_depths

VALUES = {
    "A": (0.4,),
    "B": (0.6,),
    "C": (0.5,),
    "Huberman": (2.0, 1.5),
    "Lukose": (0.5, -0.6),
    "Levene": (0.7, 0.9),
    "memory": (0.5, 4.0),
}


def test_every_model_is_tested() -> None:
    assert set(VALUES) == set(MODELS)


@pytest.mark.parametrize(
    ("name", "q", "length"),
    [("A", 0.1, 1.125), ("A", 0.4, 3.0), ("B", 0.5, 2.0), ("B", 0.9, 10.0), ("C", 0.2, 1.5625), ("C", 0.9, 100.0)],
)
def test_mean_lengths_are_those_of_table_5_1(name: str, q: float, length: float) -> None:
    assert MODELS[name].length((q,)) == pytest.approx(length)


@pytest.mark.parametrize(
    ("name", "q", "depth"), [("A", 0.4, 5), ("B", 0.4, 2), ("C", 0.4, 3), ("B", 0.6, 4), ("C", 0.6, 7)]
)
def test_depths_for_nine_visits_in_ten(name: str, q: float, depth: int) -> None:
    assert MODELS[name].depth_for((q,), 0.9) == depth


def test_a_depth_without_end_is_none() -> None:
    assert MODELS["B"].depth_for((0.999999,), 0.9) is None


@given(st.floats(0.01, 0.95), st.integers(0, 40))
def test_cumulated_visits_are_those_of_the_thesis(q: float, k: int) -> None:
    assert MODELS["B"].cumulated((q,), k + 1)[k] == pytest.approx(1 - q ** (k + 1))
    assert MODELS["C"].cumulated((q,), k + 1)[k] == pytest.approx(1 - (2 + k - (k + 1) * q) * q ** (k + 1))
    a = same_depths(q)
    assert MODELS["A"].cumulated((a,), k + 1)[k] == pytest.approx(1 - (a / (1 - a)) ** (k + 1))
    assert MODELS["A"].levels((a,), k + 1) == pytest.approx(MODELS["B"].levels((q,), k + 1))


@pytest.mark.parametrize("name", MODELS)
def test_levels_and_lengths_add_up_to_one(name: str) -> None:
    model, values = MODELS[name], VALUES[name]
    assert model.levels(values, 4_000).sum() == pytest.approx(1, abs=2e-3)
    lengths = model.lengths(values, 1_000)
    assert lengths.sum() == pytest.approx(1, abs=5e-3)
    assert (lengths >= 0).all()
    assert 1 / model.levels(values, 1)[0] == pytest.approx(model.length(values))


@pytest.mark.parametrize("name", ["A", "B", "C", "Levene", "Huberman", "Lukose"])
def test_the_mean_of_the_lengths_is_the_mean_length(name: str) -> None:
    model, values = MODELS[name], VALUES[name]
    lengths = model.lengths(values, 1_500)
    assert float(lengths @ np.arange(1, 1_501)) == pytest.approx(model.length(values), rel=1e-3)


@pytest.mark.parametrize("name", MODELS)
def test_visits_follow_from_the_probability_to_go_on(name: str) -> None:
    """Where surfers go back to the start, each level has those of the level before who went on. In any model, as many
    leave a level upwards as come back over it (a cut through the chain): checked for A and C by their balance."""
    model, values = MODELS[name], VALUES[name]
    x, on = model.levels(values, 60), model.onward(values, 60)
    if model.back is Back.START:
        assert x[1:] == pytest.approx(x[:-1] * on[:-1], abs=1e-9)
    elif model.back is Back.ONE:
        assert x[1:] * (1 - on[1:]) == pytest.approx(x[:-1] * on[:-1])
    else:
        above = [(x[k:] * (1 - on[k:]) * k / (np.arange(k, 60) + 1)).sum() for k in range(1, 20)]
        assert above == pytest.approx((x * on)[:19], abs=1e-9)


def test_a_patient_surfer_goes_deeper() -> None:
    lengths = [float(discounting(0.0, -0.5, discount).sum()) for discount in (0.1, 0.5, 0.9)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1] - 0.5


def test_memory_without_weight_is_model_b() -> None:
    assert MODELS["memory"].levels((0.5, 1e6), 20) == pytest.approx(MODELS["B"].levels((0.5,), 20), abs=1e-4)
    assert MODELS["Levene"].levels((0.5, 1.0), 20) == pytest.approx(MODELS["B"].levels((0.5,), 20))
