"""A part of the state in one file: how many bytes each site has sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gossamer.collection.image import Image, Parts
from gossamer.config import Settings
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.desk.shown import ImageView, Shown, columns_of


def _sent(image: ImageView, settings: Settings) -> tuple[npt.NDArray[Any]]:
    return (image.columns.site.sent,)


class SentBytes(Part):
    name = "sent bytes"
    columns: ClassVar[Declared] = {"site": {"sent": "<u8"}}
    needs = ("visits_seen",)
    shown = (Shown("sites", columns_of("sent* UBIGINT Bytes that the site has sent."), _sent),)

    def __init__(self, desk: Desk) -> None:
        self._site = desk.columns.site
        self.seen = np.zeros(1, np.int64)

    def arrays(self) -> dict[str, npt.NDArray[Any] | Parts]:
        return {"visits_seen": self.seen}

    def load(self, image: Image) -> None:
        image.into("visits_seen", self.seen)

    def follow(self, applied: Applied) -> None:
        np.add.at(self._site.sent, applied.visits["site"], applied.visits["received"])
        self.seen[0] += len(applied.visits)

    def statistics(self) -> Mapping[str, float]:
        return {"bytes": int(self._site.sent[: self._site.count].sum())}

    def explain_site(self, site: int) -> Mapping[str, object]:
        return {"sent_bytes": int(self._site.sent[site])}
