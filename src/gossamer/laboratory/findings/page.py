"""Pages that show findings, one in HTML and one in Markdown: sentences, tables and plots, in order.

The HTML page is self-contained: plots are embedded as images, which run no scripts, and nothing is loaded from
elsewhere. Every text is escaped.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Final

from gossamer.base.escape import for_file, for_html
from gossamer.laboratory.findings import table
from gossamer.laboratory.findings.finding import Finding, Sentence, Table
from gossamer.laboratory.findings.table import markdown as safe

Picture = Callable[[str], bytes | None]
"""Returns the SVG of a plot by its name, or None."""

_STYLE: Final = """
:root { color-scheme: light dark; --text: #222; --ground: #fff; --faint: #555; --line: #ddd; --bar-colour: #cfe3f3; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ddd; --ground: #181a1b; --faint: #aaa; --line: #3a3d3f; --bar-colour: #264a63; }
  figure img { filter: invert(.91) hue-rotate(180deg); }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--text); background: var(--ground); overflow-wrap: anywhere; }
a { color: inherit; }
h2 { border-top: 1px solid var(--line); padding-top: 1.5rem; margin-top: 2.5rem; }
nav ul { columns: 2; }
.table { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; width: max-content;
  max-width: min(50rem, calc(100vw - 4rem)); }
td.paper, th.paper { text-align: right; color: var(--faint); }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
td[style] { min-width: 6rem;
  background: linear-gradient(to right, var(--bar-colour) var(--bar), transparent var(--bar)); }
.n { text-align: right; }
figure { margin: 1rem 0; overflow-x: auto; } img { max-width: 100%; }
@media screen and (max-width: 40rem) { img { max-width: none; width: 38rem; } td:first-child { min-width: 8.5rem; } }
.about, figcaption { color: var(--faint); font-size: .9rem; }
li.yes::marker { content: "✓ "; color: #1a9850; } li.no::marker { content: "✗ "; color: #d73027; }
li.other::marker { content: "· "; }
body:has(#paper:not(:checked)) .paper { display: none; }
@media print { nav, .switch { display: none; } section { break-inside: auto; } figure, table { break-inside: avoid; }
  body { max-width: none; margin: 0; } }
"""
_SWITCH: Final = (
    '<p class="switch"><label><input type="checkbox" id="paper" checked> show what the thesis found</label></p>\n'
)
_MARKS: Final = {True: "agrees", False: "differs", None: ""}
_CLASSES: Final = {True: "yes", False: "no", None: "other"}


def as_html(title: str, findings: Sequence[Finding], picture: Picture) -> str:
    listed = "\n".join(f'<li><a href="#{for_html(f.name)}">{for_html(f.title)}</a></li>' for f in findings)
    sections = "\n".join(_section(finding, picture) for finding in findings)
    switch = any(column.paper for f in findings for each in f.tables for column in each.columns)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{for_html(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style></head>\n'
        f"<body><h1>{for_html(title)}</h1>\n<p>{for_html(_tally(findings))}</p>\n{_SWITCH if switch else ''}"
        f"<nav><ul>\n{listed}\n</ul></nav>\n"
        f"{sections}\n</body></html>\n"
    )


def _section(finding: Finding, picture: Picture) -> str:
    parts = [f'<section id="{for_html(finding.name)}"><h2>{for_html(finding.title)}</h2>']
    parts += [f'<p class="about">{for_html(text)}</p>' for text in (finding.source, finding.setting) if text]
    if finding.sentences:
        items = (f'<li class="{_CLASSES[s.agrees]}">{for_html(s.text)}</li>' for s in finding.sentences)
        parts.append("<ul>\n" + "\n".join(items) + "\n</ul>")
    plots = {plot.name for plot in finding.plots}
    parts += [_table(each) for each in finding.tables if each.below not in plots]
    parts += [_figure(drawing.title, drawing.svg.encode()) for drawing in finding.drawings]
    for plot in finding.plots:
        svg = picture(plot.name)
        if svg is not None:
            parts.append(_figure(plot.title, svg, f"{for_file(plot.name)}.csv"))
        parts += [_table(each) for each in finding.tables if each.below == plot.name]
    return "\n".join([*parts, "</section>"])


def _table(each: Table) -> str:
    return f'<div class="table">{table.as_html(each)}</div>'


def _figure(title: str, svg: bytes, numbers: str = "") -> str:
    """`numbers`: the file beside the page that has all points."""
    source = f"data:image/svg+xml;base64,{b64encode(svg).decode()}"
    link = f' · <a href="{for_html(numbers)}">all points</a>' if numbers else ""
    caption = f"<figcaption>{for_html(title)}{link}</figcaption>"
    return f'<figure><img alt="{for_html(title)}" src="{source}">{caption}</figure>'


def as_markdown(title: str, findings: Sequence[Finding]) -> str:
    parts = [f"# {safe(title)}", _tally(findings)]
    for finding in findings:
        parts += [f"## {safe(finding.title)}", safe(finding.source), safe(finding.setting)]
        parts.append("\n".join(f"- {safe(marked(s))}" for s in finding.sentences))
        for each in finding.tables:
            parts += [f"**{safe(each.title)}**" if each.title else "", table.as_markdown(each)]
        parts += [f"![{safe(plot.title)}]({for_file(plot.name)}.svg)" for plot in finding.plots]
    return "\n\n".join(filter(None, parts)) + "\n"


def marked(sentence: Sentence) -> str:
    mark = _MARKS[sentence.agrees]
    return f"{mark}: {sentence.text}" if mark else sentence.text


def _tally(findings: Sequence[Finding]) -> str:
    """How many statements of the paper our results agree with."""
    said = [s.agrees for f in findings for s in f.sentences if s.agrees is not None]
    return f"{sum(said)} of {len(said)} statements agree with the paper." if said else ""
