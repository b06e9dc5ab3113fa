"""The Web of 001's experiment: 177 sites of very different size, answers with a long tail, some dead sites.

Everything follows from the seed: any process can compute the content of any page and the duration of its answer. Sizes
follow a Zipf law, as in the demonstration Web (figure 4 of 001 has no numbers). A site is a tree: page n > 0 is linked
from page (n - 1) // BRANCHES, and every page links to the home page. Times are those of the paper divided by `scale`:
five processes took 21.7 minutes for 20,000 pages, so a page took 0.33 s. They are log-normal over the sites and within
each (standard deviations of the logarithm: `SPREAD`); one in a hundred takes fourteen times the median.

Dead sites accept connections and never answer. Other sites link to their pages, which are `DEAD_URLS` of all URLs.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.sites import normal, sizes
from gossamer.webs.demo.words import PLAIN

DOMAIN: Final = "scheduling.test"
SITES: Final = 177
DEAD_SITES: Final = 7
DEAD_URLS: Final = 0.007
BRANCHES: Final = 6
SPREAD: Final = (0.8, 0.8)
PAGE_SECONDS: Final = 5 * 21.7 * 60 / 20_000
LARGEST: Final = 0.05
"""Share of the pages that the largest site has: with more, no schedule could keep 5 processes busy."""
WORDS: Final = (60, 900)


@dataclass(frozen=True)
class ExperimentWeb:
    pages: int
    scale: float
    """Divisor of the paper's times."""
    sites: int = SITES
    dead: int = DEAD_SITES
    seed: int = 1

    @cached_property
    def sizes(self) -> list[int]:
        """Pages of each site. The last `dead` sites are dead; their pages are not part of `pages`."""
        largest = max(2, int(self.pages * LARGEST), -(-self.pages // (self.sites - self.dead)))
        alive = sizes(self.sites - self.dead, self.pages, largest)
        each = max(1, round(self.pages * DEAD_URLS / self.dead)) if self.dead else 0
        return [*Dice(self.seed, "order").shuffled(alive), *[each] * self.dead]

    @property
    def alive(self) -> int:
        return self.sites - self.dead

    @property
    def urls(self) -> int:
        """All URLs, those of dead sites included."""
        return sum(self.sizes)

    @property
    def seeds(self) -> list[tuple[int, int]]:
        """Site and page: the home pages of the sites that answer."""
        return [(site, 0) for site in range(self.alive)]

    @property
    def timeout(self) -> float:
        """Seconds to the first byte: 15, scaled."""
        return 15.0 / self.scale

    def address(self, site: int) -> str:
        return f"127.{32 + self.seed % 64}.{1 + site // 250}.{1 + site % 250}"

    def host(self, site: int) -> str:
        return f"s{site}.{DOMAIN}"

    def url(self, site: int, page: int) -> str:
        return f"http://{self.host(site)}/" + (f"p{page}.html" if page else "")

    def page_of(self, path: str) -> int:
        """The number of the page with this path; -1 if there is none."""
        if path == "/":
            return 0
        number = path.removeprefix("/p").removesuffix(".html")
        return int(number) if path == f"/p{number}.html" and number.isdigit() else -1

    @cached_property
    def _of_sites(self) -> list[float]:
        """Scaled such that the mean over all pages that answer is 1, for any seed."""
        found = [_log_normal(SPREAD[0], self.seed, "site", site) for site in range(self.sites)]
        mean = sum(found[site] * self.sizes[site] for site in range(self.alive)) / self.pages
        return [each / mean for each in found]

    def seconds(self, site: int, page: int) -> float:
        """Seconds until the server answers."""
        return PAGE_SECONDS / self.scale * self._of_sites[site] * _log_normal(SPREAD[1], self.seed, "page", site, page)

    def links(self, site: int, page: int) -> list[tuple[int, int]]:
        found = [(site, n) for n in range(page * BRANCHES + 1, page * BRANCHES + BRANCHES + 1) if n < self.sizes[site]]
        return [*found, *self._to_dead.get((site, page), ()), (site, 0)]

    @cached_property
    def _to_dead(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """Pages that link to pages of dead sites: anywhere, as in a real Web, so that they are found at any time."""
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        dice = Dice(self.seed, "dead")
        everywhere = [(site, page) for site in range(self.alive) for page in range(self.sizes[site])]
        for site in range(self.alive, self.sites):
            for page in range(self.sizes[site]):
                found.setdefault(dice.pick(everywhere), []).append((site, page))
        return found

    def body(self, site: int, page: int) -> bytes:
        dice = Dice(self.seed, "text", site, page)
        low, high = WORDS
        text = " ".join(dice.pick(PLAIN) for _ in range(int(low * (high / low) ** dice.unit())))
        links = "\n".join(f'<a href="{self.url(*to)}">{dice.pick(PLAIN)}</a>' for to in self.links(site, page))
        head = f"<html><head><title>{self.host(site)} {page}</title></head>"
        return f"{head}<body><p>{text}</p>\n{links}</body></html>".encode()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _log_normal(spread: float, *key: int | str) -> float:
    """A log-normal number with mean 1."""
    return math.exp(spread * normal(Dice(*key))[0] - spread * spread / 2)
