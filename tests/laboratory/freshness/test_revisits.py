"""Simulated re-visits, as `gossamer simulate --revisit` shows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.base.errors import UsageError
from gossamer.config import Settings, override
from gossamer.laboratory.freshness.revisits import (
    Asked,
    asked_by,
    calibration,
    finding,
    known_policies,
    revisits,
    summary,
    world_of,
)
from gossamer.laboratory.freshness.run import Result, Way, probability, simulate
from gossamer.laboratory.freshness.worlds import generated
from gossamer.manager.revisits.rates import Belief, Prior


def test_policies_are_compared_on_a_file_of_changes(tmp_path: Path) -> None:
    """One page changes every day and is deleted, the other every hundred days."""
    busy = [f"{day * 86_400}\tM\tbusy.html" for day in range(1, 1500)] + [f"{1500 * 86_400}\tD\tbusy.html"]
    calm = [f"{day * 86_400}\tM\tcalm.html" for day in range(0, 1500, 100)]
    path = tmp_path / "two.changes.tsv"
    path.write_text("".join(f"{line}\n" for line in ("0\tA\tbusy.html", "0\tA\tcalm.html", *busy, *calm)))
    world, said = world_of(str(path), 1.0, 0, 1), list[str]()
    found = revisits(
        world,
        {name: Asked(name) for name in ("uniform", "proportional")},
        1.0,
        1,
        lambda what, share: said.append(what),
    )
    assert list(found) == ["uniform", "proportional"]
    assert said[0] == "two, 1 visits for each change: uniform"
    shown = finding(world, found, 1.0)
    assert shown.setting.startswith("two: 2 pages, 1,51")
    assert [row[0] for row in shown.tables[0].rows] == ["uniform", "proportional"]
    assert all(0 < summary(each)["freshness"] < 1 for each in found.values())


def test_predictions_are_compared_by_tenths() -> None:
    predicted, changed = np.array([0.05, 0.07, 0.55, 1.0]), np.array([0.0, 1.0, 1.0, 1.0])
    none = np.zeros(0)
    found = calibration(Result(none, none, none, Prior.of(1.0), none > 0, 0.0, predicted, changed))
    assert [each["from"] for each in found] == [0.0, 0.5, 0.9]
    assert [each["visits"] for each in found] == [2, 1, 1]
    assert found[0]["predicted"] == pytest.approx(0.06)
    assert found[0]["changed"] == 0.5


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0, 2.0])
def test_a_prediction_is_the_mean_over_what_is_believed(spread: float) -> None:
    medians, ages = np.array([1e-3, 0.1, 1.0, 10.0]), np.array([1.0, 2.0, 1.0, 3.0])
    belief = Belief(np.log(medians).astype(np.float32), np.full(4, spread, np.float32))
    rates = medians * np.exp(spread * np.random.default_rng(1).standard_normal((200_000, 1)))
    assert probability(belief, ages) == pytest.approx(-np.expm1(-rates * ages).mean(0), abs=0.005)


def test_what_is_not_known_is_refused_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no policy of re-visits is named 'often'") as refused:
        known_policies(["uniform", "often"])
    assert "expected" in refused.value.cure
    with pytest.raises(UsageError, match="neither a file nor a kind") as refused:
        world_of(str(tmp_path / "missing"), 1.0, 0, 1)
    assert "business-hours" in refused.value.cure
    (tmp_path / "still.tsv").write_text("1\tA\ta.html\n")
    with pytest.raises(UsageError, match="nothing changes"):
        revisits(
            world_of(str(tmp_path / "still.tsv"), 1.0, 0, 1),
            {"uniform": Asked("uniform")},
            1.0,
            1,
            lambda what, share: None,
        )


def test_settings_are_simulated_with_their_preset() -> None:
    asked = asked_by(
        override(Settings(), ["manager.preset=news", "manager.revisit=profit", "manager.change_period=9d"])
    )
    assert asked == Asked("profit", 9 * 86_400.0, Way(2.0, 6 * 3600.0, 0.5))
    assert asked_by(Settings()).way == Way(1.0, 86_400.0, 1.0), "a day, in a continuous crawl"


def test_no_page_is_visited_sooner_than_the_settings_say() -> None:
    """With a rest of a year nothing is visited twice in half a year."""
    world = generated("poisson", np.full(50, 1 / 86_400.0), 180 * 86_400.0, 1)
    often = simulate(world, "uniform", 50 / 86_400.0)
    seldom = simulate(world, "uniform", 50 / 86_400.0, way=Way(min_period=365 * 86_400.0))
    assert often.mean(0) > 0.5
    assert seldom.mean(1) < 0.1
