"""References and bases: the canonical form, and everything that is done with it."""

from __future__ import annotations

from typing import Final

from fuzz.target import Target
from gossamer.urls import (
    Joiner,
    Scope,
    canonical,
    extension,
    fingerprint,
    has_www,
    host,
    origin,
    port_text,
    registrable,
    spelled,
    split,
    without_www,
)
from gossamer.web.addresses import literal
from gossamer.web.fetch.request import request_head

_SESSIONS: Final = ("sid", "PHPSESSID", "jsessionid", "ASPSESSIONID*", "s")
_SEEDS: Final = (
    "http://example.org/",
    "https://www.example.org:8443/a/b/../c.html?x=1&sid=2#part",
    "//other.example/x",
    "../../up",
    "http://user:pw@EXAMPLE.org:80/%7Euser/%2e%2e/",
    "http://[::ffff:127.0.0.1]:8080/",
    "http://0x7f.1/",
    "?q=ü&;sid=1",
    "http://www.www.co.uk/",
    "http://bücher.example/;jsessionid=1;a=b?&&",
    "javascript:void(0)",
    "mailto:a@b.example",
    "http://example.org\\@evil.example/",
    "http:/\\/a",
    "http://a.b.c.d.e/%",
    "page;s=1?s=2;s=3",
    "http://1.2.3/%00",
    "https://example.org:0/",
    "http://xn--a/",
    "http://ex\u00adample.org/\t\n",
    "http://日本.jp/日本?日本",
    "#",
    "",
    "/x?PHPSESSID=0123456789abcdef0123456789abcdef&%73id=2",
    "/%%37%45/%3a?q=тест%e",
    "http://www.example.org./index.php;PHPSESSID=1/x?ASPSESSIONIDAB=1",
)


class UrlsTarget(Target):
    """URLs: a base and a reference, separated by a zero byte."""

    name = "urls"
    parts = ("urls",)
    words = (
        b"http://",
        b"https://",
        b"//",
        b"www.",
        b"/../",
        b"/./",
        b"%2e",
        b"%2F",
        b"%",
        b"?",
        b"&",
        b"=",
        b"#",
        b";",
        b":",
        b"@",
        b"[::1]",
        b"\\",
        b"sid=",
        b";jsessionid=",
        b"PHPSESSID=",
        b"0123456789abcdef0123456789abcdef",
        b"/(S(lit3py55t21z5v55vlm25s55))",
        b"%7e",
        b"%%37%45",
        b"xn--",
        b"127.1",
        b"0x",
        b"\xc2\xad",
        b"\xe3\x80\x82",
        b"\xef\xbc\x8e",
        b"\xe2\x84\xaa",
        b":80",
        b":443",
        b":65536",
        b".co.uk",
        b"\0http://",
    )
    longest = 1 << 14
    seconds = 1.0

    def __init__(self) -> None:
        self._scope = Scope(("*",), session_ids=_SESSIONS)

    def seeds(self) -> list[bytes]:
        return [f"http://example.org/a/b?c\0{seed}".encode() for seed in _SEEDS]

    def check(self, data: bytes) -> None:
        raw_base, _, raw = data.partition(b"\0")
        for errors in ("replace", "surrogateescape"):
            self._check(raw_base.decode(errors=errors), raw.decode(errors=errors))

    def _check(self, raw_base: str, raw: str) -> None:
        has_www(raw)
        base = canonical(raw_base, None, _SESSIONS) or "http://example.org/a/b?c"
        for www, form, charset in (
            (False, 1, ""),
            (True, 1, ""),
            (True, 2, ""),
            (False, 2, "cp1251"),
            (True, 2, "cp932"),
        ):
            found = canonical(raw, base, _SESSIONS, www, form, charset)
            assert Joiner(base, _SESSIONS, www, form, charset)(raw) == found
            if found is not None:
                assert canonical(found, None, _SESSIONS, www, form) == found
                self._check_parts(found)
        found = self._scope.canonical(raw, base)
        assert self._scope.joiner(base)(raw) == found
        if found is not None:
            assert self._scope.canonical(found) == found
            self._scope.admits(found)
            self._scope.rejects(found)
            self._scope.classes.of(found)
            if self._scope.canonical(spelled(found, True)) != found:
                assert without_www("www." + host(found)) == "www." + host(found)

    def _check_parts(self, url: str) -> None:
        assert url.isascii()
        assert url.isprintable()
        assert " " not in url
        assert "#" not in url
        parts = split(url)
        assert 0 <= parts.port <= 65535
        assert parts.host == host(url)
        assert "@" not in parts.host
        assert "/" not in parts.host
        assert parts.host
        assert origin(url).startswith(parts.scheme + "://" + parts.host)
        assert int(port_text(url)) == parts.port or parts.port in (80, 443)
        without = without_www(parts.host)
        assert without_www(without) == without
        assert parts.host.removesuffix(".").endswith(registrable(parts.host).removesuffix("."))
        assert "/" not in extension(url)
        assert 0 <= fingerprint(url, 7) < 1 << 64
        literal(parts.host)
        assert request_head(url.encode(), b"X: y\r\n\r\n").count(b"\r\n") == 4
