"""What the pages of the demonstration Web talk about: words of two languages, made into text once.

Two thirds of the sites are Spanish, as in the thesis' collection (8.3.5), so that accents and charsets occur.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from gossamer.demo.dice import Dice
from gossamer.demo.pieces import Piece


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ENGLISH: Final = _words("""
    river house market weather stone garden letter window paper winter summer mountain bridge station library museum
    school science history music picture village harbour island forest animal engine machine number question answer
    morning evening journey street company worker teacher student doctor farmer writer reader sister brother mother
    father water bread apple coffee table chair door wall light shadow silver copper iron glass cotton wool leather
    small large early late quiet loud warm cold open closed simple bright dark heavy common public private local
    foreign modern ancient careful honest useful walks reads writes builds carries opens closes finds loses keeps
    brings sends takes gives shows hides grows falls rises turns stays leaves and the of in with for from under over
    between without before after during a this that every some many few other same such
""")

SPANISH: Final = _words("""
    río casa mercado tiempo piedra jardín carta ventana papel invierno verano montaña puente estación biblioteca
    museo escuela ciencia historia música pintura pueblo puerto isla bosque animal motor máquina número pregunta
    respuesta mañana tarde viaje calle compañía obrero maestro alumno médico niño señora lector hermana hermano
    madre padre agua pan manzana café mesa silla puerta pared luz sombra plata cobre hierro vidrio algodón lana
    cuero pequeño grande temprano tranquilo cálido frío abierto cerrado sencillo brillante oscuro pesado común
    público privado local extranjero moderno antiguo cuidadoso útil camina lee escribe construye lleva abre cierra
    encuentra pierde guarda trae envía toma da muestra esconde crece cae sube vuelve queda sale y el la de en con
    para desde bajo sobre entre sin antes después durante un una este aquel cada algunos muchos pocos otro mismo
    también según
""")

PLAIN: Final = tuple(w for w in ENGLISH[:84] if w != "private")
"""Words that may stand in URLs and host names ("private" is the folder that robots.txt files forbid)."""

SECTIONS: Final = 128


def sentence(dice: Dice, words: tuple[str, ...]) -> str:
    text = " ".join(dice.pick(words) for _ in range(6 + dice.below(12)))
    return f"{text[0].upper()}{text[1:]}."


@cache
def sections(seed: int, language: str, charset: str) -> tuple[Piece, ...]:
    """The pool from which a page's text is drawn: pieces of about 2 KB, encoded and compressed."""
    dice = Dice(seed, "sections", language)
    words = SPANISH if language == "es" else ENGLISH
    return tuple(Piece.make(_section(dice, words).encode(charset)) for _ in range(SECTIONS))


def _section(dice: Dice, words: tuple[str, ...]) -> str:
    return "".join(
        f"<p>{' '.join(sentence(dice, words) for _ in range(3 + dice.below(6)))}</p>\n"
        for _ in range(2 + dice.below(8))
    )


@cache
def titles(seed: int, language: str) -> tuple[str, ...]:
    dice, words = Dice(seed, "titles", language), SPANISH if language == "es" else ENGLISH
    return tuple(" ".join(dice.pick(words) for _ in range(3)).capitalize() for _ in range(1_000))
