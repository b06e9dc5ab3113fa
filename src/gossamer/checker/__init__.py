"""The politeness checker: an access log and a crawl's settings in, every impolite request out."""

from gossamer.checker.check import EPSILON, check
from gossamer.checker.limits import Limits
from gossamer.checker.logs import LOG_FORMAT, read, read_all, robots_in, robots_of_web, web_of
from gossamer.checker.report import Kind, Report, Request, Violation
from gossamer.checker.robots import RobotsOf

__all__ = [
    "EPSILON",
    "LOG_FORMAT",
    "Kind",
    "Limits",
    "Report",
    "Request",
    "RobotsOf",
    "Violation",
    "check",
    "read",
    "read_all",
    "robots_in",
    "robots_of_web",
    "web_of",
]
