"""The collections that this server shows."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.base.units import thousands
from gossamer.serve.html import tag
from gossamer.serve.shell import at, cells, shell, table
from gossamer.serve.subjects.overview import Overview


def page_of(found: Sequence[Overview | tuple[str, str]]) -> str:
    """A row for each; of one that cannot be read, why."""
    rows = []
    for one in found:
        if isinstance(one, Overview):
            state = "running" if one.running else one.ending
            numbers = [thousands(count) for count in (one.counts.visits, one.counts.stored, one.counts.known)]
            rows.append(
                tag("tr", tag("th", tag("a", one.name, href=at(one.name)), scope="row"), cells((state, *numbers)))
            )
        else:
            rows.append(tag("tr", tag("th", one[0], scope="row"), tag("td", one[1], colspan=4)))
    return shell("Collections", table(("collection", "state", "visits", "stored", "known"), rows))
