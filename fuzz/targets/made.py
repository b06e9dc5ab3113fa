"""What seeds are made of: the demonstration Web, small."""

from __future__ import annotations

from functools import cache

from gossamer.webs.demo.answer import DemoAnswers
from gossamer.webs.demo.sitemaps import sitemap_place
from gossamer.webs.demo.web import DemoWeb

LONGEST = 1 << 14
"""Bytes of a body."""


@cache
def bodies(kind: str, most: int) -> list[tuple[bytes, str]]:
    """Bodies of the demonstration Web whose type begins so, with their types: home pages and first sitemaps."""
    web = DemoWeb()
    answers = DemoAnswers(web)
    found = []
    for site in web.all_sites:
        if not site.readable:
            continue
        for target in filter(None, ("/", sitemap_place(site))):
            answer = answers.get(site, target, False)
            mime = answer.fields.partition(b"Content-Type: ")[2].partition(b"\r\n")[0].decode()
            if mime.startswith(kind) and 0 < len(answer.body) <= LONGEST:
                found.append((answer.body, mime))
        if len(found) >= most:
            break
    return found[:most]
