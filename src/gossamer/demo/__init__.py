"""The demonstration Web: a Web made from a seed, its truth, and a server for it."""

from gossamer.demo.kinds import Count, counts, having, without
from gossamer.demo.layout import Kind
from gossamer.demo.start import Running, start
from gossamer.demo.truth import Expected, Truth
from gossamer.demo.web import DemoWeb

__all__ = ["Count", "DemoWeb", "Expected", "Kind", "Running", "Truth", "counts", "having", "start", "without"]
