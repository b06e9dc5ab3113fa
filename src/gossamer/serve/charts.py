"""Charts as SVG that the server draws: colours come from the style sheet; what a chart says is said in words too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gossamer.base.units import human_time
from gossamer.serve.html import Html, tag

WIDE: Final = 300.0
HIGH: Final = 64.0


def line(label: str, points: Sequence[tuple[float, float]], shown: str, unit: str = "") -> Html:
    """A figure of a value over time: its name, its last value as `shown`, and the curve from zero to its maximum."""
    caption = tag("figcaption", tag("span", label), tag("strong", shown, unit and f" {unit}"))
    if len(points) < 2:
        return tag("figure", caption, tag("p", "A curve needs two seconds.", class_="small"), class_="chart")
    first, last = points[0][0], points[-1][0]
    most = max(value for _, value in points) or 1.0
    span = max(1e-9, last - first)
    at = [(WIDE * (time - first) / span, HIGH - HIGH * value / most) for time, value in _thinned(points)]
    curve = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    drawn = tag(
        "svg",
        tag("polygon", points=f"0,{HIGH:g} {curve} {at[-1][0]:.1f},{HIGH:g}", class_="under"),
        tag("polyline", points=curve),
        viewBox=f"0 -2 {WIDE:g} {HIGH + 4:g}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{label}, the last {human_time(span)}: now {shown}",
    )
    return tag("figure", caption, drawn, tag("p", f"the last {human_time(span)}", class_="small"), class_="chart")


def _thinned(points: Sequence[tuple[float, float]], most: int = 240) -> list[tuple[float, float]]:
    """At most so many points, the last one among them."""
    step = -(-len(points) // most)
    return [*points[:-1:step], points[-1]]


def bar(share: float, kind: str = "") -> Html:
    """A bar as wide as its share. What it says stands beside it as text."""
    width = f"{100 * min(1.0, max(0.0, share)):.2f}"
    return tag(
        "svg",
        tag("rect", width=100, height=8, class_="all"),
        tag("rect", width=width, height=8, class_=f"part {kind}".strip()),
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        class_="bar",
        aria_hidden="true",
    )


def stack(parts: Sequence[tuple[str, int]], total: int, label: str) -> Html:
    """One bar of all parts."""
    drawn, at = [], 0.0
    for name, count in parts:
        width = 100 * count / total if total else 0.0
        drawn.append(tag("rect", tag("title", name), x=f"{at:.3f}", width=f"{width:.3f}", height=8, class_=name))
        at += width
    said = ", ".join(f"{name} {count:,}" for name, count in parts)
    return tag(
        "svg",
        drawn,
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        class_="bar stack",
        role="img",
        aria_label=f"{label}: {said}",
    )
