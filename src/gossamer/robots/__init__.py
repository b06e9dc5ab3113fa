"""robots.txt after RFC 9309: parsed once into compact rules, matched without backtracking. Pure.

`robots.match`, the compiled matcher for whole ticks, is imported by the desk alone: it needs numba.
"""

from gossamer.robots.rules import Rules

__all__ = ["Rules"]
