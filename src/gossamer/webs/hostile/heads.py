"""Behaviours with status lines, header fields, and redirects: to nowhere, in circles, too far, to forbidden places."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Final

from gossamer.webs.hostile.behaviour import Behaviour, HostileRequest, by_path, endless, made, one, says, several
from gossamer.webs.hostile.saying import answer, page, redirect

MEGABYTE: Final = 1_000_000
_DAY: Final = 86_400


def _good(name: str, *fields: str) -> bytes:
    return answer(page(name), "200 OK", "text/html", *fields)


def _dated(request: HostileRequest) -> bytes:
    """A page whose Last-Modified lies before the Web, some hours or some days in the future, or is no date."""
    ahead = {"/hours-ahead": _DAY / 4, "/days-ahead": 40 * _DAY}.get(request.path)
    fixed = {"/before-the-web": "Thu, 01 Jan 1970 00:00:00 GMT", "/nonsense": "yesterday, Fri 99 Foo 20201 25:61:61"}
    date = fixed.get(request.path) or formatdate(time.time() + (ahead or 0.0), usegmt=True)
    return _good(f"dated {request.path}", f"Last-Modified: {date}")


def _wants_a_cookie(request: HostileRequest) -> bytes:
    if "seen=yes" in request.fields.get("cookie", ""):
        return answer(page("cookies, the page behind them"))
    return answer(b"", "302 Found", "text/html", "Set-Cookie: seen=yes; Path=/", "Location: /page")


_BODY: Final = page("the lines of a head")

# fmt: off
HEADS: Final = (
    one("endless-head", "Its head never ends.", "protocol_error",
        endless(b"HTTP/1.1 200 OK\r\n", b"".join(b"X-Field-%d: %s\r\n" % (n, b"y" * 1_000) for n in range(50)))),
    one("endless-hints", "Answers 103 again and again, and nothing else.", "protocol_error",
        endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" * 100)),
    one("long-line", "A header line of five megabytes.", "protocol_error",
        says(lambda: answer(b"<p>x", "200 OK", "text/html", f"X-Long: {'y' * 5 * MEGABYTE}"))),
    one("no-head", "Sends only the page, without status line and head.", "protocol_error",
        says(page("a page without a head"), close=True), "A.3.3"),
    *(
        one(f"status-{name}", what, "protocol_error",
            says(line + b"\r\nContent-Type: text/html\r\n\r\n" + _BODY, close=True), "A.3.3")
        for name, what, line in (
            ("words", "A status that is not a number.", b"HTTP/1.1 fine thanks"),
            ("name", "A status line with another protocol name.", b"HTPT/1.1 200 OK"),
            ("binary", "A status line of bytes that are not ASCII.", bytes(range(128, 256)) * 4),
            ("ssh", "An SSH server, not a Web server.", b"SSH-2.0-OpenSSH_9.9"),
        )
    ),
    one("odd-status", "A status without a meaning (799).", "no_content", says(answer(_BODY, "799 What"))),
    one("blank-lines", "Blank lines before the status line.", "protocol_error",
        says(b"\r\n\r\n" + _good("behind blank lines"), close=True)),
    one("bare-lf", "Lines that end in LF alone.", "ok", says(_good("with bare LF").replace(b"\r\n", b"\n"))),
    one("folded", "Header lines that continue on the next line.", "ok",
        says(_good("with folded lines", "X-Long: one\r\n  two\r\n\tthree", "X-More: a\r\n b"))),
    one("doubled-fields", "Repeated header fields with different values.", "ok",
        says(_good("with doubled fields", "Content-Type: text/plain", "Last-Modified: x", "Last-Modified: y"))),
    one("two-lengths", "Two contradictory Content-Length fields.", "protocol_error",
        says(_good("with two lengths", "Content-Length: 5"), close=True)),
    one("nul-field", "NUL bytes in header fields.", "protocol_error",
        says(_good("with NUL in its head", "X-Nul: a\0b"), close=True)),
    one("no-colon", "A header line without a colon.", "protocol_error",
        says(_good("a line without colon", "This is no field"), close=True)),
    several("odd-fields",
        "Fields without a name, with control characters, with bytes that are not ASCII, with invalid numbers.", "ok", {
        "/no-name": _good("a field without name", ": nameless"),
        "/controls": _good("controls in a field", "X-\x01\x02: \x1b[31mred\x07"),
        "/accents": _good("bytes beyond ASCII", "X-Name: Jos\xe9 \xa9"),
        "/bad-numbers": _good("numbers that are none", "Age: -1e99", "Retry-After: soon", "Date: never"),
    }),
    Behaviour("dates", "A Last-Modified before the Web existed, in the future, or not a date.",
        dict.fromkeys(("/before-the-web", "/hours-ahead", "/days-ahead", "/nonsense"), ("ok",)), made(_dated), "A.3.5"),
    one("cookies", "Redirects to itself until the client sends a cookie.", "redirect", made(_wants_a_cookie)),
)
REDIRECTS: Final = (
    one("no-target", "A redirect without a target.", "no_content", says(answer(b"", "302 Found")), "A.3.3"),
    one("to-itself", "A redirect to itself.", "redirect", says(redirect("/page"))),
    several("circle", "Redirects in a circle.", "redirect",
        {"/one": redirect("/two"), "/two": redirect("/three"), "/three": redirect("/one")}),
    Behaviour("ten-deep", "A chain of ten redirects.",
        {**{f"/step/{n}": ("redirect",) for n in range(10)}, "/step/10": ("ok",)},
        by_path({
            **{f"/step/{n}": redirect(f"/step/{n + 1}") for n in range(10)},
            "/step/10": answer(page("the end of ten redirects")),
        }), starts=("/step/0",)),
    Behaviour("no-end", "An endless chain of redirects, each to a new target.",
        {"/hop/*": ("redirect", "excluded: redirects")},
        made(lambda request: redirect(f"/hop/{int(request.path[5:]) + 1 if request.path[5:].isdecimal() else 0}")),
        starts=("/hop/0",)),
    several("to-other-schemes", "Redirects to javascript: and other schemes that are no pages.", "redirect", {
        "/javascript": redirect("javascript:alert(1)"),
        "/data": redirect("data:text/html,<p>hello"),
        "/file": redirect("file:///etc/passwd"),
        "/mail": redirect("mailto:a@hostile.test"),
        "/broken": redirect("http://[::1/"),
    }),
    several("to-other-sites", "Redirects to other sites, inside and outside the crawl.", "redirect",
        {"/within": redirect("http://longer.hostile.test/page"), "/beyond": redirect("http://beyond.test/")}),
    Behaviour("to-private", "Redirects to addresses that must not be visited.",
        dict.fromkeys(("/by-name", "/by-number", "/by-long-number"), ("redirect",)),
        by_path({
            "/by-name": redirect("http://private.hostile.test/secret"),
            "/by-number": redirect("http://10.0.0.1/secret"),
            "/by-long-number": redirect("http://2130706433/secret"),
        }), places={"private": "127.66.0.1"}),
)
# fmt: on
