"""What pages say of themselves for programs: JSON-LD, OpenGraph and microdata.

A row is an object of the page (one at the top, or in `@graph`), or the page for OpenGraph. The columns have what is
asked for most; `data` has the whole as JSON, with nested objects. Types and URLs are as the page has them, except that
URLs of microdata are absolute, as its standard wants.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.plugins.rows import Column, Join, Table

MOST: Final = 1_000
"""Objects of a page."""
LONGEST: Final = 200_000
"""Bytes of an object as JSON."""
DEEPEST: Final = 20
"""Levels of nested objects that are read."""
_MOST_VALUES: Final = 10_000
"""Values of all items of a page."""
_MOST_STEPS: Final = 200_000
"""Elements that are looked at for all items of a page: each element once, and again for each item that refers to it."""
_MOST_CHARACTERS: Final = 4_000_000
"""Characters of all values of a page: of elements inside one another, each has the text of those inside."""
_MOST_REFERRED: Final = 100
"""Elements that an item may refer to."""
_LEAST: Final = 2
"""Characters of the shortest value as JSON."""

JSON_LD: Final = Table(
    "json_ld", (Column("type", "text", True), Column("id", "url"), Column("name", "text"), Column("data", "text"))
)
OPENGRAPH: Final = Table(
    "opengraph",
    (
        Column("title", "text"),
        Column("type", "text"),
        Column("url", "url"),
        Column("image", "url", True),
        Column("description", "text"),
        Column("site_name", "text"),
        Column("locale", "text"),
        Column("data", "text"),
    ),
)
MICRODATA: Final = JSON_LD._replace(name="microdata")
_PREFIXES: Final = ("og:", "article:", "book:", "product:", "profile:", "music:", "video:", "twitter:", "fb:")
_LINKS: Final[Mapping[str, str]] = {
    "a": "href",
    "area": "href",
    "link": "href",
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "source": "src",
    "track": "src",
    "video": "src",
    "object": "data",
}
"""Elements of microdata whose value is a URL, and the attribute that has it."""

Row = dict[str, Any] | ValueError


def _json(value: Any) -> str:
    """ValueError if a number is infinite, which JSON does not know."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


# --- JSON-LD --------------------------------------------------------------------------------------------------------


def json_ld(tree: LexborHTMLParser, markup: bytes, join: Join) -> Iterator[Row]:
    """A row for each object of each script with JSON-LD; a ValueError for a script that is not JSON."""
    if b"ld+json" not in markup:
        return
    count = 0
    for script in tree.css('script[type^="application/ld+json" i]'):
        try:
            text = script.text().strip().removeprefix("<!--").removesuffix("-->")
            found = json.loads(text, strict=False, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            yield ValueError(f"a script is not JSON: {error}")
            continue
        for each in _objects(found):
            if (count := count + 1) > MOST:
                yield ValueError(f"the page has more than {MOST} objects")
                return
            yield _of_object(each, join)


def _objects(found: Any) -> Iterator[Mapping[str, Any]]:
    """The objects at the top, and those of `@graph`."""
    for each in found if isinstance(found, list) else [found]:
        if not isinstance(each, dict):
            continue
        graph = each.get("@graph")
        if isinstance(graph, list):
            yield from (one for one in graph if isinstance(one, dict))
        else:
            yield each


def _of_object(found: Mapping[str, Any], join: Join) -> Row:
    try:
        data = _json(found)
    except (ValueError, RecursionError) as error:
        return ValueError(f"an object is not JSON: {error}")
    if len(data) > LONGEST:
        return ValueError(f"an object has {len(data)} characters; {LONGEST} are accepted")
    kinds, name, own = found.get("@type"), found.get("name", found.get("headline")), found.get("@id", found.get("url"))
    return {
        "type": [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind is not None],
        "id": own if isinstance(own, str) else None,
        "name": name if isinstance(name, str) else None,
        "data": data,
    }


# --- OpenGraph ------------------------------------------------------------------------------------------------------


def opengraph(tree: LexborHTMLParser, markup: bytes) -> Iterator[Row]:
    """One row, if the page has any property of OpenGraph or its like."""
    if not any(prefix.encode() in markup for prefix in _PREFIXES):
        return
    found = defaultdict[str, list[str]](list)
    for node in tree.css("meta[content]")[:_MOST_VALUES]:
        attributes = node.attributes
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        if name.startswith(_PREFIXES):
            found[name].append((attributes.get("content") or "").strip())
    if not found:
        return

    def first(name: str) -> str | None:
        return next((each for each in found.get(f"og:{name}", ()) if each), None)

    if len(data := _json(found)) > LONGEST:
        yield ValueError(f"its properties have {len(data)} characters; {LONGEST} are accepted")
    yield {
        **{name: first(name) for name in ("title", "type", "url", "description", "site_name", "locale")},
        "image": [each for name in ("og:image", "og:image:url") for each in found.get(name, ()) if each],
        "data": data if len(data) <= LONGEST else None,
    }


# --- microdata ------------------------------------------------------------------------------------------------------


def microdata(tree: LexborHTMLParser, markup: bytes, join: Join) -> Iterator[Row]:
    """A row for each item that is no property of another."""
    if b"itemscope" not in markup.lower() or tree.root is None:
        return
    items = _Items(tree, join)
    tops = [node for node in tree.css("[itemscope]") if "itemprop" not in node.attributes]
    for number, node in enumerate(tops[:MOST]):
        try:
            item = items.read(node).found
        except _TooLongError:
            yield ValueError(f"an item has more than {LONGEST} characters")
            continue
        except _TooMuchError as error:
            yield ValueError(f"the items of the page {error}; the first {number} were taken")
            return
        if len(data := _json(item)) > LONGEST:
            yield ValueError(f"an item has {len(data)} characters; {LONGEST} are accepted")
            continue
        named = next((each for each in item["properties"].get("name", ()) if isinstance(each, str)), None)
        yield {"type": item.get("type", []), "id": item.get("id"), "name": named, "data": data}
    if len(tops) > MOST:
        yield ValueError(f"the page has {len(tops)} items; the first {MOST} were taken")


class _TooLongError(Exception):
    """An item is longer than it may be."""


class _TooMuchError(Exception):
    """The items of a page cost more than they may."""


class _Element(NamedTuple):
    """What is read of an element once, however many items refer to it: attributes may be as long as the page."""

    attributes: Mapping[str, str | None]
    names: tuple[str, ...]
    """The properties that it is."""
    types: tuple[str, ...]
    refers: tuple[str, ...]
    """Ids of other elements with properties of this item."""


class _Item(NamedTuple):
    found: dict[str, Any]
    size: int
    """Characters that it has as JSON, at least."""


class _Items:
    """Reads the items of a page, by the HTML standard. `itemref` is followed, but never in a circle.

    An element may be a property of many items, under many names: so elements, values and their characters are counted,
    each time that they are read, and an item is given up as soon as it is too long. A property with thirty names in
    another with thirty, and so on, would have 30 to the 20th values in a page of some kilobytes.
    """

    def __init__(self, tree: LexborHTMLParser, join: Join) -> None:
        self._tree, self._join = tree, join
        self._values, self._steps, self._characters = _MOST_VALUES, _MOST_STEPS, _MOST_CHARACTERS
        self._elements = dict[int, _Element]()
        self._ids: dict[str, LexborNode] | None = None

    def read(self, item: LexborNode, above: tuple[int, ...] = ()) -> _Item:
        """The item. `above`: those that it is in. _TooLongError, _TooMuchError."""
        element = self._element(item)
        found: dict[str, Any] = {}
        size = _LEAST + sum(map(len, element.types))
        if element.types:
            found["type"] = list(element.types)
        if own := element.attributes.get("itemid"):
            found["id"] = self._join(own)
        properties = defaultdict[str, list[Any]](list)
        for node in self._properties(item):
            value, length = self._value(node, (*above, item.mem_id))
            for name in self._element(node).names:
                size += len(name) + length
                if size > LONGEST:
                    raise _TooLongError
                properties[name].append(value)
        found["properties"] = properties
        return _Item(found, size)

    def _element(self, node: LexborNode) -> _Element:
        if (known := self._elements.get(node.mem_id)) is None:
            attributes = node.attributes
            names, types, refers = (
                (attributes.get(name) or "").split() for name in ("itemprop", "itemtype", "itemref")
            )
            known = _Element(attributes, tuple(names), tuple(types), tuple(refers[:_MOST_REFERRED]))
            self._elements[node.mem_id] = known
        return known

    def _properties(self, item: LexborNode) -> Iterator[LexborNode]:
        """The elements that are properties of the item, in order; not those of items in it."""
        referred = [self._by_id(each) for each in self._element(item).refers]
        left = [node for node in reversed([*item.iter(), *referred]) if node is not None]
        self._walk(len(left))
        seen = {item.mem_id}
        while left:
            node = left.pop()
            if node.mem_id in seen:
                continue
            seen.add(node.mem_id)
            element = self._element(node)
            if element.names:
                self._values -= 1
                if self._values < 0:
                    raise _TooMuchError(f"have more than {_MOST_VALUES} values")
                yield node
            if "itemscope" not in element.attributes:
                inside = list(node.iter())
                self._walk(len(inside))
                left.extend(reversed(inside))

    def _walk(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise _TooMuchError("refer to too much of it")

    def _by_id(self, name: str) -> LexborNode | None:
        """The first element with this id. One look at the page finds all."""
        if self._ids is None:
            self._ids = {}
            for node in self._tree.css("[id]"):
                self._ids.setdefault(self._element(node).attributes.get("id") or "", node)
        return self._ids.get(name)

    def _value(self, node: LexborNode, above: tuple[int, ...]) -> tuple[Any, int]:
        """The value of a property, and its characters."""
        if "itemscope" in self._element(node).attributes:
            if node.mem_id in above or len(above) >= DEEPEST:
                return None, _LEAST
            return self.read(node, above)
        text = self._text(node)
        self._characters -= len(text)
        if self._characters < 0:
            raise _TooMuchError(f"have more than {_MOST_CHARACTERS} characters")
        return text, len(text) + _LEAST

    def _text(self, node: LexborNode) -> str:
        attributes, tag = self._element(node).attributes, node.tag or ""
        if "content" in attributes and (tag == "meta" or attributes["content"]):
            return attributes["content"] or ""
        if tag in _LINKS:
            return self._join(attributes.get(_LINKS[tag]) or "") or ""
        if tag in ("data", "meter"):
            return attributes.get("value") or ""
        if tag == "time" and attributes.get("datetime"):
            return attributes["datetime"] or ""
        return node.text().strip()
