"""The names of the link scores, and the conversion of a share of a whole to a score between 0 and 1.

This module is light to import: commands that must start at once check settings against its table. The scores are
computed in `pagerank`, `hits` and `weighted`.

**A share as a score.** PageRank, hub and authority scores, in-degrees and the cash of OPIC are shares of a whole among
n pages. They are very skewed: most are far below 1/n, a few are a thousand times 1/n. The score of a share x is

    log2(1 + n x) / log2(1 + n)        0 for nothing, 1 for the whole, 1/log2(1 + n) for the mean page

(the thesis uses the logarithm too: 3.4). log2 is interpolated linearly between powers of two, which is what the bits of
a floating-point number give: it is monotonic, the error is at most .09, and it costs almost nothing in a pass over all
pages. All shares have the same scale, so that they can be added. The formula was chosen by the area under the curve of
figure 4.4. Refused: dividing by the largest share (all but a few pages are then almost 0, and cash dominates PageRank:
an area of .636 against .659); ranks among all pages (needs a sort); x / (x + mean) (no better than cash alone).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, Array


@dataclass(frozen=True, slots=True)
class LinkScore:
    """What a link score means, and where it comes from."""

    sentence: str
    source: str


LINK_SCORES: Final = {
    "pagerank": LinkScore("Probability that a random surfer is at the page.", "Page et al. 1998; thesis 7.3.4"),
    "indegree": LinkScore("Number of links to the page.", "thesis 2.4"),
    "siterank": LinkScore("PageRank of the page's site in the graph of links between sites.", "thesis 7.2.1"),
    "linkrank": LinkScore(
        "PageRank in which early links and links with long texts weigh more.",
        "Baeza-Yates and Davis 2004; thesis 7.2.1",
    ),
    "hub": LinkScore("How much the page links to authorities.", "Kleinberg 1999; thesis 2.4"),
    "authority": LinkScore("How much hubs link to the page.", "Kleinberg 1999; thesis 2.4"),
    "plugin": LinkScore("What a plug-in gives the page.", "your own: plugins.score"),
}
"""The link scores: those that this package computes, and the one of a plug-in, which comes with them."""

PARTS: Final = {
    "main_norm": "In MAIN, without a link from IN or to OUT.",
    "main_main": "In MAIN, with a link from IN and one to OUT.",
    "main_in": "In MAIN, with a link from IN.",
    "main_out": "In MAIN, with a link to OUT.",
    "in": "Can reach MAIN, cannot be reached from it.",
    "out": "Can be reached from MAIN, cannot reach it.",
    "tentacle_in": "Can be reached from IN.",
    "tentacle_out": "Leads to OUT.",
    "tunnel": "On a path from IN to OUT that does not pass MAIN.",
    "island": "None of these.",
}
"""Parts of the bow-tie (`components`), in the order of their numbers."""


def share_score(share: Array, count: int) -> F64:
    """The scores of shares, between 0 and 1, of a whole among `count` pages."""
    if count < 1:
        return np.zeros(len(share))
    found: F64 = np.minimum(straight_log2(share * float(count)) / straight_log2(np.array([float(count)])), 1.0)
    return found


def straight_log2(x: F64) -> F64:
    """log2(1 + x), linear between powers of two: exponent and fraction of the number, read as one number."""
    bits: I64 = (1.0 + x).view(np.int64)
    return np.asarray(bits * 2.0**-52 - 1023.0)
