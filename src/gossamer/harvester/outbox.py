"""What the harvester finds out on its own and the next tick journals: verdicts on pages, and site events."""

from __future__ import annotations

from gossamer.collection.journal.effects import SiteNews, Verdict


class Outbox:
    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.news: list[SiteNews] = []

    def __bool__(self) -> bool:
        return bool(self.verdicts or self.news)
