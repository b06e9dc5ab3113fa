"""The exponents for a budget."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from gossamer.config import loads
from gossamer.laboratory.freshness import tune
from gossamer.laboratory.freshness.tune import Tried, finding, worlds_on
from gossamer.laboratory.freshness.worlds import generated


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small worlds and few pairs: a second."""
    monkeypatch.setattr(tune, "PAGES", 60)
    monkeypatch.setattr(tune, "WORLDS", 2)
    monkeypatch.setattr(tune, "VISITS", 4)
    monkeypatch.setattr(tune, "ALPHAS", (1.0, 4.0))
    monkeypatch.setattr(tune, "GAMMAS", (1.0, 4.0))


@pytest.mark.usefixtures("few")
def test_the_best_pair_is_found_on_a_graph() -> None:
    """A tenth of the pages is worth a hundred times as much, and the budget is small."""
    qualities = np.where(np.arange(300) % 10 == 0, 1.0, 0.01)
    worlds = worlds_on("few", qualities, None, 0.5, 1)
    assert [world.pages for world, _ in worlds] == [60, 60]
    said = list[str]()
    tuned = tune.tune(worlds, 0.5, 1, lambda what, part: said.append(what))
    assert len(tuned.tried) == len(said) >= 6 + 2
    assert tuned.tried[tuned.best].means[0] == max(each.means[0] for each in tuned.tried.values())
    gain, error = tuned.gain
    assert gain >= 0
    assert (gain == 0) == tuned.best.usual
    assert (error == 0) == tuned.best.usual
    shown = finding(tuned)
    assert shown.tables[0].rows[0][:3] == tuned.best
    assert ("expected", 1.0, 1.0) in [row[:3] for row in shown.tables[0].rows]
    assert tuned.as_json()["settings"] == tuned.best.lines()


@pytest.mark.usefixtures("few")
def test_rates_that_are_known_are_used() -> None:
    rates = np.full(100, 1e-5)
    world = worlds_on("known", np.ones(100), rates, 1.0, 1)[0][0]
    assert world.rate / world.pages == pytest.approx(1e-5, rel=0.3)


@pytest.mark.usefixtures("few")
def test_on_a_history_only_gamma_is_tried() -> None:
    world = generated("bursts", np.full(40, 1e-5), 40 * 86_400.0, 1)
    tuned = tune.tune([(world, None)], 1.0, 1, lambda what, part: None)
    assert {each.alpha for each in tuned.tried} == {1.0}
    assert "alpha changes nothing" in finding(tuned).sentences[-1].text


@pytest.mark.parametrize("tried", [Tried("profit", 2.0, 2**0.5), Tried("expected", 0.5, 1.0)])
def test_what_is_printed_can_be_pasted(tried: Tried) -> None:
    settings = loads("[manager]\n" + "\n".join(tried.lines())).manager
    assert settings.revisit == tried.policy
    assert settings.alpha == tried.alpha
    assert settings.gamma == (pytest.approx(tried.gamma, rel=0.01) if tried.policy == "profit" else -1)
    assert tomllib.loads("\n".join(tried.lines()))
