"""Finds the plug-ins that settings name, and loads them.

A name with a file ("my.py:extract") is looked up in the collection's folder, then in the working folder. Any other name
is one that is built in, or an entry point of an installed package, in the group `gossamer.plugins`, called
"process.shop" for `process = "shop"`. To install a package runs nothing of it: settings must name it.

The file is read once, its content is compared with the digest that was confirmed, and what was read is run: a change
in between never runs unconfirmed. Only that one file is covered: what it imports must be an installed package.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from gossamer.base.errors import UsageError
from gossamer.config.settings import PluginSettings
from gossamer.plugins.kinds import KINDS, VERSION, Kind

GROUP: Final = "gossamer.plugins"
_NONE: Final[Mapping[str, object]] = {}


class Plugin(NamedTuple):
    """A plug-in that was found. `Plugin(*json)` is the same."""

    kind: str
    name: str
    """As the settings name it."""
    path: str = ""
    """Its file, if it is in one."""
    digest: str = ""
    """SHA-256 of the file when it was found."""
    package: str = ""
    """Name and version of the installed package that it is from."""

    @property
    def function(self) -> str:
        """What is called in the file."""
        return self.name.rpartition(":")[2] if self.path else ""

    @property
    def place(self) -> str:
        """Where it is from, in words."""
        return self.path or self.package or "built in"

    def told(self) -> str:
        """What it is, for messages."""
        return f"plugins.{self.kind}: {self.name}"


def find(settings: PluginSettings, folder: Path, kinds: Iterable[str] = KINDS) -> tuple[Plugin, ...]:
    """The plug-ins of these kinds that the settings name, in order. UsageError if one does not exist. Nothing is
    run."""
    return tuple(_found(KINDS[kind], name, folder) for kind in kinds for name in dict.fromkeys(getattr(settings, kind)))


def called(plugin: Plugin, found: Any) -> str:
    """The name of what a plug-in adds: its attribute `name`, or what it is called in its file, or package."""
    return str(getattr(found, "name", "") or plugin.function or plugin.name)


def files(settings: PluginSettings) -> list[Path]:
    """The files that the settings name, as they name them."""
    names = (name for kind in KINDS for name in getattr(settings, kind))
    return [Path(file) for name in names if (file := name.rpartition(":")[0])]


def installed(kind: Kind) -> list[Plugin]:
    """The plug-ins of a kind that are built in or installed."""
    of_packages = (
        Plugin(kind.name, point.name.partition(".")[2], package=_package(point))
        for point in _points()
        if point.name.partition(".")[0] == kind.name
    )
    return [*(Plugin(kind.name, name) for name in kind.built_in), *of_packages]


def digest_of(path: Path) -> str:
    """SHA-256 of a file. UsageError if it cannot be read."""
    return hashlib.sha256(_read(path)).hexdigest()


def load(plugin: Plugin, built_in: Mapping[str, object] = _NONE) -> Any:
    """Runs the code of a plug-in, and returns the object that was named. `built_in`: those of its kind.

    UsageError, which says where, if the code fails, or if the object does not fit the protocol of its kind.
    """
    kind, called = KINDS[plugin.kind], plugin.name
    if plugin.path:
        module = _module(plugin)
        found = getattr(module, plugin.function, None)
        if found is None:
            there = [name for name in vars(module) if not name.startswith("_")]
            near = get_close_matches(plugin.function, there, 1)
            cure = f"Did you mean {near[0]}?" if near else "Name a function or a class of the file."
            raise UsageError(f"{plugin.told()}: {plugin.path} has no {plugin.function}", cure)
    elif plugin.name in built_in:
        found = built_in[plugin.name]
    else:
        point = next(p for p in _points() if p.name == f"{plugin.kind}.{plugin.name}")
        found = _guarded(plugin, point.load)
    if isinstance(found, type):
        found = _guarded(plugin, found)
    if not isinstance(found, kind.protocol):
        wanted = kind.protocol.__name__
        raise UsageError(f"{plugin.told()}: {called} is not a {wanted}", f"See {wanted} in gossamer/plugins/kinds.py.")
    written = getattr(found, VERSION, kind.versions[0])
    if written not in kind.versions:
        known = ", ".join(map(str, kind.versions))
        cure = f"Versions that this Gossamer knows: {known}."
        raise UsageError(f"{plugin.told()}: it was written for version {written} of its kind", cure)
    return found


def _found(kind: Kind, name: str, folder: Path) -> Plugin:
    file, colon, _ = name.rpartition(":")
    if colon:
        path = next((each for each in (folder / file, Path(file)) if each.is_file()), None)
        if path is None:
            cure = f"A file is named from the collection's folder, {folder}, or by its absolute path."
            raise UsageError(f"plugins.{kind.name}: {name}: there is no file {file}", cure)
        return Plugin(kind.name, name, str(path.absolute()), digest_of(path))
    there = {each.name: each for each in installed(kind)}
    if name not in there:
        near = get_close_matches(name, there, 1)
        cure = f"Did you mean {near[0]}?" if near else "`gossamer plugins` lists what is there."
        raise UsageError(f"plugins.{kind.name}: {name}: neither built in, nor in an installed package", cure)
    return there[name]


def _points() -> list[EntryPoint]:
    """The entry points of installed packages, in an order that does not change."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point)))


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _module(plugin: Plugin) -> ModuleType:
    """The module that the file makes, run once in a process."""
    source = _read(Path(plugin.path))
    if hashlib.sha256(source).hexdigest() != plugin.digest:
        raise UsageError(f"{plugin.path} has changed since the crawl began", "Start the crawl again.")
    name = f"gossamer_plugin_{plugin.digest[:16]}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__file__ = plugin.path
        sys.modules[name] = module  # dataclasses look their module up there
        try:
            _guarded(plugin, lambda: exec(compile(source, plugin.path, "exec"), vars(module)))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _guarded(plugin: Plugin, run: Any) -> Any:
    """What code of the plug-in returns. UsageError for whatever it raises, except Ctrl-C."""
    try:
        return run()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UsageError(f"{plugin.told()}: it cannot be loaded: {raised(error, plugin.path)}") from error


def raised(error: BaseException, path: str = "") -> str:
    """What was raised, and in which line of the plug-in's file, if it was there."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if path and frame.filename == path]
    if not lines and isinstance(error, SyntaxError) and error.filename == path:
        lines = [error.lineno]
    where = f" (line {lines[-1]})" if lines else ""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' if words else ''}{words}{where}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", "Name a readable file.") from error
