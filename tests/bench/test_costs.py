"""The search for costs that multiply finds what does; a sample of all mixtures does not, nor what once did."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Final

import pytest

from bench import costs
from bench.costs import (
    ARRANGED,
    GROWTH,
    KINDS,
    PAGE,
    ROBOTS,
    SECONDS,
    SITEMAP,
    Kind,
    Mixture,
    Piece,
    growth,
    mixtures,
    multiplies,
    sample,
)
from gossamer.gatherer import sitemaps
from tests.support.paths import ROOT

LISTS: Final = replace(SITEMAP, size=1_000_000, notable=0.4)
"""Sitemaps that are small enough for a test."""
TYPES: Final = replace(SITEMAP, beginnings=("<urlset>",), size=1_500_000, notable=0.0)
"""Sitemaps with a root, whose growth is measured however little they take."""
ONCE: Final = (
    Mixture(PAGE, Piece('<a href="x#"><object>'), Piece("</p>"), ARRANGED[0]),
    Mixture(replace(PAGE, size=100_000), Piece('<a href="x#"><object>'), Piece('<a href="x#"><object>'), ARRANGED[0]),
    Mixture(PAGE, Piece('<svg><a href="x#">'), Piece("<g></g>"), ARRANGED[0]),
    Mixture(replace(PAGE, size=200_000), Piece("<p a#=1 ~=2"), Piece(' "'), ARRANGED[1]),
    Mixture(PAGE, Piece("<noscript>~", "</noscript>"), Piece("<dd><dt>", "</dd>"), ARRANGED[1]),
    Mixture(replace(PAGE, size=1_600_000), Piece('<link rel=canonical href="~">'), Piece("x"), ARRANGED[3], "../"),
    Mixture(
        replace(PAGE, size=16_000, notable=0.1, beginnings=("captcha<p>",)), Piece("<b #>"), Piece("<p>x"), ARRANGED[0]
    ),
    Mixture(TYPES, Piece("<!DOCTYPE x []"), Piece("<url>"), ARRANGED[0]),
    Mixture(TYPES, Piece("<!DOCTYPE x []"), Piece("<!DOCTYPE [ ]"), ARRANGED[1]),
)
"""Mixtures whose costs once multiplied."""


@pytest.mark.parametrize("mixture", ONCE, ids=str)
def test_what_once_multiplied_does_so_no_more(mixture: Mixture) -> None:
    assert multiplies(mixture) is None


@pytest.mark.parametrize("mixture", [each for each in ONCE if each.kind is TYPES], ids=str)
def test_document_types_that_are_searched_to_the_end_multiply(
    mixture: Mixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows above can fail: this is how a document type was skipped once."""
    was = sitemaps._skipped

    def skipped(text: bytes, at: int) -> int:
        if text[at : at + 9].upper() != b"<!DOCTYPE":
            return was(text, at)
        end = text.find(b">", at)
        inner = text.find(b"[", at, max(at, end) if end >= 0 else len(text))
        return sitemaps._behind(text, b"]", inner) if inner >= 0 else end + 1 or -1

    monkeypatch.setattr(sitemaps, "_skipped", skipped)
    assert growth(mixture, 2 * TYPES.size, 1) > GROWTH


def test_parts_are_all_mixtures() -> None:
    parts = [sample(ROBOTS, 0, 1, (number, 7)) for number in range(1, 8)]
    assert sorted(str(mixture) for part in parts for mixture in part) == sorted(map(str, mixtures(ROBOTS)))


@pytest.mark.parametrize(("kind", "pairs"), [(PAGE, 80), (ROBOTS, 60), (LISTS, 40)], ids=["page", "robots", "sitemap"])
def test_no_mixture_of_a_sample_multiplies(kind: Kind, pairs: int) -> None:
    """`make bounds` searches for longer."""
    found = {str(mixture): growth for mixture in sample(kind, pairs, 3) if (growth := multiplies(mixture)) is not None}
    assert not found


def test_the_worst_of_a_sample_stays_within_its_bounds() -> None:
    """In a process of its own: the memory of this one is that of all tests. Ten times the CPU time: `make bounds` shows
    the bound, and a test must hold on a slow machine too."""
    command = [sys.executable, "-m", "bench.costs", "--pairs", "12", "--worst", "1", "--seconds", str(10 * SECONDS)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("bound: at most") == 12


@pytest.mark.parametrize(
    ("seconds", "is_found"),
    [
        (lambda size: size / 1e5, False),
        (lambda size: size**2 / 1e10, True),
        (lambda size: size**1.5 / 1e7, True),
        (lambda size: size / 1e6 if size < 300_000 else size / 1e5, False),
        (lambda size: size**2 / 1e13, False),
    ],
    ids=["linear", "quadratic", "between", "a limit is passed", "quadratic, but cheap"],
)
def test_the_search_finds_what_multiplies(seconds: object, is_found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(seconds)
    monkeypatch.setattr(costs, "cost", lambda kind, body, times=2: seconds(len(body)))
    assert (multiplies(mixtures(PAGE)[0]) is not None) == is_found


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_mixtures_have_the_size_that_is_asked_for(kind: Kind) -> None:
    for mixture in sample(kind, 50, 1):
        assert 50_000 < len(mixture.made(100_000)) < 140_000, mixture
