"""Compiled robots rules of all origins in one buffer; equal ones are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class RuleBook:
    def __init__(self) -> None:
        self._places: dict[bytes, tuple[int, int]] = {b"": (0, 0)}
        self._buffer = np.zeros(1 << 16, np.uint8)
        self._length = 0

    @property
    def buffer(self) -> npt.NDArray[Any]:
        """All rules, for the matching kernel."""
        return self._buffer

    def place(self, compiled: bytes) -> tuple[int, int]:
        """Start and end of these rules in the buffer; they are added when they are new."""
        place = self._places.get(compiled)
        if place is None:
            start, end = self._length, self._length + len(compiled)
            if end > len(self._buffer):
                grown = np.zeros(max(end, 2 * len(self._buffer)), np.uint8)
                grown[:start] = self._buffer[:start]
                self._buffer = grown
            self._buffer[start:end] = np.frombuffer(compiled, np.uint8)
            self._length = end
            place = self._places[compiled] = (start, end)
        return place

    def dump(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Buffer and places (start, end), for an image."""
        return self._buffer[: self._length], np.array(sorted(self._places.values()), np.int64).reshape(-1, 2)

    def load(self, buffer: npt.NDArray[Any], places: npt.NDArray[Any]) -> None:
        self._buffer = np.zeros(max(1 << 16, len(buffer)), np.uint8)
        self._buffer[: len(buffer)] = buffer
        self._length = len(buffer)
        self._places = {buffer[a:b].tobytes(): (a, b) for a, b in places.tolist()}
