"""Pages: charset, bounds, tree, links, texts, directives."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bench.gather import page
from fuzz.target import Target
from fuzz.targets.made import bodies
from gossamer.config.settings import GathererSettings
from gossamer.gatherer.challenge import challenged
from gossamer.gatherer.gather import LONGEST_TITLE, gather
from gossamer.urls import Scope

_URL: Final = "http://example.org/folder/page.html"
_TYPES: Final = (
    "text/html",
    "text/html; charset=utf-8",
    "text/html; charset=utf-16",
    "text/html; charset=shift_jis",
    "text/plain",
    'application/xhtml+xml; charset="iso-2022-jp"',
    "",
    "text/html; charset=x-user-defined",
)


class HtmlTarget(Target):
    """pages: the first byte chooses the type, the rest is the body."""

    name = "html"
    parts = ("gatherer", "urls")
    words = (
        b"<a href=",
        b'<a href="http://example.org/',
        b"</a>",
        b"<base href=",
        b"<title>",
        b"</title>",
        b"<div>",
        b"<table><tr><td>",
        b"<svg>",
        b"<math><mi>",
        b"<template>",
        b"<frameset><frame src=x>",
        b"<noscript>",
        b"<meta http-equiv=refresh content='0; url=",
        b"<meta charset=utf-16>",
        b"<meta name=robots content='noindex,",
        b"unavailable_after: 25 Jun 2010 15:00:00 EST",
        b"<link rel=canonical href=",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"<script>",
        b"</script>",
        b"<style>",
        b"<b><i>",
        b"</b>",
        b"<form>",
        b"<select><option>",
        b"<img alt=",
        b"&#x1b;",
        b"&#55357;",
        b"&NotEqualTilde;",
        b"&#0;",
        b" a=1",
        b"<p ",
        b"rel='nofollow ugc'",
        b"<pre>\n",
        b"javascript:alert(1)",
        b"data:text/html,",
        b"<html lang=",
        b"<iframe src='",
        b"<area href=x alt=y>",
        b"\x1b$B",
    )
    seconds = 3.0

    def __init__(self) -> None:
        self._scope = Scope(("example.org", "example"))
        usual = GathererSettings()
        self._settings = (usual, replace(usual, text=True, keep=("p", "h1", "a")))

    def seeds(self) -> list[bytes]:
        made = [page(seed, 12, 3_000)[1] for seed in range(4)]
        return [b"\0" + body for body in made] + [b"\1" + body for body, _ in bodies("text/html", 12)]

    def check(self, data: bytes) -> None:
        kind, body = data[:1], data[1:]
        number = kind[0] if kind else 0
        settings = self._settings[number // len(_TYPES) % 2]
        content_type = _TYPES[number % len(_TYPES)]
        found = gather(_URL, content_type, (), body, settings, self._scope, "gossamer", "en", 1_700_000_000.0)
        assert len(found.links) <= settings.max_links + 1
        assert len(found.title) <= LONGEST_TITLE
        assert sum(found.counted) <= found.out_degree + len(found.links)
        for link in found.links:
            assert link.url.isascii()
            assert link.url.isprintable()
            assert link.url.startswith(("http://", "https://"))
            assert len(link.url) <= self._scope.url_length
            assert len(link.text) <= settings.anchor_length
        for text in (found.title, found.description, *(link.text for link in found.links)):
            text.encode(errors="replace")
        challenged(403, {"content-type": content_type}, body)
