"""How fast a run went, from its start until now, in a few dozen numbers: for sparklines."""

from __future__ import annotations

from typing import Final, NamedTuple

from gossamer.observe.statistics import Statistics

BARS: Final = "▁▂▃▄▅▆▇█"
MOST: Final = 96
"""Spans that are remembered; a multiple of two."""


class _Span(NamedTuple):
    seconds: float
    visits: int
    bytes: int


def _both(one: _Span, two: _Span) -> _Span:
    return _Span(one.seconds + two.seconds, one.visits + two.visits, one.bytes + two.bytes)


class History:
    """Equal spans of time, a second each at first. When there are too many, two and two become one."""

    def __init__(self) -> None:
        self._spans: list[_Span] = []
        self._each = 1.0
        self._last: _Span | None = None
        """Sums at the end of the last span, of the run and of the runs before."""

    def add(self, statistics: Statistics) -> None:
        run, requests = statistics.run, statistics.requests
        now = _Span(run.seconds, requests.visits, requests.bytes)
        if self._last is None or now.seconds < self._last.seconds:
            self._last = now
        if now.seconds - self._last.seconds < self._each:
            return
        before = self._last
        self._spans.append(_Span(now.seconds - before.seconds, now.visits - before.visits, now.bytes - before.bytes))
        self._last = now
        if len(self._spans) > MOST:
            pairs = map(_both, self._spans[:MOST:2], self._spans[1:MOST:2])
            self._spans = [*pairs, *self._spans[MOST:]]
            self._each *= 2

    def visits(self, width: int) -> str:
        return self._drawn([(span.visits, span.seconds) for span in self._spans], width)

    def bytes(self, width: int) -> str:
        return self._drawn([(span.bytes, span.seconds) for span in self._spans], width)

    def _drawn(self, spans: list[tuple[int, float]], width: int) -> str:
        """A bar for each rate; the highest stands for the largest."""
        many = max(1, -(-len(spans) // max(1, width)))
        groups = [spans[i : i + many] for i in range(0, len(spans), many)]
        rates = [sum(n for n, _ in group) / sum(s for _, s in group) for group in groups]
        return bars(rates)


def bars(values: list[float]) -> str:
    """A bar for each value: the lowest for zero, the highest for the largest."""
    high = max(values, default=0.0)
    return "".join(BARS[round(max(0.0, v) / high * (len(BARS) - 1)) if high > 0 else 0] for v in values)
