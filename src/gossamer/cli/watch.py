"""`gossamer watch`: subscriptions to what becomes of pages."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.base.units import Duration, plural
from gossamer.cli.command import argument, command, flag


@command
@argument("folder", "DIR", "Folder of the collection; it may be running.")
@argument(
    "target",
    "[TARGET]",
    "URL, site, pattern with *, or `crawl:` for the crawl itself; without it: list the watches.",
    type=str,
    required=False,
)
@click.option("--webhook", metavar="URL", help="Post events to this URL, as signed JSON.")
@click.option("--command", "program", metavar="CMD", help="Run this command, with the events as JSON on its input.")
@click.option("--within", metavar="TIME", help="Visit matching pages again within this time, if politeness allows it.")
@click.option("--remove", metavar="N", type=int, help="Remove the watch with this number.")
@flag("--once", help="Send what is due, and exit.")
@flag("--follow", help="Send what is due until Ctrl-C. A running crawl does this by itself.")
@click.option("--every", metavar="TIME", default="30s", help="With --follow: time between two messages of a watch.")
@flag("--json", "as_json", help="Print one JSON object.")
def watch(
    folder: Path,
    target: str | None,
    webhook: str | None,
    program: str | None,
    within: str | None,
    remove: int | None,
    once: bool,
    follow: bool,
    every: str,
    as_json: bool,
) -> None:
    """Watch pages of DIR: a webhook or a command hears when they are new, changed, moved, gone or back. `crawl:`
    watches the crawl itself: whether it stalls, is blocked, has little disk left, or has ended."""
    from gossamer.cli.options import time_of
    from gossamer.collection import watches
    from gossamer.collection.layout import require_collection
    from gossamer.collection.watches import SHORTEST

    require_collection(folder)
    if sum((target is not None, remove is not None, once, follow)) > 1:
        raise UsageError("TARGET, --remove, --once and --follow cannot be combined", "Do one after the other.")
    if target is None and (webhook or program or within):
        raise UsageError("--webhook, --command and --within need a TARGET", "Name what is watched: a URL, or a site.")
    if once or follow:
        _tell(folder, once, time_of("--every", every))
    elif remove is not None:
        gone = watches.remove(folder, remove)
        print(for_json({"removed": gone.number}) if as_json else f"removed: watch {gone.number}, {gone.target}")
    elif target is not None:
        period = 0.0 if within is None else time_of("--within", within)
        if within is not None and period < SHORTEST:
            raise UsageError(f"--within {within} is too short", f"Write {Duration(SHORTEST)} or more.")
        _add(folder, target, webhook or "", program or "", period, as_json)
    else:
        _list(folder, as_json)


def _tell(folder: Path, once: bool, every: float) -> None:
    from gossamer.read.tell import follow

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    def stopped(seconds: float) -> bool:
        time.sleep(seconds)
        return False

    if once:
        follow.once(folder, say)
    else:
        follow.follow(folder, max(1.0, every), stopped, say)


def _add(folder: Path, target: str, webhook: str, program: str, within: float, as_json: bool) -> None:
    import secrets

    from gossamer import config
    from gossamer.collection import watches
    from gossamer.collection.layout import SETTINGS
    from gossamer.read.changes.events import reading

    settings = config.load(folder / SETTINGS)
    wanted = watches.target_of(target, settings.seeder)
    webhook = _webhook(webhook, settings.collection.private_webhooks)
    if wanted == watches.CRAWL and within:
        raise UsageError("--within is for pages", "Leave it out for a watch of the crawl itself.")
    secret = secrets.token_hex(32) if webhook else ""
    asked = watches.Watch(0, wanted, webhook, _arguments(program), within, secret, time.time())
    with reading(folder) as events:
        known = events.count(asked)
        asked = replace(asked, tick=0 if wanted == watches.CRAWL else events.last().tick)
    added = watches.add(folder, asked)
    if as_json:
        print(for_json({**_described(added), "secret": secret or None, "pages": known}))
        return
    if wanted == watches.CRAWL:
        print(f"watch {added.number}: the crawl itself")
    else:
        print(f"watch {added.number}: {added.target}, {plural(known, 'page')} known")
    if not known and wanted != watches.CRAWL:
        print("  no known page matches it yet; it stays, and reports pages that will")
    if secret:
        print(f"  secret of its signatures: {secret}")
    if not (webhook or program):
        print("  nobody is notified: add --webhook or --command")


def _webhook(url: str, private: bool) -> str:
    """The URL as it is sent: in ASCII. UsageError if it is none, or is told nothing."""
    from gossamer.urls import canonical
    from gossamer.web.addresses import Forbidden, literal

    try:
        parts = urlsplit(url)
        good = not url or (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0)
    except ValueError:
        good = False
    if not good or any(c.isspace() or not c.isprintable() for c in url):
        raise UsageError(f"--webhook {url}: not a URL of http or https", "Write a URL like https://example.org/hook.")
    if url and (parts.username or parts.password):
        raise UsageError("--webhook: a user name or password in the URL is not sent", "Put a token into its path.")
    if not url.isascii():
        if (written := canonical(url)) is None:
            raise UsageError(
                f"--webhook {url}: not a URL of http or https", "Write a URL like https://example.org/hook."
            )
        return _webhook(written, private)
    host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname or ""
    if literal(host) and not private and Forbidden(False)(host):
        cure = "To allow it, set collection.private_webhooks = true in the crawl.toml of the collection."
        raise UsageError(f"--webhook {url}: {parts.hostname} is a private address, and gets no messages", cure)
    return url


def _arguments(program: str) -> tuple[str, ...]:
    """The command as a list, with the path of its program: the teller may run in another folder."""
    try:
        words = shlex.split(program)
    except ValueError as error:
        raise UsageError(f"--command {program}: {error}", "Close its quotes.") from error
    if not words:
        return ()
    found = shutil.which(words[0])
    if found is None:
        raise UsageError(f"--command {program}: there is no program {words[0]}", "Name one that can be executed.")
    return (str(Path(found).absolute()), *words[1:])


def _list(folder: Path, as_json: bool) -> None:
    from gossamer.collection import watches

    found = watches.read(folder).watches
    standings = [watches.read_standing(folder, each) for each in found]
    if as_json:
        told = [
            {"told": s.told, "failures": s.failures, "since": s.since or None, "error": s.error or None}
            for s in standings
        ]
        print(for_json({"watches": [_described(w) | t for w, t in zip(found, told, strict=True)]}))
        return
    if not found:
        print(f"no watches; add one: gossamer watch {folder} https://example.org/news --command CMD")
    for each, standing in zip(found, standings, strict=True):
        print("  ".join([f"{each.number:>3}", each.target, *_receivers(each), f"{standing.told:,} told"]))
        if standing.failures:
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(standing.since))
            print(f"       failed {plural(standing.failures, 'time')} since {since}: {standing.error}")


def _receivers(each: Any) -> Sequence[str]:
    within = [f"within {Duration(each.within)}"] if each.within else []
    host = urlsplit(each.webhook)
    hook = [f"webhook {host.scheme}://{host.netloc}/…"] if each.webhook else []
    return [*within, *hook, *([f"command {shlex.join(each.command)}"] if each.command else [])]


def _described(each: Any) -> dict[str, Any]:
    return {
        "number": each.number,
        "target": each.target,
        "webhook": each.webhook or None,
        "command": list(each.command) or None,
        "within": each.within or None,
    }
