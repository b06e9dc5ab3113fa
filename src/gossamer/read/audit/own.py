"""Checks of plug-ins (`plugins.audit`): rows of the same table as our own, with code in place of SQL.

What a check finds is bounded as for the others. One that raises, or returns what is no finding, is told by name and
line; the other checks are not concerned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from gossamer.base.errors import UsageError
from gossamer.plugins.find import Plugin, called, load, raised
from gossamer.read.audit.checks import NAMES, SEVERITIES, Severity
from gossamer.read.plugin_web import PluginWeb

_PARTS: Final = ("url", "source", "anchor", "detail")
Row = tuple[str, str | None, str | None, str | None]
"""Address, page that leads to it, text of the link, detail."""


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """A check of a plug-in."""

    name: str
    severity: Severity
    sentence: str
    cure: str
    plugin: Plugin
    find: Callable[[PluginWeb], Any]

    def rows(self, web: PluginWeb) -> Iterator[Row]:
        """What it finds. UsageError, in words, for whatever it raises, and for what is no finding."""
        try:
            found = self.find(web)
            if found is None or isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
                raise TypeError(f"it returned {type(found).__name__}, not the list of what it found")
            yield from map(_row, found)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # it may call sys.exit
            cure = f"Correct {self.plugin.place}; the other checks are not concerned."
            raise UsageError(f"{self.plugin.told()}: {raised(error, self.plugin.path)}", cure) from error


def own_checks(plugins: Iterable[Plugin]) -> tuple[OwnCheck, ...]:
    """Loads the checks. UsageError if one cannot be loaded, has the name of another, or no such severity."""
    checks, names = [], set(NAMES)
    for plugin in plugins:
        made = _check(plugin, load(plugin))
        if made.name in names:
            raise UsageError(
                f"{plugin.told()}: there is a check {made.name} already", "Give the function another name."
            )
        names.add(made.name)
        checks.append(made)
    return tuple(checks)


def _check(plugin: Plugin, find: Any) -> OwnCheck:
    severity = getattr(find, "severity", "warning")
    if severity not in SEVERITIES:
        raise UsageError(f"{plugin.told()}: its severity is {severity!r}", f"Use one of: {', '.join(SEVERITIES)}.")
    name = re.sub(r"[^a-z0-9]+", "-", called(plugin, find).lower()).strip("-")
    first = (getattr(find, "__doc__", None) or "").strip().partition("\n")[0]
    sentence = str(getattr(find, "sentence", "") or first or f"Found by {plugin.name}.")
    return OwnCheck(name, cast("Severity", severity), sentence, str(getattr(find, "cure", "")), plugin, find)


def _row(found: Any) -> Row:
    if isinstance(found, Mapping):
        if unknown := found.keys() - set(_PARTS):
            raise ValueError(f"a finding has {', '.join(map(repr, unknown))}; it may have {', '.join(_PARTS)}")
        found = tuple(found.get(part) for part in _PARTS)
    parts = (found,) if isinstance(found, str) else tuple(found)
    if not 1 <= len(parts) <= len(_PARTS) or not isinstance(parts[0], str):
        raise ValueError(f"{str(found)[:80]!r} is no finding: an address, or a row of {', '.join(_PARTS)}")
    url, source, anchor, detail = (*parts, None, None, None)[: len(_PARTS)]
    return url, *(None if part is None else str(part) for part in (source, anchor, detail))
