"""robots.txt (RFC 9309): parsed once into compact rules, matched without backtracking. Pure functions.

Only the desk imports `robots.match`, the compiled matcher for whole ticks: it needs numba.
"""

from gossamer.robots.rules import Rules

__all__ = ["Rules"]
