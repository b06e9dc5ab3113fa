"""Parses the lines of a robots.txt into groups (RFC 9309, 2.1 and 2.2).

Lines end in CR, LF or both; "#" begins a comment; a byte order mark is skipped. Key and value are separated by ":", or
by white space if the line has exactly two words. Invalid lines and lines with other keys are skipped and do not end a
group (2.2.4). Crawl-delay, Content-Usage and Content-Signal are not part of the RFC: they apply to the names of their
group that come before them. A Content-Signal or Content-Usage before all groups, and a License anywhere, apply to
everyone. The value of a Crawl-delay is the number at its beginning, in seconds; the rest is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

LIMIT: Final = 500 * 1024
"""Maximum bytes that are read (2.5), including a byte order mark. A line cut by this limit is left out."""

_TOKEN: Final = re.compile(r"[A-Za-z_-]+")
_WISHES: Final = {b"content-usage": "Content-Usage", b"content-signal": "Content-Signal", b"license": "License"}
"""Lines about the use of contents, by key."""
_DELAY: Final = re.compile(rb"\+?((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?\b)", re.I)
_LONGEST_DELAY: Final = 1e9
"""Seconds. An infinite delay becomes this too: it is longer than any wait."""
_KEYS: Final = frozenset({b"user-agent", b"allow", b"disallow", b"crawl-delay", b"sitemap", *_WISHES})


@dataclass(slots=True)
class Group:
    """A group of robots.txt: names, and what applies to them."""

    agents: set[str] = field(default_factory=set)
    """Product tokens in lower case, or "*"."""
    rules: list[tuple[bool, bytes]] = field(default_factory=list)
    """Pairs: whether it is an Allow rule, and the path as written."""
    delays: dict[str, float] = field(default_factory=dict)
    """Crawl-delay by agent."""
    wishes: dict[str, list[str]] = field(default_factory=dict)
    """Lines about the use of contents, by agent."""


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
                _add_wish(file, None if key == b"license" or not groups else groups[-1], line)
        elif key == b"user-agent":
            if in_rules:
                groups.append(Group())
                in_rules = False
            groups[-1].agents.add(_agent(value))
        elif not groups:
            continue
        elif key == b"crawl-delay":
            _add_delay(groups[-1], value)
        else:
            in_rules = True
            if value:
                groups[-1].rules.append((key == b"allow", value))
    return file


def product_token(text: str) -> str:
    """The product token (2.2.1) of a crawler's name: its leading letters, "_" and "-", in lower case."""
    found = _TOKEN.match(text)
    return (found[0] if found else text).lower()


def _agent(value: bytes) -> str:
    text = value.decode("latin-1")
    return "*" if text.split()[:1] == ["*"] else product_token(text)


def _add_delay(group: Group, value: bytes) -> None:
    found = _DELAY.match(value)
    if found:
        seconds = min(float(found[1]), _LONGEST_DELAY)
        for agent in group.agents:
            group.delays[agent] = max(seconds, group.delays.get(agent, 0.0))


def _add_wish(file: File, group: Group | None, line: str) -> None:
    if group is None:
        file.wishes.append(line)
    else:
        for agent in group.agents:
            group.wishes.setdefault(agent, []).append(line)


def _lines(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    lines = re.split(rb"[\r\n]", data[:LIMIT].removeprefix(b"\xef\xbb\xbf"))
    if len(data) > LIMIT and data[LIMIT : LIMIT + 1] not in b"\r\n":
        lines.pop()
    for line in lines:
        line = line.partition(b"#")[0].strip()
        key, colon, value = line.partition(b":")
        if not colon:
            words = line.split()
            if len(words) != 2:
                continue
            key, value = words
        key = key.strip().lower()
        if key in _KEYS:
            yield key, value.strip()
