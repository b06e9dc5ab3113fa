"""The link scores by name, and how a share of a whole becomes a score between 0 and 1.

Light to import: settings are checked against this table by commands that must start at once. What computes the scores
is in `pagerank`, `hits`, `siterank` and `weighted`.

**A share as a score.** PageRank, hub and authority scores, in-degrees and OPIC's cash are shares of a whole among n
pages, and very skewed: most are far below 1/n, a few a thousand times that. As a score, a share x is

    log2(1 + n x) / log2(1 + n)        0 for nothing, 1 for the whole, 1/log2(1 + n) for the mean page

(the thesis, too, works with the logarithm: 3.4), with log2 drawn straight between powers of two, which is what the bits
of a floating-point number say: it rises, is nowhere off by more than .09, and costs next to nothing in a pass over all
pages. All shares are measured alike, so their sum makes sense: it was chosen by an area under the curve of figure 4.4.
Refused: dividing by the largest (then all pages but a handful are next to 0, and cash drowns PageRank: an area of .636
against .659); ranks among all pages (a sort); x / (x + mean) (no better than cash alone).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinkScore:
    sentence: str
    source: str


LINK_SCORES: Final = {
    "pagerank": LinkScore("How often one who follows links at random comes by.", "Page et al. 1998; thesis 7.3.4"),
    "indegree": LinkScore("Links that lead to the page.", "thesis 2.4"),
    "siterank": LinkScore("PageRank of the page's site in the graph of links between sites.", "thesis 7.2.1"),
    "linkrank": LinkScore(
        "PageRank in which links weigh more that come first or say more.", "Baeza-Yates and Davis 2004; thesis 7.2.1"
    ),
    "hub": LinkScore("How much the page points to authorities.", "Kleinberg 1999; thesis 2.4"),
    "authority": LinkScore("How much hubs point to the page.", "Kleinberg 1999; thesis 2.4"),
}
"""Those that can be computed here."""

PARTS: Final = {
    "main_norm": "In MAIN, without a link from IN or to OUT.",
    "main_main": "In MAIN, with a link from IN and one to OUT.",
    "main_in": "In MAIN, with a link from IN.",
    "main_out": "In MAIN, with a link to OUT.",
    "in": "Can reach MAIN, cannot be reached from it.",
    "out": "Can be reached from MAIN, cannot reach it.",
    "tentacle_in": "Can be reached from IN.",
    "tentacle_out": "Leads to OUT.",
    "tunnel": "Leads from IN to OUT past MAIN.",
    "island": "None of these.",
}
"""Parts of the bow-tie (`components`), in the order of their numbers."""


def share_score(share: npt.NDArray[Any], count: int) -> F64:
    """Scores of shares of a whole among `count`; the shares are between 0 and 1."""
    if count < 1:
        return np.zeros(len(share))
    found: F64 = np.minimum(straight_log2(share * float(count)) / straight_log2(np.array([float(count)])), 1.0)
    return found


def straight_log2(x: F64) -> F64:
    """log2(1 + x), straight between powers of two: exponent and fraction of the number, read as one."""
    bits: npt.NDArray[np.int64] = (1.0 + x).view(np.int64)
    return np.asarray(bits * 2.0**-52 - 1023.0)
