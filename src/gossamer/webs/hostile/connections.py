"""What servers do with connections and time: silence, drops of bytes, early ends, resets at each point, TLS."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from gossamer.webs.hostile.behaviour import Behaviour, Door, HostileRequest, Serve, one, says, silence
from gossamer.webs.hostile.client import Client
from gossamer.webs.hostile.saying import answer, chunked, page

SETTLED: Final = 0.05
"""Seconds in which the client reads what was sent before the connection is reset: a reset throws away what it did
not read yet."""
_PROMISED: Final = "Content-Length: 100000"


def _head(*fields: str) -> bytes:
    return answer(b"", "200 OK", "text/html", *fields, length=False)


def _dripping(before: bytes) -> Serve:
    """A byte a second after what comes before."""

    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(before)
        while not client.left:
            client.write(b"x")
            await client.drain()
            await asyncio.sleep(1)
        return False

    return serve


def _then_silent(before: bytes) -> Serve:
    async def serve(request: HostileRequest, client: Client) -> bool:
        client.write(before)
        return await silence(request, client)

    return serve


def _reset_after(before: bytes) -> Serve:
    async def serve(request: HostileRequest, client: Client) -> bool:
        if before:
            client.write(before)
            await client.drain()
            await asyncio.sleep(SETTLED)
        client.reset()
        return False

    return serve


def _whole(name: str, what: str, door: Door, section: str = "") -> Behaviour:
    """Nothing of it can be read, robots.txt neither: its start page waits until it can, or for as long as the site has
    to be left in peace because requests fail."""
    serve = says(lambda: answer(page(f"{name}, the page that nobody should reach")))
    ends = ("site: robots_unreadable", "site: failing")
    return Behaviour(name, what, {"/": ends}, serve, section, door=door, whole=True)


def _resets() -> Iterator[Behaviour]:
    whole = chunked(page("reset"), size=500)
    points = {
        "reset-first": ("before the status line", b""),
        "reset-status": ("within the status line", b"HTTP/1.1 20"),
        "reset-head": ("within the head", b"HTTP/1.1 200 OK\r\nContent-Type: te"),
        "reset-between": ("between head and body", _head(_PROMISED)),
        "reset-body": ("within the body", _head(_PROMISED) + page("reset within the body")),
        "reset-chunk": ("within a chunk", whole[: whole.index(b"\r\n\r\n") + 1_000]),
    }
    for name, (where, before) in points.items():
        yield one(name, f"Resets the connection {where}.", "broken_off", _reset_after(before))


CONNECTIONS: Final = (
    one("silent", "Accepts the request and never answers.", "timed_out", silence),
    _whole("firewall", "A firewall accepts connections and drops all that is sent.", Door.UNANSWERED, "A.1.3"),
    one("drip", "Sends its body a byte a second.", "too_slow", _dripping(_head(_PROMISED)), "A.6.3"),
    one(
        "drip-head",
        "Sends its head a byte a second.",
        "too_slow",
        _dripping(b"HTTP/1.1 200 OK\r\nX-Slow: "),
        "A.6.3",
    ),
    one(
        "stops",
        "Sends half of its body and stops, with the connection open.",
        "too_slow",
        _then_silent(_head(_PROMISED) + page("half of a page")),
    ),
    one("closes", "Closes the connection without an answer.", "broken_off", says(b"", close=True)),
    one(
        "closes-head",
        "Closes the connection within the head.",
        "broken_off",
        says(b"HTTP/1.1 200 OK\r\nContent-Type: te", close=True),
    ),
    one(
        "shorter",
        "Sends less than its Content-Length, and closes.",
        "broken_off",
        says(_head(_PROMISED) + page("shorter than its length"), close=True),
    ),
    one(
        "longer",
        "Sends more than its Content-Length.",
        "ok",
        says(answer(page("longer than its length")) + b"<p>and more</p>" * 100),
    ),
    *_resets(),
    _whole("tls-expired", "Its certificate has expired.", Door.EXPIRED),
    _whole("tls-self-signed", "It has signed its certificate itself.", Door.SELF_SIGNED),
    _whole("tls-wrong-name", "Its certificate is another site's.", Door.WRONG_NAME),
    _whole("tls-old", "It speaks TLS 1.1 at most.", Door.OLD_TLS),
    _whole("tls-stuck", "It never answers the TLS handshake.", Door.STUCK),
)
