"""Asks on a terminal whether files of plug-ins may run."""

from __future__ import annotations

from collections.abc import Iterable

import click

from gossamer.plugins import trust
from gossamer.plugins.find import Plugin


def confirms(unconfirmed: Iterable[Plugin]) -> bool:
    """Whether the user, who is asked for each file, confirms all of them. What they confirm is kept."""
    for digest, path in {each.digest: each.path for each in unconfirmed}.items():
        click.echo(f"{path} is not confirmed on this machine, or changed since (SHA-256 {digest[:16]}…).", err=True)
        if not click.confirm("The crawl would run it as you. Have you read it, and may it run?", err=True):
            return False
        trust.confirm({digest: path})
    return True
