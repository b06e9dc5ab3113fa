"""Records which lines of a target's parts have been reached, with `sys.settrace`: enough to prefer new inputs.

A function all lines of which were reached has nothing new to tell, and runs untraced from then on.
"""

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
        self._missing: dict[CodeType, set[int]] = {}
        """Lines of each function that were not reached; none for what is no part of the target."""
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
        missing = self._missing.get(code)
        if missing is None:
            wanted = code.co_filename.startswith(self._within)
            missing = self._missing[code] = {line for *_, line in code.co_lines() if line} if wanted else set()
            missing.discard(code.co_firstlineno)  # of a function, the line of `def`: it is no line event
        return self._line if missing else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            code, line = frame.f_code, frame.f_lineno
            self.seen.add((code, line))
            self._missing[code].discard(line)
        return self._line
