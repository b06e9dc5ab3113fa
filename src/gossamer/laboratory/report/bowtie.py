"""Draws the bow-tie of a graph (figure 8.22): its ten parts, each with its share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gossamer.laboratory.findings.finding import Drawing

_FRAME: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 430" width="800" height="430"
 font-family="sans-serif" font-size="14" text-anchor="middle">
<style>.p{{fill:#dcebf7;stroke:#0072B2;stroke-width:1.5}} .m{{fill:#f9e3d6;stroke:#D55E00;stroke-width:1.5}}
.t{{fill:#e3f2ec;stroke:#009E73;stroke-width:1.5}} .b{{font-weight:bold}}</style>
<path class="p" d="M40 90 L270 150 L270 270 L40 330 Z"/>
<path class="p" d="M760 90 L530 150 L530 270 L760 330 Z"/>
<ellipse class="m" cx="400" cy="210" rx="140" ry="112"/>
<path class="m" d="M400 98 V322 M260 210 H540" fill="none"/>
<path class="t" d="M190 128 Q400 -30 610 128 L596 122 Q400 0 204 122 Z"/>
<path class="t" d="M120 310 Q150 360 130 395 H190 Q200 360 175 296 Z"/>
<path class="t" d="M680 310 Q650 360 670 395 H610 Q600 360 625 296 Z"/>
<circle class="p" cx="345" cy="385" r="16"/><circle class="p" cx="400" cy="392" r="11"/>
<circle class="p" cx="448" cy="384" r="14"/>
{texts}
</svg>
"""
_PLACES: Final = {
    "in": ("IN", 150, 205),
    "out": ("OUT", 650, 205),
    "main_norm": ("MAIN-NORM", 338, 160),
    "main_main": ("MAIN-MAIN", 464, 160),
    "main_in": ("MAIN-IN", 338, 250),
    "main_out": ("MAIN-OUT", 464, 250),
    "tunnel": ("TUNNEL", 400, 24),
    "tentacle_in": ("TENTACLES-IN", 110, 412),
    "tentacle_out": ("TENTACLES-OUT", 690, 412),
    "island": ("ISLANDS", 400, 340),
}


def drawn(name: str, title: str, parts: Mapping[str, float]) -> Drawing:
    """The picture; a part that is absent has no share in it."""
    lines = []
    for part, (word, x, y) in _PLACES.items():
        share = f"{parts.get(part, 0.0):.2%}"
        beside = part in ("tunnel", "tentacle_in", "tentacle_out", "island")
        if beside:
            lines.append(f'<text x="{x}" y="{y}"><tspan class="b">{word}</tspan> {share}</text>')
        else:
            lines.append(f'<text class="b" x="{x}" y="{y}">{word}</text><text x="{x}" y="{y + 20}">{share}</text>')
    return Drawing(name, title, _FRAME.format(texts="\n".join(lines)))
