"""Asks on a terminal whether files of plug-ins may run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from gossamer import config
from gossamer.cli.contact import can_ask
from gossamer.collection.layout import SETTINGS
from gossamer.plugins import trust
from gossamer.plugins.find import Plugin, find


def confirmed_in(folder: Path, *kinds: str) -> tuple[Plugin, ...]:
    """The plug-ins of these kinds that a collection names, confirmed: on a terminal the user is asked."""
    path = folder / SETTINGS
    found = find(config.load(path).plugins, folder, kinds) if path.exists() else ()
    try:
        trust.require_confirmed(found)
    except trust.UnconfirmedError as error:
        if not can_ask() or not confirms(error.plugins):
            raise
    return found


def confirms(unconfirmed: Iterable[Plugin]) -> bool:
    """Whether the user, who is asked for each file, confirms all of them. What they confirm is kept."""
    for digest, path in {each.digest: each.path for each in unconfirmed}.items():
        click.echo(f"{path} is not confirmed on this machine, or changed since (SHA-256 {digest[:16]}…).", err=True)
        if not click.confirm("It would run as you. Have you read it, and may it run?", err=True):
            return False
        trust.confirm({digest: path})
    return True
