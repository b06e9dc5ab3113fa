"""Serving a Web of this machine during a crawl, and the settings with which it is crawled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from gossamer.base.units import Duration, plural
from gossamer.config.settings import HarvesterSettings, ManagerSettings, Settings
from gossamer.crawler.start import LocalWeb, Say
from gossamer.webs import demo
from gossamer.webs.demo.web import DemoWeb
from gossamer.webs.hostile.web import LIMITS, HostileWeb

WAITS: Final = {"wait": Duration(0.02), "wait_large": Duration(0.005), "address_wait": Duration(0.005)}
"""The Web is ours: small waits are polite enough."""
USUAL: Final = tuple(f"harvester.{name}" for name in (*WAITS, *LIMITS))
_DAY: Final = 86_400.0


@contextmanager
def served(web: DemoWeb | HostileWeb, say: Say, log: Path | None = None) -> Iterator[LocalWeb]:
    """Starts the Web in a process of its own; it stops when the context ends. Where a day of its life is shorter than
    ours, so is the least time between two visits of a page."""
    running = demo.start(web, log=log)
    try:
        hostile = isinstance(web, HostileWeb)
        name = "hostile Web" if hostile else "demonstration Web"
        say(f"the {name} runs on this machine: {plural(len(running.seeds), 'site')}, port {running.port}")
        settings = demo_settings(running.resolve, tuple(running.domains), running.trusted, hostile)
        usual = USUAL
        if isinstance(web, DemoWeb) and web.speed:
            settings = replace(settings, manager=ManagerSettings(min_period=Duration(max(1.0, _DAY / web.speed))))
            usual = (*USUAL, "manager.min_period")
        yield LocalWeb(settings, tuple(running.seeds), usual)
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
