"""What is watched, and how far it was told. Each watch is a feed too.

Watches are added and removed by `gossamer watch` alone: a watch can run a command, and no request over HTTP may name
one. What they keep secret (keys of signatures, paths of webhooks, arguments of commands) is not shown.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Final
from urllib.parse import urlsplit

import msgspec

from gossamer.base.units import human_time, thousands
from gossamer.collection import watches
from gossamer.collection.watches import Standing, Watch
from gossamer.serve.html import tag
from gossamer.serve.question import Asked, Question, moment
from gossamer.serve.shell import at, cells, shell, table


class WatchRow(msgspec.Struct, frozen=True):
    number: int
    target: str
    webhook: str | None
    """Scheme and host of its webhook."""
    command: str | None
    """Name of the program that it runs."""
    within: float | None
    """Maximum time between two visits that it orders, in seconds."""
    told: int
    """Events told so far."""
    last: str | None
    """Time of the last message."""
    failures: int
    """Failed messages in a row."""
    since: str | None
    error: str | None


class WatchRows(msgspec.Struct, frozen=True):
    rows: list[WatchRow]


def answer_of(asked: Asked) -> WatchRows:
    folder = asked.web.folder
    return WatchRows([_row(watch, watches.read_standing(folder, watch)) for watch in watches.read(folder).watches])


def _row(watch: Watch, standing: Standing) -> WatchRow:
    hook = urlsplit(watch.webhook)
    return WatchRow(
        watch.number,
        watch.target,
        f"{hook.scheme}://{hook.netloc.rpartition('@')[2]}/…" if watch.webhook else None,
        PurePath(watch.command[0]).name if watch.command else None,
        watch.within or None,
        standing.told,
        moment(standing.last or None),
        standing.failures,
        moment(standing.since or None) if standing.failures else None,
        standing.error if standing.failures else None,
    )


def page_of(name: str, found: WatchRows) -> str:
    rows = []
    for row in found.rows:
        who = [f"webhook {row.webhook}"] if row.webhook else []
        who += [f"command {row.command}"] if row.command else []
        failed = f"failed {row.failures} times since {row.since}: {row.error}" if row.failures else ""
        feed = tag("a", "feed", href=at(name, "feed", watch=row.number), type="application/atom+xml")
        events = tag("a", row.target, href=at(name, "changes", watch=row.number))
        told = tag("td", thousands(row.told), tag("div", failed, class_="small error") if failed else None)
        rows.append(
            tag(
                "tr",
                tag("td", row.number, class_="number"),
                tag("th", events, scope="row"),
                cells((", ".join(who) or "nobody", human_time(row.within) if row.within else None)),
                told,
                cells((row.last,)),
                tag("td", feed),
            )
        )
    names = ("number", "what", "who is told", "visited within", "events told", "last message", "")
    shown = table(names, rows, "What is watched", numbers=(0,)) if rows else tag("p", "Nothing is watched yet.")
    how = tag("p", "Watches are added on the command line: ", tag("code", "gossamer watch DIR URL --webhook URL"), ".")
    every = tag("a", "All changes as a feed", href=at(name, "feed"), type="application/atom+xml")
    return shell("Watches", shown, tag("p", every), how, name=name, here="watches", feed=at(name, "feed"))


QUESTION: Final = Question(
    "watches",
    "What is watched, who is told, and whether that fails.",
    answer_of,
    lambda a, found: page_of(a.name, found),
    kind=WatchRows,
)
