"""`gossamer plugins`: what there is, what a collection names, and the confirmation of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.cli.command import argument, command, flag


@command
@argument("targets", "[DIR|FILE] ...", "Collections, to list what they name; files of plug-ins, to confirm.", nargs=-1)
@flag("--confirm", help="Confirm these files, or all that the collections name, as they are now: crawls may run them.")
@flag("--withdraw", help="Withdraw the confirmation of these files.")
@flag("--json", "as_json", help="Print one JSON object.")
def plugins(targets: tuple[Path, ...], confirm: bool, withdraw: bool, as_json: bool) -> None:
    """List the installed plug-ins, or the plug-ins that collections name and whether their files are confirmed."""
    from gossamer.plugins import trust

    if not targets:
        if confirm or withdraw:
            raise UsageError("no file is named", "Name files, or collections: gossamer plugins --confirm my.py")
        _list(as_json)
        return
    rows = [row for target in targets for row in _named(target)]
    files = {row["digest"]: row["path"] for row in rows if row["path"]}
    if confirm:
        trust.confirm(files)
    if withdraw:
        trust.withdraw(files)
    known = trust.confirmed()
    for row in rows:
        row["confirmed"] = not row["path"] or row["digest"] in known
    if as_json:
        print(for_json({"plugins": rows}))
        return
    for row in rows:
        said = "" if not row["path"] else "  confirmed" if row["confirmed"] else "  not confirmed"
        print("  ".join(filter(None, (row["kind"], row["name"], row["place"]))) + said)
    if not rows:
        print("no plug-ins are named")


def _named(target: Path) -> list[dict[str, Any]]:
    """The plug-ins that a collection names, or a file of plug-ins."""
    from gossamer import config
    from gossamer.collection.layout import SETTINGS
    from gossamer.plugins.find import Plugin, digest_of, find

    if target.is_dir():
        found = find(config.load(target / SETTINGS).plugins, target)
    else:
        found = (Plugin("", "", str(target.absolute()), digest_of(target)),)
    return [each._asdict() | {"place": each.place} for each in found]


def _list(as_json: bool) -> None:
    from gossamer.plugins.find import installed
    from gossamer.plugins.kinds import KINDS

    rows: list[dict[str, Any]] = []
    for kind in KINDS.values():
        there = [{"name": each.name, "from": each.place} for each in installed(kind)]
        rows.append({"kind": kind.name, "versions": list(kind.versions), "does": kind.sentence, "there": there})
    if as_json:
        print(for_json({"kinds": rows}))
        return
    for row in rows:
        print(f"{row['kind']} (version {row['versions'][-1]}): {row['does']}")
        for each in row["there"]:
            print(f"  {each['name']}  {each['from']}")
