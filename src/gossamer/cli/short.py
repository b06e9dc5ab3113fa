"""The short names of settings (`crawler/short.py`) as options of a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gossamer.crawler.short import SHORT

Verb = TypeVar("Verb", bound=Callable[..., None])


def short_names(verb: Verb) -> Verb:
    """Gives a command the options of the table. It gets their values by name."""
    for each in reversed(SHORT):
        kind = click.STRING if each.span is None else click.IntRange(*each.span)
        how: dict[str, Any] = {"type": kind, "metavar": each.metavar, "multiple": each.multiple}
        how = how if each.flag is None else {"is_flag": True}
        verb = click.option(each.option, each.name, help=each.help, **how)(verb)
    return verb
