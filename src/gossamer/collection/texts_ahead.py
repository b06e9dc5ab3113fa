"""URLs read ahead: a thread reads the URLs of pages that will be requested soon, so that the loop need not wait."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from gossamer.base.arrays import U32
from gossamer.collection.blocks import BlockFile

TEXTS_AHEAD: Final = 50_000
"""Most texts that are read ahead and not yet used; when there are more, all are dropped."""


class TextsAhead:
    """Reads texts from a block file, one batch at a time; used by the loop only."""

    def __init__(self, file: BlockFile) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1, "texts")
        self._batch: list[int] = []
        self._reading: Future[list[bytes]] | None = None
        self._texts: dict[int, bytes] = {}

    def get(self, pages: U32) -> list[bytes]:
        """The texts of these pages: those that were read ahead, and the others read now."""
        self._take()
        numbers = pages.tolist()
        missing = [page for page in numbers if page not in self._texts]
        if missing:
            self._texts.update(zip(missing, self._file.read_many(missing), strict=True))
        return [self._texts.pop(page) for page in numbers]

    def read(self, pages: U32) -> None:
        """Begins to read the texts of these pages, unless a batch is being read already."""
        self._take()
        if self._reading is None:
            missing = [page for page in pages.tolist() if page not in self._texts]
            if missing:
                self._batch = missing
                self._reading = self._thread.submit(self._file.read_many, missing)

    def _take(self) -> None:
        if self._reading is not None and self._reading.done():
            if len(self._texts) > TEXTS_AHEAD:
                self._texts.clear()
            self._texts.update(zip(self._batch, self._reading.result(), strict=True))
            self._reading = None

    def close(self) -> None:
        self._thread.shutdown(wait=True)
