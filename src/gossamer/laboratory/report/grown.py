"""Growth of sites (2.1.2): pages of each site at the first and at the last date of a collection, or in two collections.

A page was there at the first date unless its birth was seen, and is there at the last one unless its end was seen
(`read/sql/dynamics.py`). A crawl that visits pages once sees neither: it has one date, and is compared with others.
"""

from __future__ import annotations

from gossamer.laboratory.report.data import Data
from gossamer.laboratory.report.pages import NOTHING
from gossamer.laboratory.report.paired import growth, scatter
from gossamer.laboratory.report.parts import Named, Section, absent

_ONCE = (
    "Every page was visited once, which is one date: put an earlier collection beside it (--against), or crawl with "
    "--continuous"
)


def of_sites(data: Data) -> Section:
    rows = data.rows(
        "select site, count(*) filter (not born), count(*) filter (ended is null), sum(visits) > count(*) or "
        "count(ended) > 0, min(first_seen), max(last_seen) from lives group by site order by site",
        views=["lives"],
    )
    if not rows:
        return absent(NOTHING)
    before, after = ({data.site_names.get(int(row[0]), ""): float(row[at]) for row in rows} for at in (1, 2))
    begin, end, pages = min(row[4] for row in rows), max(row[5] for row in rows), int(sum(after.values()))
    named = (Named("site-growth", "Growth of sites", "sites", after),)
    if not any(row[3] for row in rows):
        return Section(f"{len(rows):,} sites, {pages:,} fetched pages. {_ONCE}", named=named)
    dates = [f"{time:%Y-%m-%d %H:%M}" for time in (begin, end)]
    return Section(
        f"{len(rows):,} sites, from {dates[0]} to {dates[1]} UTC; a page is new if it was first linked after the page "
        "that links to it had been fetched",
        growth(before, after),
        plots=(scatter("site-growth", "Pages of sites at two dates", f"pages, {dates[0]}", f"pages, {dates[1]}", before,
                       after),),
        named=named,
    )  # fmt: skip
