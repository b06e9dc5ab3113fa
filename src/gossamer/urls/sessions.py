"""Session parameters: `name=value` in the query, `;name=value` in the path, and `/(S(value))` (ASP.NET) in the path.

In form 2 of the canonical form a parameter is removed only if its value looks like a session. `sid=101` is a story's
number; a server that makes sessions makes them long, so that nobody can guess them:

- 32 or more letters and digits in a row. A host or a number may follow, behind a mark (`.node1` of Tomcat,
  `!-1234!5678` of WebLogic). Marks between fewer letters do not count: `sid=a-story-of-some-length-about-2026` is a
  title, and a UUID may be the number of an article.
- `;jsessionid=` in the path, which is the Servlet specification's own name: 16 or more.
- `/(S(value))/`: 24 letters and digits, as ASP.NET makes them; tickets, `A()` and `F()`, have 32 or more.

Form 1 removes the parameter whatever its value is. Shorter sessions are found by pairs of pages (`seeder/pairs.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_RUN: Final = "[0-9a-z]{32,}+"
_SHORTEST: Final = "[0-9a-z]{16}"
_SERVLET: Final = "jsessionid"
_FORM_1: Final = r"/\((?:[AFSX]\([^/()]{1,500}\))+\)(?=/)"
_FORM_2: Final = r"/\((?:S\([0-9a-z]{24}\)|[AF]\([0-9a-z_-]{32,500}\)|X\(1\))+\)(?=/)"
"""Path segments of ASP.NET: a session, a ticket, and the mark of a browser without cookies."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Patterns of session parameters."""

    occur: Callable[[str], re.Match[str] | None]
    """A fast check with false positives."""
    in_path: re.Pattern[str]
    in_query: re.Pattern[str]

    def remove(self, href: str) -> str:
        """A canonical URL without these parameters. What remains may have another canonical form.

        The host is kept, whatever stands in it: `http://a;jsessionid=…/` is not the site `a`."""
        path, mark, query = self.remove_from_query(href).partition("?")
        root = path[: path.index("/", 8)]
        return root + self.in_path.sub("", path[len(root) :]) + mark + query

    def remove_from_query(self, href: str) -> str:
        path, mark, query = href.partition("?")
        kept = self.in_query.sub("", query)
        if kept[-1:] in ("&", ";") and query[-1:] not in ("&", ";"):
            kept = kept[:-1]
        return path + (mark + kept if kept else "")


@lru_cache(maxsize=256)
def sessions(session_ids: tuple[str, ...], form: int = 1) -> Sessions:
    """The patterns of these parameters: names in any case; a final * makes a name a prefix. They look for the first
    letter of a name first: a URL of 220 "&" takes 3 µs, and took 44."""
    each = [re.escape(s.removesuffix("*")) + ("[^=&;/?]*" if s.endswith("*") else "") for s in session_ids]
    first = {s.removesuffix("*")[:1] for s in session_ids}
    ahead = f"(?=[{''.join(map(re.escape, sorted(first)))}])" if all(first) else ""
    names = f"{ahead}(?:{'|'.join(each)})" if each else "(?!)"
    part = (_FORM_1 if form == 1 else _FORM_2) if each else "(?!)"
    flags = re.IGNORECASE | re.ASCII
    if form == 1:
        in_path, in_query, shortest = "[^;/]*", "[^&;]*", ""
    else:
        in_path = rf"{_RUN}(?:[-._~!][^;/]*)?(?=[;/]|$)"
        in_query = rf"{_RUN}(?:[-._~!][^&;]*)?"
        shortest = _SHORTEST
    servlet = rf"|;{_SERVLET}=[0-9a-z]{{16,}}+(?:[-._~!][^;/]*)?(?=[;/]|$)"
    if form == 1 or _SERVLET not in map(str.lower, session_ids):
        servlet = ""
    return Sessions(
        re.compile(f"[?&;]{names}={shortest}|{part}", flags).search,
        re.compile(f";{names}={in_path}{servlet}|{part}", flags),
        re.compile(f"(?:^|(?<=[&;])){names}={in_query}(?:[&;]|$)", flags),
    )
