"""Answers as bytes, as any server could send them; the caller adds what is wrong with them."""

from __future__ import annotations

import zlib
from typing import Final

_LINE: Final = (
    "This is line {0} of a page called {1}; there are many like it, but this one is its own, and says so {0} times."
)


def answer(
    body: bytes = b"", status: str = "200 OK", kind: str = "text/html", *fields: str, length: bool = True
) -> bytes:
    lines = [f"HTTP/1.1 {status}", *([f"Content-Type: {kind}"] if kind else []), *fields]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def chunked(body: bytes, *fields: str, size: int = 700) -> bytes:
    head = answer(b"", "200 OK", "text/html", "Transfer-Encoding: chunked", *fields, length=False)
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def bare_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(6, zlib.DEFLATED, -15)
    return stream.compress(data) + stream.flush()


def redirect(target: str, status: str = "302 Found") -> bytes:
    return answer(b"", status, "text/html", f"Location: {target}")


def text(name: str, lines: int = 12) -> str:
    """Paragraphs that differ for each name: no page repeats another."""
    return "".join(f"<p>{_LINE.format(number, name)}</p>\n" for number in range(lines))


def page(name: str, *links: str, head: str = "", lines: int = 12) -> bytes:
    """A well-formed page."""
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>\n' for link in links)
    return (
        f"<!doctype html>\n<html><head><title>{name}</title>{head}</head>\n"
        f"<body><h1>{name}</h1>\n{text(name, lines)}<ul>\n{anchors}</ul></body></html>\n"
    ).encode()
