"""What a page refers to and the crawl does not fetch: by class, extension and registrable domain (ERRATA, last line).

In the results it is text, a line each: class, extension, domain, count, between tabs; sorted. The class is a name of
`Counted` in lower case; only classes by extension have one; of what is not http the scheme stands there, and no domain.
At most `MOST_LINES` a page: the rarest are summed by class, without extension, under the domain "…".

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
"""Classes below have an extension."""
_LONGEST_DOMAIN: Final = 253
# fmt: off
_SCHEMES: Final = frozenset({
    "about", "blob", "callto", "data", "facetime", "file", "ftp", "geo", "gopher", "intent", "irc", "javascript",
    "magnet", "mailto", "market", "news", "sip", "skype", "sms", "tel", "tg", "viber", "webcal", "whatsapp", "xmpp",
})
# fmt: on


class Seen:
    """The tally of one page."""

    __slots__ = ("_found", "counted")

    def __init__(self) -> None:
        self.counted = [0] * len(Counted)
        """By `Counted`."""
        self._found: defaultdict[tuple[int, str, str], int] = defaultdict(int)

    def add(self, of: int, url: str) -> None:
        """A target in canonical form, of a class of `Counted` (or the `UrlClass` of the same value)."""
        self.counted[of] += 1
        self._found[of, extension(url) if of < _FIRST_OTHER else "", url[: url.index("/", 8) + 1]] += 1

    def add_other(self, raw: str) -> None:
        """A reference that has no canonical form."""
        self.counted[_NOT_HTTP] += 1
        self._found[_NOT_HTTP, scheme(raw), ""] += 1

    def lines(self) -> bytes:
        if not self._found:
            return b""
        sums: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        for (of, ending, root), count in self._found.items():
            sums[_WORDS[of], ending, registrable(host(root))[:_LONGEST_DOMAIN] if root else ""] += count
        if len(sums) > MOST_LINES:
            sums = _fewer(sums)
        return "".join(f"{of}\t{ending}\t{domain}\t{n}\n" for (of, ending, domain), n in sorted(sums.items())).encode()


def _fewer(sums: dict[tuple[str, str, str], int]) -> defaultdict[tuple[str, str, str], int]:
    """The most frequent stay; room is left for one line of the rest of each class."""
    ranked = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    room = MOST_LINES - len(Counted)
    fewer = defaultdict(int, ranked[:room])
    for (of, _, _), count in ranked[room:]:
        fewer[of, "", REST] += count
    return fewer


def scheme(raw: str) -> str:
    """Of a reference that is no page's: a scheme that is met often, or "other"."""
    name = raw[:16].lstrip().partition(":")[0].lower()
    return name if name in _SCHEMES else "other"
