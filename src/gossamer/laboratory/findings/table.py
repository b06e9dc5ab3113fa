"""Writes a table for a terminal, for a spreadsheet (CSV), in Markdown and in HTML.

In CSV numbers have all their digits; elsewhere they are rounded as their column says. A missing value is a dash for
people and empty in CSV.
"""

from __future__ import annotations

import csv
import io
import math
from typing import Final

from gossamer.base.escape import for_html, for_screen, for_spreadsheet
from gossamer.laboratory.findings.finding import Cell, Table

NONE: Final = "–"


def as_text(table: Table) -> str:
    """Aligned columns: texts to the left, numbers to the right."""
    cells = [[column.name for column in table.columns], *_written(table)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = _numeric(table)
    lines = [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def as_csv(table: Table) -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([_for_csv(cell) for cell in row] for row in table.rows)
    return sink.getvalue()


def as_markdown(table: Table) -> str:
    def line(cells: list[str]) -> str:
        return f"| {' | '.join(markdown(cell) for cell in cells)} |"

    rule = "|" + "|".join("--:" if right else "---" for right in _numeric(table)) + "|"
    head = line([column.name for column in table.columns])
    return "\n".join([head, rule, *map(line, _written(table))])


def as_html(table: Table) -> str:
    right = _numeric(table)
    empty: tuple[Cell, ...] = (None,) * len(right)

    def line(tag: str, cells: list[str], values: tuple[Cell, ...]) -> str:
        parts = []
        for text, value, column, number in zip(cells, values, table.columns, right, strict=True):
            words = " ".join(word for word, there in (("n", number), ("paper", column.paper)) if there)
            said = f' class="{words}"' if words else ""
            bar = column.bar and isinstance(value, float) and math.isfinite(value)
            style = f' style="--bar:{min(max(float(value or 0), 0), 1):.2%}"' if bar else ""
            parts.append(f"<{tag}{said}{style}>{for_html(text)}</{tag}>")
        return f"<tr>{''.join(parts)}</tr>"

    head = line("th", [column.name for column in table.columns], empty)
    body = "\n".join(line("td", row, values) for row, values in zip(_written(table), table.rows, strict=True))
    caption = f"<caption>{for_html(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead>{head}</thead><tbody>\n{body}\n</tbody></table>"


def markdown(text: str) -> str:
    """Escapes a text for Markdown: no tags, no cells, no links."""
    shown = for_screen(text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("[", "\\[")


def written(cell: Cell, form: str = "") -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return NONE
    if isinstance(cell, str):
        return cell
    return format(cell, form)


def _written(table: Table) -> list[list[str]]:
    forms = table.forms or ("",) * len(table.rows)
    return [
        [written(cell, form or c.form) for cell, c in zip(row, table.columns, strict=True)]
        for row, form in zip(table.rows, forms, strict=True)
    ]


def _numeric(table: Table) -> list[bool]:
    """By column: whether it has numbers and no texts."""
    columns = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    return [any(cell is not None for cell in c) and not any(isinstance(cell, str) for cell in c) for c in columns]


def _for_csv(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return for_spreadsheet(cell)
    return None if cell is None or not math.isfinite(cell) else cell
