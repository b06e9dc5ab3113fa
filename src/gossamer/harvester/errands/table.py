"""The errands, in order of precedence. A new kind of errand is one row."""

from __future__ import annotations

from typing import Final

from gossamer.harvester.errands.errand import Errand
from gossamer.harvester.errands.mine import MineErrand
from gossamer.harvester.errands.robots import RobotsErrand
from gossamer.harvester.errands.sitemaps import SitemapErrand
from gossamer.harvester.errands.soft404 import ProbeErrand

ERRANDS: Final[tuple[type[Errand], ...]] = (RobotsErrand, MineErrand, SitemapErrand, ProbeErrand)
