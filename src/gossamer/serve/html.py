"""HTML as values: a text is escaped unless it is `Html` already, so what a page says cannot become markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

_VOID: Final = frozenset(("br", "input", "link", "meta"))


class Html(str):
    """Text that is markup."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]


def tag(name: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element. Attributes: `class_` is written class, `aria_label` aria-label; True has no value, and None and False
    are left out."""
    parts = [name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            field = key.rstrip("_").replace("_", "-")
            parts.append(field if value is True else f'{field}="{escape(str(value))}"')
    inside = joined(*children)
    return Html(f"<{' '.join(parts)}>" + ("" if name in _VOID else f"{inside}</{name}>"))


def joined(*children: Child) -> Html:
    """The children one after the other, without an element around them."""
    parts = []
    for child in children:
        if isinstance(child, Html):
            parts.append(str(child))
        elif isinstance(child, str | int | float):
            parts.append(escape(str(child)))
        elif child is not None:
            parts.append(str(joined(*child)))
    return Html("".join(parts))
