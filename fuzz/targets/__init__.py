"""All targets, by name."""

from __future__ import annotations

from typing import Final

from fuzz.target import Target
from fuzz.targets.answer import AnswerTarget
from fuzz.targets.asked import AskedTarget
from fuzz.targets.chunked import ChunkedTarget
from fuzz.targets.damaged import DamagedTarget
from fuzz.targets.decode import DecodeTarget
from fuzz.targets.extract import ExtractTarget
from fuzz.targets.groups import GroupsTarget
from fuzz.targets.html import HtmlTarget
from fuzz.targets.join import JoinTarget
from fuzz.targets.journal import JournalTarget
from fuzz.targets.logs import LogsTarget
from fuzz.targets.names import NamesTarget
from fuzz.targets.robots import RobotsTarget
from fuzz.targets.sitemaps import SitemapsTarget
from fuzz.targets.sql import SqlTarget
from fuzz.targets.urls import UrlsTarget

TARGETS: Final[dict[str, type[Target]]] = {
    target.name: target
    for target in (
        AnswerTarget,
        DecodeTarget,
        HtmlTarget,
        UrlsTarget,
        RobotsTarget,
        SitemapsTarget,
        JournalTarget,
        NamesTarget,
        JoinTarget,
        GroupsTarget,
        ChunkedTarget,
        SqlTarget,
        DamagedTarget,
        AskedTarget,
        ExtractTarget,
        LogsTarget,
    )
}
