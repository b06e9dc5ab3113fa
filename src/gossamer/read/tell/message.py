"""A message: many events as one JSON object, and its signature.

The signature is HMAC-SHA256 over the time, a full stop and the body, with the secret of the watch as the key:

    Gossamer-Timestamp: 1795000000
    Gossamer-Signature: sha256=HEX

The receiver computes the same, compares in constant time, and refuses old times, so nobody else can send a message, or
send one again. An event has an id, which is the same if it is told twice.

Invariant, a property test of the same name: a message keeps within its size.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from gossamer import __version__
from gossamer.base.escape import for_json
from gossamer.collection.watches import Watch
from gossamer.read.changes.events import Event

MOST_EVENTS: Final = 1_000
"""Events of one message."""
MOST_BYTES: Final = 1_000_000
"""Size of a message. Lines are left out from half of it on; events that do not fit are in the next message."""
_LINES: Final = ("added", "removed")


class Message(NamedTuple):
    body: bytes
    events: tuple[Event, ...]
    """The events in the body: the first ones that fit."""

    def fields(self, secret: str, now: float) -> list[str]:
        """Header fields of the request."""
        stamp = int(now)
        return [
            "Content-Type: application/json; charset=utf-8",
            f"User-Agent: Gossamer/{__version__} (watch)",
            f"Gossamer-Timestamp: {stamp}",
            f"Gossamer-Signature: {signature(secret, stamp, self.body)}",
        ]


def signature(secret: str, stamp: int, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), b"%d.%s" % (stamp, body), hashlib.sha256).hexdigest()


def message(watch: Watch, collection: str, events: Iterable[Event], most: int = MOST_BYTES) -> Message:
    """The message with the first of these events, at least one."""
    told, used, size = list[str](), list[Event](), 0
    for event in events:
        about = _described(event)
        text = for_json(about)
        if size + len(text.encode()) > most // 2 and event.lines is not None:
            text = for_json({k: v for k, v in about.items() if k not in _LINES})
        size += len(text.encode()) + 1
        if used and (size > most or len(used) == MOST_EVENTS):
            break
        told.append(text)
        used.append(event)
    head = for_json({"watch": watch.number, "target": watch.target, "collection": collection})
    return Message(f'{head[:-1]}, "events": [{",".join(told)}]}}'.encode(), tuple(used))


def _described(event: Event) -> dict[str, Any]:
    return {"id": f"{event.page}/{event.mark.tick}/{event.mark.number}", **event.to_json()}
