"""robots.txt: rules parsed, stored and matched, with the same result from Python and from the kernel."""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from bench.made_robots import made, rule
from fuzz.target import Target
from gossamer.robots.match import verdicts
from gossamer.robots.preferences import LIMIT
from gossamer.robots.rules import Rules
from gossamer.urls import canonical

_BY_PYTHON: Final = 1 << 13
"""Maximum bytes of a file that plain Python matches too."""
_LONGEST: Final = 1 << 14
"""Bytes of the path: no longer reference is joined."""


class RobotsTarget(Target):
    """robots.txt files: the first line is the path to match, the rest is the file."""

    name = "robots"
    parts = ("robots",)
    words = (
        b"User-agent: *\n",
        b"User-agent: gossamer\n",
        b"Disallow: ",
        b"Allow: ",
        b"Crawl-delay: ",
        b"Sitemap: ",
        b"*",
        b"$",
        b"%2A",
        b"%24",
        b"%2f",
        b"/",
        b"?",
        b"#",
        b"/*a",
        b"/*?*",
        b"Content-Usage: /x train-ai=n\n",
        b"Content-Signal: search=yes\n",
        b"License: https://example.org/l\n",
        b"\r",
        b"gossamer",
        b"/robots.txt",
        b":",
        b"%",
        b"/*%2",
        b"Useragent: n\n",
        b"Disalow: ",
        b"\xff\xfe",
    )
    longest = 1 << 17

    def __init__(self) -> None:
        self.check(b"/\n")  # compiles the kernels, which no input shall wait for

    def seeds(self) -> list[bytes]:
        dice = random.Random(1)
        files = [file for _ in range(30) if (file := made(dice)) is not None and len(file) < 1 << 13]
        own = b"User-agent: gossamer\nContent-Usage: /a train-ai=n\nCrawl-delay: 2\nAllow: /a\nDisallow: /*b*%2A$\n"
        return [b"/" + rule(dice).encode() + b"\n" + file for file in [*files[:15], own, b""]]

    def check(self, data: bytes) -> None:
        raw, _, file = data.partition(b"\n")
        raw = raw[:_LONGEST]
        url = canonical("http://example.org/" + raw.decode(errors="replace").lstrip("/")) or "http://example.org/"
        rules = Rules.parse(file, "gossamer/1.0")
        assert rules.delay is None or 0.0 <= rules.delay < float("inf")
        assert sum(len(line.encode()) + 1 for line in rules.preferences) <= LIMIT
        compiled = rules.compiled()
        assert Rules.from_compiled(compiled).lines() == rules.lines()
        assert len(compiled) <= 5 * len(file) + 1
        assert all(line.isascii() and line.isprintable() for line in rules.lines())
        texts = np.frombuffer(url.encode(), np.uint8)
        by_kernel = bool(verdicts(np.frombuffer(compiled, np.uint8), texts, np.array([0, len(texts)], np.int64))[0])
        if len(file) <= _BY_PYTHON and len(url) <= 2_000:
            assert rules.allows(url) == by_kernel
            deciding = rules.deciding(url)
            assert by_kernel == (deciding is None or deciding.startswith("Allow: ")) or len(file) > 1 << 12
            rules.usage(url)
