"""Preferences of a robots.txt for the use of contents. They are stored with pages and not enforced.

    License: https://example.org/license.xml                RSL 1.0, for the whole file
    Content-Signal: search=yes, ai-train=no                 Cloudflare, for the group
    Content-Usage: /news/ train-ai=n, search=y              draft-ietf-aipref-attach, for the group; without a path for
                                                            everything

A line such as `left-out: 3 lines` stands for lines that did not fit. These may have been prohibitions: a reader who
finds it must not derive a permission from the other lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gossamer.base.units import plural
from gossamer.robots.pattern import Rule, allows, rule

LIMIT: Final = 2_000
"""Maximum bytes of all lines together, in UTF-8 with line ends. Lines that do not fit are left out."""
LEFT_OUT: Final = "left-out: "
"""Beginning of the line that counts the lines left out."""
_ROOM_TO_SAY: Final = 40
_USAGE: Final = "Content-Usage: "
_PERMITS: Final = re.compile(r"=\s*y(es)?\b|reservation:\s*0", re.I)
_FORBIDS: Final = re.compile(r"=\s*no?\b", re.I)


def bounded(lines: Iterable[str], limit: int = LIMIT) -> tuple[str, ...]:
    """The distinct lines, up to the limit. Lines that only permit are left out first, then the longest others."""
    distinct = tuple(dict.fromkeys(lines))
    if sum(map(_size, distinct)) <= limit:
        return distinct
    kept, room = set[str](), limit - _ROOM_TO_SAY
    for line in sorted(distinct, key=lambda line: (_only_permits(line), _size(line))):
        room -= _size(line)
        if room < 0:
            break
        kept.add(line)
    return *(line for line in distinct if line in kept), f"{LEFT_OUT}{plural(len(distinct) - len(kept), 'line')}"


def _size(line: str) -> int:
    return len(line.encode(errors="replace")) + 1


def _only_permits(line: str) -> bool:
    return bool(_PERMITS.search(line)) and not _FORBIDS.search(line)


def usage(lines: Iterable[str], path: str) -> str:
    """The preferences of the Content-Usage lines for a path with its query, like "search=y, train-ai=n", or "".

    The longest path that matches decides. Lines with paths of equal length are combined, and "n" wins. If lines were
    left out, no permission is reported.
    """
    longest, found, whole = -1, dict[str, str](), True
    for line in lines:
        whole = whole and not line.startswith(LEFT_OUT)
        if not line.startswith(_USAGE):
            continue
        given, values = _parted(line.removeprefix(_USAGE))
        size = len(given.path)
        if size < longest or allows([given], path.encode(errors="surrogatepass")):
            continue
        if size > longest:
            longest, found = size, {}
        for name, value in values.items():
            found[name] = "n" if "n" in (value, found.get(name)) else value
    return ", ".join(f"{name}={value}" for name, value in sorted(found.items()) if whole or value == "n")


def _parted(text: str) -> tuple[Rule, dict[str, str]]:
    """A rule with the path, which may be empty, and the names with value y or n; other values have no meaning yet."""
    path = ""
    if text[:1] in ("/", "*"):
        path, _, text = text.partition(" ")
    pairs = [part.partition(";")[0].partition("=")[::2] for part in text.split(",")]
    values = {name.strip().lower(): value.strip().lower() for name, value in pairs}
    return rule(False, path.encode(errors="surrogatepass")), {n: v for n, v in values.items() if v in ("y", "n")}
