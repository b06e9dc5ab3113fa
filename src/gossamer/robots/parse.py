"""Parses the lines of a robots.txt into groups (RFC 9309, 2.1 and 2.2).

Lines end in CR, LF or both; "#" begins a comment; a byte order mark is skipped, and with one the file may be UTF-16.
Key and value are separated by ":", or by white space if the line has exactly two words. Where they forbid, keys are
read as Google's parser reads them, by their beginning and with the same misspellings: `Disalow` is a Disallow. An Allow
must be spelled right. Invalid lines and lines with other keys are skipped and do not end a group (2.2.4). Crawl-delay,
Content-Usage and Content-Signal are not part of the RFC: they apply to the names of their group that come before them.
A Content-Signal or Content-Usage before all groups, and a License anywhere, apply to everyone. The value of a
Crawl-delay is the number at its beginning, in seconds; the rest is ignored.

Invariant, a test of the same name: the work grows with the file and not with its square. A line is stored once with its
group, and a name only notes which lines came before it: many names times many lines cost their sum. So the work is
bounded by `LIMIT`: the worst 500 KiB take a quarter of a second.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

LIMIT: Final = 500 * 1024
"""Maximum bytes that are read (2.5), including a byte order mark. A line cut by this limit is left out."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")
_WISHES: Final = {b"content-usage": "Content-Usage", b"content-signal": "Content-Signal", b"license": "License"}
"""Lines about the use of contents, by key."""
_DELAY: Final = re.compile(rb"\+?((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?\b)", re.I)
_LONGEST_DELAY: Final = 1e9
"""Seconds. An infinite delay becomes this too: it is longer than any wait."""
_KEYS: Final = {key: key for key in (b"user-agent", b"allow", b"disallow", b"crawl-delay", b"sitemap", *_WISHES)}
_BEGINNINGS: Final = re.compile(rb"(user[- ]?agent)|(dis(?:s?al?low|allaw)|diasllow)|(site-?map)")
"""How keys begin in the spellings that Google's parser knows."""
_MEANT: Final = (b"", b"user-agent", b"disallow", b"sitemap")
"""The keys that these beginnings stand for."""
_UTF_16: Final = {BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be"}


@dataclass(slots=True)
class Group:
    """A group of robots.txt: names, and what applies to them."""

    agents: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Product tokens in lower case, or "*"; how many delays and how many wishes came before each."""
    rules: list[tuple[bool, bytes]] = field(default_factory=list)
    """Pairs: whether it is an Allow rule, and the path as written."""
    delays: list[float] = field(default_factory=list)
    """Crawl-delays, in order."""
    wishes: list[str] = field(default_factory=list)
    """Lines about the use of contents, in order."""

    def delays_of(self, agent: str) -> list[float]:
        """The delays that apply to one of the agent's names."""
        return self.delays[self.agents[agent][0] :]

    def wishes_of(self, agent: str) -> list[str]:
        return self.wishes[self.agents[agent][1] :]


@dataclass(slots=True)
class File:
    """A parsed robots.txt."""

    groups: list[Group] = field(default_factory=list)
    sitemaps: dict[str, None] = field(default_factory=dict)
    """URLs as written, each once."""
    wishes: list[str] = field(default_factory=list)
    """Lines about the use of contents that apply to everyone."""


def read(data: bytes) -> File:
    """Parse a robots.txt."""
    file = File()
    groups, in_rules = file.groups, True
    for key, value in _lines(data):
        if key == b"sitemap":
            if value:
                file.sitemaps[value.decode(errors="replace")] = None
        elif key in _WISHES:
            if value:
                line = f"{_WISHES[key]}: {value.decode(errors='replace')}"
                (file if key == b"license" or not groups else groups[-1]).wishes.append(line)
        elif key == b"user-agent":
            if in_rules:
                groups.append(Group())
                in_rules = False
            group = groups[-1]
            group.agents.setdefault(_agent(value), (len(group.delays), len(group.wishes)))
        elif not groups:
            continue
        elif key == b"crawl-delay":
            groups[-1].delays += _seconds(value)
        else:
            in_rules = True
            if value:
                groups[-1].rules.append((key == b"allow", value))
    return file


def product_token(text: str) -> str:
    """The product token (2.2.1) of a crawler's name, in lower case: its leading letters, digits, "_" and "-".

    The RFC has no digits in it. Names have: `web3bot` is not `web`.
    """
    found = _TOKEN.match(text)
    return (found[0] if found else text).lower()


def _agent(value: bytes) -> str:
    text = value.decode("latin-1")
    return "*" if text.split(maxsplit=1)[:1] == ["*"] else product_token(text)


def _seconds(value: bytes) -> list[float]:
    """The delay of a Crawl-delay line; none if it has no number."""
    found = _DELAY.match(value)
    return [min(float(found[1]), _LONGEST_DELAY)] if found else []


def _lines(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    text, codec = data[:LIMIT], _UTF_16.get(data[:2])
    if codec is not None:
        text = text[2:].decode(codec, "replace").encode()
    lines = re.split(rb"[\r\n]+", text.removeprefix(BOM_UTF8))
    if len(data) > LIMIT and (codec is not None or data[LIMIT : LIMIT + 1] not in b"\r\n"):
        lines.pop()
    for line in lines:
        line = line.partition(b"#")[0].strip()
        key, colon, value = line.partition(b":")
        if not colon:
            words = line.split(maxsplit=2)
            if len(words) != 2:
                continue
            key, value = words
        key = key.strip().lower()
        meant = _KEYS.get(key)
        if meant is None and (found := _BEGINNINGS.match(key)):
            meant = _MEANT[found.lastindex or 0]
        if meant is not None:
            yield meant, value.strip()
