"""Costs that multiply: searches for pages, robots.txt files and sitemaps whose cost grows faster than their size.

    python -m bench.costs [page|robots|sitemap …] [--pairs 2000] [--seed 1] [--worst 12] [--part 3/40]

Each reader has *pieces*: what such a file consists of, and what a hostile one repeats. A *mixture* is two pieces, which
may be the same, in one of four arrangements: all of the first before all of the second, alternating, nested (the second
inside the first), or one long piece of the first before many of the second. A cost that multiplies shows in one of
them: twice the bytes take four times as long.

The search measures random mixtures (`--pairs 0`: all 38,000, which takes an hour; `--part 3/40` is the third of forty
parts that together are all) at the full size and, if it takes long, at a half and a quarter. The growth of a mixture is
the smaller one of its two doublings: passing a limit makes one jump, a cost that multiplies shows in both. Time is CPU
time, the best of several attempts. The worst mixtures, and the `WORST` files of each kind, are then read at the limit
of their kind, in a process of their own, for time and memory.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Final, NamedTuple

from bench.bounds import Figure, judge
from gossamer.base.model import Ask, Assignment
from gossamer.config.settings import ExtractRule, HarvesterSettings, PluginSettings, SeederSettings, Settings
from gossamer.gatherer.reader import Reader
from gossamer.plugins.kinds import BUILT_IN
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.fetch.response import read_head

GROWTH: Final = 2.3
"""How many times the cost may grow when the size doubles."""
SECONDS: Final = 2.0
MEGABYTES: Final = 300.0
"""What the worst file may take in a worker: CPU time, and peak memory of the whole process."""
HOLE: Final = "~"
"""Where a piece has room for a long value."""
NUMBER: Final = "#"
"""Replaced by the number of the repetition, so that no two pieces are the same."""
ARRANGED: Final = ("one after the other", "alternating", "nested", "one long, many short")
_VALUES: Final = ("x", "www.", "a/", "../", "%41", "&amp;", " ", "é", "?a=1&")
_ATTEMPTS: Final = 4
_MARK: Final = struct.Struct("<dd")


class Piece(NamedTuple):
    """A piece of a file, and what closes it if others are nested in it."""

    opens: str
    closes: str = ""


def _pieces(text: str) -> tuple[Piece, ...]:
    """A piece per line: its text, and what closes it after `¦`. "\\n" is a line end."""
    lines = (line.replace("\\n", "\n").split("¦") for line in text.strip("\n").split("\n"))
    return tuple(Piece(*parts) for parts in lines)


@dataclass(frozen=True, slots=True)
class Kind:
    """What is read: the pieces of such a file and its limits."""

    name: str
    ask: Ask
    mime: str
    beginnings: tuple[str, ...]
    """How a file may begin; a mixture draws one."""
    after: str
    size: int
    """Bytes at which growth is measured, from the half to the whole."""
    limit: int
    """Bytes of the largest file, decoded."""
    pieces: tuple[Piece, ...]
    notable: float
    """Seconds of CPU time at `size`: a mixture that takes no longer is cheap however it grows."""
    extracting: bool = False
    """Whether the settings have rules of extraction, and all processors that are built in."""


PAGE: Final = Kind(
    "page",
    Ask.PAGE,
    "text/html",
    (
        "<!doctype html><html><head><title>t</title></head><body><p>Some words of an ordinary page.",
        "<!doctype html>",
        "",
    ),
    "</body></html>",
    400_000,
    4_000_000,
    _pieces(r"""
<a href="/~#">x</a>
<a href="~#">x¦</a>
<a href="http://h#.example/~">x</a>
<a href="../~#" rel="nofollow ~">x</a>
<a href=/x/#><img alt="~"></a>
<a href="//www.example.org/~#.pdf">x</a>
<a href="mailto:~#">x</a>
<a href="/?sid=~&#">x</a>
<a href="/;jsessionid=~#">x</a>
<a href="/(S(~#))/x">x</a>
<a href="x#"><object>¦</object></a>
<area href="/~#" alt="~">
<base href="/~">
<link rel="canonical ~" href="/~#">
<link rel=canonical href="~#">
<link rel=alternate hreflang=en href="~#">
<a href="http://~#.example/">x</a>
<a href="http://www.www.www.www.www.www.www.www.www.www.www.www.www.www.www.www.www.www.www.www.#.example/">x</a>
<link rel="alternate" hreflang=~ href="~#">
<meta name=robots content="noindex, ~">
<meta name=robots content="unavailable_after: 1 ~">
<meta name=robots content="max-~: 1">
<meta http-equiv=refresh content="0; url=~#">
<meta name=description content="~">
<meta name=tdm-policy content="~#">
<meta http-equiv=content-language content="~">
<meta charset=~>
<html lang=~ a#=1>
<body a#=~>
<img src="/~#" srcset="~ 1x, ~ 2x" alt="~">
<iframe src="/~#">¦</iframe>
<frameset><frame src="/~#">
<!--~
<!--~-->
<!~
<?~
</~
<![CDATA[~
<![CDATA[~]]>
<script>~¦</script>
<script src="/~#"></script>
<style>~</style>
<title>~¦</title>
<textarea>~¦</textarea>
<template>~¦</template>
<noscript>~¦</noscript>
<xmp>¦</xmp>
<plaintext>
<div>~¦</div>
<div a#="~">¦</div>
<p>~¦</p>
<li>~¦</li>
<dd><dt>¦</dd>
<b>~¦</b>
<b #>¦</b>
<font color=#>¦</font>
</b>
</p>
</a>
</br>
<i><p>¦</i>
<nobr>¦</nobr>
<table><tr><td>~¦</table>
<table>~
<td>¦</td>
<tr>
<caption>
<svg>¦</svg>
<svg><a xlink:href="/~#">¦</a></svg>
<math><mi>¦</mi></math>
<foreignObject>¦</foreignObject>
<select><option>~¦</select>
<option>~
<optgroup>¦</optgroup>
<button>¦</button>
<form>¦</form>
<input type=password name=~>
<rt>¦</rt>
<h1>~¦</h1>
<pre>~\n¦</pre>
<marquee>¦</marquee>
<p a#=1 ~=2
 a#=1
 a#="~"
 ='
 "
 '
=
/
<
>
&amp;
&#38;
&
&NotEqualTilde;
word#
~
\n
 é
日本
𝒳
"""),
    0.12,
)
ROBOTS: Final = Kind(
    "robots",
    Ask.ROBOTS,
    "text/plain",
    ("User-agent: gossamer\n", "User-agent: *\nUser-agent: other\n", ""),
    "\n",
    512_000,
    512_000,
    _pieces(r"""
User-agent: gossamer\n
User-agent: *\n
User-agent: a#~\n
User-agent: *\nUser-agent: b#\n
Disallow: /~#\n
Disallow: \n
Disallow:~\n
Allow: /~#\n
Disallow: /*~#\n
Disallow: /*a*~$\n
Disallow: /%41%2f~#\n
Disallow: %\n
Allow: *\n
Disallow: /é~#\n
Crawl-delay: #\n
Crawl-delay: 1~e#\n
Crawl-delay: ~\n
Content-Usage: /~# train-ai=n\n
Content-Usage: train-ai=y, ~\n
Content-Signal: search=yes, a#=no~\n
License: https://example.org/~#\n
Sitemap: https://example.org/~#.xml\n
Sitemap: /~\n
sitemap~:\n
# ~\n
#
 \n
\n
\r
:
a~
Disallow~ /x#\n
User-agent~\n
<a href=~>
captcha
"""),
    0.3,
)
SITEMAP: Final = Kind(
    "sitemap",
    Ask.SITEMAP,
    "application/xml",
    (
        "<urlset><url>",
        "<urlset>",
        "<urlset><url><loc>http://example.org/1</loc>",
        "<sitemapindex><sitemap>",
        "<rss><channel><item>",
        "<feed><entry>",
        "<x:urlset xmlns:x='u'><x:url>",
        "http://example.org/\n",
        "",
    ),
    "",
    4_000_000,
    50_000_000,
    _pieces(r"""
<urlset>¦</urlset>
<urlset xmlns="~">
<x:urlset xmlns:x="~">
<sitemapindex>¦</sitemapindex>
<rss><channel>¦</channel></rss>
<feed>¦</feed>
<rdf:RDF>¦</rdf:RDF>
<url><loc>http://example.org/~#</loc></url>
<url><loc>~#</loc><lastmod>2020-01-01</lastmod></url>
<url>¦</url>
<loc>¦</loc>
<loc>http://example.org/~
<loc>&#38;&amp;~
<loc><![CDATA[~]]>
<loc><!--~-->
<lastmod>~¦</lastmod>
<lastmod>2020-13-45T99:99:99~#
<lastmod>Mon, 01 Jan 2020 00:00:00 ~
<sitemap><loc>/~#.xml</loc></sitemap>
<item><link>http://example.org/~#</link><pubDate>Mon, 01 Jan 2020 00:00:00 GMT</pubDate></item>
<item><link>¦</link></item>
<entry><link href="/~#"/><updated>~</updated></entry>
<link rel="~" href="
<link href='~
<!DOCTYPE~>
<!DOCTYPE x []
<!DOCTYPE [
<!ENTITY a "~">
<!--~
<!--~-->
<![CDATA[~
<![CDATA[~]]>
<?xml version="1.0" encoding="~"?>
<?~
<!~
<~
<a:~
<a:url~
</url>
</urlset>
>
]
&amp;
&#38;
http://example.org/~#\n
\n
x~
é
𝒳
"""),
    1.5,
)
EXTRACTED: Final = Kind(
    "extracted",
    Ask.PAGE,
    "text/html",
    PAGE.beginnings,
    "</body></html>",
    400_000,
    4_000_000,
    _pieces(r"""
<div itemscope>¦</div>
<div itemscope itemprop="a b">¦</div>
<div itemscope itemprop="~ #">¦</div>
<div itemscope itemref="i#">¦</div>
<div itemscope itemref="i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 ~">
<div itemscope itemtype="~" itemid="~">¦</div>
<div id=i#>¦</div>
<p id=i# itemprop=name>¦</p>
<p id=i1 itemprop="a b c ~">words of it
<p itemprop=x>¦</p>
<p title="~">words
<a itemprop=url href="~#">¦</a>
<meta itemprop=x content="~">
<time itemprop=t datetime="~">
<script type="application/ld+json">~¦</script>
<script type="application/ld+json">{"@id":"~","name":"#"}</script>
<script type="application/ld+json">{"@type":["~"],"@graph":[{"@id":"#"},{"url":"~"}]}</script>
<script type="application/ld+json">[¦]</script>
<script type="application/ld+json">{"a":"\ud800¦"}</script>
[{"@graph":
{"@type":"#"},
<meta property="og:image" content="~#">
<meta property="og:title" content="~">
<meta name="twitter:~" content=x>
<base href="/~">
<div class=row>¦</div>
<div class=row><p class=price>¦</p></div>
<p class=price>~ 1,234.5
<p class=price>1.~
<tr><td>x<td>
<td>~
<li class=row><a href="~#">x</a>
<span title="~">¦</span>
word~
&amp;
"""),
    0.3,
    extracting=True,
)
RULES: Final = (
    ExtractRule("rows", "price", css=".price", type="float", each=".row"),
    ExtractRule("rows", "all", css="*", many=True, each=".row"),
    ExtractRule("rows", "links", css="a", attribute="href", type="url", many=True, each=".row"),
    ExtractRule("cells", "second", css="td:nth-child(2)", type="int"),
    ExtractRule("cells", "after", css="p ~ p", many=True),
    ExtractRule("cells", "inside", css="div div div p", type="bool", many=True),
    ExtractRule("cells", "title", attribute="title", css="[title]", type="date", many=True),
    ExtractRule("texts", "texts", css="*", many=True),
)
"""Rules whose selectors cost most: inside one another, and beside one another."""
KINDS: Final = {kind.name: kind for kind in (PAGE, ROBOTS, SITEMAP, EXTRACTED)}
KNOWN: Final[tuple[str, ...]] = ()
"""Beginnings of pieces whose cost is known to multiply; mixtures with them are left out. To be empty."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Two pieces in one arrangement, in any size."""

    kind: Kind
    first: Piece
    second: Piece
    arranged: str
    value: str = "x"
    """What fills the hole of the long piece."""

    def made(self, size: int) -> bytes:
        """A file of about `size` bytes."""
        first, second, half = self.first, self.second, size // 2
        if self.arranged == "one after the other":
            parts = [*_many(first.opens, half), *_many(second.opens, half)]
        elif self.arranged == "alternating":
            parts = [*_many(first.opens + second.opens + second.closes + first.closes, size)]
        elif self.arranged == "nested":
            parts = [*_many(first.opens, size // 3), *_many(second.opens + second.closes, size // 3)]
            parts += _many(first.closes, size // 3)
        else:
            head, _, tail = first.opens.partition(HOLE)
            long = self.value * (half // len(self.value.encode()))
            parts = [head.replace(NUMBER, "0"), long, tail.replace(HOLE, "").replace(NUMBER, "0"), first.closes]
            parts += _many(second.opens + second.closes, half)
        beginning = random.Random(f"{self}").choice(self.kind.beginnings)
        return "".join((beginning, *parts, self.kind.after)).encode()

    def __str__(self) -> str:
        value = f" of {self.value!r}" if self.arranged == ARRANGED[3] else ""
        return f"{self.kind.name}: {self.first.opens!r} and {self.second.opens!r}, {self.arranged}{value}"

    @property
    def is_known(self) -> bool:
        return any(piece.opens.startswith(KNOWN) for piece in (self.first, self.second))


_LISTED: Final = replace(SITEMAP, beginnings=("<urlset>",))
_ALL: Final = (
    "<lastmod>Mon, 31 Feb # 00:00:00 +9999</lastmod>" + 3 * "<lastmod>x</lastmod>" + "<!---->" + 24 * "<a>" + 400 * " "
)
"""As many marks, tags and odd dates as count, for each of 50,000 entries."""
WORST: Final = (
    *(
        Mixture(_LISTED, Piece(each), Piece(""), ARRANGED[0])
        for each in (
            "<",
            "<loc",
            "<url><loc>",
            "<!---->",
            "<![CDATA[]]>",
            "<!DOCTYPE []",
            f"<url><loc>{'&#38;' * 3_000}</loc></url>",
            f"<url><loc>{'<![CDATA[x]]>' * 1_000}</loc></url>",
            f"<url><loc>/#{'%7e' * 80}</loc></url>",
            f"<url><loc>/../%7e/é/#{'é' * 80}?sid=#</loc></url>",
            "<url><loc>/#</loc>" + "<lastmod>Mon, 31 Feb # 00:00:00 +9999</lastmod>" * 4 + "</url>",
            f"<url><loc>http://#{'é.ü.' * 15}example/</loc></url>",
            "<url><loc>/#𝒳</loc></url>",
            " ",
            f"<url><loc>/../#?{'é=%7e&' * 30}sid=0123456789abcdef0123456789abcdef</loc>{_ALL}</url>",
            f"<url><loc>/#?{'%2e%2e/' * 33}</loc>{_ALL}</url>",
            f"<url><loc>/é#?{'?' * 230}</loc>{_ALL}</url>",
            f"<url><loc>/é#?{'&s' * 115}</loc>{_ALL}</url>",
            f"<url><loc><!---->/é/#&#38;{'é' * 80}<!----></loc>{_ALL}</url>",
        )
    ),
    Mixture(replace(_LISTED, mime="text/xml; charset=windows-874"), Piece("\u0741"), Piece(""), ARRANGED[0]),
    Mixture(
        replace(_LISTED, mime="text/xml; charset=utf-16be", beginnings=("\0<\0u\0r\0l\0s\0e\0t\0>",)),
        Piece("\u0600"), Piece(""), ARRANGED[0],
    ),
    Mixture(replace(_LISTED, mime="text/xml; charset=gb18030"), Piece("\u0600"), Piece(""), ARRANGED[0]),
)  # fmt: skip
"""Sitemaps that take long or much memory, each for another reason; in the last ones no byte means anything."""


def _many(text: str, size: int) -> Iterator[str]:
    """The text again and again, with numbers, up to `size` bytes."""
    text = text.replace(HOLE, "x")
    if not text:
        return
    length = len(text.encode())
    if NUMBER in text:
        head, *tails = text.split(NUMBER)
        for number in range(size // (length + 3 * len(tails))):
            yield head + "".join(f"{number}{tail}" for tail in tails)
    else:
        yield text * (size // length)


def mixtures(kind: Kind) -> list[Mixture]:
    """Every pair of pieces in every arrangement that differs from the others."""
    found = []
    for first, second in product(kind.pieces, repeat=2):
        for arranged in ARRANGED[:2]:
            if arranged == ARRANGED[0] or first != second:
                found.append(Mixture(kind, first, second, arranged))
        if first.closes:
            found.append(Mixture(kind, first, second, "nested"))
        if HOLE in first.opens:
            found += [Mixture(kind, first, second, ARRANGED[3], value) for value in _values(first, second)]
    return found


def _values(first: Piece, second: Piece) -> Sequence[str]:
    """All values for one piece alone, and one of them, drawn by the pair, for two."""
    if first == second:
        return _VALUES
    return (random.Random(first.opens + second.opens).choice(_VALUES),)


@cache
def reader(extracting: bool = False) -> Reader:
    """A worker's reader, with the usual settings, or also with all kinds of extraction."""
    seeder = SeederSettings(domains=("example.org", "example"))
    plugins = PluginSettings(process=BUILT_IN, extract=RULES) if extracting else PluginSettings()
    return Reader(Settings(seeder=seeder, harvester=HarvesterSettings(contact="a@example.org"), plugins=plugins), 7)


def read(kind: Kind, body: bytes, encoding: str = "") -> int:
    """Reads a body as a worker does, from its bytes to the frame for the desk; returns the length of the frame."""
    asked = Assignment(1, kind.ask, 1, 1, 1, b"http://example.org/folder/page.html", "127.0.0.1", 80)
    headers = {"content-type": kind.mime} | ({"content-encoding": encoding} if encoding else {})
    lines = [f"{name}: {value}\r\n".encode() for name, value in headers.items()]
    now, head = time.monotonic(), read_head([b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n"])
    fetched = Fetched(asked, None, "", now, now, status=200, head=head, headers=head.headers, body=body)
    return len(reader(kind.extracting).result(fetched))


def cost(kind: Kind, body: bytes, times: int = 2) -> float:
    """Seconds of CPU time that the body takes, the best of `times`."""
    best = float("inf")
    for _ in range(times):
        start = time.thread_time()
        read(kind, body)
        best = min(best, time.thread_time() - start)
    return best


def growth(mixture: Mixture, size: int, times: int = 2) -> float:
    """How many times the cost grows when the size doubles, up to `size`: the smaller one of the last two doublings."""
    kind = mixture.kind
    quarter, half, whole = (cost(kind, mixture.made(n), times) for n in (size // 4, size // 2, size))
    return min(half / max(quarter, 1e-6), whole / max(half, 1e-6))


def multiplies(mixture: Mixture) -> float | None:
    """The growth of a mixture that multiplies costs, measured again and again; None if it does not."""
    kind, size = mixture.kind, mixture.kind.size
    if cost(kind, mixture.made(size), 1) <= kind.notable:
        return None
    found = float("inf")
    for attempt in range(_ATTEMPTS):
        found = min(found, growth(mixture, size, 1 + attempt))
        if found <= GROWTH:
            return None
    return found


def _made_elsewhere(mixture: Mixture, packed: bool) -> bytes:
    """The file at the limit of its kind. Another process makes it, because that takes more memory than reading it."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        body = mixture.made(mixture.kind.limit)[: mixture.kind.limit]
        with os.fdopen(theirs, "wb") as to:
            to.write(gzip.compress(body, 1, mtime=0) if packed else body)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as answer:
        body = answer.read()
    os.waitpid(child, 0)
    return body


def taken(mixture: Mixture, packed: bool) -> tuple[float, float]:
    """CPU seconds and peak megabytes of a process that reads the mixture at the limit of its kind."""
    kind = mixture.kind
    body = _made_elsewhere(mixture, packed)
    reader(kind.extracting)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        start = time.process_time()
        read(kind, body, "gzip" if packed else "")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        os.write(theirs, _MARK.pack(time.process_time() - start, peak))
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as answer:
        told = answer.read()
    _, status = os.waitpid(child, 0)
    if status or len(told) != _MARK.size:
        raise SystemExit(f"{mixture}: the process ended with {status}")
    seconds, megabytes = _MARK.unpack(told)
    return seconds, megabytes


def taken_at_best(mixture: Mixture, packed: bool, most: float) -> tuple[float, float]:
    """The same, the best of several attempts if it takes more seconds than that: other processes share the machine."""
    seconds, megabytes = taken(mixture, packed)
    for _ in range(_ATTEMPTS - 1):
        if seconds > most:
            seconds = min(seconds, taken(mixture, packed)[0])
    return seconds, megabytes


def sample(kind: Kind, pairs: int, seed: int, part: tuple[int, int] = (1, 1)) -> list[Mixture]:
    """Random mixtures, without the known ones; `part`: of all of them, in the order of the seed, the n-th of so many
    parts."""
    all_of_them = [mixture for mixture in mixtures(kind) if not mixture.is_known]
    number, parts = part
    chosen = random.Random(seed).sample(all_of_them, min(pairs or len(all_of_them), len(all_of_them)))
    return chosen[number - 1 :: parts]


def searched(
    kind: Kind, pairs: int, seed: int, worst: int, part: tuple[int, int] = (1, 1), most: float = SECONDS
) -> Iterator[Figure]:
    """Measures the mixtures of a kind; `most`: the bound of CPU seconds."""
    chosen, costs = sample(kind, pairs, seed, part), list[tuple[float, Mixture]]()
    highest, where = 0.0, ""
    for mixture in chosen:
        costs.append((cost(kind, mixture.made(kind.size), 1), mixture))
        if costs[-1][0] > kind.notable and (found := multiplies(mixture)) is not None:
            print(f"  {found:.2f} times: {mixture}", flush=True)
            if found > highest:
                highest, where = found, str(mixture)
    yield Figure(f"{kind.name}: growth of {len(chosen):,} mixtures", highest, "times", GROWTH, aside=where)
    costs.sort(key=lambda pair: -pair[0])
    at_the_limit = [mixture for _, mixture in costs[:worst]] + [each for each in WORST if each.kind.name == kind.name]
    results = [(*taken_at_best(mixture, kind.limit > kind.size, most), mixture) for mixture in at_the_limit]
    seconds, megabytes = max(results, key=lambda r: r[0]), max(results, key=lambda r: r[1])
    yield Figure(f"{kind.name}: CPU time of the worst", seconds[0], "s", most, aside=str(seconds[2]))
    yield Figure(f"{kind.name}: memory of the worst", megabytes[1], "MB", MEGABYTES, aside=str(megabytes[2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all if none is given")
    parser.add_argument("--pairs", type=int, default=2_000, help="mixtures of each kind (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=12, help="mixtures that are read at the limit")
    parser.add_argument("--part", default="1/1", metavar="N/PARTS", help="only this part of the mixtures")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU time that the worst may take")
    given = parser.parse_args()
    number, parts = map(int, given.part.split("/"))
    if not 1 <= number <= parts:
        parser.error(f"--part is from 1/{parts} to {parts}/{parts}, and not {given.part}")
    if unknown := set(given.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    chosen = given.pairs, given.seed, given.worst, (number, parts), given.seconds
    judge(figure for name in given.kinds or KINDS for figure in searched(KINDS[name], *chosen))


if __name__ == "__main__":
    main()
