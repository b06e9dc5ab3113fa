"""The simulated crawler that visits pages again, and `gossamer reproduce freshness`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gossamer.laboratory import Bench
from gossamer.laboratory.freshness.run import simulate
from gossamer.laboratory.freshness.worlds import DAY, World, generated, history, rates_of, rates_of_sites
from gossamer.laboratory.reproduce import freshness as reproduction
from gossamer.laboratory.reproduce.crawls import Crawls
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.manager.revisits.policies import POLICIES
from tests.support.shared_data import DATA

REAL = DATA / "changes"
MEAN = 1 / (10 * DAY)
RATES = rates_of(400, MEAN, 1.5, 1)


@pytest.fixture(scope="module")
def world() -> World:
    return generated("poisson", RATES, 20 / MEAN, 1)


def test_uniform_visits_have_the_freshness_of_the_formula() -> None:
    """(f / rate) (1 - e^(-rate / f)) where all pages have the same rate."""
    world = generated("poisson", np.full(500, MEAN), 20 / MEAN, 1)
    found = simulate(world, "uniform", 2 * MEAN * 500)
    assert found.mean(5) == pytest.approx(2 * -np.expm1(-0.5), abs=0.015)
    assert found.starved == 0


def test_what_is_learned_is_nearly_as_good_as_what_is_known(world: World) -> None:
    budget = MEAN * world.pages
    known, learned = simulate(world, "expected", budget, RATES), simulate(world, "expected", budget)
    uniform = simulate(world, "uniform", budget)
    assert learned.mean(10) > 0.98 * known.mean(10)
    assert learned.mean(10) > uniform.mean(10)
    assert learned.starved <= 0.01 + known.starved


def test_predictions_are_calibrated(world: World) -> None:
    """In each third of the predictions, the share of changes is within eight points of what was predicted."""
    found = simulate(world, "expected", MEAN * world.pages)
    for part in np.array_split(np.argsort(found.predicted), 3):
        assert abs(found.predicted[part].mean() - found.changed[part].mean()) < 0.08


def test_what_a_site_does_tells_of_its_pages() -> None:
    """Within few visits, the rates of pages of sites that differ are known better than without the sites: on average
    over three worlds."""
    gains = []
    for seed in (1, 2, 3):
        world = generated("sites", rates_of_sites(400, MEAN, 2.0, seed), 4 / MEAN, seed)
        one, own = (simulate(each, "expected", MEAN * world.pages) for each in (replace(world, site=None), world))
        assert own.prior.apart > 0.5
        assert one.prior.apart == 0
        gains.append(own.mean(1) - one.mean(1))
    assert np.mean(gains) > 0


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_seed_gives_the_same_result(policy: str) -> None:
    world = generated("bursts", RATES[:100], 2 / MEAN, 1)
    first, second = (simulate(world, policy, MEAN * world.pages, seed=3) for _ in range(2))
    assert (first.freshness == second.freshness).all()
    assert 0 < first.freshness.min() <= first.freshness.max() <= 1


def test_a_page_that_dies_is_found_dead_once() -> None:
    """It counts as outdated until a visit finds that out; then it leaves the crawl."""
    pages = 100
    deaths = np.where(np.arange(pages) < 50, 3 * DAY, np.inf)
    nothing = np.zeros(0)
    world = World("dying", np.zeros(pages), deaths, nothing.astype(np.int64), nothing, 30 * DAY)
    found = simulate(world, "uniform", pages / DAY)
    assert found.freshness[found.visits < 2.9].min() == 1
    assert found.freshness.min() < 0.6
    assert found.freshness[-1] == 1


@pytest.mark.skipif(not REAL.is_dir(), reason="the real histories are not here")
@pytest.mark.parametrize("name", ["openbsd-www", "python-peps"])
def test_a_real_history_is_kept_as_fresh_as_by_any_other_policy(name: str) -> None:
    """Less 1.5 %, with one visit for each change of four years; `gossamer reproduce freshness` shows more."""
    world = history(REAL / f"{name}.changes.tsv.gz", 4 * 365.0)
    found = {policy: simulate(world, policy, world.rate).mean(0) for policy in ("uniform", "freshness", "expected")}
    assert found.pop("expected") > 0.985 * max(found.values())


def test_the_reproduction_judges_its_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reproduction, "PAGES", 100)
    monkeypatch.setattr(reproduction, "BUDGETS", (1.0,))
    monkeypatch.setattr(reproduction, "VISITS", 4)
    (tmp_path / "site.changes.tsv.gz").write_bytes(b"")
    monkeypatch.setenv("GOSSAMER_DATA", str(tmp_path / "nothing"))
    with Bench(1) as bench:
        found = reproduction.freshness(Lab(bench, [], Crawls()))
    assert found.tables[0].rows[0][:2] == ("1", 1.15)
    assert "No real history was found" in found.setting
    (example, above, *_) = found.sentences
    assert example.agrees
    assert above.agrees
    assert {row[0] for row in found.tables[1].rows} == {*POLICIES, "known"}
