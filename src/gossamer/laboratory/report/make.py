"""Makes the report: computes the sections of each collection, one after the other, and writes its folder.

A section that cannot be computed, for a damaged file or too few pages, says why; the others are not concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from gossamer.base import disk
from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.escape import for_file, for_json
from gossamer.laboratory.findings import folder as target
from gossamer.laboratory.findings import page, plot, table
from gossamer.laboratory.findings.finding import Finding, as_json
from gossamer.laboratory.report import changes, grown, links, own, pages, servers, sites
from gossamer.laboratory.report.data import Data, reading
from gossamer.laboratory.report.parts import Section, absent
from gossamer.laboratory.report.present import Of, present
from gossamer.plugins.find import Plugin, load

MOST: Final = 8
"""Collections that can be compared."""
PAGE: Final = "index.html"
JSON: Final = "report.json"


class Kind(NamedTuple):
    """A section of the report."""

    title: str
    source: str
    compute: Callable[[Data], Section]
    settings: tuple[str, ...] = ()
    """The settings that affect its numbers."""


_DEPTH: Final = ("seeder.depth_static", "seeder.depth_dynamic")
SECTIONS: Final[dict[str, Kind]] = {
    "summary": Kind(
        "Summary",
        "thesis 8.2, tables 8.1 and 8.6",
        pages.summary,
        ("seeder.domains", "seeder.pages_per_site", "collection.max_pages"),
    ),
    "status": Kind("Status codes and outcomes", "thesis 8.3.1", pages.status, ("harvester.tries",)),
    "length": Kind("Content length", "thesis 8.3.2", pages.length, ("gatherer.max_stored",)),
    "age": Kind("Age of pages", "thesis 8.3.3", pages.age),
    "changes": Kind(
        "Changes, ends and births of pages",
        "thesis 2.1.2, table 2.1",
        changes.changes,
        ("manager.continuous", "manager.min_period"),
    ),
    "depth": Kind("Depth", "thesis 8.3.4 and 5.1", pages.depth, _DEPTH),
    "languages": Kind("Languages", "thesis 8.3.5", pages.languages),
    "technology": Kind("Technology of dynamic pages", "thesis 8.3.6", pages.technology, ("seeder.dynamic",)),
    "files": Kind("Documents, images and other files", "thesis 8.3.7 to 8.3.10", pages.files),
    "sites": Kind("Sites", "thesis 8.4", sites.by_site, ("seeder.pages_per_site", *_DEPTH)),
    "growth": Kind("Growth of sites", "thesis 2.1.2", grown.of_sites),
    "links": Kind("Links", "thesis 8.5.1", links.degrees),
    "scores": Kind("Link scores", "thesis 8.5.2 and 5.17", links.scores),
    "domains": Kind("Links to other domains", "thesis 8.5.3", links.domains, ("seeder.domains",)),
    "site-graph": Kind("Links between sites", "thesis 8.6", sites.graph),
    "quality": Kind("Quality and size of sites", "thesis 6.4", sites.quality),
    "speeds": Kind("Speed and latency of servers", "thesis 3.3", servers.speeds),
    "servers": Kind("Charsets, protocols, software, preferences", "", servers.used),
    "duplicates": Kind("Duplicates", "thesis 8.2 and A.5.2", servers.copies),
}
"""The sections, in the order of the report."""

Show = Callable[[str, float], None]
"""Called with what is being done, and the part done, from 0 to 1."""


def with_own(plugins: Iterable[Plugin]) -> dict[str, Kind]:
    """All sections: ours, then those of plug-ins, which are loaded here. UsageError if one cannot be."""
    found = dict(SECTIONS)
    for plugin in plugins:
        function = load(plugin)
        name = own.name_of(plugin, function)
        if name in found:
            raise UsageError(f"{plugin.told()}: there is a section {name} already", "Give the function another name.")
        found[name] = Kind(own.title_of(plugin, function), "", partial(own.section, plugin, function))
    return found


def chosen(names: Sequence[str], sections: Mapping[str, Kind] = SECTIONS) -> tuple[str, ...]:
    """The sections of these names, in the order of the report; all if there are none."""
    for name in names:
        if name not in sections:
            close = get_close_matches(name, sections, 1, 0.4)
            cure = f"Did you mean {close[0]}? " if close else ""
            raise UsageError(f"the report has no section {name!r}", f"{cure}Sections: {', '.join(sections)}.")
    return tuple(name for name in sections if not names or name in names)


def report(
    folders: Sequence[Path],
    names: Sequence[str] = (),
    figures: Mapping[str, float] | None = None,
    unchecked: bool = False,
    show: Show = lambda *_: None,
    sections: Mapping[str, Kind] = SECTIONS,
) -> list[Finding]:
    """The findings of one collection, or of several side by side, in the order given. `figures`: numbers by top-level
    domain, to be shown against links; `sections`: ours, or those of plug-ins too (`with_own`)."""
    wanted = chosen(names, sections)
    if len(folders) > MOST:
        raise UsageError(f"{len(folders)} collections are too many", f"Compare at most {MOST}.")
    labels = _labels(folders)
    computed: list[dict[str, Section]] = []
    notes: list[str] = []
    for at, path in enumerate(folders):
        with reading(path, unchecked) as data:
            data.figures.update(figures or {})
            notes += [f"{labels[at]}: {text}" if len(folders) > 1 else text for text in data.damaged]
            found = {}
            for number, name in enumerate(wanted):
                done = (at + number / len(wanted)) / len(folders)
                show(f"{labels[at]}: {sections[name].title.lower()}", done)
                found[name] = _section(data, sections[name])
            computed.append(found)
    return [
        present(
            name,
            sections[name].title,
            sections[name].source,
            [Of(label, found[name]) for label, found in zip(labels, computed, strict=True)],
            notes if name == wanted[0] else (),
        )
        for name in wanted
    ]


def _section(data: Data, kind: Kind) -> Section:
    try:
        found = kind.compute(data)
        return found if found.missing else replace(found, stands_on=f"{found.stands_on}. {data.stands(kind.settings)}")
    except GossamerError as error:
        return absent(" ".join(filter(None, [f"This could not be computed: {error.message}.", error.cure])))


def _labels(folders: Sequence[Path]) -> list[str]:
    """The names of the folders, made different by their parents where they are equal."""
    names = [path.resolve().name for path in folders]
    return [
        name if names.count(name) == 1 else f"{path.resolve().parent.name}/{name}"
        for name, path in zip(names, folders, strict=True)
    ]


def write(folder: Path, title: str, findings: Sequence[Finding], show: Show = lambda *_: None) -> Path:
    """Writes the folder: a CSV file for each table and plot, an SVG file for each plot, one JSON file, and the page."""
    pictures: dict[str, bytes] = {}
    for number, finding in enumerate(findings):
        show(f"plots: {finding.title.lower()}", number / len(findings))
        for each in finding.tables:
            target.write(folder / f"{for_file(each.name)}.csv", table.as_csv(each))
        for drawing in finding.drawings:
            target.write(folder / f"{for_file(drawing.name)}.svg", drawing.svg)
        for each_plot in finding.plots:
            pictures[each_plot.name] = plot.as_svg(each_plot)
            target.write(folder / f"{for_file(each_plot.name)}.csv", plot.as_csv(each_plot))
            target.write(folder / f"{for_file(each_plot.name)}.svg", pictures[each_plot.name])
    target.write(folder / JSON, for_json(plain(title, findings), indent=1))
    path = folder / PAGE
    target.write(path, page.as_html(title, findings, pictures.get))
    return path


def plain(title: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """The report as one object for JSON."""
    return {"report": title, "sections": [as_json(finding) for finding in findings]}


def prepare(folder: Path) -> None:
    """Checks, before the work, that the folder can be written."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", "Name a folder: a new one, or one with an earlier report.")
    plot.check()
    disk.make_directory(folder.absolute())
