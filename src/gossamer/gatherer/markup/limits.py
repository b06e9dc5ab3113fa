"""A bound on tags, nesting and attributes, before the parser sees the page.

lexbor takes any page, but some things cost it the square of their number, or worse:
- open elements (the HTML standard's "has an element in scope" walks up all of them: 60,000 open <div> take 9 s);
- attributes of one element, compared with one another (50,000 take 6 s); <html> and <body> have those of all tags of
  their name;
- formatting elements left open (<b>, <font>): what closes their parent closes them, and what comes next has all of them
  made anew, three of each spelling. 2,000 of them and as many <p> in 22 KB take 14 s and 1.5 GB;
- end tags of formatting elements with open blocks in between: each walks up all open elements, eight times;
- options of a <select>, all looked at for each (48,000 take 5 s).

A page that could have that many is read here first, tag by tag, in linear time, and cut before the tag that is too
much. Most pages are not: they have few tags (`few`) and none long, or are plainly nested (`plain`).

Whatever begins with a < may become an element, a comment or a text, of some 300 bytes each: 100,000 links of 30 bytes
were 80 MB. Of a page with more than `MOST_TAGS` the rest is not read; of 600 real ones the largest had 25,214.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from gossamer.gatherer.markup.fast import FORMATTING, NEVER_DEEP, RAW, SIBLINGS, is_plain
from gossamer.gatherer.markup.prefilter import ALIKE, count_roots, has_few
from gossamer.gatherer.markup.tags import Marks, marks

MOST_TAGS: Final = 50_000
"""Start tags, end tags, comments."""
DEEPEST: Final = 1_000
"""Open elements."""
MOST_ATTRIBUTES: Final = 1_000
MOST_REBUILT: Final = 200_000
"""Formatting elements that may have to be made anew: those left open, summed up over all tags."""
FREE: Final = 3
"""Formatting elements left open that do not count."""
MOST_WALKED: Final = 1_000_000
"""Open elements above which formatting elements end, summed up over such end tags: half a second."""
MOST_OPTIONS: Final = 10_000
MOST_PASSED: Final = MOST_TAGS * DEEPEST
"""Open elements that all tags together pass on their way up: 0.1 s. Few tags do no harm however deep they are."""
HARMLESS: Final = 890
"""Tags among which no choice of formatting elements makes more than `MOST_REBUILT`."""
SHORT: Final = 32_768
LONG: Final = 200_000
"""Characters of pages that have few attributes for certain, and of those that may have many here and there."""
LONG_TAG: Final = 16_384
"""Characters up to the next tag, in which an element may have 8,000 attributes: 0.15 s."""
MOST_COMPARED: Final = 500_000_000
"""Squares of such lengths, summed up: 0.3 s."""
FEW_ROOTS: Final = 4

_ATTRIBUTE: Final = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_TAG: Final = re.compile(
    r"<!--(?:-?>|(?s:.*?)(?:--!?>|\Z))|<(?:[!?]|/[^A-Za-z])[^>]*+"
    rf"|<(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)(?P<attributes>(?:[\s/]++|{_ATTRIBUTE})*+)"
)
_CDATA: Final = "<![CDATA["
# fmt: off
_INLINE: Final = FORMATTING | {
    "abbr", "acronym", "bdi", "bdo", "cite", "data", "del", "dfn", "ins", "kbd", "label", "mark", "q", "samp", "span",
    "sub", "sup", "time", "var",
}
# fmt: on
_RAW: Final = {name: re.compile(f"</{name}", re.IGNORECASE) for name in RAW}
"""With what ends them."""
_ROOTS: Final = ("html", "body")
_FOREIGN: Final = frozenset({"svg", "math"})
_WITHOUT_RAW: Final = _FOREIGN | {"frameset", "select"}
_FLAT_IN_FOREIGN: Final = frozenset({"body", "br", "embed", "head", "hr", "img", "meta", "p"})
"""Of those that are never deep: they end SVG and MathML, where the others nest."""
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LISTS: Final = frozenset({"ol", "ul"})
# fmt: off
_BARRIERS: Final = _FOREIGN | {
    "applet", "button", "foreignobject", "marquee", "object", "select", "table", "template", "annotation-xml", "desc",
    "mi", "mn", "mo", "ms", "mtext", "title",
}
"""An end tag closes nothing outside of these."""
_SPECIAL: Final = frozenset({
    "address", "applet", "article", "aside", "blockquote", "button", "center", "dd", "details", "dir", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup",
    "iframe", "li", "listing", "main", "marquee", "menu", "nav", "noembed", "noframes", "noscript", "object", "ol",
    "plaintext", "pre", "search", "section", "select", "summary", "table", "template", "textarea", "title", "ul", "xmp",
})
"""Elements at which the end tag of an ordinary one is given up: that one stays open."""
# fmt: on
_ORDINARY: Final = frozenset({"iframe", "noembed", "noframes", "noscript", "plaintext", "textarea", "title", "xmp"})
"""Special elements with the end tags of ordinary ones."""
_LOOK_BACK: Final = 16
_ADOPTED: Final = 7
"""Open elements above a formatting element at whose end tag the parser is sure to close it."""


def bounded(text: str) -> tuple[bytes, Marks]:
    """The text in UTF-8 up to what is too much for the parser, which is all of it for nearly every page; and its
    tags."""
    if len(text) > LONG:
        text = _with_few_tags(text)
    found = marks(text)
    if _suspicious(text, found):
        return text[: _end(text)].encode(errors="replace"), found
    return found.raw, found


def _with_few_tags(text: str) -> str:
    if text.count("<") <= MOST_TAGS:
        return text
    return text[: -1 - len(text.split("<", MOST_TAGS + 1)[-1])]


def _suspicious(text: str, found: Marks) -> bool:
    tags = len(found.places)
    if len(text) > SHORT and _may_have_many_attributes(text, found):
        return True
    if tags <= HARMLESS:
        return False
    left, strays = FREE + MOST_REBUILT // tags, MOST_WALKED // DEEPEST
    if has_few(text, found, max(DEEPEST, MOST_PASSED // tags), left, MOST_WALKED, MOST_OPTIONS):
        return False
    return not is_plain(found, DEEPEST, left, strays, MOST_OPTIONS)


def _may_have_many_attributes(text: str, found: Marks) -> bool:
    """Of one element, or of <html> and <body>, which have those of all tags of their name."""
    lengths = np.diff(found.places, prepend=0, append=len(found.raw))
    if lengths.max() > LONG_TAG or (len(text) > LONG and lengths @ lengths > MOST_COMPARED):
        return True
    return count_roots(found) > FEW_ROOTS


def _end(text: str) -> int:
    open_names, at, of_roots, options = list[str](), 0, 0, 0
    formatting, walked, in_form, before = _Formatting(), 0, False, ""
    foreign, flat = -1, NEVER_DEEP
    while tag := _TAG.search(text, at):
        at = tag.end()
        if tag["name"] is None:
            if tag[0].startswith(_CDATA) and not _FOREIGN.isdisjoint(open_names):
                at = text.find("]]>", at)
                if at < 0 or "<" in text[tag.end() : at]:
                    return tag.start()  # in SVG it ends here, in HTML at its first >
            continue
        if len(tag["attributes"]) > MOST_ATTRIBUTES and len(_ATTRIBUTES.findall(tag["attributes"])) > MOST_ATTRIBUTES:
            return tag.start()
        name = tag["name"].lower()
        if name in _ROOTS and tag["attributes"]:
            of_roots += len(_ATTRIBUTES.findall(tag["attributes"]))
            if of_roots > MOST_ATTRIBUTES:
                return tag.start()
        formatting.rebuilt += max(0, formatting.left - FREE)
        if tag["end"]:
            if name in FORMATTING or name == "a":
                at_once = name == (before if name == "a" else open_names[-1] if open_names else "")
                walked += 0 if at_once else len(open_names)
                if _close_formatting(open_names, name) and name != "a":
                    formatting.close(name)
            elif name != "form" or in_form:
                _close(open_names, name)
                in_form = in_form and name != "form"
        elif name in _RAW and _WITHOUT_RAW.isdisjoint(open_names):
            after = _RAW[name].search(text, at)
            at = after.start() if after else len(text)
        elif name == "option":
            options += 1
        elif name not in flat and not _follows_its_like(open_names, name):
            open_names.append(name)
            in_form = in_form or name == "form"
            if name in FORMATTING:
                formatting.open(name, tag["attributes"])
        foreign, before = _foreign_at(open_names, foreign, name), "" if tag["end"] else name
        flat = NEVER_DEEP if foreign < 0 else _FLAT_IN_FOREIGN
        if (
            len(open_names) > DEEPEST
            or options > MOST_OPTIONS
            or formatting.rebuilt > MOST_REBUILT
            or walked > MOST_WALKED
        ):
            return tag.start()
    return len(text)


def _foreign_at(open_names: list[str], before: int, name: str) -> int:
    """Where the outermost of SVG and MathML is, if one is open; it was at `before`."""
    if before < 0:
        return len(open_names) - 1 if name in _FOREIGN and open_names and open_names[-1] == name else -1
    if before < len(open_names) and open_names[before] in _FOREIGN:
        return before
    return next((at for at, each in enumerate(open_names) if each in _FOREIGN), -1)


class _Formatting:
    """Those that the parser may have to make anew: never fewer than it has."""

    def __init__(self) -> None:
        self._spelt: dict[str, list[str]] = {}
        """Attributes of those left open, by name."""
        self._times: dict[tuple[str, str], int] = {}
        self.left = 0
        self.rebuilt = 0

    def open(self, name: str, attributes: str) -> None:
        self._spelt.setdefault(name, []).append(attributes)
        times = self._times.get((name, attributes), 0)
        self._times[name, attributes] = times + 1
        self.left += times < ALIKE

    def close(self, name: str) -> None:
        key = name, self._spelt[name].pop()
        self._times[key] -= 1
        self.left -= self._times[key] < ALIKE


def _follows_its_like(open_names: list[str], name: str) -> bool:
    """It ends one of its kind, which stands for it, with what is open in that."""
    if (kind := SIBLINGS.get(name)) is None:
        return False
    for back in range(1, min(len(open_names), _LOOK_BACK) + 1):
        if SIBLINGS.get(open_names[-back]) == kind:
            del open_names[len(open_names) - back + 1 :]
            return True
        if open_names[-back] not in _INLINE:
            return False
    return False


def _close(open_names: list[str], name: str) -> None:
    """Like the parser, but an end tag far from its start is taken for a stray one: rather cut than be slow."""
    is_block = name in _SPECIAL and name not in _ORDINARY
    alike = _HEADINGS if name in _HEADINGS else (name,)
    for back in range(1, min(len(open_names), _LOOK_BACK) + 1):
        last = open_names[-back]
        if last in alike:
            if name == "form":
                del open_names[-back]  # what begins in it stays open
            else:
                del open_names[-back:]
            return
        if last in _BARRIERS or (not is_block and last in _SPECIAL) or (name == "li" and last in _LISTS):
            return


def _close_formatting(open_names: list[str], name: str) -> bool:
    """Whether there was one. Blocks that begin in it stay open, as in the parser."""
    for back in range(1, min(len(open_names), _ADOPTED + 1) + 1):
        if open_names[-back] == name:
            if _INLINE.issuperset(open_names[-back:]):
                del open_names[-back:]
            else:
                del open_names[-back]
            return True
        if open_names[-back] in _BARRIERS:
            return False
    return False
