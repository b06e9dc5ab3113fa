"""Effects for tests: wild ones (any bytes in any field) and small realistic ones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gossamer.base.arrays import Records
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Texts
from gossamer.collection.journal.effects import HINT, ORIGIN, PAGE, SITE_EVENT, VERDICT, Effects

_FLOATS = st.floats(allow_nan=False, width=64)
_TEXTS = st.one_of(st.just(b""), st.binary(max_size=12), st.text(max_size=8).map(str.encode))
_NUMBERS = st.integers(0, NONE)
_SEEN = (b"", b"image\tpng\texample.org\t3\n", b"not_http\tmailto\t\t1\nimage\t\tx\t1\n", b"h1\tTitle\t\t2\n")


def wild_records(draw: st.DrawFn, dtype: np.dtype[np.void], most: int = 4) -> Records:
    """Records of arbitrary bytes, of zeros only, or of ones only."""
    rows = draw(st.integers(0, most))
    size = dtype.itemsize
    row = st.one_of(st.binary(min_size=size, max_size=size), st.just(bytes(size)), st.just(b"\xff" * size))
    raw = b"".join(draw(st.lists(row, min_size=rows, max_size=rows)))
    return np.frombuffer(raw, dtype).copy()


@st.composite
def wild_effects(draw: st.DrawFn) -> Effects:
    pages = wild_records(draw, PAGE)
    visits = wild_records(draw, VISIT)
    texts = [draw(_TEXTS) for _ in range(len(visits) * len(VISIT_TEXTS))]
    visits["texts"] = np.array([len(t) for t in texts], np.uint32).reshape(len(visits), len(VISIT_TEXTS))
    visits["links"] = [draw(st.integers(0, 3)) for _ in visits]
    links = int(visits["links"].sum())
    kinds = draw(st.binary(min_size=links, max_size=links))
    names = draw(st.lists(st.text("abc.-", max_size=5).map(str.encode), max_size=3))
    urls = [draw(_TEXTS) for _ in pages]
    anchors = [draw(_TEXTS) for _ in range(links)]
    seen = [draw(st.sampled_from(_SEEN)) for _ in visits]
    visits["seen"] = [len(lines) for lines in seen]
    return Effects(
        draw(st.integers(0, 2**64 - 1)),
        draw(_FLOATS),
        draw(_FLOATS),
        draw(_NUMBERS),
        draw(_NUMBERS),
        draw(_NUMBERS),
        Texts.join(names, "<u2"),
        wild_records(draw, ORIGIN),
        pages,
        Texts.join(urls, "<u2"),
        visits,
        b"".join(texts),
        np.array([draw(_NUMBERS) for _ in range(links)], "<u4"),
        np.frombuffer(kinds, "u1"),
        wild_records(draw, VERDICT),
        wild_records(draw, SITE_EVENT),
        np.array([draw(st.integers(0, 1)) for _ in names], "u1"),
        np.frombuffer(kinds, "u1"),
        np.zeros(links, "<u2"),
        Texts.join(anchors, "<u2"),
        b"".join(seen),
        wild_records(draw, HINT),
        draw(_TEXTS),
    )


def small_effects(rng: random.Random, tick: int, first_page: int, **visit: Any) -> Effects:
    """Effects of one visit with two links, and one to three new pages; `visit` sets fields of the visit."""
    count = rng.randint(1, 3)
    pages = np.zeros(count, PAGE)
    pages["fingerprint"] = [rng.getrandbits(64) for _ in range(count)]
    visits = np.zeros(1, VISIT)
    visits["page"], visits["number"], visits["links"], visits["duplicate_of"] = 0, tick, 2, NONE
    for name, value in visit.items():
        visits[name] = value
    title = b"Page of tick %d" % tick
    visits["texts"][0, VISIT_TEXTS.index("title")] = len(title)
    urls = [b"http://site.example/%d/%d" % (tick, i) for i in range(count)]
    return Effects(
        tick,
        1_700_000_000.0 + tick,
        float(tick),
        0,
        0,
        first_page,
        pages=pages,
        urls=Texts.join(urls, "<u2"),
        visits=visits,
        visit_texts=title,
        link_targets=np.array([0, first_page], "<u4"),
        link_kinds=np.array([0, 17], "u1"),
    )
