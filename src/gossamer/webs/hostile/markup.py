"""Markup bombs: twenty kilobytes of tags of which a parser that keeps to the standard makes a gigabyte, or minutes.

Formatting elements that are left open begin anew in every block (the standard's list of active formatting elements),
and one that ends below blocks is taken apart at each of them (its adoption agency). So what tags cost is the product of
two numbers, both of which a page can choose.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from gossamer.webs.hostile.behaviour import Behaviour, by_path
from gossamer.webs.hostile.saying import answer, page

SIZE: Final = 20_000
"""Bytes of a bomb."""


def _open(count: int) -> str:
    """Formatting elements, all different, left open."""
    return "".join(f"<b a{n}>" for n in range(count))


@cache
def bombs() -> dict[str, tuple[str, bytes]]:
    """By name: what it is, and the markup."""
    made = {
        "formatting-anew": (
            "Formatting that stays open, and begins anew in every paragraph.",
            f"<p>{_open(SIZE // 20)}{'<p>x' * (SIZE // 8)}",
        ),
        "formatting-late": (
            "Formatting that ends below blocks, which take it apart.",
            f"{_open(900)}{'<div>' * 50}{'</b>' * (SIZE // 6)}",
        ),
        "formatting-deep": (
            "Little formatting that ends below hundreds of blocks.",
            f"{_open(30)}{'<div>' * 900}{'</b>' * (SIZE // 5)}",
        ),
    }
    return {name: (what, markup.encode()) for name, (what, markup) in made.items()}


def _behaviour(name: str, what: str, markup: bytes) -> Behaviour:
    """The page can be read, with the link before the bomb."""
    pages = {"/before": answer(page(f"{name}, a good page")), "/page": answer(page(name, "/before") + markup)}
    told = f"{what[:-1]}: {SIZE // 1_000} KB of markup."
    return Behaviour(f"bomb-{name}", told, dict.fromkeys(pages, ("ok",)), by_path(pages), "A.4.1", starts=("/page",))


MARKUP: Final = tuple(_behaviour(name, what, markup) for name, (what, markup) in bombs().items())
