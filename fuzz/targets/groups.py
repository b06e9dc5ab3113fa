"""The groups of a robots.txt, against a plain and slow reading of RFC 9309: each byte of the input is one line."""

from __future__ import annotations

from typing import Final, NamedTuple

from fuzz.target import Target
from gossamer.robots.preferences import bounded
from gossamer.robots.rules import Rules

_NAMES: Final = ("gossamer", "*", "Gossamer/2.1", "other", "gossamer-news", "GOSSAMER", "googlebot", "gos")
_PATHS: Final = ("/", "/a", "/a/b", "/*x", "/a$", "/%61", "/é", "", "x", "/a*b*", "*", "/b?c")
_LINES: Final = (
    *(("User-agent", name) for name in _NAMES),
    *((key, path) for key in ("Allow", "Disallow") for path in _PATHS),
    *(("Crawl-delay", str(n)) for n in (0, 1, 2.5, 30)),
    *(("Content-Usage", text) for text in ("train-ai=n", "/a train-ai=y", "search=y")),
    *(("Content-Signal", text) for text in ("search=yes", "ai-train=no")),
    ("License", "https://example.org/l"),
    ("Sitemap", "https://example.org/s.xml"),
    ("Sitemap", "/other.xml"),
    ("Host", "example.org"),
    ("", ""),
    ("# Disallow", "/"),
)
"""Key and value of a line, by the byte of the input modulo their number."""


_URLS: Final = tuple(f"http://example.org{path}" for path in ("/", "/a", "/a/b", "/axb", "/%C3%A9", "/b?c"))


class _Read(NamedTuple):
    delay: float | None
    sitemaps: tuple[str, ...]
    preferences: tuple[str, ...]
    rules: list[tuple[bool, str]]


class GroupsTarget(Target):
    """groups of robots.txt, compared with a plain reading of the RFC: each byte is a line."""

    name = "groups"
    parts = ("robots",)
    words = (
        bytes(range(8)),
        bytes([8, 9, 20, 21]),
        bytes([32, 33, 34]),
        bytes([36, 37, 38, 39]),
        bytes([0, 1]),
        bytes([43, 44]),
    )
    longest = 1 << 9

    def seeds(self) -> list[bytes]:
        return [bytes([n, 9 + n, 33, 0, 40]) * 3 + bytes(range(n, 60)) for n in range(12)]

    def check(self, data: bytes) -> None:
        lines = [_LINES[octet % len(_LINES)] for octet in data]
        ends = ("\n", "\r\n", "\r", " \n")
        text = "".join(f"{key}:{value}{ends[i % 4]}" for i, (key, value) in enumerate(lines)).encode()
        found, wanted = Rules.parse(text, "gossamer/1.0"), _plainly(lines)
        assert found.delay == wanted.delay
        assert found.sitemaps == wanted.sitemaps
        assert found.preferences == wanted.preferences
        assert found == Rules.parse(text, "GOSSAMER")
        group = "".join(f"{'Allow' if allow else 'Disallow'}: {path}\n" for allow, path in wanted.rules)
        alone = Rules.parse(f"User-agent: *\n{group}".encode(), "x")
        assert found.lines() == alone.lines()
        again = Rules.from_compiled(found.compiled())
        for url in _URLS:
            assert found.allows(url) == alone.allows(url) == again.allows(url)
            assert found.deciding(url) == again.deciding(url)


def _plainly(lines: list[tuple[str, str]]) -> _Read:
    """What applies to us. For each line all lines before it are read again, to find the names that it applies to."""
    named = [(_names_before(lines, at), key, value) for at, (key, value) in enumerate(lines)]
    ours = "gossamer" if any("gossamer" in names for names, *_ in named) else "*"
    applying = [(key, value) for names, key, value in named if ours in names]
    delays = [float(value) for key, value in applying if key == "Crawl-delay"]
    of_all = [(key, value) for names, key, value in named if key == "License" or (not names and "Content-" in key)]
    wishes = [f"{key}: {value}" for key, value in of_all]
    wishes += [f"{key}: {value}" for key, value in applying if key in ("Content-Usage", "Content-Signal")]
    sitemaps = dict.fromkeys(value for key, value in lines if key == "Sitemap")
    return _Read(
        max(delays, default=None),
        tuple(sitemaps),
        bounded(wishes),
        [(key == "Allow", value) for key, value in applying if key in ("Allow", "Disallow") and value],
    )


def _names_before(lines: list[tuple[str, str]], at: int) -> set[str]:
    """The names of the group of a line that come before it, or are in it: all of them, if it is a rule."""
    names, in_rules = set[str](), True
    for key, value in lines[: at + 1]:
        if key == "User-agent":
            names = {_name(value)} if in_rules else names | {_name(value)}
            in_rules = False
        elif key in ("Allow", "Disallow") and names:
            in_rules = True
    return names


def _name(value: str) -> str:
    """The product token; `Gossamer/2.1` is ours, `gossamer-news` is another's."""
    return value.partition("/")[0].lower()
