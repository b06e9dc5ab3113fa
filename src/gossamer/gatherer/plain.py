"""A quick look at the markup of a page: is it plainly nested, so that no parser has trouble with it?

One regular expression gives the names of all tags, and a stack says how deep they nest. An end tag counts only if it
ends what was opened last: so what is found is never less than what the parser has open. Whatever is not usual (a < or >
in an attribute or in the text; SVG and the like, where other rules hold) means a closer look, and so does what is too
much.

Cost: 0.3 µs a tag, where the closer look (`bounds`) takes 1.4.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

NEVER_DEEP: Final = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "a", "body", "caption", "colgroup", "head", "html", "optgroup", "option", "p", "tbody", "td", "tfoot", "th",
    "thead", "tr",
})  # fmt: skip
"""Elements without content, and those that another of their kind ends."""
SIBLINGS: Final = {"li": "li", "dd": "dt", "dt": "dt", "rb": "rt", "rp": "rt", "rt": "rt", "rtc": "rt"}
"""Elements that end the one before, unless a block is open in between, by kind."""
FORMATTING: Final = frozenset({
    "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
})  # fmt: skip
"""And <a>, of which only one is ever open."""
RAW: Final = ("script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe")
"""Elements whose content is no markup."""

_FOREIGN: Final = ("svg", "math", "frameset", "select", "plaintext", "template")
"""Where other rules hold."""
_RAW_ELEMENTS: Final = "|".join(rf"{name}(?=[\s>])(?s:.*?)(?:</{name}(?=[\s/>])[^<>]*+>|$)" for name in RAW)
_NO_MARKUP: Final = re.compile(rf"<(?:!--(?:-?>|(?s:.*?)(?:--!?>|$))|[!?][^<>]*+>|{_RAW_ELEMENTS})")
"""Comments, declarations, and elements whose content is none."""
_TAGS: Final = re.compile(
    r"<(/?[a-z][a-z0-9]*+)(?=[\s/>])[^<>\"'=]*+"
    r"""(?:(?<![\s/])=(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>=]++(?=[\s>]))[^<>"'=]*+)*+>"""
)
"""Usual ones, with their names; the slash is that of an end tag."""
_FORMATTING: Final = 1
_OPTION: Final = 1 << 20
"""Formatting elements have numbers below this, other elements above."""


class _Codes(dict[str, int]):
    """Tags to the number of their element, negative for end tags; 0: never deep. For one page."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[str, int] = {}
        self.unusual = False

    def __missing__(self, tag: str) -> int:
        name = tag.removeprefix("/")
        if name in _FOREIGN:
            self.unusual = True
        code = 0
        if name == "option":
            code = _OPTION if name == tag else 0
        elif name not in NEVER_DEEP:
            first = _FORMATTING if name in FORMATTING else _OPTION + 1
            code = self._numbers.setdefault(SIBLINGS.get(name, name), first + len(self._numbers))
            code = code if name == tag else -code
        self[tag] = code
        return code


def is_plain(small: str, deepest: int, most_left: int, most_strays: int, most_options: int) -> bool:
    """`small`: a page in lower case. At most so many open elements, formatting elements left open, formatting elements
    that do not end what was opened last, and options."""
    markup = _markup(small)
    tags, codes = _TAGS.findall(markup), _Codes()
    found = [code for code in map(codes.__getitem__, tags) if code]
    if len(tags) < markup.count("<") or codes.unusual or found.count(_OPTION) > most_options:
        return False
    if _closed(found, min(deepest, most_left)):
        return True
    siblings = {codes[name] for name in SIBLINGS if name in codes}
    open_codes, left, strays = [0], 0, 0
    for code in found:
        last = open_codes[-1]
        if code < 0:
            if code == -last:
                open_codes.pop()
                left -= code > -_OPTION
            else:
                strays += code > -_OPTION
        elif code != _OPTION and not (code == last and code in siblings):
            open_codes.append(code)
            if code < _OPTION:
                left += 1
                if left > most_left:
                    return False
            if len(open_codes) > deepest:
                return False
    return strays <= most_strays


def _closed(found: list[int], deepest: int) -> bool:
    """Every element is closed in its place, none deeper than that: as most pages are. What is open on a level ends on
    it before another begins there, so that in order of levels starts and ends take turns."""
    codes = np.array(found, np.int32)
    depths = np.cumsum(np.sign(codes))
    if not len(depths) or depths[-1] or depths.min() < 0 or depths.max() >= deepest:
        return not len(depths)
    by_level = codes[np.argsort((depths + (codes < 0)).astype(np.uint16), kind="stable")]
    return bool((by_level[::2] == -by_level[1::2]).all())


def _markup(small: str) -> str:
    """Without comments, declarations, scripts and the like. If one of them begins within a tag, nothing is usual: a <
    stands for that."""
    parts, at = list[str](), 0
    for found in _NO_MARKUP.finditer(small):
        start = found.start()
        if small.rfind("<", at, start) > small.rfind(">", at, start):
            return "<"
        parts.append(small[at:start])
        at = found.end()
    return " ".join((*parts, small[at:]))
