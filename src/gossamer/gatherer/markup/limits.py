"""Limits tags, nesting and attributes of a page before the parser reads it.

lexbor accepts any page, but the cost of some things is quadratic or worse:
- open elements (the HTML standard's "has an element in scope" walks up all of them: 60,000 open <div> take 9 s);
- attributes of one element, compared with one another (50,000 take 6 s); <html> and <body> get the attributes of all
  tags of their name;
- formatting elements left open (<b>, <font>): the end tag of their parent closes them, and the next element re-creates
  all of them, three of each spelling. 2,000 of them and as many <p>, in 22 KB, take 14 s and 1.5 GB;
- end tags of formatting elements with open blocks in between: each walks up all open elements eight times;
- options of a <select>: each option scans all that is in it (48,000 options take 5 s, 10,000 after 30,000 other
  elements 4 s);
- attributes of formatting elements left open, <a> included: each re-created element has a copy of them. One <b> with a
  title of 300 KB before 50,000 <p> takes 15 GB.

A page that might exceed a limit is read here first, tag by tag, in linear time, and cut before the tag that exceeds it.
Most pages skip this exact check: they have few tags (`prefilter`), none of them long, or simple nesting (`fast`).

Every < may become an element, a comment or a text node of some 300 bytes: 100,000 links of 30 bytes took 80 MB. Text
after `MOST_TAGS` tags is not read; the largest of 600 real pages had 25,214.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from gossamer.gatherer.markup.fast import FORMATTING, NEVER_DEEP, RAW, SIBLINGS, is_plain
from gossamer.gatherer.markup.prefilter import ALIKE, count_roots, has_few
from gossamer.gatherer.markup.tags import PAIR, Marks, beginning_like, key_of, marks

MOST_TAGS: Final = 50_000
"""Maximum start tags, end tags and comments."""
DEEPEST: Final = 1_000
"""Maximum open elements."""
MOST_ATTRIBUTES: Final = 1_000
MOST_REBUILT: Final = 200_000
"""Maximum formatting elements to re-create: the elements left open, summed up over all tags."""
FREE: Final = 3
"""Formatting elements left open that do not count."""
MOST_WALKED: Final = 1_000_000
"""Maximum open elements that the end tags of formatting elements walk up, summed up over these tags: half a second."""
MOST_COPIED: Final = 20_000_000
"""Maximum characters of attributes that re-created formatting elements have together."""
MOST_SCANNED: Final = 50_000_000
"""Maximum tags of a <select> that its options scan, summed up over the options: 0.5 s."""
ROUGHLY: Final = 4
"""The quick check of what is copied takes every tag for one that copies all: it lets pass so many times the maximum."""
MOST_OPTIONS: Final = 10_000
MOST_PASSED: Final = MOST_TAGS * DEEPEST
"""Maximum open elements that all tags together walk up: 0.1 s. Few tags are harmless however deep they are."""
HARMLESS: Final = 890
"""Tags. With no more than these, no choice of formatting elements can exceed `MOST_REBUILT`."""
SHORT: Final = 32_768
LONG: Final = 200_000
"""Characters. A page up to `SHORT` has few attributes for certain; one above `LONG` may have many in several places."""
LONG_TAG: Final = 16_384
"""Characters up to the next tag: an element may have 8,000 attributes in them, which take 0.15 s."""
MOST_COMPARED: Final = 500_000_000
"""Maximum sum of the squares of these lengths: 0.3 s."""
FEW_ROOTS: Final = 4

_ATTRIBUTE: Final = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_TAG: Final = re.compile(
    r"<!--(?:-?>|(?s:.*?)(?:--!?>|\Z))|<(?:[!?]|/[^A-Za-z])[^>]*+"
    rf"|<(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)(?P<attributes>(?:[\s/]++|{_ATTRIBUTE})*+)"
)
_START: Final = re.compile(rf"<[A-Za-z][^\s/>]*+(?:[\s/]++|{_ATTRIBUTE})*+".encode())
_COPIED: Final = beginning_like(FORMATTING | {"a"})
_NO_OPENING: Final = ~np.isin(np.arange(256), list(b"= \t\n\f\r"))
"""By octet: whether a quote after it opens no value."""
_SHORTEST_OPEN: Final = len('<b a=">')
"""Bytes of the shortest tag that does not end at its first >."""
_OPTION: Final = key_of("opti")
_CDATA: Final = "<![CDATA["
# fmt: off
_INLINE: Final = FORMATTING | {
    "abbr", "acronym", "bdi", "bdo", "cite", "data", "del", "dfn", "ins", "kbd", "label", "mark", "q", "samp", "span",
    "sub", "sup", "time", "var",
}
# fmt: on
_RAW: Final = {name: re.compile(f"</{name}", re.IGNORECASE) for name in RAW}
"""Elements whose content is not markup, and the end tag of each."""
_ROOTS: Final = ("html", "body")
_FOREIGN: Final = frozenset({"svg", "math"})
_WITHOUT_RAW: Final = _FOREIGN | {"frameset", "select"}
_FLAT_IN_FOREIGN: Final = frozenset({"body", "br", "embed", "head", "hr", "img", "meta", "p"})
"""The elements of `NEVER_DEEP` that close SVG and MathML; the others nest in there."""
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LISTS: Final = frozenset({"ol", "ul"})
# fmt: off
_BARRIERS: Final = _FOREIGN | {
    "applet", "button", "foreignobject", "marquee", "object", "select", "table", "template", "annotation-xml", "desc",
    "mi", "mn", "mo", "ms", "mtext", "title",
}
"""An end tag closes nothing outside of these elements."""
_SPECIAL: Final = frozenset({
    "address", "applet", "article", "aside", "blockquote", "button", "center", "dd", "details", "dir", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup",
    "iframe", "li", "listing", "main", "marquee", "menu", "nav", "noembed", "noframes", "noscript", "object", "ol",
    "plaintext", "pre", "search", "section", "select", "summary", "table", "template", "textarea", "title", "ul", "xmp",
})
"""The end tag of an ordinary element is ignored if one of these is open inside it: the ordinary element stays open."""
# fmt: on
_ORDINARY: Final = frozenset({"iframe", "noembed", "noframes", "noscript", "plaintext", "textarea", "title", "xmp"})
"""Special elements whose end tags behave like the end tags of ordinary elements."""
_KEEPERS: Final = _BARRIERS | {"caption", "td", "th"}
"""A link that is open around one of these is not closed by the end tag of a link, or by another link, inside it."""
_SPLIT: Final = 8
"""How often the end tag of a formatting element may copy each open one (the "adoption agency" of the standard)."""
_LOOK_BACK: Final = 16
_ADOPTED: Final = 7
"""If at most so many elements are open inside a formatting element, the parser closes it at its end tag for certain."""


def bounded(text: str, raw: bytes | None = None) -> tuple[bytes, Marks]:
    """The text in UTF-8, cut before the tag that exceeds a limit of the parser, and its tags. Almost no page is cut.
    `raw`: the text in UTF-8, if it is at hand."""
    if len(text) > LONG and text.count("<") > MOST_TAGS:
        text, raw = text[: -1 - len(text.split("<", MOST_TAGS + 1)[-1])], None
    found = marks(text, raw)
    if _suspicious(text, found):
        return text[: _end(text)].encode(errors="replace"), found
    return found.raw, found


def _suspicious(text: str, found: Marks) -> bool:
    tags = len(found.places)
    if len(text) > SHORT and _may_have_many_attributes(text, found):
        return True
    left, strays = FREE + MOST_REBUILT // max(1, tags), MOST_WALKED // DEEPEST
    if len(found.raw) * tags > ROUGHLY * MOST_COPIED and _longest(found, left) * tags > ROUGHLY * MOST_COPIED:
        return True
    if tags <= HARMLESS:
        return False
    if found.may_have("option") and int(np.count_nonzero(found.keys == _OPTION)) * tags > MOST_SCANNED:
        return True
    if has_few(text, found, max(DEEPEST, MOST_PASSED // tags), left, MOST_WALKED, MOST_OPTIONS):
        return False
    return not is_plain(found, DEEPEST, left, strays, MOST_OPTIONS)


def _longest(found: Marks, most_left: int) -> int:
    """Upper bound of the bytes that a link and `most_left` formatting elements have in their start tags: the longest
    tags together, or more than the page has if tags overlap, which they do only where they are not tags."""
    raw, starts = found.raw, found.places[_COPIED[found.keys & PAIR] & ~found.are_ends]
    octets = np.frombuffer(raw, np.uint8)
    closings, apostrophes = np.flatnonzero(octets == ord(">")), np.flatnonzero(octets == ord("'"))
    stops = np.append(closings, len(raw))[np.searchsorted(closings, starts)]
    # A tag without apostrophe ends at its first > if that follows a quote that cannot open a value, and if it is short.
    quoted = (octets[stops - 1] == ord('"')) & _NO_OPENING[octets[stops - 2]]
    quoted &= np.searchsorted(apostrophes, starts) == np.searchsorted(apostrophes, stops)
    lengths, read = stops - starts, 0
    for i in np.flatnonzero((stops == len(raw)) | ~(quoted | (lengths < _SHORTEST_OPEN))).tolist():
        tag = _START.match(raw, starts[i])
        lengths[i] = tag.end() - starts[i] if tag else 0
        read += int(lengths[i])
        if read > len(raw):
            return read
    return int(np.sort(lengths)[-1 - most_left :].sum())


def _may_have_many_attributes(text: str, found: Marks) -> bool:
    """Whether one element may have many attributes; <html> and <body> get the attributes of all tags of their name."""
    lengths = np.diff(found.places, prepend=0, append=len(found.raw))
    if _longest_unclosed(found) > LONG_TAG:
        return True
    if lengths.max() > LONG_TAG or (len(text) > LONG and lengths @ lengths > MOST_COMPARED):
        return True
    return count_roots(found) > FEW_ROOTS


def _longest_unclosed(found: Marks) -> int:
    """The most bytes from a < to the next >, if it may be many: a < inside a tag does not end it, but is part of an
    attribute."""
    if not _has_gap(found.raw):
        return 0
    closings = np.flatnonzero(np.frombuffer(found.raw, np.uint8) == ord(">"))
    stops = np.append(closings, len(found.raw))[np.searchsorted(closings, found.places)]
    return int((stops - found.places).max(initial=0))


def _has_gap(raw: bytes) -> bool:
    """Whether `LONG_TAG` bytes or more may be without a >."""
    at, half = 0, LONG_TAG // 2
    while at + half < len(raw):
        last = raw.rfind(b">", at, at + half)
        if last < 0:
            return True
        at = last + 1
    return False


def _end(text: str) -> int:
    """Where to cut the text: before the first tag that exceeds a limit, or at its end."""
    open_names, at, of_roots, options = list[str](), 0, 0, 0
    formatting, walked, in_form, before = _Formatting(), 0, False, ""
    foreign, flat, scanned, inside = -1, NEVER_DEEP, 0, 0
    while tag := _TAG.search(text, at):
        at = tag.end()
        if tag["name"] is None:
            if tag[0].startswith(_CDATA) and not _FOREIGN.isdisjoint(open_names):
                at = text.find("]]>", at)
                if at < 0 or "<" in text[tag.end() : at]:
                    return tag.start()  # in SVG it ends at ]]>, in HTML at its first >
            continue
        if len(tag["attributes"]) > MOST_ATTRIBUTES and len(_ATTRIBUTES.findall(tag["attributes"])) > MOST_ATTRIBUTES:
            return tag.start()
        name = tag["name"].lower()
        if name in _ROOTS and tag["attributes"]:
            of_roots += len(_ATTRIBUTES.findall(tag["attributes"]))
            if of_roots > MOST_ATTRIBUTES:
                return tag.start()
        formatting.turn()
        if tag["end"]:
            if name in FORMATTING or name == "a":
                at_once = name == (before if name == "a" else open_names[-1] if open_names else "")
                walked += 0 if at_once else len(open_names)
                formatting.copied += 0 if at_once else _SPLIT * formatting.size
                if _close_formatting(open_names, name) and name != "a":
                    formatting.close(name)
                elif name == "a":
                    formatting.close_link()
            elif name != "form" or in_form:
                _close(open_names, name)
                in_form = in_form and name != "form"
        elif name in _RAW and _WITHOUT_RAW.isdisjoint(open_names):
            after = _RAW[name].search(text, at)
            at = after.start() if after else len(text)
        elif name == "option":
            options += 1
            scanned += inside
        elif name == "a" and foreign < 0:
            formatting.open_link(tag["attributes"])
        elif name not in flat and not _follows_its_like(open_names, name):
            open_names.append(name)
            in_form = in_form or name == "form"
            if name in FORMATTING:
                formatting.open(name, tag["attributes"])
        foreign, before = _foreign_at(open_names, foreign, name), "" if tag["end"] else name
        flat = NEVER_DEEP if foreign < 0 else _FLAT_IN_FOREIGN
        inside += 1  # tags since the outermost open <select>
        if name == "select" and open_names.count(name) <= (not tag["end"]):
            inside = 0
        too_many = len(open_names) > DEEPEST or options > MOST_OPTIONS or scanned > MOST_SCANNED
        if name in _KEEPERS and not tag["end"]:
            formatting.keep_link()
        if too_many or formatting.exceed() or walked > MOST_WALKED:
            return tag.start()
    return len(text)


def _foreign_at(open_names: list[str], before: int, name: str) -> int:
    """Index of the outermost open SVG or MathML element, or -1. `before`: its index before the current tag."""
    if before < 0:
        return len(open_names) - 1 if name in _FOREIGN and open_names and open_names[-1] == name else -1
    if before < len(open_names) and open_names[before] in _FOREIGN:
        return before
    return next((at for at, open_name in enumerate(open_names) if open_name in _FOREIGN), -1)


class _Formatting:
    """The formatting elements that the parser may have to re-create, and the length of their attributes: upper bounds.

    At most one link is re-created at a time, so that only its length counts.
    """

    def __init__(self) -> None:
        self._spelt: dict[str, list[str]] = {}
        """Attributes of the elements left open, by name."""
        self._times: dict[tuple[str, str], int] = {}
        self._left = 0
        self._link = 0
        """Length of the attributes of the link that may be open."""
        self._is_kept = False
        """Whether the link may stay open to the end of the page."""
        self._rebuilt = 0
        self.size = 0
        """Length of the attributes of all that is left open."""
        self.copied = 0

    def turn(self) -> None:
        """A tag: everything left open may have to be re-created."""
        self._rebuilt += max(0, self._left - FREE)
        self.copied += self.size

    def exceed(self) -> bool:
        return self._rebuilt > MOST_REBUILT or self.copied > MOST_COPIED

    def open(self, name: str, attributes: str) -> None:
        self._spelt.setdefault(name, []).append(attributes)
        times = self._times.get((name, attributes), 0)
        self._times[name, attributes] = times + 1
        if times < ALIKE:
            self._left += 1
            self.size += len(attributes)

    def close(self, name: str) -> None:
        key = name, self._spelt[name].pop()
        self._times[key] -= 1
        if self._times[key] < ALIKE:
            self._left -= 1
            self.size -= len(key[1])

    def open_link(self, attributes: str) -> None:
        self._set_link(max(self._link, len(attributes)) if self._is_kept else len(attributes))

    def close_link(self) -> None:
        if not self._is_kept:
            self._set_link(0)

    def keep_link(self) -> None:
        self._is_kept = self._is_kept or self._link > 0

    def _set_link(self, length: int) -> None:
        self.size += length - self._link
        self._link = length


def _follows_its_like(open_names: list[str], name: str) -> bool:
    """Whether the tag closes a previous element of its kind, with all elements inside; it then takes its place in
    `open_names`. Its name counts: </dd> closes no <dt>."""
    if (kind := SIBLINGS.get(name)) is None:
        return False
    for back in range(1, min(len(open_names), _LOOK_BACK) + 1):
        if SIBLINGS.get(open_names[-back]) == kind:
            open_names[len(open_names) - back :] = [name]
            return True
        if open_names[-back] not in _INLINE:
            return False
    return False


def _close(open_names: list[str], name: str) -> None:
    """Close an element as the parser does, except that an end tag far from its start tag is ignored. That may cut a
    page too early, but never makes the parser slow."""
    is_block = name in _SPECIAL and name not in _ORDINARY
    alike = _HEADINGS if name in _HEADINGS else (name,)
    for back in range(1, min(len(open_names), _LOOK_BACK) + 1):
        last = open_names[-back]
        if last in alike:
            if name == "form":
                del open_names[-back]  # elements that began inside stay open
            else:
                del open_names[-back:]
            return
        if last in _BARRIERS or (not is_block and last in _SPECIAL) or (name == "li" and last in _LISTS):
            return


def _close_formatting(open_names: list[str], name: str) -> bool:
    """Close a formatting element; False if none was open. Blocks that began inside stay open, as in the parser."""
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
