"""`gossamer mine`: claims sites as one's own, and says how they prove it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag


@command
@argument(
    "sites",
    "[SITE]…",
    "Hosts or URLs of your sites; without any, list the sites that you have claimed.",
    nargs=-1,
    type=str,
)
@flag("--forget", help="Withdraw the claim to these sites.")
@click.option("--key", type=PATH, help="File of the key; default: ~/.config/gossamer/mine.key. It is made if missing.")
@flag("--json", "as_json", help="Print one JSON object.")
def mine(sites: tuple[str, ...], forget: bool, key: Path | None, as_json: bool) -> None:
    """Claim sites as yours, and print the line that proves each claim: a crawl then needs no waits there."""
    from gossamer.web.owner import advice
    from gossamer.web.owner.key import claim, place, read, site_of

    path = key or place()
    names = list(dict.fromkeys(map(site_of, sites)))
    claimed = claim(path, *((), names) if forget else (names,)) if names else read(path)
    shown = sorted(claimed.sites) if forget or not names else names
    if as_json:
        print(for_json(advice.as_json(claimed, path, shown)))
    else:
        print("\n".join(advice.lines(claimed, path, shown)), file=sys.stdout)
