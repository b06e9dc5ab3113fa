"""Hypothesis strategies that several tests share."""

from __future__ import annotations

from hypothesis import strategies as st

# fmt: off
_PIECES = (
    "/", "//", ".", "..", "/./", "/../", "%2e", "%2E%2e", "?", "&", "=", "#", ";", ":", "@", "\\", " ", "\t", "\n", "a",
    "b", "c.html", "Index.PHP", "%41", "%7e", "%zz", "%", "ü", "日本", "\u00ad", "sid=1", "PHPSESSID=ab",
    "jsessionid=0", ";jsessionid=12", "ASPSESSIONIDQQ=1", "x=1", "[", "]", "|", "^", "'", '"', "<", ">", "{", "}", "*",
    "$", "!", "+", ",", "~", "0", "9",
)
_STARTS = (
    "http://", "https://", "HTTP://", "http:", "https:/", "//", "", "", "", "ftp://", "mailto:", "javascript:", "data:",
    "http://user:pw@", "http://example.org/", "https://example.org/a/b/", "http://example.org:80/",
    "http://[::1]:8080/",
)
_HOSTS = (
    "example.org", "EXAMPLE.org", "www.example.org.", "exämple.org", "xn--exmple-cua.org", "127.1", "0x7f.1",
    "017700000001", "[::1]", "[::ffff:127.0.0.1]", "a.b.c", "example.org:8080", "example.org:443", "example.org:",
    "1.2.3.4.5", "", "a b", "日本.jp",
)
# fmt: on

paths = st.lists(st.sampled_from(_PIECES), max_size=10).map("".join)
references = st.one_of(
    st.builds(lambda *parts: "".join(parts), st.sampled_from(_STARTS), st.sampled_from(_HOSTS), paths),
    st.builds(lambda *parts: "".join(parts), st.sampled_from(_STARTS), paths),
    paths,
    st.text(max_size=40),
)
"""What people write into href, and worse."""
plain_references = st.from_regex(
    r"\A(https?://(www\.)?example\.(org|com))?(\.\./){0,3}/?[\w.~+,=-]*(/[\w.~-]*){0,3}(\?[\w=&.%/:;-]*)?(#[\w?]*)?\Z"
)
"""What most links look like, with the odd ones among them."""
bases = st.one_of(
    st.sampled_from(
        (
            "http://example.org/",
            "https://example.org/a/b/c.html",
            "http://example.org/a//b/?q=/x/y",
            "https://example.org/d/",
            "http://127.0.0.1:8080/x;y/z?a",
            "https://[::1]/p/q",
        )
    ),
)
