"""Records which lines of a target's parts have been reached, with `sys.settrace`: enough to prefer new inputs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

import gossamer

_ROOT = Path(gossamer.__file__).parent


class Lines:
    """Records lines within `with`; `fresh` returns whether any line was new, and resets this."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._within = tuple(str(_ROOT / part) for part in parts)
        self._wanted: dict[CodeType, bool] = {}
        self.seen: set[tuple[CodeType, int]] = set()
        self._before = 0

    def __enter__(self) -> None:
        sys.settrace(self._called)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        sys.settrace(None)

    def fresh(self) -> bool:
        before, self._before = self._before, len(self.seen)
        return self._before > before

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        wanted = self._wanted.get(code)
        if wanted is None:
            wanted = self._wanted[code] = code.co_filename.startswith(self._within)
        return self._line if wanted else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.seen.add((frame.f_code, frame.f_lineno))
        return self._line
