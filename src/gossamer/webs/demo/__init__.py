"""The demonstration Web: a Web made from a seed, the truth about it, and a server for it."""

from gossamer.webs.demo.kinds import Count, counts, having, without
from gossamer.webs.demo.layout import UrlKind
from gossamer.webs.demo.life import Happening
from gossamer.webs.demo.start import RunningWeb, start
from gossamer.webs.demo.truth import Expected, Truth
from gossamer.webs.demo.web import DemoWeb

__all__ = [
    "Count", "DemoWeb", "Expected", "Happening", "RunningWeb", "Truth", "UrlKind", "counts", "having", "start",
    "without",
]  # fmt: skip
