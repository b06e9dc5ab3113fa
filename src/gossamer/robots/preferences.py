"""What a robots.txt says about the use of a site's contents, beside who may fetch what: kept with pages, no more.

    License: https://example.org/license.xml                RSL 1.0, for the whole file
    Content-Signal: search=yes, ai-train=no                 Cloudflare, for the group
    Content-Usage: /news/ train-ai=n, search=y              draft-ietf-aipref-attach, for the group; without a path for
                                                            everything

What is left out may be what forbids: `left-out: 3 lines` stands for lines that did not fit. A reader who finds it may
take no permission from the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gossamer.base.units import plural
from gossamer.robots.pattern import allows, normalised

LIMIT: Final = 2_000
"""Bytes of all lines together, as UTF-8, each with its end; the lines that do not fit are left out."""
LEFT_OUT: Final = "left-out: "
"""Begins the line that says so."""
_ROOM_TO_SAY: Final = 40
_USAGE: Final = "Content-Usage: "
_PERMITS: Final = re.compile(r"=\s*y(es)?\b|reservation:\s*0", re.I)
_FORBIDS: Final = re.compile(r"=\s*no?\b", re.I)


def bounded(lines: Iterable[str], limit: int = LIMIT) -> tuple[str, ...]:
    """Each once, as far as the limit goes: those that only permit are left out first, and of others the longest."""
    said = tuple(dict.fromkeys(lines))
    if sum(map(_size, said)) <= limit:
        return said
    kept, room = set[str](), limit - _ROOM_TO_SAY
    for line in sorted(said, key=lambda line: (_only_permits(line), _size(line))):
        room -= _size(line)
        if room < 0:
            break
        kept.add(line)
    return *(line for line in said if line in kept), f"{LEFT_OUT}{plural(len(said) - len(kept), 'line')}"


def _size(line: str) -> int:
    return len(line.encode(errors="replace")) + 1


def _only_permits(line: str) -> bool:
    return bool(_PERMITS.search(line)) and not _FORBIDS.search(line)


def usage(lines: Iterable[str], path: str) -> str:
    """What the Content-Usage lines say about a path with its query, like "search=y, train-ai=n"; "" if nothing.

    The longest path that matches decides; lines of equal length are taken together, and "n" wins. If lines were left
    out, nothing is said to be allowed.
    """
    longest, found, whole = -1, dict[str, str](), True
    for line in lines:
        whole = whole and not line.startswith(LEFT_OUT)
        if not line.startswith(_USAGE):
            continue
        pattern, said = _parted(line.removeprefix(_USAGE))
        if len(pattern) < longest or allows([(False, pattern)], path.encode(errors="surrogatepass")):
            continue
        if len(pattern) > longest:
            longest, found = len(pattern), {}
        for name, value in said.items():
            found[name] = "n" if "n" in (value, found.get(name)) else value
    return ", ".join(f"{name}={value}" for name, value in sorted(found.items()) if whole or value == "n")


def _parted(text: str) -> tuple[bytes, dict[str, str]]:
    """Path in normal form, empty without one; names with y or n: others have no meaning yet."""
    path = ""
    if text[:1] in ("/", "*"):
        path, _, text = text.partition(" ")
    pairs = [part.partition(";")[0].partition("=")[::2] for part in text.split(",")]
    said = {name.strip().lower(): value.strip().lower() for name, value in pairs}
    return normalised(path.encode(errors="surrogatepass")), {n: v for n, v in said.items() if v in ("y", "n")}
