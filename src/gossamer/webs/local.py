"""Serving a Web of this machine during a crawl, and the settings with which it is crawled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from gossamer.base.units import Duration, plural
from gossamer.config.settings import HarvesterSettings, Settings
from gossamer.crawler.start import LocalWeb, Say
from gossamer.webs import demo
from gossamer.webs.demo.web import DemoWeb
from gossamer.webs.hostile.web import LIMITS, HostileWeb

WAITS: Final = {"wait": Duration(0.02), "wait_large": Duration(0.005), "address_wait": Duration(0.005)}
"""The Web is ours: small waits are polite enough."""


@contextmanager
def served(web: DemoWeb | HostileWeb, say: Say, log: Path | None = None) -> Iterator[LocalWeb]:
    """Starts the Web in a process of its own; it stops when the context ends."""
    running = demo.start(web, log=log)
    try:
        hostile = isinstance(web, HostileWeb)
        name = "hostile Web" if hostile else "demonstration Web"
        say(f"the {name} runs on this machine: {plural(len(running.seeds), 'site')}, port {running.port}")
        settings = demo_settings(running.resolve, tuple(running.domains), running.trusted, hostile)
        yield LocalWeb(settings, tuple(running.seeds), (*WAITS, *LIMITS))
    finally:
        running.stop()


def demo_settings(
    resolve: dict[str, str], domains: tuple[str, ...], trusted: str = "", hostile: bool = False
) -> Settings:
    """Names below its domains that it does not have lead nowhere: no resolver is asked about them."""
    nowhere = {f"*.{domain}": "none" for domain in domains}
    own: dict[str, Any] = {**WAITS, **(LIMITS if hostile else {})}
    harvester = HarvesterSettings(resolve={**resolve, **nowhere}, allow_private=True, trusted=trusted, **own)
    return Settings(harvester=harvester)
