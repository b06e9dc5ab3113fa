"""Behaviours with connections and time: silence, slow bytes, early ends, resets at each point, TLS."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from gossamer.webs.hostile.behaviour import Behaviour, Door, HostileRequest, Serve, endless, one, says, silence
from gossamer.webs.hostile.client import Client
from gossamer.webs.hostile.saying import answer, chunked, page

SETTLED: Final = 0.05
"""Seconds for the client to read what was sent before the connection is reset: a reset discards what it has not read
yet."""
_PROMISED: Final = "Content-Length: 100000"


def _head(*fields: str) -> bytes:
    return answer(b"", "200 OK", "text/html", *fields, length=False)


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
    """A site of which nothing can be read, not even robots.txt: its start page waits until robots.txt can be read, or
    as long as the site is suspended because requests fail."""
    serve = says(lambda: answer(page(f"{name}, the page that nobody should reach")))
    ends = ("site: robots_unreadable", "site: failing")
    return Behaviour(name, what, {"/": ends}, serve, section, door=door, whole=True)


def _resets() -> Iterator[Behaviour]:
    whole = chunked(page("reset"), size=500)
    points = {
        "reset-first": ("before the status line", b""),
        "reset-status": ("in the middle of the status line", b"HTTP/1.1 20"),
        "reset-head": ("in the middle of the head", b"HTTP/1.1 200 OK\r\nContent-Type: te"),
        "reset-between": ("between head and body", _head(_PROMISED)),
        "reset-body": ("in the middle of the body", _head(_PROMISED) + page("reset within the body")),
        "reset-chunk": ("in the middle of a chunk", whole[: whole.index(b"\r\n\r\n") + 1_000]),
    }
    for name, (where, before) in points.items():
        yield one(name, f"Resets the connection {where}.", "broken_off", _reset_after(before))


# fmt: off
CONNECTIONS: Final = (
    one("silent", "Accepts the request and never answers.", "timed_out", silence),
    _whole("firewall", "A firewall accepts connections and drops everything that is sent.", Door.UNANSWERED, "A.1.3"),
    one("drip", "Sends its body at one byte per second.", "too_slow",
        endless(_head(_PROMISED), b"x", pause=1), "A.6.3"),
    one("drip-head", "Sends its head at one byte per second.", "too_slow",
        endless(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", pause=1), "A.6.3"),
    one("stops", "Sends half of its body, then stops and leaves the connection open.", "too_slow",
        _then_silent(_head(_PROMISED) + page("half of a page"))),
    one("closes", "Closes the connection without an answer.", "broken_off", says(b"", close=True)),
    one("closes-head", "Closes the connection in the middle of the head.", "broken_off",
        says(b"HTTP/1.1 200 OK\r\nContent-Type: te", close=True)),
    one("shorter", "Sends less than its Content-Length, and closes the connection.", "broken_off",
        says(_head(_PROMISED) + page("shorter than its length"), close=True)),
    one("longer", "Sends more than its Content-Length.", "ok",
        says(answer(page("longer than its length")) + b"<p>and more</p>" * 100)),
    *_resets(),
    _whole("tls-expired", "Its certificate has expired.", Door.EXPIRED),
    _whole("tls-self-signed", "Its certificate is self-signed.", Door.SELF_SIGNED),
    _whole("tls-wrong-name", "Its certificate belongs to another site.", Door.WRONG_NAME),
    _whole("tls-old", "Speaks TLS 1.1 at most.", Door.OLD_TLS),
    _whole("tls-stuck", "Never answers the TLS handshake.", Door.STUCK),
    _whole("tls-drip", "Answers the TLS handshake by a few bytes per second.", Door.DRIPPING),
)
# fmt: on
