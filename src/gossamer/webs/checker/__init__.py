"""The politeness checker: reads an access log and the settings of a crawl, and reports every impolite request."""

from gossamer.webs.checker.check import EPSILON, check
from gossamer.webs.checker.limits import PolitenessLimits, settings_at
from gossamer.webs.checker.logs import LOG_FORMAT, read, read_all, robots_in, robots_of_web, web_of
from gossamer.webs.checker.report import Fault, PolitenessReport, Request
from gossamer.webs.checker.robots import RobotsOf

__all__ = [
    "EPSILON", "LOG_FORMAT", "Fault", "PolitenessLimits", "PolitenessReport", "Request", "RobotsOf", "check",
    "read", "read_all", "robots_in", "robots_of_web", "settings_at", "web_of",
]  # fmt: skip
