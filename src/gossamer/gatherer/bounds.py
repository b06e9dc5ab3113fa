"""A bound on nesting and attributes, before the parser sees the page.

lexbor takes any page, but two things cost it the square of their number: open elements (the HTML standard's "has an
element in scope" walks up all of them: 60,000 open <div> take 9 s) and attributes of one element, compared with one
another (50,000 take 6 s). A page that could have that many is read here first, tag by tag, in linear time, and cut
before the tag that is too much. Most pages are not looked at, for they are short, or have few tags and none long:
the worst among those would take one to two seconds, by estimate.
"""

from __future__ import annotations

import re
from typing import Final

DEEPEST: Final = 1_000
"""Open elements."""
MOST_ATTRIBUTES: Final = 1_000
SHORT: Final = 32_768
LONG: Final = 200_000
"""Characters of pages that are never, and always, looked at."""
FEW_TAGS: Final = 5_000
LONG_TAG: Final = 16_384

_ATTRIBUTE: Final = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_TAG: Final = re.compile(
    rf"<!--(?s:.*?)(?:-->|\Z)|<(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)(?P<attributes>(?:[\s/]++|{_ATTRIBUTE})*+)"
)
_NEVER_DEEP: Final = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "a", "body", "caption", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "rb", "rp", "rt",
    "rtc", "tbody", "td", "tfoot", "th", "thead", "tr",
})  # fmt: skip
"""Elements without content, and those that another of their kind ends."""
_RAW: Final = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe")
}
"""Elements whose content is no markup, with what ends them."""
_FOREIGN: Final = frozenset({"svg", "math"})
_BARRIERS: Final = _FOREIGN | {
    "applet", "button", "foreignobject", "marquee", "object", "select", "table", "template",
}  # fmt: skip
"""An end tag closes nothing outside of these."""
_LOOK_BACK: Final = 16


def bounded(text: str) -> str:
    """The text up to what is too much for the parser: all of it, for nearly every page."""
    return text[: _end(text)] if _suspicious(text) else text


def _suspicious(text: str) -> bool:
    if len(text) <= SHORT:
        return False
    return len(text) > LONG or text.count("<") > FEW_TAGS or max(map(len, text.split("<"))) > LONG_TAG


def _end(text: str) -> int:
    open_names, at = list[str](), 0
    while tag := _TAG.search(text, at):
        at = tag.end()
        if tag["name"] is None:
            continue
        if len(tag["attributes"]) > MOST_ATTRIBUTES and len(_ATTRIBUTES.findall(tag["attributes"])) > MOST_ATTRIBUTES:
            return tag.start()
        name = tag["name"].lower()
        if tag["end"]:
            _close(open_names, name)
        elif name in _RAW and _FOREIGN.isdisjoint(open_names):
            after = _RAW[name].search(text, at)
            at = after.start() if after else len(text)
        elif name not in _NEVER_DEEP:
            open_names.append(name)
            if len(open_names) > DEEPEST:
                return tag.start()
    return len(text)


def _close(open_names: list[str], name: str) -> None:
    """Like the parser, but an end tag far from its start is taken for a stray one: rather cut than be slow."""
    for back in range(1, min(len(open_names), _LOOK_BACK) + 1):
        if open_names[-back] == name:
            del open_names[-back:]
            return
        if open_names[-back] in _BARRIERS:
            return
