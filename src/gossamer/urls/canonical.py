"""The canonical form of a URL: two URLs with the same canonical form are the same page.

It is the serialisation of the WHATWG URL standard (resolved against the base; host in lower case, IDNA, numeric
addresses in dotted form; no dot segments, tabs, backslashes or default ports; unsafe characters percent-encoded) plus
our own rules: only http and https; no fragment, no user information, no empty query; no session parameters; no `www.`
before the host. The last two depend on the settings (see `Scope`): here the caller gives the parameters and decides
about `www.`. A URL without a canonical form is None. Nothing else is changed: the case of the path, the order of
parameters and trailing slashes may matter to a server.

The form has a number, because a collection keeps the form that its pages were made in:

- form 1 leaves percent-encodings as the standard leaves them, encodes queries in UTF-8, and removes a session parameter
  whatever its value is;
- form 2 normalises percent-encodings (`escapes.py`), encodes the query of a link in the charset of its page
  (`queries.py`), and removes a session parameter only if its value looks like a session (`sessions.py`).

Form 1 without parameters is what a server meant, letter by letter; it is the default here.

Invariants: `canonical_is_idempotent`: canonical(canonical(x)) == canonical(x).
`joiner_agrees_with_canonical`: Joiner(base)(x) == canonical(x, base).

Measured cost: `canonical` 2.2 µs with and without a base (1.7 µs of it in ada-url, most of that in its binding), 3 µs
for a URL with a query; a `Joiner` 0.5 to 1 µs for a plain link, which it joins as strings. Form 2 costs 0.5 µs more for
a URL with two escapes, 0.8 µs with ten, and 2 µs if these ten change; a session parameter that is none costs nothing,
where form 1 parsed the URL again. Refused: calling
ada-url's C functions directly (0.6 µs faster, but private); w3lib and yarl (slower, and they do not follow the
standard).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ada_url import join_url, normalize_url

from gossamer.urls.escapes import uniform
from gossamer.urls.names import LONGEST_HOST, bare
from gossamer.urls.queries import encoded
from gossamer.urls.sessions import sessions

_PLAIN: Final = re.compile(r"(?:/|/?[\w~+,=-][\w~+,=./-]*)(?:\?[\w~+,=./&%:-]+)?(?:#[!-~]*)?", re.ASCII).fullmatch
"""A reference that the rules of the standard do not change, except for dot segments and the fragment."""


def canonical(
    url: str,
    base: str | None = None,
    session_ids: tuple[str, ...] = (),
    www: bool = False,
    form: int = 1,
    charset: str = "",
) -> str | None:
    """The canonical form of `url`, resolved against `base`; None if there is none.

    `session_ids`: names of session parameters, in any case; a final * makes it a prefix. `www`: remove `www.`.
    `charset`: the codec of the page that `url` is in, if it is not UTF-8.
    """
    if charset and form > 1:
        url = encoded(url, charset)
    try:
        href: str = normalize_url(url) if base is None else join_url(base, url)
    except ValueError:
        return None
    if not href.startswith(("http://", "https://")):
        return None
    if "#" in href:
        href = href[: href.index("#")]
    if href[-1] == "?" and href.index("?") == len(href) - 1:
        href = href[:-1]
    if "@" in href:
        href = _without_user(href)
    if "%" in href and form > 1:
        href = uniform(href)
    if www:
        href = bare(href)
    if "?" in href or ";" in href or "/(" in href:
        found = sessions(session_ids, form)
        if found.occur(href):
            shorter = found.remove(href)
            return href if shorter == href else canonical(shorter, None, session_ids, www, form)
    return href


class Joiner:
    """`canonical` for the many links of one page: it parses the base once and joins plain links as strings."""

    __slots__ = (
        "_base",
        "_charset",
        "_folder",
        "_form",
        "_root",
        "_roots",
        "_session_ids",
        "_sessions_occur",
        "_www",
    )

    def __init__(
        self, base: str, session_ids: tuple[str, ...] = (), www: bool = False, form: int = 1, charset: str = ""
    ) -> None:
        """`base` is in canonical form 1 or 2, with or without `www.`; `charset` as for `canonical`."""
        self._base = base = bare(base) if www else base
        self._root = base[: base.index("/", 8)]
        self._session_ids = session_ids
        self._sessions_occur = sessions(session_ids, form).occur
        folder = base[: base.rindex("/", 0, max(base.find("?"), 0) or len(base)) + 1]
        if "%" in folder and form > 1:
            folder = uniform(folder)
        self._folder = "" if self._sessions_occur(folder) else folder
        self._www = www
        self._form = form
        self._charset = charset
        self._roots = _roots[www]

    def __call__(self, url: str) -> str | None:
        start, rest, first = self._folder, url, url[:1]
        if first == "/":
            start = self._root
        elif not start:
            return self._by_the_standard(url)
        elif first == ".":
            at = 0
            while url.startswith("../", at):
                start, at = self._parent(start), at + 3
            rest = url[at:]
        elif url[:4] == "http":
            slash = url.find("/", 8)
            start, rest = self._roots.get(url[:slash], ""), url[slash:]
            if slash < 0 or not start:
                return self._by_the_standard(url)
        if not _PLAIN(rest) or "/." in rest:
            return self._by_the_standard(url)
        if "#" in rest:
            rest = rest[: rest.index("#")]
        if "?" in rest:
            if "%" in rest and self._form > 1:
                rest = uniform(rest)
            if self._sessions_occur(rest):
                return self._by_the_standard(url)
        return start + rest

    def _parent(self, folder: str) -> str:
        """The parent folder; the root is its own parent."""
        return folder[: max(folder.rindex("/", 0, -1), len(self._root)) + 1]

    def _by_the_standard(self, url: str) -> str | None:
        """Join by the rules of the standard, and cache the canonical form of the root for the next URL below it."""
        if _OTHER_SCHEME(url):
            return None
        href = canonical(url, self._base, self._session_ids, self._www, self._form, self._charset)
        if href is not None and (written := _ROOT(url)) and len(written[0]) <= _LONGEST_ROOT:
            if len(self._roots) >= _MOST_ROOTS:
                self._roots.clear()
            self._roots[written[0]] = href[: href.index("/", 8)]
        return href


_OTHER_SCHEME: Final = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+:").match
"""A URL of another scheme, whatever follows."""
_ROOT: Final = re.compile(r"https?://[a-zA-Z0-9.-]+(?::[0-9]+)?(?=/)").match
"""Scheme, host and port whose meaning does not depend on what follows."""
_roots: Final[Mapping[bool, dict[str, str]]] = {False: {}, True: {}}
"""Roots as written, mapped to their canonical form: with `www.` kept (False) or removed (True)."""
_MOST_ROOTS: Final = 10_000
_LONGEST_ROOT: Final = len("https://:65535") + LONGEST_HOST


def _without_user(href: str) -> str:
    """The URL without user information. It ends at the last "@" before the path: others are written as %40."""
    scheme, _, rest = href.partition("//")
    authority, slash, path = rest.partition("/")
    return f"{scheme}//{authority.rpartition('@')[2]}{slash}{path}"
