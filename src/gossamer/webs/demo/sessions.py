"""Session ids in links: a new one in every answer, so that a crawler that takes them for pages never ends.

Pages are made with a placeholder for the id; the server replaces it with an id of the same length when it answers.
"""

from __future__ import annotations

import re
from typing import Final

from gossamer.webs.demo.site import Site

MARK: Final = "0session0session"
_ID: Final = "[0-9a-z]{16}"
_IN_PATH: Final = re.compile(f";jsessionid={_ID}")
_IN_QUERY: Final = re.compile(f"[?&]PHPSESSID={_ID}$")


def with_session(site: Site, target: str, session: str) -> str:
    """The target with a session id: `;jsessionid=` at the end of the path, `PHPSESSID=` at the end of the query."""
    if site.features.session == "jsessionid":
        path, mark, query = target.partition("?")
        return f"{path};jsessionid={session}{mark}{query}"
    return f"{target}{'&' if '?' in target else '?'}PHPSESSID={session}"


def without_session(site: Site, target: str) -> str:
    """The target without its session id."""
    return (_IN_PATH if site.features.session == "jsessionid" else _IN_QUERY).sub("", target)
