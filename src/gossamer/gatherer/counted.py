"""Counts links that the crawl does not fetch, by class, extension and registrable domain (ERRATA, last line).

A result has them as sorted lines of text: class, extension, domain and count, separated by tabs. The class is a name of
`Counted` in lower case. The extension is empty for classes that do not depend on it. Links that are not http have their
scheme instead of the extension, and no domain. A page has at most `MOST_LINES` lines: the rarest are summed by class,
without extension, under the domain "…".

Invariant: `the_lines_of_a_page_add_up_to_its_counts`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from gossamer.base.model import Counted
from gossamer.urls import extension, host, registrable

MOST_LINES: Final = 200
REST: Final = "…"

_WORDS: Final = [of.name.lower() for of in Counted]
_NOT_HTTP: Final = int(Counted.NOT_HTTP)
_FIRST_OTHER: Final = int(Counted.OUT_OF_SCOPE)
"""The classes below this one have an extension."""
_LONGEST_DOMAIN: Final = 253
# fmt: off
_SCHEMES: Final = frozenset({
    "about", "blob", "callto", "data", "facetime", "file", "ftp", "geo", "gopher", "intent", "irc", "javascript",
    "magnet", "mailto", "market", "news", "sip", "skype", "sms", "tel", "tg", "viber", "webcal", "whatsapp", "xmpp",
})
# fmt: on


class Seen:
    """The counted links of one page."""

    __slots__ = ("_found", "counted")

    def __init__(self) -> None:
        self.counted = [0] * len(Counted)
        """By `Counted`."""
        self._found: defaultdict[tuple[int, str, str], int] = defaultdict(int)

    def add(self, of: int, url: str) -> None:
        """Count a target in canonical form. `of`: its class in `Counted`, or the `UrlClass` of the same value."""
        self.counted[of] += 1
        self._found[of, extension(url) if of < _FIRST_OTHER else "", url[: url.index("/", 8) + 1]] += 1

    def add_other(self, raw: str) -> None:
        """Count a reference that has no canonical form."""
        self.counted[_NOT_HTTP] += 1
        self._found[_NOT_HTTP, scheme(raw), ""] += 1

    def lines(self) -> bytes:
        """The lines of the result."""
        if not self._found:
            return b""
        sums: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        for (of, ending, root), count in self._found.items():
            sums[_WORDS[of], ending, registrable(host(root))[:_LONGEST_DOMAIN] if root else ""] += count
        if len(sums) > MOST_LINES:
            sums = _fewer(sums)
        return "".join(f"{of}\t{ending}\t{domain}\t{n}\n" for (of, ending, domain), n in sorted(sums.items())).encode()


def _fewer(sums: dict[tuple[str, str, str], int]) -> defaultdict[tuple[str, str, str], int]:
    """The most frequent lines, and one line with the sum of the others for each class."""
    ranked = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    room = MOST_LINES - len(Counted)
    fewer = defaultdict(int, ranked[:room])
    for (of, _, _), count in ranked[room:]:
        fewer[of, "", REST] += count
    return fewer


def scheme(raw: str) -> str:
    """The scheme of a reference if it is a common one, otherwise "other"."""
    name = raw[:16].lstrip().partition(":")[0].lower()
    return name if name in _SCHEMES else "other"
