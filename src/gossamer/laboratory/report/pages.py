"""Sections about pages: summary, status codes, length, age, depth, languages, technology, other files (8.2 to 8.3)."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64
from gossamer.base.model import VisitFlag
from gossamer.laboratory.findings.finding import Plot, Series
from gossamer.laboratory.report.data import Data, quantiles
from gossamer.laboratory.report.fits import Law
from gossamer.laboratory.report.parts import Fact, Section, Shares, absent, distribution, share

YEAR: Final = 365.25 * 86400
MONTH: Final = YEAR / 12
NOTHING: Final = (
    "The collection has no fetched page in a sealed segment. A crawl seals what it has every few minutes "
    "(collection.seal_every), and when it stops; `gossamer status` shows how far it is."
)
_GROUPS: Final = """
case when outcome = 'not_modified' then 'not modified'
     when status in (200, 206) then 'ok' when status in (301, 302, 303, 307, 308) then 'moved'
     when status in (404, 410) then 'not found' when status in (401, 403, 406) then 'forbidden'
     when status in (204, 500, 502, 503) then 'server error' when status is null then 'no answer'
     else 'other' end"""
_GROUP_ORDER: Final[tuple[str, ...]] = (
    "ok",
    "not modified",
    "moved",
    "not found",
    "server error",
    "forbidden",
    "other",
    "no answer",
)
_APPLICATIONS: Final = {
    "php": "PHP", "php3": "PHP", "php4": "PHP", "php5": "PHP", "phtml": "PHP",
    "asp": "ASP", "aspx": "ASP.NET", "ashx": "ASP.NET",
    "jsp": "Java", "jhtml": "Java", "do": "Java", "action": "Java", "jsf": "Java",
    "cfm": "ColdFusion", "cgi": "CGI", "pl": "Perl", "py": "Python", "rb": "Ruby", "dll": "DLL", "exe": "CGI",
    "shtml": "SSI", "xhtml": "XHTML", "html": "HTML", "htm": "HTML", "": "no extension",
}  # fmt: skip
_FILES: Final = {
    "document": ("documents", "figure 8.7"),
    "image": ("images", "figure 8.8"),
    "audio": ("audio files", "figure 8.8"),
    "video": ("video files", "figure 8.8"),
    "source": ("source code", "figure 8.9"),
    "software": ("software", "figure 8.9"),
    "archive": ("archives", "figure 8.10"),
}


def summary(data: Data) -> Section:
    pages = data.fetched
    fetched = len(pages["page"])
    if not fetched:
        return absent(NOTHING)
    known, excluded = data.rows("select count(*), count(*) filter (state = 'excluded') from stored.pages")[0]
    visits, ok, received = data.rows(
        "select count(*) filter (ask = 'page'), count(*) filter (ask = 'page' and status in (200, 206)), "
        "sum(received) from stored.visits"
    )[0]
    dynamic, copies = int(pages["dynamic"].sum()), int(pages["copy"].sum())
    sites = len(np.unique(pages["site"]))
    seen = len(data.site_names)
    return Section(
        f"{fetched:,} fetched pages of {sites:,} sites, {visits:,} requests for pages",
        (
            Fact("pages known", known),
            Fact("excluded when they were found", excluded),
            Fact("requests for pages", visits),
            Fact("of these, answered by a page (200 or 206)", share(ok, visits), ".1%", 0.783, 0.778),
            Fact("bytes received, of everything", int(received or 0)),
            Fact("pages fetched", fetched, cl=3_313_060, gr="4.0 million"),
            Fact("static pages", fetched - dynamic, cl=2_191_522),
            Fact("share of static pages", share(fetched - dynamic, fetched), ".2%", 0.6615),
            Fact("dynamic pages", dynamic, cl=1_121_538),
            Fact("share of dynamic pages", share(dynamic, fetched), ".2%", 0.3385),
            Fact("unique pages", fetched - copies, cl=3_110_205),
            Fact("share of unique pages", share(fetched - copies, fetched), ".2%", 0.9388),
            Fact("duplicates", copies, cl=202_855),
            Fact("share of duplicates", share(copies, fetched), ".2%", 0.0612),
            Fact("sites known", seen),
            Fact("sites with a fetched page", sites, cl=49_535, gr=28_974),
            Fact("static pages a site", share(fetched - dynamic, sites), ",.2f", 40.40),
            Fact("dynamic pages a site", share(dynamic, sites), ",.2f", 26.73),
            Fact("pages a site", share(fetched, sites), ",.2f", 67.13),
        ),
    )


def status(data: Data) -> Section:
    found = data.counted(f"select {_GROUPS} as what, count(*) from stored.visits where ask = 'page' group by 1")
    if not found:
        return absent(NOTHING)
    ours = data.counted("select outcome, count(*) from stored.visits where ask = 'page' group by 1 order by 2 desc, 1")
    codes = data.counted(
        "select coalesce(status::varchar, 'no answer'), count(*) from stored.visits where ask = 'page' "
        "group by 1 order by 2 desc, 1"
    )
    grouped = {word: found[word] for word in _GROUP_ORDER if word in found}
    requests = int(sum(found.values()))
    return Section(
        f"{requests:,} requests for pages, retries included",
        shares=(
            Shares("status-groups", "HTTP status, in groups (figure 8.1)", "requests", grouped),
            Shares("status-codes", "HTTP status", "requests", codes),
            Shares("outcomes", "Outcomes, in our words", "requests", ours, most=60),
        ),
    )


def length(data: Data) -> Section:
    size: F64 = data.fetched["length"]
    size = size[~np.isnan(size)]
    if not len(size):
        return absent(NOTHING)
    cut = data.rows(f"select count(*) filter ((flags & {VisitFlag.CUT:d}) != 0) from placed")[0][0]
    mean, middle, ninety, most, largest = quantiles(size)
    return Section(
        f"{len(size):,} fetched pages; decoded bodies, of which gatherer.max_stored is kept: longer pages gather there",
        (
            Fact("mean length, bytes", mean),
            Fact("median, bytes", middle),
            Fact("90th percentile, bytes", ninety),
            Fact("99th percentile, bytes", most),
            Fact("longest, bytes", largest),
            Fact("pages that were cut", cut),
            Fact("share of pages that were cut", share(cut, len(size)), ".2%"),
        ),
        distributions=(
            distribution(
                "length",
                "Content length of pages (figures 8.2 and 8.24)",
                "pages",
                "length in KB, rounded up",
                np.ceil(size[size > 0] / 1000).astype(np.int64),
                laws=(Law(12, 300, "3.54 (.cl)"),),
            ),
        ),
    )


def age(data: Data) -> Section:
    found = data.columns("select site, epoch(time - modified)::double as age from placed")
    if not len(found["site"]):
        return absent(NOTHING)
    given = ~np.isnan(found["age"])
    ages = np.maximum(found["age"][given], 0.0)
    sites = len(np.unique(found["site"]))
    facts = (
        Fact("pages with a credible Last-Modified", share(int(given.sum()), len(given)), ".1%"),
        Fact("sites with one", share(len(np.unique(found["site"][given])), sites), ".1%", 0.83),
    )
    stands = (
        f"{int(given.sum()):,} of {len(given):,} fetched pages: those whose Last-Modified is credible (not before "
        "1993, not in the future); age at the time of the visit"
    )
    if not len(ages):
        return Section(stands, facts)
    months = np.floor(ages / MONTH).astype(np.int64)
    years = np.floor(ages / YEAR).astype(np.int64)
    return Section(
        stands,
        (
            *facts,
            Fact("median age, days", float(np.median(ages)) / 86400, ",.1f"),
            Fact("changed in the last year", share(int((ages < YEAR).sum()), len(ages)), ".1%", "more than 60%"),
        ),
        distributions=(
            distribution(
                "age-months", "Age of pages in months (figure 8.3)", "pages", "age in months", months, logarithmic=False
            ),
            distribution(
                "age-years", "Age of pages in years (figure 8.3)", "pages", "age in years", years, logarithmic=False
            ),
        ),
    )


def depth(data: Data) -> Section:
    pages = data.fetched
    if not len(pages["page"]):
        return absent(NOTHING)
    levels = np.arange(int(pages["depth"].max()) + 1)
    dynamic = pages["dynamic"].astype(bool)
    counts = [np.bincount(pages["depth"][which], minlength=len(levels)) for which in (~dynamic, dynamic)]
    charts = [
        Plot(
            "depth-kinds",
            "Static and dynamic pages by depth (figures 5.2 and 8.4)",
            "depth",
            "pages",
            tuple(
                Series(label, levels.tolist(), found.tolist(), "bars")
                for label, found in zip(("static", "dynamic"), counts, strict=True)
            ),
        )
    ]
    return Section(
        f"{len(dynamic):,} fetched pages; clicks from a seed, or from a page that another site links to, by the "
        "shortest way",
        (Fact("mean depth", float(pages["depth"].mean()), ".2f"),),
        distributions=(
            distribution("depth", "Depth of pages (figure 8.23)", "pages", "depth", pages["depth"], logarithmic=False),
        ),
        plots=tuple(charts),
    )


def languages(data: Data) -> Section:
    found = data.counted(
        "select coalesce(nullif(language, ''), 'unknown'), count(*) from placed group by 1 order by 2 desc, 1"
    )
    if not found:
        return absent(NOTHING)
    named = [word for word in found if word != "unknown"][:6]
    by_depth = data.rows(
        f"select d.depth, language, count(*), sum(count(*)) over (partition by d.depth) from placed f "
        f"join {data.depths} d on d.page = f.page where coalesce(language, '') <> '' group by 1, 2 order by 1"
    )
    curves = []
    for word in named:
        points = {int(at): number / whole for at, language, number, whole in by_depth if language == word}
        levels = sorted({int(row[0]) for row in by_depth})
        curves.append(Series(word, levels, [points.get(level, 0.0) for level in levels]))
    return Section(
        f"{int(sum(found.values())):,} fetched pages; the language that the text is most probably in; shares by "
        "depth are of the pages whose language is known",
        shares=(Shares("languages", "Languages of pages", "pages", found, {"es": 0.71, "en": 0.27}),),
        plots=(Plot("languages-depth", "Languages by depth (figure 8.5)", "depth", "share of pages", tuple(curves)),)
        if curves
        else (),
    )


def technology(data: Data) -> Section:
    rows = data.rows(
        "select lower(regexp_extract(split_part(split_part(p.url, '?', 1), '//', 2), ?, 1)), count(*) "
        "from placed f join stored.pages p on p.page = f.page where f.dynamic group by 1",
        r"/[^/]*\.([A-Za-z0-9]{1,6})$",
    )
    if not rows:
        return absent("No fetched page is dynamic: none has a query, or the extension of a program.")
    found: dict[str, float] = {}
    for extension, number in rows:
        word = _APPLICATIONS.get(extension, f".{extension}")
        found[word] = found.get(word, 0) + number
    ordered = dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
    return Section(
        f"{int(sum(found.values())):,} fetched dynamic pages, by the extension of their URL; programs that show no "
        "extension are not recognised",
        shares=(Shares("technology", "Dynamic pages by technology (figure 8.6)", "pages", ordered),),
    )


def files(data: Data) -> Section:
    rows = data.rows(
        "select class, coalesce(nullif(lower(extension), ''), 'none'), sum(number) from stored.counts "
        f"where class in ({', '.join(repr(word) for word in _FILES)}) group by 1, 2 order by 3 desc, 2"
    )
    if not rows:
        return absent("No page links to a document, image, audio or video file, software, source code or archive.")
    made = []
    for word, (title, figure) in _FILES.items():
        found = {str(extension): int(number) for kind, extension, number in rows if kind == word}
        if found:
            made.append(Shares(f"files-{word}", f"Links to {title}, by extension ({figure})", "links", found, most=15))
    total = {_FILES[kind][0]: 0 for kind, _, _ in rows}
    for kind, _, number in rows:
        total[_FILES[kind][0]] += int(number)
    total = dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))
    return Section(
        f"{sum(total.values()):,} links of fetched pages to files that are counted, not fetched; a link that stands on "
        "many pages counts as often, and how often the same file is linked is not recorded",
        shares=(Shares("files", "Links to other files", "links", total), *made),
    )
