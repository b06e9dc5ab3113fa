"""Models of how the links of a Web come about (thesis 2.1.3), to be compared with real graphs and with `make`.

| model | a new page | tail of the in-degree |
|---|---|---|
| `random` (Erdős and Rényi) | all pages exist at once; every pair is linked with equal probability | none: Poisson |
| `attachment` (Barabási and Albert) | links to pages in proportion to the links that they give and get | exponent 3 |
| `copying` (Kumar and others) | copies the links of a page drawn at random, some replaced by random pages | as asked |
| `mixture` (Pennock and others) | links begin and end at pages in proportion to degree, or at random | as asked |

After t pages, a page with k links gets the next one with the probability (a k + b) / (m t), where m is the mean number
of links of a page. So the shares of the in-degrees (`law`) follow from p(k) (1 + a k + b) = p(k - 1) (a (k - 1) + b),
and their tail is a power of exponent 1 + 1/a. The links that `mixture` gives are distributed in the same way, with the
exponent 2.7 that 8.7.2 quotes.

No model knows sites, or sizes: all pages are of one site, and of equal size. In `attachment` and `copying` links lead
to older pages only, so there are no cycles. A repeated link counts once: `copying` and `mixture`, whose links gather at
a few pages, then have a quarter fewer of them (7.7 and 7.0 per page of 10, for 10^6 pages). Equal settings give equal
graphs. Cost for 10^6 pages and 10^7 links: 0.7 to 2.2 s of processor time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32
from gossamer.base.compiled import njit
from gossamer.base.errors import UsageError
from gossamer.laboratory.graphs.figures import Check
from gossamer.laboratory.graphs.webgraph import SIZE, WebGraph, offsets_of
from gossamer.rank.graph import Csr, csr

EXPONENT: Final = 2.1
"""Default exponent of the in-degree (8.7.2, after a study of 200 million pages)."""
OUT_EXPONENT: Final = 2.7
STARTS: Final = 50
CLOSE: Final = 0.02
"""Greatest distance of the cumulated shares of a generated graph from those of its law."""
Grown = Callable[[int, float, float, np.random.Generator], Csr]
"""Makes the links, from the number of pages, of links a page, the exponent and a source of random numbers."""


def make(model: str, pages: int, links: float = 10.0, exponent: float | None = None, seed: int = 1) -> WebGraph:
    """A graph of this model. `exponent`: of the in-degree, for the models that have a choice."""
    if exponent is not None and (model not in WITH_EXPONENT or not 2 < exponent <= 4):
        raise UsageError(
            f"the model {model} cannot have in-degrees of exponent {exponent:g}",
            f"Exponents from 2 to 4 can be had with {' and '.join(WITH_EXPONENT)}.",
        )
    if pages < 2 or not 1 <= links <= min(40, pages / 2):
        raise UsageError(
            f"cannot make {pages} pages with {links:g} links per page",
            "Ask for 1 to 40 links per page, and at least twice as many pages as links per page.",
        )
    rng = np.random.default_rng([seed, pages])
    grown = MODELS[model](pages, links, exponent or EXPONENT, rng)
    start = np.sort(rng.choice(pages, min(STARTS, pages), replace=False)).astype(np.uint32)
    size = np.full(pages, SIZE, np.uint32)
    return WebGraph(grown, np.zeros(pages, np.uint32), size, start, f"{model}-{pages}-{seed}")


def _random(pages: int, links: float, exponent: float, rng: np.random.Generator) -> Csr:
    """Exactly so many links, each pair of different pages equally probable. `csr` drops repeated ones: more are drawn
    than are needed, and those that are too many are dropped at random."""
    wanted = round(pages * links)
    found = csr(pages, np.zeros(0, np.uint32), np.zeros(0, np.uint32))
    while len(found.targets) < wanted:
        more = wanted - len(found.targets) + wanted // 100 + 10
        source = rng.integers(0, pages, more)
        target = (source + 1 + rng.integers(0, pages - 1, more)) % pages
        before = np.repeat(np.arange(pages), np.diff(found.offsets))
        found = csr(pages, np.concatenate([before, source]), np.concatenate([found.targets, target]))
    kept = np.sort(rng.permutation(len(found.targets))[:wanted])
    return csr(pages, np.repeat(np.arange(pages), np.diff(found.offsets))[kept], found.targets[kept])


def _attachment(pages: int, links: float, exponent: float, rng: np.random.Generator) -> Csr:
    degree = _whole(pages, links, rng)
    sources, targets = np.repeat(np.arange(pages, dtype=np.uint32), degree), np.empty(degree.sum(), np.uint32)
    made = int(_attach(degree, sources, targets, int(rng.integers(2**32))))
    return csr(pages, sources[:made], targets[:made])


def _copying(pages: int, links: float, exponent: float, rng: np.random.Generator) -> Csr:
    degree = _whole(pages, links, rng)
    sources, targets = np.repeat(np.arange(pages, dtype=np.uint32), degree), np.empty(degree.sum(), np.uint32)
    _copy(offsets_of(degree), targets, 1 / (exponent - 1), int(rng.integers(2**32)))
    other = sources != targets
    return csr(pages, sources[other], targets[other])


def _mixture(pages: int, links: float, exponent: float, rng: np.random.Generator) -> Csr:
    step = _whole(pages, links, rng)
    sources, targets = np.empty(step.sum(), np.uint32), np.empty(step.sum(), np.uint32)
    _mix(step, sources, 1 / (OUT_EXPONENT - 1), int(rng.integers(2**32)))
    _mix(step, targets, 1 / (exponent - 1), int(rng.integers(2**32)))
    other = sources != targets
    return csr(pages, sources[other], targets[other])


MODELS: Final[dict[str, Grown]] = {
    "random": _random,
    "attachment": _attachment,
    "copying": _copying,
    "mixture": _mixture,
}
WITH_EXPONENT: Final = ("copying", "mixture")


def law(model: str, links: float, exponent: float | None, most: int) -> F64:
    """The shares of the in-degrees 0 to `most` in a large graph of the model."""
    steps = np.arange(1, most + 1)
    if model == "random":
        return np.exp(np.concatenate([[0.0], np.cumsum(np.log(links) - np.log(steps))]) - links)
    slope = 0.5 if model == "attachment" else 1 / ((exponent or EXPONENT) - 1)
    base = links * (1 - slope)
    ratios = (slope * (steps - 1) + base) / (1 + slope * steps + base)
    return np.asarray(np.cumprod(np.concatenate([[1 / (1 + base)], ratios])))


def check(graph: WebGraph, model: str, links: float, exponent: float | None) -> list[Check]:
    """Compares a generated graph with its law."""
    into = np.bincount(graph.links.targets, minlength=graph.pages)
    found = np.cumsum(np.bincount(into)) / graph.pages
    distance = float(np.abs(found - np.cumsum(law(model, links, exponent, int(into.max())))).max())
    return [Check("in-degrees: distance from the law of the model", f"0 ± {CLOSE:g}", distance, distance <= CLOSE)]


def _whole(pages: int, mean: float, rng: np.random.Generator) -> I64:
    """By page: the mean, rounded up or down at random."""
    return np.asarray(int(mean) + (rng.random(pages) < mean - int(mean)), np.int64)


@njit
def _attach(degree: I64, sources: U32, targets: U32, seed: int) -> int:
    """Each link leads to one end of a link drawn at random: so to pages in proportion to their links. Ends of the page
    itself are drawn again, and so are targets that it has already. The first pages link to all before them."""
    np.random.seed(seed)
    made = 0
    for page in range(1, len(degree)):
        begin = made
        for n in range(min(degree[page], page)):
            target = np.uint32(n)
            while page > degree[page] + 1:
                end = np.random.randint(2 * begin)
                target = sources[end // 2] if end % 2 else targets[end // 2]
                again = False
                for i in range(begin, made):
                    again = again or targets[i] == target
                if not again:
                    break
            sources[made], targets[made] = page, target
            made += 1
    return made


@njit
def _copy(begins: I64, targets: U32, share: float, seed: int) -> None:
    """Each page takes a page before it as its model. `share` of its links are those of the model, in the same place of
    the list; the others lead anywhere. All lists have nearly the same length: a place beyond the end is taken anew."""
    np.random.seed(seed)
    for page in range(len(begins) - 1):
        model = np.random.randint(max(1, page))
        for n in range(begins[page + 1] - begins[page]):
            at = begins[page] + n
            if page > 0 and begins[model] + n < begins[model + 1] and np.random.random() < share:
                targets[at] = targets[begins[model] + n]
            else:
                targets[at] = np.random.randint(page + 1)


@njit
def _mix(step: I64, ends: U32, share: float, seed: int) -> None:
    """One end of all links: `share` of them at the end of an earlier link, the others at any page that exists."""
    np.random.seed(seed)
    at = 0
    for page in range(len(step)):
        for _ in range(step[page]):
            if at > 0 and np.random.random() < share:
                ends[at] = ends[np.random.randint(at)]
            else:
                ends[at] = np.random.randint(page + 1)
            at += 1
