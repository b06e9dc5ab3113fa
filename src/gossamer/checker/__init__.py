"""The politeness checker: an access log and a crawl's settings in, every impolite request out."""

from gossamer.checker.check import EPSILON, check
from gossamer.checker.logs import LOG_FORMAT, read, robots_in, web_of
from gossamer.checker.report import Kind, Report, Request, Violation

__all__ = ["EPSILON", "LOG_FORMAT", "Kind", "Report", "Request", "Violation", "check", "read", "robots_in", "web_of"]
