"""CPU of gathering a page of about 25 KB and 75 links, and of its parts, in milliseconds per page.

    python -m bench.gather [--pages 200] [--repeat 5] [--seed 1] [--folder /usr/share/doc]

With a folder: its HTML files instead of generated pages, and the share of their size that the cleaned text has (7.2.3:
a third). Bound: what a page mentions (`gatherer/mentions.py`) takes at most 0.03 ms, with half of its links to other
sites outside.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from bench.bounds import Figure, judge
from gossamer.config.settings import GathererSettings
from gossamer.gatherer.charset import decode
from gossamer.gatherer.gather import gather
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.language import language
from gossamer.gatherer.sketch import sketch
from gossamer.gatherer.text import visible_text
from gossamer.urls import Scope

Page = tuple[str, bytes]
SCOPE: Final = Scope(("example",))
NEAR: Final = Scope(tuple(f"site{number}.example" for number in range(45)))
"""Half of the sites that the pages link to."""
MENTIONS: Final = 0.03
"""Milliseconds."""
DEFAULTS: Final = GathererSettings()
FEWER: Final = replace(DEFAULTS, anchors=False, language=False)

WORDS = """
    the of and to a in that is was for on with as at by from crawl page archive river station history museum garden
    market winter letters council society annual report number system network library university science research
    department students public information service city region country people government development international
    überblick straße información niño français été
""".split()  # noqa: SIM905


def page(seed: int, links: int = 75, size: int = 25_000) -> tuple[str, bytes]:
    """A page of varied, plain markup: head, menu, articles with lists and tables, footer. Equal seeds, equal pages."""
    dice = random.Random(seed)
    url = f"https://www.site{seed % 90}.example/section{seed % 7}/page{seed}.html"
    targets = [_target(dice) for _ in range(links)]
    chunks = [_head(dice, seed), _menu(targets[:12]), '<main id="content">\n']
    for number, target in enumerate(targets[12:-8]):
        chunks.append(_block(dice, number, target))
    frame = sum(map(len, chunks)) + 1_500
    for at in islice(cycle(range(3, len(chunks))), 10_000):
        if frame >= size:
            break
        extra = f'<p class="body-text">{_words(dice, 45)}</p>\n'
        chunks[at] += extra
        frame += len(extra)
    chunks += [
        "</main>\n",
        _footer(targets[-8:]),
        "<script>var counter = [];\ncounter.push('view');</script></body></html>\n",
    ]
    return url, "".join(chunks).encode()


def _target(dice: random.Random) -> str:
    name = f"{dice.choice(WORDS[20:40])}-{dice.randrange(10_000)}"
    return dice.choices(
        [
            f"/section{dice.randrange(7)}/{name}.html",
            f"{name}.html",
            f"../archive/{dice.randrange(1990, 2025)}/{name}/",
            f"https://www.site{dice.randrange(90)}.example/{name}.html",
            f"/search.php?id={dice.randrange(9999)}&amp;lang=en",
            f"/files/{name}.pdf",
            f"{name}.html#part{dice.randrange(9)}",
            f"mailto:{name}@mail.example",
        ],
        [30, 20, 12, 14, 10, 5, 6, 3],
    )[0]


def _words(dice: random.Random, n: int) -> str:
    return " ".join(dice.choices(WORDS, k=n)).capitalize() + "."


def _head(dice: random.Random, seed: int) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{_words(dice, 6)} &mdash; Site {seed % 90}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="description" content="{_words(dice, 15)}">\n<meta name="robots" content="index, follow">\n'
        f'<link rel="canonical" href="page{seed}.html">\n<link rel="stylesheet" href="/style/main.css?v=3">\n'
        '<link rel="icon" href="/favicon.ico">\n<script src="/js/main.js" defer></script>\n'
        "<style>body { margin: 0 } .menu li { display: inline }</style>\n</head>\n<body>\n"
    )


def _menu(targets: Sequence[str]) -> str:
    items = "".join(f'<li class="item"><a href="{t}" title="go to">Menu {i}</a></li>\n' for i, t in enumerate(targets))
    return f'<nav class="menu"><ul>\n{items}</ul></nav>\n'


def _block(dice: random.Random, number: int, target: str) -> str:
    text, label = _words(dice, 12), " ".join(dice.choices(WORDS, k=3))
    match number % 4:
        case 0:
            return f'<h2 id="h{number}">{label}</h2>\n<p>{text} <a href="{target}">{label}</a> <em>{text}</em></p>\n'
        case 1:
            return f'<ul><li>{label}</li><li><a class="ref" href="{target}"><b>{label}</b></a> {text}</li></ul>\n'
        case 2:
            return f'<table><tr><td>{number}</td><td><a href="{target}" rel="nofollow">{label}</a></td></tr></table>\n'
        case _:
            image = f'<img src="/img/{number}.jpg" alt="{label}" width="200" height="150">'
            return f'<div class="box"><div class="inner">{image}<a href="{target}">{label}</a><br>{text}</div></div>\n'


def _footer(targets: Sequence[str]) -> str:
    links = " | ".join(f'<a href="{t}">{i}</a>' for i, t in enumerate(targets))
    return f'<footer class="foot"><!-- footer --><p>{links}</p><p>&copy; 2024 Example</p></footer>\n'


def files(folder: Path, most: int) -> list[Page]:
    """HTML files of 2 to 200 KB, always the same ones."""
    every = (path for path in sorted(folder.rglob("*.html")) if path.is_file())
    found = [path for path in every if 2_000 < path.stat().st_size < 200_000]
    random.Random(1).shuffle(found)
    return [(f"https://files.example/{number}.html", path.read_bytes()) for number, path in enumerate(found[:most])]


def _measure(work: Callable[[Page], object], pages: Sequence[Page], repeat: int) -> float:
    """Milliseconds of CPU per page: the best of several times for each page, as the machine may have other load."""
    best = [float("inf")] * len(pages)
    for _ in range(repeat):
        for number, each in enumerate(pages):
            start = time.process_time_ns()
            work(each)
            best[number] = min(best[number], time.process_time_ns() - start)
    return sum(best) / len(pages) / 1e6


def _gathered(settings: GathererSettings, scope: Scope = SCOPE) -> Callable[[Page], Gathered]:
    return lambda p: gather(p[0], "text/html", (), p[1], settings, scope, "Gossamer")


def _text(each: Page) -> str:
    return visible_text(LexborHTMLParser(decode(each[1], "")[0]), DEFAULTS.drop)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=200)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    made = given.folder is None
    pages = [page(given.seed + i) for i in range(given.pages)] if made else files(given.folder, given.pages)
    found = [_gathered(replace(DEFAULTS, text=True))(each) for each in pages]
    size = sum(len(body) for _, body in pages)
    print(f"{len(pages)} pages of {size / len(pages) / 1000:.1f} KB, ", end="")
    print(f"{sum(g.out_degree for g in found) / len(pages):.1f} distinct links, ", end="")
    print(f"{sum(len(text.split()) for text in map(_text, pages)) / len(pages):.0f} words; ", end="")
    print(f"cleaned text {100 * sum(len(g.text or b'') for g in found) / size:.0f} % of their size")
    _print_parts(pages, given.repeat)


def _print_parts(pages: Sequence[Page], repeat: int) -> None:
    texts = {url: text for (url, _), text in zip(pages, map(_text, pages), strict=True)}
    encoded = {url: text.encode(errors="replace") for url, text in texts.items()}
    parts: dict[str, Callable[[Page], object]] = {
        "decode": lambda p: decode(p[1], ""),
        "decode, parse": lambda p: LexborHTMLParser(decode(p[1], "")[0]),
        "decode, parse, text": _text,
        "sketch": lambda p: sketch(encoded[p[0]]),
        "language": lambda p: language(texts[p[0]]),
        "gather without anchors and language": _gathered(FEWER),
        "gather without language": _gathered(replace(DEFAULTS, language=False)),
        "gather": _gathered(DEFAULTS),
        "gather with cleaned text": _gathered(replace(DEFAULTS, text=True)),
    }
    for name, work in parts.items():
        print(f"{name:36} {_measure(work, pages, repeat):.3f} ms per page")
    judge((Figure("mentions", _mentioning(pages, 2 * repeat), "ms", MENTIONS),))


def _mentioning(pages: Sequence[Page], repeat: int) -> float:
    """Milliseconds of CPU per page for its mentions: with and without are measured in turn."""
    with_them, without = (_gathered(replace(DEFAULTS, language=False, mentions=m), NEAR) for m in (True, False))
    best = {True: [float("inf")] * len(pages), False: [float("inf")] * len(pages)}
    for _ in range(repeat):
        for number, each in enumerate(pages):
            for mentions, work in ((True, with_them), (False, without)):
                start = time.process_time_ns()
                work(each)
                best[mentions][number] = min(best[mentions][number], time.process_time_ns() - start)
    return (sum(best[True]) - sum(best[False])) / len(pages) / 1e6


if __name__ == "__main__":
    main()
