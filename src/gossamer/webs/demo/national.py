"""The demonstration Web with the distributions that the thesis measured on the Web of Chile (chapter 8).

| property | value | where |
|---|---|---|
| pages per site | exponent 1.77 from 1 on: half of the sites have one page | 8.4.1 |
| deepest page of a site | 1.5 on average | 8.4.3 |
| age of a site | 55 % younger than a year, 75 % than two; its pages: exponential, mean one year | 8.3.3, 8.4.4 |
| length | rising up to 12 KB, then exponent 3.54 | 8.3.2, 8.7.1 |
| dynamic pages | more with each level; PHP, then ASP, then Java | 8.3.4, 8.3.6 |
| languages | Spanish on small sites, 27 % of the pages in English, on large and deep ones | 8.3.5 |
| other files | by extension in the order of figures 8.7 to 8.10 | 8.3.7 to 8.3.10 |
| further links | tail 2.8 of the links that pages give, 2.3 of those that they get, from 50 on | 8.7.2 |
| links between sites | the ten parts of the bow-tie, with their shares | 8.6.5 |

What chapter 8 gives only as a picture is chosen: all shares of extensions, and which language a site has. External
links lead to the three names that RFC 2606 reserves, so that com, org and net have their shares; no other name is used,
because every name below a country belongs to somebody. Kinds of sites and pages that chapter 8 does not know (`OFF`)
are left out. Ages are counted from `Shape.now`. Further links only lead nearer to the home page, so that breadth-first
finds each page at its level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.site import Site, Ties

SITE_EXPONENT: Final = 1.77
SITES, PAGES, LARGEST = 600, 6_000, 2_000
OFF: Final[dict[str, Any]] = dict.fromkeys(
    ("busy", "torn", "slow", "delays", "unavailable", "shared", "sessions", "calendars", "soft", "mirrors", "twins",
     "sitemaps", "down", "tls", "old"), 0,
)  # fmt: skip
SHAPE: Final[dict[str, Any]] = {
    **OFF, "national": True, "sites": SITES, "pages": PAGES, "largest": LARGEST, "dynamic": 0.45, "duplicates": 0.075,
    "redirects": 0.07, "broken": 0.11,
}  # fmt: skip
"""The options that go with it."""
DEEPEST: Final = 10
PARTS: Final = {
    "main_norm": 0.0289, "main_main": 0.0316, "main_in": 0.0120, "main_out": 0.0326, "in": 0.0723, "out": 0.1815,
    "tentacle_in": 0.0275, "tentacle_out": 0.0423, "tunnel": 0.0033,
}  # fmt: skip
"""Shares of the sites (figure 8.22); all others are islands."""
PAIRED: Final = 0.038
"""Share of the sites that are islands with a link: the rest of the 47 % that table 8.3 has."""
LINKING_OUT: Final = 0.038
"""Share of the sites that are in OUT and link to another: the rest of the 28 % of sites that link (table 8.3)."""
POPULAR: Final = 2.1
"""Exponent of the links between sites."""
ENGLISH: Final = 0.27
LARGE: Final = 40
"""Pages from which on a site may be English."""
YOUNGER: Final = (0.55, 0.75)
"""Shares of the sites that are younger than one year, and than two."""
_BEND: Final = math.log(math.log(1 - YOUNGER[1]) / math.log(1 - YOUNGER[0])) / math.log(2)
SCRIPTS: Final = (*["article.php"] * 9, *["view.php"] * 6, *["show.asp"] * 4, *["item.jsp"] * 2, "list.cfm")
FILES: Final = (
    *["/files/{}-{}.pdf"] * 30, *["/files/{}-{}.doc"] * 14, *["/files/{}-{}.ppt"] * 2, *["/media/{}-{}.ram"] * 6,
    *["/media/{}-{}.mp3"] * 4, "/media/{}-{}.avi", *["/src/{}-{}.c"] * 4, *["/src/{}-{}.java"] * 2,
    *["/down/{}-{}.rpm"] * 8, *["/down/{}-{}.exe"] * 4, *["/down/{}-{}.tar.gz"] * 9, *["/down/{}-{}.zip"] * 5,
)  # fmt: skip
IMAGES: Final = (*["gif"] * 12, *["jpg"] * 7, "png")
EXTERNAL: Final = (("example.com", 0.65110), ("example.org", 0.11806), ("example.net", 0.08406))
ELSEWHERE: Final = "invalid"
SIZE_PEAK, SIZE_TAIL = 12_000, 3.54
MANY: Final = 10
"""Links that half of the pages have."""
GOLDEN: Final = (math.sqrt(5) - 1) / 2
TAIL_SHARE: Final = 0.03
TAIL_FROM, OUT_TAIL, IN_TAIL, MOST = 50, 2.8, 2.3, 1_000


def sizes(sites: int, pages: int, largest: int) -> list[int]:
    """Pages per site, largest first: quantiles of the law, cut where their sum is `pages`."""
    low, high = 1, largest
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if sum(_quantiles(sites, middle)) < pages else (low, middle)
    found = _quantiles(sites, low)
    for n in range(pages - sum(found)):  # what the largest may not have goes to the next
        found[n % max(1, sites // 10)] += 1
    for n in range(sum(found) - pages):
        found[n % max(1, sites // 50)] -= 1
    return found


def _quantiles(sites: int, most: int) -> list[int]:
    heights, total = [], 0.0
    for size in range(1, most + 1):
        total += size**-SITE_EXPONENT
        heights.append(total)
    found, size = [], 0
    for rank in range(sites):
        while heights[size] < (rank + 0.5) / sites * total:
            size += 1
        found.append(size + 1)
    return found[::-1]


def deepest(pages: int) -> int:
    """The depth of the deepest page of a site."""
    return min(pages - 1, DEEPEST, round(1.4 * math.log2(pages))) if pages > 1 else 0


def connected(seed: int, sites: Sequence[Site]) -> list[Site]:
    """Links between sites that make the parts of the bow-tie. MAIN is a ring; IN leads to the parts of MAIN that it
    reaches directly, OUT gets links from those that reach it."""
    order = Dice(seed, "parts").shuffled([s.number for s in sites])
    places: dict[str, list[int]] = {}
    for part, share in PARTS.items():
        count = max(1, round(share * len(sites)))
        places[part], order = order[:count], order[count:]
    main = [n for part in ("main_main", "main_in", "main_out", "main_norm") for n in places[part]]
    entered, left = places["main_main"] + places["main_in"], places["main_main"] + places["main_out"]
    links: list[tuple[int, int]] = list(zip(main, main[1:] + main[:1], strict=True))
    for sources, targets, number in (
        (places["in"], entered, max(len(places["in"]), len(entered))),
        (left, places["out"], max(len(left), len(places["out"]))),
        (places["in"], places["tentacle_in"], len(places["tentacle_in"])),
        (places["tentacle_out"], places["out"], len(places["tentacle_out"])),
        (places["in"], places["tunnel"], len(places["tunnel"])),
        (places["tunnel"], places["out"], len(places["tunnel"])),
    ):
        links += _dealt(Dice(seed, "dealt", sources[0], targets[0]), sources, targets, number)
    paired = order[: round(PAIRED * len(sites)) // 2 * 2]
    for n in range(0, len(paired), 2):
        links.append((paired[n], paired[n + 1]))
    outs = places["out"]
    links += [(outs[n], outs[n + 1]) for n in range(round(LINKING_OUT * len(sites)))]
    promised: dict[int, list[int]] = {}
    for source, target in links:
        promised.setdefault(source, []).append(target)
    pools = dict.fromkeys(places["in"], tuple(entered)) | dict.fromkeys(main, tuple(main))
    mixed = tuple(n for both in zip(outs, main * 2, strict=False) for n in both)
    pools |= dict.fromkeys(left, mixed)
    for source, pool in pools.items():
        promised[source] += _more(Dice(seed, "friends", source), pool, len(promised[source]))
    found = {source: tuple(dict.fromkeys(n for n in those if n != source)) for source, those in promised.items()}
    linked = {target for those in found.values() for target in those}
    return [
        replace(s, ties=Ties(s.number in linked, s.number in found, promised=found.get(s.number, ()))) for s in sites
    ]


def _more(dice: Dice, pool: Sequence[int], there: int) -> list[int]:
    """Further sites that a site links to: their number, and how often each is chosen, follow power laws."""
    wanted = min(60, int((1 - dice.unit()) ** (-1 / (POPULAR - 1)))) - there
    return [dice.pick(pool, (POPULAR - 1) / (POPULAR - 2)) for _ in range(wanted)]


def _dealt(dice: Dice, sources: Sequence[int], targets: Sequence[int], number: int) -> list[tuple[int, int]]:
    """`number` links. No site gets a second one before all others of its side have one; then the first have most."""
    few = (POPULAR - 1) / (POPULAR - 2)
    return [
        (
            sources[n] if n < len(sources) else dice.pick(sources, few),
            targets[n] if n < len(targets) else dice.pick(targets, few),
        )
        for n in range(number)
    ]


def in_english(sites: Sequence[Site]) -> set[int]:
    """Numbers of the English sites: large ones, until they have their share of all pages."""
    wanted, found = ENGLISH * sum(s.pages for s in sites), set[int]()
    for s in sorted(sites, key=lambda s: (-s.pages, s.number))[1:]:
        if LARGE <= s.pages <= wanted:
            found.add(s.number)
            wanted -= s.pages
    return found


def evenly(number: int, items: Sequence[str]) -> str:
    """The item of this number, so that few have the shares of all, too."""
    return items[int(number * GOLDEN % 1 * len(items))]


def external(number: int) -> str:
    """The end of the name of a host elsewhere, for the link of this number: as evenly."""
    at = number * GOLDEN % 1
    for name, share in EXTERNAL:
        at -= share
        if at < 0:
            return name
    return ELSEWHERE


def age(seed: int, site: Site, number: int) -> float:
    """Years since a page changed. The home page is the oldest of its site; larger sites are older."""
    at = _below(site.pages - 1) + Dice(seed, "born", site.number).unit() * site.pages**-SITE_EXPONENT / _below(LARGEST)
    born: float = (math.log(1 - at) / math.log(1 - YOUNGER[0])) ** (1 / _BEND)
    if number == 0:
        return born
    return -math.log(1 - Dice(seed, "age", site.number, number).unit() * (1 - math.exp(-born)))


@cache
def _below(pages: int) -> float:
    """The share of the sites with at most so many pages; of the largest, the sum before it is a share."""
    whole = math.fsum(size**-SITE_EXPONENT for size in range(1, LARGEST + 1))
    return whole if pages == LARGEST else math.fsum(size**-SITE_EXPONENT for size in range(1, pages + 1)) / whole


def length(dice: Dice, links: int) -> int:
    """Bytes of a page, as many as are missing when the last piece of text is begun: more often above the peak if the
    page has many links (8.5.1). Both parts meet at the peak, which sets their shares."""
    above = 2 / (SIZE_TAIL + 1)
    if dice.chance(above + (0.25 if links > MANY else -0.25)):
        return int(SIZE_PEAK * (1 - dice.unit()) ** (-1 / (SIZE_TAIL - 1))) - 1_000
    return max(500, int((SIZE_PEAK - 500) * math.sqrt(dice.unit())) - 1_000)


def dynamic(levels: Sequence[int], share: float, most: int) -> list[float]:
    """By level up to `most`: the share of dynamic pages, more on each, with this share of the pages of these levels."""
    weights = [0.6 + 0.15 * level for level in range(most + 1)]
    found = [weights[level] for level in levels if level <= most]
    mean = sum(found) / max(1, len(found))
    return [min(0.97, share * weight / max(mean, 0.1)) for weight in weights]


def further(dice: Dice, level: int, statics: Sequence[int], levels: Sequence[int], there: int) -> set[int]:
    """Links to static pages of the site that are nearer to its home page: so no page is nearer than by its parent.
    `there`: links that the page has besides."""
    count = int((1 - dice.unit()) ** (-1 / 1.2)) - 1
    if dice.chance(TAIL_SHARE):
        count = int(TAIL_FROM * (1 - dice.unit()) ** (-1 / (OUT_TAIL - 1))) - there
    above = next((n for n, page in enumerate(statics) if levels[page] > level), len(statics))
    found, tries = set[int](), 0
    while len(found) < min(count, MOST, above) and tries < 10 * count:
        found.add(dice.pick(statics[:above], (IN_TAIL - 1) / (IN_TAIL - 2)))
        tries += 1
    return found
