"""Markup bombs: twenty kilobytes of tags for which a standard parser needs a gigabyte, or minutes.

Formatting elements that are left open are reopened in every block (the standard's list of active formatting elements),
and a formatting element that ends below blocks is split at each of them (its adoption agency algorithm). So the cost of
the tags is the product of two numbers, and a page can choose both.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from gossamer.webs.hostile.behaviour import Behaviour, by_path
from gossamer.webs.hostile.saying import answer, page

SIZE: Final = 20_000
"""Approximate bytes of a bomb."""


def _open(count: int) -> str:
    """Formatting elements, all different, left open."""
    return "".join(f"<b a{n}>" for n in range(count))


@cache
def bombs() -> dict[str, tuple[str, bytes]]:
    """By name: a description, and the markup."""
    made = {
        "formatting-anew": (
            "Formatting elements that stay open and are reopened in every paragraph.",
            f"<p>{_open(SIZE // 20)}{'<p>x' * (SIZE // 8)}",
        ),
        "formatting-late": (
            "Formatting elements that end below blocks and are split by them.",
            f"{_open(900)}{'<div>' * 50}{'</b>' * (SIZE // 6)}",
        ),
        "formatting-deep": (
            "A few formatting elements that end below hundreds of blocks.",
            f"{_open(30)}{'<div>' * 900}{'</b>' * (SIZE // 5)}",
        ),
    }
    return {name: (what, markup.encode()) for name, (what, markup) in made.items()}


def _behaviour(name: str, what: str, markup: bytes) -> Behaviour:
    """A site whose page can be read, including the link before the bomb."""
    pages = {"/before": answer(page(f"{name}, a good page")), "/page": answer(page(name, "/before") + markup)}
    sentence = f"{what[:-1]}: {SIZE // 1_000} KB of markup."
    return Behaviour(
        f"bomb-{name}", sentence, dict.fromkeys(pages, ("ok",)), by_path(pages), "A.4.1", starts=("/page",)
    )


MARKUP: Final = tuple(_behaviour(name, what, markup) for name, (what, markup) in bombs().items())
