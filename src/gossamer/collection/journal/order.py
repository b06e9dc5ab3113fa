"""An order of the user that stays until it is undone, as a text of the journal. What it means is in
`collection/steering.py`.

Invariant, a test of the same name: an order that is read is the order that was written.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from gossamer.base.errors import GossamerError


class Order(NamedTuple):
    """An order, as the journal has it. When it was given is the time of its tick."""

    number: int
    key: str
    """Chosen by who gave it: what comes again under the same key was carried out already."""
    who: str
    name: str
    """Of a row of `KINDS`."""
    target: str
    value: str

    def encode(self) -> bytes:
        return json.dumps(self, separators=(",", ":")).encode()

    @staticmethod
    def decode(text: bytes) -> Order:
        try:
            number, *texts = json.loads(text)
            order = Order(int(number), *map(str, texts))
        except (ValueError, TypeError) as error:
            raise GossamerError(
                f"an order in the journal cannot be read: {error}", "Restore it from a backup."
            ) from error
        return order

    def __str__(self) -> str:
        """As one writes it."""
        return " ".join(filter(None, (self.name, self.target, self.value)))
