"""Sections about servers: speed and latency (3.3), and what they use: charsets, protocols, software, preferences.

Tables do not have the software, the protocol and the version of TLS of an answer. They are read from the archive: of
each site one page, and one robots.txt by https, of at most `SAMPLE` sites.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.errors import GossamerError
from gossamer.base.model import VisitFlag
from gossamer.collection import cdx
from gossamer.laboratory.findings.finding import Plot, Series
from gossamer.laboratory.report.data import Data, quantiles
from gossamer.laboratory.report.pages import NOTHING
from gossamer.laboratory.report.parts import Fact, Section, Shares, absent, distribution, share
from gossamer.laboratory.report.sites import correlation, thinned
from gossamer.read.near import BITS, near

SAMPLE: Final = 2_000
_HEAD: Final = 65_536
"""Bytes of a record that are read."""
_HEADER: Final = re.compile(rb"\r\n(server|x-powered-by): *([^\r\n]*)", re.IGNORECASE)
_PROTOCOL: Final = re.compile(rb"\r\nWARC-Protocol: ([^\r\n]*)")
_SECURE: Final = f"""
select v.warc_file, v.warc_offset, v.warc_end from (
    select site, arg_max({{'warc_file': warc_file, 'warc_offset': warc_offset, 'warc_end': warc_end}}, (tick, number))
    as v from stored.visits where ask = 'robots' and (flags & {VisitFlag.REUSED:d}) = 0 and warc_offset is not null
    and origin in (select origin from stored.origins where secure > 0) group by site) order by site limit ?
"""
_INSECURE: Final = f"""
select count(distinct site) filter (outcome = 'tls_failed'),
       count(distinct site) filter ((flags & {VisitFlag.UNVERIFIED:d}) != 0) from stored.visits
"""
_ANSWERED: Final = """
select count(*), count(*) filter (not brought) from (
    select site, bool_or(outcome in ('ok', 'duplicate')) as brought from stored.visits
    where ask in ('page', 'robots') and outcome <> 'returned' group by site)
"""
_WITHIN: Final = """
select count(*), avg(speed), avg(latency) from (
    select stddev_samp(speed) / avg(speed) as speed, stddev_samp(latency - connect) / avg(latency - connect) as latency
    from stored.visits where ask = 'page' and status is not null and speed > 0 and latency > connect
    group by site having count(*) > 1)
"""
_PRODUCT: Final = re.compile(r"[A-Za-z][\w.+-]*")


def speeds(data: Data) -> Section:
    found = data.columns(
        "select site, median(speed)::double as speed, median(latency - connect)::double as latency, count(*) as number "
        "from stored.visits where ask = 'page' and status is not null and speed > 0 and latency > 0 group by site "
        "order by site"
    )
    if len(found["site"]) < 3:
        return absent("Fewer than three sites have answered with a measured speed.")
    speed, latency = found["speed"] / 1000, np.maximum(found["latency"], 1e-6)
    graph = data.site_graph
    place = np.searchsorted(graph.site, found["site"])
    place = np.where((place < len(graph.site)), place, 0)
    known = graph.site[place] == found["site"] if len(graph.site) else np.zeros(len(place), bool)
    popular = np.where(known, graph.in_degree[place] if len(graph.site) else 0, 0)
    linked = popular > 0
    asked, silent = data.rows(_ANSWERED)[0]
    several, *within = data.rows(_WITHIN)[0]
    return Section(
        f"{len(speed):,} sites, {int(found['number'].sum()):,} answers; of each site the medians; latency without the "
        "time to connect; correlations of logarithms, popularity by sites that link; deviations "
        f"within the {several:,} sites with several answers",
        (
            Fact("sites that were requested and gave no page", share(silent, asked), ".1%", 0.25),
            *_middle("speed, KB/s", speed, ",.1f"),
            *_middle("latency, s", latency, ".3f"),
            Fact("deviation of speed within a site, mean", within[0], ".0%", 0.42),
            Fact("deviation of latency within a site, mean", within[1], ".0%", 0.96),
            Fact("correlation of speed and latency", correlation(speed, latency), ".3f", -0.645),
            Fact("of popularity and speed", correlation(popular[linked], speed[linked]), ".3f", -0.001),
            Fact("of popularity and latency", correlation(popular[linked], latency[linked]), ".3f", -0.069),
        ),
        plots=(
            _points("speed-latency", "Speed and latency (figure 3.5)", "speed, KB/s", "latency, s", speed, latency),
            _points(
                "speed-popularity", "Speed and popularity (figure 3.4)", "sites that link to it", "speed, KB/s",
                popular[linked], speed[linked],
            ),
            _points(
                "latency-popularity", "Latency and popularity (figure 3.4)", "sites that link to it", "latency, s",
                popular[linked], latency[linked],
            ),
        ),
    )  # fmt: skip


def _middle(label: str, sample: Array, form: str) -> tuple[Fact, Fact]:
    _, middle, ninety, _, _ = quantiles(sample)
    return Fact(f"{label}, median of sites", middle, form), Fact(f"{label}, 90th percentile", ninety, form)


def _points(name: str, title: str, x: str, y: str, a: Array, b: Array) -> Plot:
    return Plot(name, title, x, y, (Series("sites", *thinned(a, b), "points"),), x_log=True, y_log=True)


def used(data: Data) -> Section:
    """Charsets, schemes, protocols, software, and preferences for the use of content."""
    charsets = data.counted(
        "select coalesce(nullif(charset, ''), 'unknown'), count(*) from placed group by 1 order by 2 desc, 1"
    )
    if not charsets:
        return absent(NOTHING)
    schemes = data.counted(
        "select if(o.secure > 0, 'https', 'http'), count(*) from placed f join (select origin, max(secure) as secure "
        "from stored.origins group by 1) o on o.origin = f.origin group by 1 order by 2 desc, 1"
    )
    preferences = data.counted(
        "select preference, count(distinct page) from preferences group by 1 order by 2 desc, 1", views=["preferences"]
    )
    read, protocols, software = _from_archive(data)
    secure, versions = _tls(data)
    refused, invalid = data.rows(_INSECURE)[0]
    pages = int(sum(charsets.values()))
    found = [
        Shares("charsets", "Charsets", "pages", charsets),
        Shares("schemes", "Schemes", "pages", schemes),
    ]
    if read:
        found += [
            Shares("protocols", "Protocols, of one page a site", "sites", protocols),
            Shares("software", "Server software, of one page a site", "sites", software),
        ]
    if secure:
        found.append(Shares("tls", "Versions of TLS, of one robots.txt a site", "sites", versions))
    if preferences:
        found.append(Shares("preferences", "Preferences for the use of content", "pages", preferences))
    return Section(
        f"{pages:,} fetched pages; protocol and software of {read:,} sites, of one archived page each; version of TLS "
        f"of {secure:,} sites, where a robots.txt by https is archived that opened its connection; "
        + ("preferences of pages and of their robots.txt" if preferences else "no page states preferences"),
        (
            Fact("pages by https", share(schemes.get("https", 0), pages), ".1%"),
            Fact("sites with which no secure connection could be made", refused),
            Fact("sites with a certificate that is not valid, fetched all the same", invalid),
        ),
        shares=tuple(found),
    )


def _from_archive(data: Data) -> tuple[int, dict[str, float], dict[str, float]]:
    """How many answers were read, and what is in their heads."""
    rows = data.rows(
        "select any_value(warc_file), any_value(warc_offset), any_value(warc_end) from (select * from placed "
        "where warc_file is not null and warc_offset is not null order by page) group by site order by site limit ?",
        SAMPLE,
    )
    read, protocols, software = 0, dict[str, float](), dict[str, float]()
    for file, begin, end in rows:
        found = _head(data, str(file), int(begin), int(end))
        if found is None:
            continue
        read += 1
        record, head = found
        word = "HTTP/2" if b"h2" in _PROTOCOL.findall(record) else head.partition(b" ")[0].decode("ascii", "replace")
        protocols[word] = protocols.get(word, 0) + 1
        fields = {name.lower(): value for name, value in _HEADER.findall(head)}
        product = _PRODUCT.match(fields.get(b"server", b"").decode("latin-1"))
        named = product[0].rstrip(".") if product else "not named"
        software[named] = software.get(named, 0) + 1
    return read, _ordered(protocols), _ordered(software)


def _tls(data: Data) -> tuple[int, dict[str, float]]:
    """The number of sites whose version of TLS is known, and sites by version."""
    versions: dict[str, float] = {}
    for file, begin, end in data.rows(_SECURE, SAMPLE):
        found = _head(data, str(file), int(begin), int(end))
        said = [word for word in _PROTOCOL.findall(found[0]) if word.startswith(b"tls/")] if found else []
        if said:
            version = f"TLS {said[0][4:].decode('ascii', 'replace')}"
            versions[version] = versions.get(version, 0) + 1
    return int(sum(versions.values())), _ordered(versions)


def _head(data: Data, file: str, begin: int, end: int) -> tuple[bytes, bytes] | None:
    """The heads of an archived record and of its answer; None if they cannot be read."""
    try:
        for _, _, record in cdx.members(data.sources.shard / file, begin, end, _HEAD):
            fields, _, http = record.partition(b"\r\n\r\n")
            return (fields, http.partition(b"\r\n\r\n")[0]) if http.startswith(b"HTTP/") else None
    except (GossamerError, OSError, ValueError):
        pass
    return None


def _ordered(found: dict[str, float]) -> dict[str, float]:
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def copies(data: Data) -> Section:
    """Exact and near duplicates."""
    found = data.columns("select sketch, digest, duplicate_of is not null as copy from placed order by page")
    pages = len(found["copy"])
    if not pages:
        return absent(NOTHING)
    copy = found["copy"].astype(bool)
    texts = ~copy & (found["sketch"] != 0)
    close = near(found["sketch"][texts].astype(np.uint64))
    _, sizes = np.unique(found["digest"][found["digest"] != 0], return_counts=True)
    return Section(
        f"{pages:,} fetched pages; exact: the same text and links; near: {int(texts.sum()):,} other pages with at "
        f"least ten words, whose sketches differ in at most {BITS} of 64 bits",
        (
            Fact("exact duplicates", int(copy.sum()), cl=202_855),
            Fact("share of exact duplicates", share(int(copy.sum()), pages), ".2%", 0.0612),
            Fact("pages with a near duplicate", int(close.sum())),
            Fact("share of pages with a near duplicate", share(int(close.sum()), int(texts.sum())), ".2%"),
        ),
        distributions=(distribution("copies", "Pages with the same text and links", "contents", "pages", sizes),)
        if len(sizes)
        else (),
    )
