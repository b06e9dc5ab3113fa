"""Text of the demonstration Web: words for names, and sentences, titles and sections of pages, made once.

Two thirds of the sites are Spanish, as in the collection of the thesis (8.3.5), so that accents and charsets occur.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.languages import LANGUAGES
from gossamer.webs.demo.pieces import BodyPiece

_WORDS: Final = """
    river house market weather stone garden letter window paper winter summer mountain bridge station library museum
    school science history music picture village harbour island forest animal engine machine number question answer
    morning evening journey street company worker teacher student doctor farmer writer reader sister brother mother
    father water bread apple coffee table chair door wall light shadow silver copper iron glass cotton wool leather
    small large early late quiet loud warm cold open closed simple bright dark heavy common public
"""
PLAIN: Final = tuple(_WORDS.split())
"""Words for URLs and host names."""

SECTIONS: Final = 128
TITLES: Final = 1_000
_SLOT: Final = re.compile("([STVP])(?![a-z])")


@cache
def _patterns(language: str) -> tuple[tuple[str, ...], ...]:
    """The patterns of a language: texts and slots alternate."""
    return tuple(tuple(_SLOT.split(pattern)) for pattern in LANGUAGES[language].patterns)


def sentence(dice: Dice, language: str) -> str:
    words = LANGUAGES[language]
    slots = {"S": words.someone, "V": words.does, "P": words.where, "T": words.when}
    parts = dice.pick(_patterns(language))
    text = "".join(dice.pick(slots[part]) if n % 2 else part for n, part in enumerate(parts))
    return text[0].upper() + text[1:]


@cache
def sections(seed: int, language: str, codec: str, plain: bool = False) -> tuple[BodyPiece, ...]:
    """The pool from which the text of pages is drawn: pieces of about 2 KB, encoded and compressed; plain text or
    HTML."""
    dice, form = Dice(seed, "sections", language), "{}\n\n" if plain else "<p>{}</p>\n"
    return tuple(BodyPiece.make(_section(dice, language, form).encode(codec)) for _ in range(SECTIONS))


def _section(dice: Dice, language: str, form: str) -> str:
    space = LANGUAGES[language].space
    return "".join(
        form.format(space.join(sentence(dice, language) for _ in range(3 + dice.below(4))))
        for _ in range(2 + dice.below(8))
    )


@cache
def titles(seed: int, language: str) -> tuple[str, ...]:
    """Titles of the form "someone somewhere"."""
    dice, words = Dice(seed, "titles", language), LANGUAGES[language]
    some = (dice.pick(words.someone) + words.space + dice.pick(words.where) for _ in range(TITLES))
    return tuple(text[0].upper() + text[1:] for text in some)


@cache
def descriptions(seed: int, language: str) -> tuple[str, ...]:
    dice = Dice(seed, "descriptions", language)
    return tuple(sentence(dice, language) for _ in range(TITLES))
