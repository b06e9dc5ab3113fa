"""Finds the demonstration Web that a collection was crawled from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gossamer.base.errors import UsageError
from gossamer.config import Settings
from gossamer.urls import host
from gossamer.webs.demo.layout import DEEPEST_DYNAMIC, LAST_MONTH
from gossamer.webs.demo.web import DemoWeb


def as_served(web: DemoWeb, urls: Collection[str]) -> DemoWeb:
    """The Web without its https sites if none was served: they need certificates, which not every machine can make."""
    if not {host(url) for url in urls} <= {s.host for s in web.all_sites}:
        raise UsageError(
            "This is a crawl of another Web: it has pages of sites that this Web does not have.",
            "Give --sites, --pages, --seed, --with and --without as when the Web was served.",
        )
    return web if any(url.startswith("https:") for url in urls) else replace(web, tls=0)


def depth_of(settings: Settings) -> int:
    """The depth limit for the truth about calendars."""
    return min(max(settings.seeder.depth_dynamic, DEEPEST_DYNAMIC), LAST_MONTH)
