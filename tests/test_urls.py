from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.urls import (
    SESSION_IDS,
    Joiner,
    Scope,
    UrlClass,
    canonical,
    classify,
    fingerprint,
    host,
    origin,
    registrable,
    site_name,
    split,
)  # fmt: skip
from gossamer.urls.classify import EXTENSIONS
from tests.strategies import bases, plain_references, references

BASE = "http://example.org/a/b/c.html?q"

SPECIFICATION = [
    # scheme and host
    ("HTTP://EXAMPLE.org/", "http://example.org/"),
    ("https://exämple.org/", "https://xn--exmple-cua.org/"),
    ("http://日本.jp/", "http://xn--wgv71a.jp/"),
    ("http://ex%61mple.org/", "http://example.org/"),
    ("http://ＥＸＡＭＰＬＥ.org/", "http://example.org/"),
    ("http://exam\u00adple.org/", "http://example.org/"),
    ("http://example.org", "http://example.org/"),
    ("http:example.org/x", "http://example.org/a/b/example.org/x"),
    ("https:example.org/x", "https://example.org/x"),
    ("http:///x.org/", "http://x.org/"),
    ("//x.org/y", "http://x.org/y"),
    ("\\\\x.org\\y", "http://x.org/y"),
    # addresses
    ("http://127.1/", "http://127.0.0.1/"),
    ("http://0x7f.0.0.1/", "http://127.0.0.1/"),
    ("http://0x7f000001/", "http://127.0.0.1/"),
    ("http://017700000001/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://127.0.0.1./", "http://127.0.0.1/"),
    ("http://256.1.1.1/", None),
    ("http://1.2.3.4.5/", None),
    ("http://[::1]/", "http://[::1]/"),
    ("http://[0:0::1]:8080/", "http://[::1]:8080/"),
    ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
    ("http://[::1/", None),
    ("http://a b/", None),
    ("http://a<b/", None),
    ("http:///", None),
    # ports and user information
    ("http://example.org:80/", "http://example.org/"),
    ("https://example.org:443/", "https://example.org/"),
    ("http://example.org:443/", "http://example.org:443/"),
    ("http://example.org:/", "http://example.org/"),
    ("http://example.org:0080/", "http://example.org/"),
    ("http://example.org:65536/", None),
    ("http://example.org:x/", None),
    ("http://user:pass@example.org/", "http://example.org/"),
    ("http://user@example.org:81/x@y", "http://example.org:81/x@y"),
    ("http://a@b@example.org/", "http://example.org/"),
    ("http://example.org/?a@b", "http://example.org/?a@b"),
    # paths
    ("", "http://example.org/a/b/c.html?q"),
    ("x", "http://example.org/a/b/x"),
    ("./x", "http://example.org/a/b/x"),
    ("../x", "http://example.org/a/x"),
    ("../../../x", "http://example.org/x"),
    ("..//x", "http://example.org/a//x"),
    ("../../..//x", "http://example.org//x"),
    ("/x/./y/../z", "http://example.org/x/z"),
    ("/x/%2e%2E/z", "http://example.org/z"),
    ("/x/..", "http://example.org/"),
    ("/x//y", "http://example.org/x//y"),
    ("/x\\y", "http://example.org/x/y"),
    ("/X/Y", "http://example.org/X/Y"),
    ("/a b", "http://example.org/a%20b"),
    ("/ü", "http://example.org/%C3%BC"),
    ('/"<>`{}', "http://example.org/%22%3C%3E%60%7B%7D"),
    ("/%41%7e%zz%", "http://example.org/%41%7e%zz%"),
    ("/a|b[c]", "http://example.org/a|b[c]"),
    (" \t/x\ny\r ", "http://example.org/xy"),
    ("ht\ntp://example.org/\t", "http://example.org/"),
    # queries and fragments
    ("?x", "http://example.org/a/b/c.html?x"),
    ("?", "http://example.org/a/b/c.html"),
    ("/x?", "http://example.org/x"),
    ("/x??", "http://example.org/x??"),
    ("/x?#y", "http://example.org/x"),
    ("#f", "http://example.org/a/b/c.html?q"),
    ("/x#?y", "http://example.org/x"),
    ("/x?a=b c&ü='", "http://example.org/x?a=b%20c&%C3%BC=%27"),
    ("/x?a=/../b", "http://example.org/x?a=/../b"),
    ("/x?b=2&a=1", "http://example.org/x?b=2&a=1"),
    # sessions
    ("/x?PHPSESSID=1&a=2", "http://example.org/x?a=2"),
    ("/x?a=2&sid=1", "http://example.org/x?a=2"),
    ("/x?sid=1", "http://example.org/x"),
    ("/x?sid=1&CFID=2&cftoken=3", "http://example.org/x"),
    ("/x?a=1;sid=2;b=3", "http://example.org/x?a=1;b=3"),
    ("/x?ASPSESSIONIDQRST=1&b", "http://example.org/x?b"),
    ("/x;jsessionid=1A?b", "http://example.org/x?b"),
    ("/x;v=1;JSESSIONID=1A/y;jsessionid=2", "http://example.org/x;v=1/y"),
    ("/a/b;sid=1/..;sid=2", "http://example.org/a/"),
    ("/x?sid", "http://example.org/x?sid"),
    ("/x?inside=1&a_sid=2", "http://example.org/x?inside=1&a_sid=2"),
    ("/sid=1&sid=2", "http://example.org/sid=1&sid=2"),
    # no page
    ("ftp://example.org/", None),
    ("mailto:a@example.org", None),
    ("javascript:void(0)", None),
    ("data:text/html,x", None),
    ("file:///etc/passwd", None),
    ("\ud800", None),
]


@pytest.mark.parametrize(("reference", "expected"), SPECIFICATION)
def test_canonical_form_follows_the_standard_and_our_rules(reference: str, expected: str | None) -> None:
    assert canonical(reference, BASE) == expected
    assert Joiner(canonical(BASE) or "")(reference) == expected


def test_without_a_base_only_absolute_urls_have_a_form() -> None:
    assert canonical("http://example.org/x") == "http://example.org/x"
    assert canonical("/x") is None
    assert canonical("") is None
    assert canonical("/x", "no base") is None


def test_session_parameters_are_those_asked_for() -> None:
    assert canonical("http://h/?sid=1&tok9=2", None, ("tok*",)) == "http://h/?sid=1"
    assert canonical("http://h/?sid=1", None, ()) == "http://h/?sid=1"
    assert canonical("http://h/?a.b=1&axb=2", None, ("a.b",)) == "http://h/?axb=2"


@given(references, st.none() | bases)
@example("http://h/..;sid=1/..;sid=2?sid=3", None)
@settings(max_examples=500, deadline=None)
def test_canonical_is_idempotent(reference: str, base: str | None) -> None:
    once = canonical(reference, base)
    if once is not None:
        assert canonical(once) == once
        assert canonical(once, "http://other.example/x") == once
        assert once.startswith(("http://", "https://"))
        assert "#" not in once
        assert once.isascii()


@given(references | plain_references, bases)
@settings(max_examples=500, deadline=None)
def test_joiner_agrees_with_canonical(reference: str, base: str) -> None:
    join = Joiner(base)
    expected = canonical(reference, base)
    assert join(reference) == expected
    assert join(reference) == expected, "and again, when the root is remembered"


@given(references, bases)
@settings(deadline=None)
def test_parts_of_a_canonical_url_make_it_up_again(reference: str, base: str) -> None:
    url = canonical(reference, base)
    if url is not None:
        parts = split(url)
        assert origin(url) == f"{parts.scheme}://{parts.host}:{parts.port}"
        assert host(url) == parts.host
        assert canonical(origin(url) + parts.path) == url


def test_parts_and_origins() -> None:
    parts = split("https://[::1]:8443/a?b")
    assert (parts.scheme, parts.host, parts.port, parts.path) == ("https", "[::1]", 8443, "/a?b")
    assert origin("https://example.org/x:1") == "https://example.org:443"
    assert origin("http://[::1]/") == "http://[::1]:80"
    assert host("http://example.org:81/") == "example.org"
    assert site_name("www.example.org") == "www.example.org"


def test_a_fingerprint_depends_on_text_and_seed_only() -> None:
    assert fingerprint("http://example.org/", 7) == fingerprint(b"http://example.org/", 7)
    assert fingerprint("http://example.org/", 7) != fingerprint("http://example.org/", 8)
    assert 0 <= fingerprint("", 0) < 2**64


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", UrlClass.PAGE), ("/a.html", UrlClass.PAGE), ("/v1.2/", UrlClass.PAGE), ("/a.b/c", UrlClass.PAGE),
        ("/?a", UrlClass.DYNAMIC), ("/a.PHP", UrlClass.DYNAMIC), ("/a.jsp;x=1", UrlClass.DYNAMIC),
        ("/a.cgi?x=a.jpg", UrlClass.DYNAMIC),
        ("/a.JPG", UrlClass.IMAGE), ("/a.png?width=3", UrlClass.IMAGE), ("/a.mp3", UrlClass.AUDIO),
        ("/a.mp4", UrlClass.VIDEO),
        ("/a.pdf", UrlClass.DOCUMENT), ("/a.exe", UrlClass.SOFTWARE), ("/a.c", UrlClass.SOURCE),
        ("/a.tar.gz", UrlClass.ARCHIVE),
        ("/x?file=a.pdf", UrlClass.DYNAMIC), ("/readme.txt", UrlClass.PAGE),
    ],
)  # fmt: skip
def test_the_extension_tells_the_class(path: str, expected: UrlClass) -> None:
    found = classify(f"http://www.example.zip{path}")
    assert found is expected
    assert found.page == (expected in (UrlClass.PAGE, UrlClass.DYNAMIC))
    assert found.dynamic == (expected is UrlClass.DYNAMIC)


def test_no_extension_is_of_two_classes() -> None:
    each = " ".join(EXTENSIONS.values()).split()
    assert sorted(each) == sorted(set(each))


def test_scope_ends_at_labels() -> None:
    scope = Scope(("example.org", "cl", "10.0.0.1", "[::1]"))
    accepted = ("example.org", "www.example.org", "uchile.cl", "cl", "10.0.0.1", "[::1]")
    assert all(scope.accepts(name) for name in accepted)
    refused = ("badexample.org", "example.org.evil.com", "org", "1.10.0.0.1", "110.0.0.1", "0.0.1", "[::2]")
    assert not any(scope.accepts(name) for name in refused)
    assert not Scope(("0.0.1", "")).accepts("10.0.0.1")
    assert Scope(("*",)).accepts("anything.example")
    assert not Scope(()).accepts("example.org")
    assert Scope(("x",)).session_ids == SESSION_IDS


@pytest.mark.parametrize(
    ("name", "expected"),
    [("www.example.org", "example.org"), ("a.b.example.co.uk", "example.co.uk"), ("co.uk", "co.uk"),
     ("localhost", "localhost"),
     ("127.0.0.1", "127.0.0.1"), ("[::1]", "[::1]"), ("www.xn--exmple-cua.de", "xn--exmple-cua.de")],
)  # fmt: skip
def test_registrable_domain(name: str, expected: str) -> None:
    assert registrable(name) == expected
