"""Sections of plug-ins (`plugins.report`): what a function returns, by title, as facts, tables and plots."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gossamer.base.errors import UsageError
from gossamer.laboratory.findings.finding import Cell, Column, Plot, Series, Table
from gossamer.laboratory.report.data import Data
from gossamer.laboratory.report.parts import Fact, Section, absent
from gossamer.plugins.find import Plugin, called, raised
from gossamer.read.plugin_web import PluginWeb


def name_of(plugin: Plugin, function: Any) -> str:
    """By which `--section` names it."""
    return _slug(called(plugin, function))


def title_of(plugin: Plugin, function: Any) -> str:
    """Its attribute `title`, or the first line of its docstring, or its name."""
    first = (getattr(function, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")
    return str(getattr(function, "title", "") or first or called(plugin, function).replace("_", " ").capitalize())


def section(plugin: Plugin, function: Callable[[PluginWeb], Any], data: Data) -> Section:
    """The section. UsageError, in words, for whatever the plug-in raises, and for what it returns that is no
    section."""
    try:
        return made(name_of(plugin, function), f"The plug-in {plugin.name}", function(PluginWeb(data.database)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may call sys.exit
        cure = f"Correct {plugin.place}; the other sections are not concerned."
        raise UsageError(f"{plugin.told()}: {raised(error, plugin.path)}", cure) from error


def made(name: str, stands_on: str, returned: Any) -> Section:
    """The section of what was returned. ValueError, in words, if it is none."""
    if not returned and isinstance(returned, Mapping | None):
        return absent("There is nothing to show.")
    if not isinstance(returned, Mapping):
        raise ValueError(f"it returned {type(returned).__name__}, not a mapping of titles to what is shown")
    facts, tables, plots = list[Fact](), list[Table](), list[Plot]()
    for key, value in returned.items():
        title, value = str(key), _plain(value)
        if value is None or isinstance(value, str | int | float):
            facts.append(Fact(title, value, _form([value])))
        elif isinstance(value, Mapping):
            plots.append(_plot(f"{name}-{_slug(title)}", title, value))
        elif isinstance(value, Sequence) and not isinstance(value, bytes):
            tables.append(_table(f"{name}-{_slug(title)}", title, value))
        else:
            raise ValueError(f"{title!r} is a {type(value).__name__}: return numbers, texts, rows or two columns")
    return Section(stands_on, tuple(facts), tables=tuple(tables), plots=tuple(plots))


def _table(name: str, title: str, rows: Sequence[Any]) -> Table:
    if not all(isinstance(row, Mapping) for row in rows):
        raise ValueError(f"the rows of {title!r} have no names: return a mapping for each")
    names = list(dict.fromkeys(str(key) for row in rows for key in row))
    cells = [tuple(_cell(row.get(column)) for column in names) for row in rows]
    forms = [_form([row[place] for row in cells]) for place in range(len(names))]
    return Table(name, title, tuple(map(Column, names, forms)), tuple(cells))


def _plot(name: str, title: str, columns: Mapping[Any, Any]) -> Plot:
    found = {str(key): [_plain(each) for each in _plain(values)] for key, values in columns.items()}
    if len(found) != 2 or len({len(values) for values in found.values()}) != 1:
        raise ValueError(f"{title!r} is no plot: name two columns of the same length, x and y")
    if not all(isinstance(each, int | float) for values in found.values() for each in values):
        raise ValueError(f"the plot {title!r} has values that are no numbers")
    (x, xs), (y, ys) = found.items()
    return Plot(name, title, x, y, (Series(y, [*map(float, xs)], [*map(float, ys)], "points"),))


def _plain(value: Any) -> Any:
    """Python's value of one of numpy, its list of an array."""
    return value.tolist() if hasattr(value, "tolist") else value


def _cell(value: Any) -> Cell:
    value = _plain(value)
    return value if value is None or type(value) in (int, float, str) else str(value)


def _form(cells: Sequence[Any]) -> str:
    """The format of these numbers; texts are shown unchanged."""
    numbers = [each for each in cells if isinstance(each, int | float)]
    return "" if not numbers else ",.0f" if all(isinstance(each, int) for each in numbers) else ",.4g"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"
