"""What pages say of themselves for programs: JSON-LD, OpenGraph and microdata.

A row is an object of the page (one at the top, or in `@graph`), or the page for OpenGraph. The columns have what is
asked for most; `data` has the whole as JSON, with nested objects. Types and URLs are as the page has them, except that
URLs of microdata are absolute, as its standard wants.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.plugins.rows import Column, Join, Table

MOST: Final = 1_000
"""Objects of a page."""
LONGEST: Final = 200_000
"""Bytes of an object as JSON."""
DEEPEST: Final = 20
"""Levels of nested objects that are read."""
_MOST_VALUES: Final = 10_000
"""Values of all objects of a page."""

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
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- JSON-LD --------------------------------------------------------------------------------------------------------


def json_ld(tree: LexborHTMLParser, markup: bytes, join: Join) -> Iterator[Row]:
    """A row for each object of each script with JSON-LD; a ValueError for a script that is not JSON."""
    if b"ld+json" not in markup:
        return
    count = 0
    for script in tree.css('script[type^="application/ld+json" i]'):
        try:
            found = json.loads(script.text().strip().removeprefix("<!--").removesuffix("-->"), strict=False)
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
    data = _json(found)
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

    yield {
        **{name: first(name) for name in ("title", "type", "url", "description", "site_name", "locale")},
        "image": [each for name in ("og:image", "og:image:url") for each in found.get(name, ()) if each],
        "data": _json(found)[:LONGEST],
    }


# --- microdata ------------------------------------------------------------------------------------------------------


def microdata(tree: LexborHTMLParser, markup: bytes, join: Join) -> Iterator[Row]:
    """A row for each item that is no property of another."""
    if b"itemscope" not in markup.lower() or tree.root is None:
        return
    items = _Items(tree, join)
    tops = [node for node in tree.css("[itemscope]") if "itemprop" not in node.attributes]
    for node in tops[:MOST]:
        item = items.read(node)
        data = _json(item)
        if len(data) > LONGEST:
            yield ValueError(f"an item has {len(data)} characters; {LONGEST} are accepted")
            continue
        named = next((each for each in item["properties"].get("name", ()) if isinstance(each, str)), None)
        yield {"type": item.get("type", []), "id": item.get("id"), "name": named, "data": data}
    if len(tops) > MOST:
        yield ValueError(f"the page has {len(tops)} items; the first {MOST} were taken")


class _Items:
    """Reads the items of a page, by the HTML standard. `itemref` is followed, but never in a circle."""

    def __init__(self, tree: LexborHTMLParser, join: Join) -> None:
        self._tree, self._join = tree, join
        self._left = _MOST_VALUES

    def read(self, item: LexborNode, above: tuple[int, ...] = ()) -> dict[str, Any]:
        attributes = item.attributes
        found: dict[str, Any] = {}
        if kinds := (attributes.get("itemtype") or "").split():
            found["type"] = kinds
        if own := attributes.get("itemid"):
            found["id"] = self._join(own)
        properties = defaultdict[str, list[Any]](list)
        for node in self._properties(item):
            value = self._value(node, (*above, item.mem_id))
            for name in (node.attributes.get("itemprop") or "").split():
                properties[name].append(value)
        found["properties"] = properties
        return found

    def _properties(self, item: LexborNode) -> Iterator[LexborNode]:
        """The elements that are properties of the item, in order; not those of items in it."""
        referred = [self._by_id(each) for each in (item.attributes.get("itemref") or "").split()[:100]]
        left = [node for node in reversed([*item.iter(), *referred]) if node is not None]
        seen = {item.mem_id}
        while left and self._left > 0:
            node = left.pop()
            if node.mem_id in seen:
                continue
            seen.add(node.mem_id)
            attributes = node.attributes
            if "itemprop" in attributes:
                self._left -= 1
                yield node
            if "itemscope" not in attributes:
                left.extend(reversed(list(node.iter())))

    def _by_id(self, name: str) -> LexborNode | None:
        return self._tree.css_first(f'[id="{name}"]') if name.isprintable() and not set(name) & set('"\\') else None

    def _value(self, node: LexborNode, above: tuple[int, ...]) -> Any:
        attributes, tag = node.attributes, node.tag or ""
        if "itemscope" in attributes:
            return None if node.mem_id in above or len(above) >= DEEPEST else self.read(node, above)
        if "content" in attributes and (tag == "meta" or attributes["content"]):
            return attributes["content"] or ""
        if tag in _LINKS:
            return self._join(attributes.get(_LINKS[tag]) or "")
        if tag in ("data", "meter"):
            return attributes.get("value") or ""
        if tag == "time" and attributes.get("datetime"):
            return attributes["datetime"]
        return node.text().strip()
