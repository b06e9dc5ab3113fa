"""The models of how a Web grows: degrees follow their laws, and what is counted of graphs is right."""

from __future__ import annotations

import json
from pathlib import Path

import click
import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.cli import app
from gossamer.cli.graph import NATIONAL, graph
from gossamer.laboratory.graphs.figures import figures
from gossamer.laboratory.graphs.models import MODELS, OUT_EXPONENT, WITH_EXPONENT, check, law, make
from gossamer.laboratory.graphs.mutual import mutual
from gossamer.laboratory.graphs.powerlaw import exponent
from gossamer.laboratory.graphs.webgraph import load
from gossamer.rank.graph import csr

PAGES = 100_000


@pytest.mark.parametrize("model", MODELS)
def test_in_degrees_follow_the_law_of_the_model(model: str) -> None:
    graph = make(model, PAGES, 5.0)
    (verdict,) = check(graph, model, 5.0, None)
    assert verdict.holds
    (other,) = check(graph, "random" if model != "random" else "attachment", 5.0, None)
    assert not other.holds


@pytest.mark.parametrize("model", MODELS)
def test_a_law_is_a_distribution_with_the_tail_that_it_is_said_to_have(model: str) -> None:
    shares = law(model, 5.0, None, 2_000_000)
    assert shares.sum() == pytest.approx(1, abs=1e-4)
    if model != "random":
        tail = 3.0 if model == "attachment" else 2.1
        assert np.log2(shares[500_000] / shares[1_000_000]) == pytest.approx(tail, abs=0.001)


@pytest.mark.parametrize("model", WITH_EXPONENT)
def test_a_planted_exponent_is_found(model: str) -> None:
    """The tail begins where k is far above the links that chance gives."""
    into = np.bincount(make(model, 4 * PAGES, 2.0, 2.5).links.targets)
    found = exponent(into, 60)
    assert found is not None
    assert abs(found.exponent - 2.5) < 4 * found.error


def test_a_mixture_gives_links_as_it_gets_them() -> None:
    out = np.diff(make("mixture", PAGES, 5.0).links.offsets)
    wanted = np.cumsum(law("mixture", 5.0, OUT_EXPONENT, int(out.max())))
    assert np.abs(np.cumsum(np.bincount(out)) / PAGES - wanted).max() < 0.1  # repeated links are dropped
    found = exponent(out, 50)
    assert found is not None
    assert found.exponent == pytest.approx(OUT_EXPONENT, abs=0.3)


def test_a_random_graph_has_the_links_that_were_asked_for() -> None:
    graph = make("random", 1000, 7.3)
    source = np.repeat(np.arange(1000), np.diff(graph.links.offsets))
    assert len(graph.links.targets) == 7300
    assert not (source == graph.links.targets).any()


@pytest.mark.parametrize("model", MODELS)
def test_equal_settings_give_equal_graphs(model: str) -> None:
    one, two, other = make(model, 500), make(model, 500), make(model, 500, seed=2)
    assert one.links.targets.tolist() == two.links.targets.tolist()
    assert one.links.targets.tolist() != other.links.targets.tolist()


def test_only_a_mixture_has_cycles_among_the_models_that_grow() -> None:
    for model, largest in (("attachment", 1), ("copying", 1)):
        assert figures(make(model, 2000, 4.0)).connected.largest_component == largest
    assert figures(make("mixture", 2000, 4.0)).connected.largest_component > 100


@given(st.integers(2, 12).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_reciprocal_links_and_clustering_are_those_of_networkx(graph: tuple[int, list[tuple[int, int]]]) -> None:
    pages, pairs = graph
    found, clustering = mutual(csr(pages, np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])))
    distinct = set(pairs)
    both = sum((b, a) in distinct for a, b in distinct if a != b)
    assert found == pytest.approx(both / max(1, len(distinct)))
    near = nx.Graph([(a, b) for a, b in distinct if a != b])
    assert clustering == pytest.approx(nx.transitivity(near), abs=0.025)


def test_the_command_offers_all_models() -> None:
    command = graph.get_command(click.Context(graph), "make")
    assert command is not None
    (kinds,) = (each.type for each in command.params if isinstance(each.type, click.Choice))
    assert kinds.choices == (NATIONAL, *MODELS)


def test_graphs_stand_side_by_side(tmp_path: Path) -> None:
    files = [str(tmp_path / f"{model}.npz") for model in ("random", "mixture")]
    for model, file in zip(("random", "mixture"), files, strict=True):
        ended = CliRunner().invoke(app, ["graph", "make", file, "--model", model, "--pages", "400", "--links", "3"])
        assert ended.exit_code == 0
        assert load(file).pages == 400
    both = CliRunner().invoke(app, ["graph", "show", *files, "--json"], catch_exceptions=False)
    assert [each["name"] for each in json.loads(both.stdout)["graphs"]] == ["random", "mixture"]
    shown = CliRunner().invoke(app, ["graph", "show", *files], catch_exceptions=False).stdout.splitlines()
    assert shown[0].split() == ["random", "mixture"]
    assert next(line for line in shown if line.startswith("pages")).split() == ["pages", "400", "400"]


@pytest.mark.parametrize(
    ("model", "asked", "word"),
    [("attachment", 2.5, "copying"), ("copying", 1.9, "from 2 to 4"), ("random", 3.0, "mixture")],
)
def test_an_exponent_that_a_model_cannot_have_is_refused(model: str, asked: float, word: str) -> None:
    with pytest.raises(UsageError) as raised:
        make(model, 1000, 5.0, asked)
    assert word in raised.value.cure
