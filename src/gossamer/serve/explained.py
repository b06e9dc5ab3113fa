"""What `gossamer explain` says, in lines."""

from __future__ import annotations

from typing import Any


def explained(answer: Any, now: float) -> list[str]:
    """The lines of an explanation (`read/explain/answers.py`)."""
    from gossamer.read.explain.text import lines_of  # with pyarrow: 60 MB, which a server of overviews does without

    return list(lines_of(answer, now))
