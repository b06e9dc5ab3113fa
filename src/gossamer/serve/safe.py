"""What protects the server: who may ask, from where, for how much. It stands before every route.

- **Host**: only names that this server was started for. A page elsewhere whose name is made to lead here (DNS
  rebinding) is refused.
- **Origin**: what changes something must come from this server's own pages, or carry the token. Pages of others cannot
  make a browser ask for anything, only lead there by a link: what they ask for they could not read, but answers take
  time.
- **Token**: needed to change anything and for SQL, everywhere; for all else, too, unless only this machine can ask.
- **Headers**: nothing runs but our own scripts, nothing is loaded from elsewhere, nobody frames us, nothing is kept.
- **Bounds**: of a body; of wrong tokens in a minute.
"""

from __future__ import annotations

import hmac
import time
from collections import deque
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE: Final = "gossamer"
MOST_BODY: Final = 1 << 20
WRONG: Final = 10
"""Maximum number of wrong tokens per minute, from all clients together."""
OPEN: Final = ("/static/", "/token", "/health", "/ready")
"""Paths that need no token: they say nothing about a collection."""
_LONGEST_NUMBER: Final = 10
_OURS: Final = frozenset(("none", "same-origin"))
"""Whose requests a browser says it sends: the user's own, and those of our pages (W3C Fetch Metadata)."""
_SAFE_METHODS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with "no-referrer", browsers send no Origin with our own forms
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "x-dns-prefetch-control": "off",  # a stored copy has links: nobody's name server hears of them
}
Refusal = Callable[[Scope, int, str, str], Response]
"""Makes the answer for a request that is refused: status, what is wrong, and the cure."""


class Token:
    """The secret of this server's user. Guesses are slowed down."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._secret, self._clock, self._wrong = secret.encode(), clock, deque[float](maxlen=WRONG)

    def closed(self) -> bool:
        """Whether there were too many wrong ones: then none is accepted."""
        return len(self._wrong) == WRONG and self._clock() - self._wrong[0] < 60.0

    def fits(self, given: str) -> bool:
        if not given or self.closed():
            return False
        right = hmac.compare_digest(given.encode(), self._secret)
        if not right:
            self._wrong.append(self._clock())
        return right

    def given_in(self, headers: Headers) -> bool:
        """Whether a request has it, as `Authorization: Bearer` or as a cookie."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.fits(bearer.strip())
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self.fits(cookie.value)


class Guard:
    """The application, behind these rules."""

    def __init__(
        self, application: ASGIApp, token: Token, hosts: frozenset[str], closed: bool, refusal: Refusal
    ) -> None:
        """`hosts`: values of `Host` that are accepted; `closed`: everything needs the token."""
        self._application, self._token, self._hosts = application, token, hosts
        self._closed, self._refusal = closed, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        refused = self._refused(scope, Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        await self._application(scope, _bounded(receive), _with_headers(send))

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        if headers.get("host", "").lower() not in self._hosts:
            return self._refusal(scope, 421, "this server is not for that host", "Use the address that it printed.")
        if _from_elsewhere(headers):
            return self._refusal(scope, 403, "the page of another site asks", "Follow a link, or enter the address.")
        changes = scope["method"] not in _SAFE_METHODS
        if not scope["query_string"].isascii():
            return self._refusal(scope, 400, "the address is not a URL", "Write other characters as percent-encodings.")
        length = headers.get("content-length") or "0"
        if not (length.isascii() and length.isdecimal()):
            return self._refusal(scope, 400, "Content-Length is not a number", "Send the length of the body in bytes.")
        if changes and (len(length) > _LONGEST_NUMBER or int(length) > MOST_BODY):
            return self._refusal(scope, 413, "the body is too long", f"At most {MOST_BODY:,} bytes.")
        if changes and "transfer-encoding" in headers:
            return self._refusal(scope, 411, "the length of the body is missing", "Send Content-Length.")
        if changes and "authorization" not in headers and not self._own(headers):
            return self._refusal(scope, 403, "the form was sent by another site", "Use the pages of this server.")
        path = scope["path"]
        open_ = path.startswith(OPEN[0]) or path in OPEN
        private = changes or path.endswith("/sql") or path == "/token"
        if open_ or not (private or self._closed) or self._token.given_in(headers):
            return None
        if self._token.closed():
            return self._refusal(scope, 429, "too many wrong tokens", "Wait a minute.")
        return self._refusal(scope, 401, "a token is needed", "Send it as `Authorization: Bearer TOKEN`, or enter it.")

    def _own(self, headers: Headers) -> bool:
        """Whether a form comes from one of our pages. Browsers name the origin of every form that is sent by POST."""
        origin = headers.get("origin", "")
        return origin.partition("://")[2].lower() == headers.get("host", "").lower() != ""


def _from_elsewhere(headers: Headers) -> bool:
    """Whether the page of another site makes a browser ask. It can send no token, and a person has followed a link."""
    ours = headers.get("sec-fetch-site", "none") in _OURS or headers.get("sec-fetch-dest") == "document"
    return not ours and "authorization" not in headers


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            added = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in there]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sending


def _bounded(receive: Receive) -> Receive:
    """Ends a body that is too long as if the client had disconnected."""
    got = 0

    async def receiving() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        return message if got <= MOST_BODY else {"type": "http.disconnect"}

    return receiving
