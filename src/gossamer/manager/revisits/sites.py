"""How the rates of change of whole sites differ: the second level of the prior.

The logarithm of the rate of a page is the place of its site plus the page's own deviation. Deviations of all pages have
one distribution, the shares of the `Prior`; places have a mean, the prior's, and a standard deviation, `Prior.apart`.
A site has ten bytes: its place, in steps of the grid of rates, how vague that is, and two sums of a round under way.

A round looks at the beliefs of all pages once. What a belief adds to the prior it was made with is an observation of
the place: the deviation of its mean, and as its weight the share of the prior's variance that is gone. `settle` then
finds how far sites lie apart (the estimate of DerSimonian and Laird, 1986), and shrinks the place of each: the fewer
pages are known of a site, the nearer to all others. Where all sites are alike, they are found to lie 0
apart, and there is one prior for all.

Invariants, each a test of the same name:

- A site of which nothing is known is like all others.
- More pages say more of a site.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.base.arrays import F32, F64, U8, Array
from gossamer.manager.revisits.rates import STEP, WIDTHS, Belief, Homes, Prior

_FARTHEST: Final = 100
"""Steps between a site and the mean of all."""
_WIDEST: Final = 3.0
_SILENT: Final = 0.01
"""A page that says less than this hundredth of what a well-known one says is left out: there its observation is the
difference of two numbers that are nearly the same."""


class Sites(NamedTuple):
    """The columns, one row for each site."""

    pace: npt.NDArray[np.int8]
    """Steps of its place from the mean of all sites; one step is a factor of 1.15 in the rate."""
    vague: U8
    """1 + index of its standard deviation in `WIDTHS`; 0: nothing is known of the site."""
    weight: F32
    """In a round under way: the weight of the pages that were added."""
    total: F32
    """In a round under way: sum of the weighted logarithms, above the mean of the prior."""

    @staticmethod
    def none(sites: int) -> Sites:
        return Sites(
            np.zeros(sites, np.int8),
            np.zeros(sites, np.uint8),
            np.zeros(sites, np.float32),
            np.zeros(sites, np.float32),
        )

    def homes(self, sites: Array, prior: Prior) -> Homes:
        """What the prior is for pages of these sites."""
        vague = self.vague[sites]
        return Homes(self.pace[sites].astype(np.int64), np.where(vague > 0, vague - np.int64(1), _index(prior.apart)))

    def gather(self, sites: Array, belief: Belief, prior: Prior) -> None:
        """Adds the beliefs of these pages, one of each of `sites`, to the sums of the round."""
        home, (mean, variance) = self.homes(sites, prior), prior.moments
        within = variance - prior.apart**2
        before = within + WIDTHS[home.width] ** 2
        own, spread = belief.mean - mean - STEP * home.shift, belief.spread.astype(np.float64) ** 2
        # the observation that turns what was believed before into the belief: where it lies, and its variance
        said = 1 / np.maximum(1 / np.maximum(spread, 1e-3) - 1 / before, 1e-9)
        where = STEP * home.shift + own * (before + said) / before
        weight = within / (within + said)
        weight[weight < _SILENT] = 0
        np.add.at(self.weight, sites, weight.astype(np.float32))
        np.add.at(self.total, sites, (weight * where).astype(np.float32))

    def settle(self, prior: Prior) -> Prior:
        """Ends the round: the place of every site, and the prior with its mean at the mean of these places."""
        known = np.flatnonzero(self.weight > 0)
        weight, total = (of[known].astype(np.float64) for of in (self.weight, self.total))
        self.weight[known], self.total[known] = 0, 0
        if not len(known):
            return prior
        within = prior.moments[1] - prior.apart**2
        places, precision = total / weight, weight / within
        apart = _apart(places, precision)
        sure = 1 / (1 / precision + apart**2)
        centre = float((sure * places).sum() / sure.sum())
        kept = precision * apart**2 / (1 + precision * apart**2)
        self.pace[known] = np.clip(np.rint(kept * (places - centre) / STEP), -_FARTHEST, _FARTHEST)
        self.vague[known] = 1 + _index(apart * np.sqrt(1 - kept)) if apart else 0
        return prior._replace(shares=prior.moved(round(centre / STEP)), apart=apart)


def _apart(places: F64, precision: F64) -> float:
    """Standard deviation between sites, from their places and how well each is known."""
    total = precision.sum()
    surplus = float((precision * (places - (precision * places).sum() / total) ** 2).sum()) - (len(places) - 1)
    scale = float(total - (precision**2).sum() / total)
    return min(_WIDEST, float(np.sqrt(max(0.0, surplus / scale)))) if scale > 0 else 0.0


def _index(spreads: F64 | float) -> Array:
    """Index of the nearest of `WIDTHS`."""
    found: Array = np.abs(np.asarray(spreads)[..., None] - WIDTHS).argmin(-1)
    return found
