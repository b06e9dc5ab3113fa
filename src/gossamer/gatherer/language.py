"""Detects the language of a text, as an ISO 639-1 code.

CLD2 reads a piece from the middle of the text, where there are fewer menus. The language that a page declares (`lang`,
Content-Language) is often wrong. It is used only when CLD2 is uncertain and its first guess is the declared language.

Measured on 948 pieces of 800 characters, from manual pages and messages in 39 languages (without the pieces for which
three detectors agreed on a language other than the label): CLD2 0.05 ms, 1.4 % wrong, 4 % uncertain, or 0.3 % when the
page declares its language; py3langid 0.6 ms (it walks the bytes in Python), 0.3 % wrong, 0.6 % uncertain; a fastText
model 0.25 ms, 0.4 % wrong, 4 % uncertain, and its package can fetch other models from the network. Only CLD2 is fast
enough.
"""

from __future__ import annotations

from typing import Final

import pycld2

LEAST: Final = 100
"""Minimum characters of text, without white space, for detection."""
PIECE: Final = 800
"""Characters given to the detector."""
_USUAL_WHITE: Final = 100
"""Extra characters read, because folding white space shortens a piece."""

_TODAY: Final = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro"}
"""Withdrawn codes, and the codes that replaced them."""
_NONE: Final = frozenset({"un", "xx", ""})


def language(text: str, declared: str = "") -> str:
    """The language of a text of at least `LEAST` characters; "" if uncertain. `declared`: "de", "de-AT", "de, en"."""
    sure, guess = _detected(_piece(text))
    return guess if sure or guess == declared_code(declared) else ""


def declared_code(declared: str) -> str:
    """The ISO 639-1 code of a declared language, or ""."""
    return _code(declared.strip().lower().replace("_", "-").partition(",")[0].strip()) if declared else ""


def _code(tag: str) -> str:
    """The primary subtag of a language tag, if it has two letters."""
    main = tag.partition("-")[0]
    return "" if len(main) != 2 or main in _NONE else _TODAY.get(main, main)


def _piece(text: str) -> str:
    """`PIECE` characters of the middle, with white space folded. A short slice is tried first: it is usually enough."""
    start = max(0, (len(text) - 2 * PIECE) // 2)
    first = " ".join(text[start : start + PIECE + _USUAL_WHITE].split())
    return (first if len(first) >= PIECE else " ".join(text[start : start + 2 * PIECE].split()))[:PIECE]


def _detected(piece: str) -> tuple[bool, str]:
    """Whether CLD2 is certain, and its first guess. CLD2 rejects control characters: they are then removed."""
    try:
        sure, _, guesses = pycld2.detect(piece.encode(errors="replace"), isPlainText=True)
    except pycld2.error:
        printable = "".join(c if c.isprintable() else " " for c in piece)
        sure, _, guesses = pycld2.detect(printable.encode(errors="replace"), isPlainText=True)
    return bool(sure), _code(guesses[0][1])
