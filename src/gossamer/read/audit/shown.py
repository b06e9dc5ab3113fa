"""An audit as text for the screen, as CSV, and as an HTML page.

Everything that a page says is escaped (`base/escape.py`). The page is self-contained, and follows the reader's choice
of dark or light.

Invariant, a property test of the same name: a page of findings shows what pages say and runs nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from gossamer.base.escape import for_html, for_spreadsheet
from gossamer.base.units import thousands
from gossamer.read.audit.checks import SEVERITIES
from gossamer.read.audit.run import Audit, Result

_MARKS: Final = {"error": "✗", "warning": "!", "notice": "·"}
_ON_PAGE: Final = 200
"""Findings of a check on the page: all are in the CSV file."""
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; } td, th { text-align: left; vertical-align: top; padding: .15rem 1rem .15rem 0; }
tr { border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
details { margin: .4rem 0; } summary { cursor: pointer; } summary b { margin-left: .3rem; }
.error { color: #c4221c; } .warning { color: #a15c00; } .notice, .cure { opacity: .75; }
th { white-space: nowrap; }
@media screen and (max-width: 40rem) {
  th { display: none; } tr, td { display: block; } td { padding: 0; } tr { padding: .4rem 0; }
  td:nth-child(2):not(:empty)::before { content: "on "; } td:nth-child(3):not(:empty)::before { content: "link: "; }
  td:nth-child(4):not(:empty)::before { content: "detail: "; } }
@media (prefers-color-scheme: dark) { .error { color: #ff8a80; } .warning { color: #ffb74d; } }
"""


def lines(audit: Audit, rows: int) -> Iterator[str]:
    """For the screen: what was found, the worst first, with some examples of each."""
    counts = ", ".join(f"{thousands(audit.count(s))} {s}s" for s in reversed(SEVERITIES))
    yield f"{audit.name}: {thousands(audit.pages)} fetched pages, {counts}"
    yield from audit.notes
    for severity in reversed(SEVERITIES):
        for result in audit.results:
            if result.severity == severity and result.number:
                yield ""
                number = f"{thousands(result.number)}{_since(result)}"
                yield f"{_MARKS[severity]} {result.name}: {number}. {result.sentence} {result.cure}"
                for found in result.found[:rows]:
                    beside = f"  on {found.source}" if found.source else ""
                    text = f' "{found.anchor}"' if found.anchor else ""
                    yield f"    {found.url}{f'  ({found.detail})' if found.detail else ''}{beside}{text}"
                if result.number > rows:
                    yield f"    and {thousands(result.number - rows)} more"


def _since(result: Result) -> str:
    if result.new is None:
        return ""
    return f" ({thousands(result.new)} new, {thousands(result.gone or 0)} gone since the baseline)"


def as_csv(audit: Audit) -> str:
    """All findings, one in each line."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(["check", "severity", "url", "source", "anchor", "detail"])
    for result in audit.results:
        for found in result.found:
            cells = (found.url, found.source, found.anchor, found.detail)
            writer.writerow([result.name, result.severity, *(for_spreadsheet(cell or "") for cell in cells)])
    return sink.getvalue()


def as_html(audit: Audit) -> str:
    counts = ", ".join(f'<span class="{s}">{thousands(audit.count(s))} {s}s</span>' for s in reversed(SEVERITIES))
    parts = [_part(r) for s in reversed(SEVERITIES) for r in audit.results if r.severity == s and r.number]
    clean = [
        for_html(result.name) for result in audit.results if not result.number and result.name not in audit.waiting
    ]
    notes = "".join(f"<p>{for_html(note)}</p>\n" for note in audit.notes)
    title = for_html(f"Audit of {audit.name}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style></head>\n'
        f"<body><h1>{title}</h1>\n<p>{thousands(audit.pages)} fetched pages: {counts}.</p>\n"
        f"{notes}{chr(10).join(parts)}\n"
        f'<p class="notice">Nothing was found by: {", ".join(clean) or "no check"}.</p>\n</body></html>\n'
    )


def _part(result: Result) -> str:
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{for_html(cell or '')}</td>" for cell in (f.url, f.source, f.anchor, f.detail)) + "</tr>"
        for f in result.found[:_ON_PAGE]
    )
    more = f"<p>{thousands(result.number - _ON_PAGE)} more are in audit.csv.</p>" if result.number > _ON_PAGE else ""
    return (
        f'<details id="{result.name}"><summary class="{result.severity}">{_MARKS[result.severity]} {result.severity}: '
        f"{for_html(result.sentence)} <b>{thousands(result.number)}</b>{for_html(_since(result))}</summary>\n"
        f'<p class="cure">{for_html(result.cure)} (<code>--check {result.name}</code>)</p>\n'
        f"<table><tr><th>address</th><th>page</th><th>link</th>"
        f"<th>detail</th></tr>\n{rows}\n</table>{more}</details>"
    )
