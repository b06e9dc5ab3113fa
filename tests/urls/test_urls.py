"""Tests of URLs: canonical form, parts, classes, scope, names with and without `www.`, patterns."""

from __future__ import annotations

import importlib
import re
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.config.settings import SeederSettings
from gossamer.urls import (
    Joiner,
    Scope,
    UrlClass,
    are_twins,
    canonical,
    classify,
    extension,
    fingerprint,
    has_www,
    host,
    origin,
    registrable,
    spelled,
    split,
    without_www,
)
from gossamer.urls.escapes import uniform
from gossamer.urls.patterns import _joined, found_among, found_in, within_a_line
from tests.support.strategies import bases, plain_references, references

SESSION_IDS = SeederSettings().session_ids
FORMS = st.sampled_from((1, 2))
CHARSETS = st.sampled_from(("", "cp1251", "cp932", "iso2022_jp", "gb18030"))
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


SESSION = "0123456789abcdef0123456789ABCDEF"
STORY = "the-story-of-a-long-title-that-has-many-words-of-2026"
FORM_2 = [
    # escapes
    ("/%41%7e%zz%", "http://example.org/A~%zz%"),
    ("/%7Eu", "http://example.org/~u"),
    ("/%c3%bc%2f%3A", "http://example.org/%C3%BC%2F%3A"),
    ("/%2D%2e%5f%7e%30%39%61%7a%41%5A", "http://example.org/-._~09azAZ"),
    ("/a%2ehtml", "http://example.org/a.html"),
    ("/x/%2e%2E/z", "http://example.org/z"),
    ("/%40%60%5b%7b%20%2b%26", "http://example.org/%40%60%5B%7B%20%2B%26"),
    ("/%%37%45", "http://example.org/%%37E"),
    ("/%3%37%45", "http://example.org/%3%37E"),
    ("/%25%37%45", "http://example.org/%257E"),
    ("/%257e", "http://example.org/%257e"),
    ("/x?a=%7eb&c=%3d%3D", "http://example.org/x?a=~b&c=%3D%3D"),
    ("/x?%73id=1", "http://example.org/x?sid=1"),
    (f"/x?%73id={SESSION}", "http://example.org/x"),
    # sessions
    ("/x?sid=101", "http://example.org/x?sid=101"),
    ("/x?PHPSESSID=1&a=2", "http://example.org/x?PHPSESSID=1&a=2"),
    (f"/x?sid={SESSION[:31]}", f"http://example.org/x?sid={SESSION[:31]}"),
    (f"/x?sid={STORY}", f"http://example.org/x?sid={STORY}"),
    ("/x?sid=123e4567-e89b-12d3-a456-426614174000", "http://example.org/x?sid=123e4567-e89b-12d3-a456-426614174000"),
    (f"/x?sid={SESSION}%20a", f"http://example.org/x?sid={SESSION}%20a"),
    (f"/x?PHPSESSID={SESSION}&a=2", "http://example.org/x?a=2"),
    (f"/x?a=2&sid={SESSION}", "http://example.org/x?a=2"),
    (f"/x?a=2&sid={SESSION}00.node1&b", "http://example.org/x?a=2&b"),
    (f"/x?sid={SESSION}!-12!34", "http://example.org/x"),
    (f"/x?sid={SESSION}&sid=4", "http://example.org/x?sid=4"),
    (f"/x?a=1;sid={SESSION};b=3", "http://example.org/x?a=1;b=3"),
    (f"/x;jsessionid={SESSION}?b", "http://example.org/x?b"),
    (f"/x;v=1;JSESSIONID={SESSION[:16]}/y;jsessionid=2", "http://example.org/x;v=1/y;jsessionid=2"),
    (f"/x;jsessionid={SESSION[:15]}", f"http://example.org/x;jsessionid={SESSION[:15]}"),
    (f"/x;sid={SESSION[:16]}", f"http://example.org/x;sid={SESSION[:16]}"),
    (f"/x;jsessionid={SESSION}.node1/y", "http://example.org/x/y"),
    (f"/a/b;sid={SESSION}/..;sid={SESSION}", "http://example.org/a/"),
    ("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "http://example.org/a.aspx"),
    ("/(X(1)S(lit3py55t21z5v55vlm25s55))/a.aspx", "http://example.org/a.aspx"),
    (f"/(F({SESSION}_-))/a.aspx", "http://example.org/a.aspx"),
    ("/(S(n))/lisp.html", "http://example.org/(S(n))/lisp.html"),
    ("/x?sid", "http://example.org/x?sid"),
    (f"/x?inside={SESSION}&a_sid={SESSION}", f"http://example.org/x?inside={SESSION}&a_sid={SESSION}"),
    (f"/sid={SESSION}", f"http://example.org/sid={SESSION}"),
]
SAME_IN_BOTH = [row for row in SPECIFICATION if not re.search("%41|sid|session", row[0], re.IGNORECASE)]


@pytest.mark.parametrize(("reference", "expected"), SPECIFICATION)
def test_canonical_form_follows_the_standard_and_our_rules(reference: str, expected: str | None) -> None:
    assert canonical(reference, BASE, SESSION_IDS) == expected
    assert Joiner(canonical(BASE) or "", SESSION_IDS)(reference) == expected
    assert Scope(("*",), form=1).canonical(reference, BASE) == expected


@pytest.mark.parametrize(("reference", "expected"), [*SAME_IN_BOTH, *FORM_2])
def test_form_2_normalises_escapes_and_judges_sessions_by_value(reference: str, expected: str | None) -> None:
    assert canonical(reference, BASE, SESSION_IDS, form=2) == expected
    assert Joiner(canonical(BASE) or "", SESSION_IDS, form=2)(reference) == expected
    assert Scope(("*",)).canonical(reference, BASE) == expected


QUERIES = [
    ("cp1251", "/s?q=тест", "http://example.org/s?q=%F2%E5%F1%F2"),
    ("cp1251", "/тест?q=т#т", "http://example.org/%D1%82%D0%B5%D1%81%D1%82?q=%F2"),
    ("cp1251", "/s?q=日", "http://example.org/s?q=%26%2326085%3B"),
    ("cp1251", "/s?т日т", "http://example.org/s?%F2%26%2326085%3B%F2"),
    ("cp1251", "/s#?q=тест", "http://example.org/s"),
    ("cp1251", "тест", "http://example.org/a/b/%D1%82%D0%B5%D1%81%D1%82"),
    ("cp1251", "/s?q=%D1%82", "http://example.org/s?q=%D1%82"),
    ("cp1252", "/s?q=é€", "http://example.org/s?q=%E9%80"),
    ("iso8859-2", "?š=ł'", "http://example.org/a/b/c.html?%B9=%B3%27"),
    ("cp932", "/s?q=テスト", "http://example.org/s?q=%83e%83X%83g"),
    ("cp932", "/s?q=ソ", "http://example.org/s?q=%83\\"),
    ("cp932", "/s?q=ｱ", "http://example.org/s?q=%B1"),
    ("cp949", "/s?q=한글", "http://example.org/s?q=%C7%D1%B1%DB"),
    ("cp949", "/s?q=똠", "http://example.org/s?q=%8Cc"),
    ("gb18030", "/s?q=中文", "http://example.org/s?q=%D6%D0%CE%C4"),
    ("gb18030", "/s?q=😀", "http://example.org/s?q=%949%FC6"),
    ("euc_jp", "/s?q=日本", "http://example.org/s?q=%C6%FC%CB%DC"),
    ("euc_jp", "/s?q=丂", "http://example.org/s?q=%26%2319970%3B"),
    ("big5hkscs", "/s?q=中", "http://example.org/s?q=%A4%A4"),
    ("big5hkscs", "/s?q=㐂", "http://example.org/s?q=%26%2313314%3B"),
    ("iso2022_jp", "/s?q=日\t本x", "http://example.org/s?q=%1B$BF|K\\%1B(Bx"),
    ("koi8-r", f"/s?т=т&sid={SESSION}", "http://example.org/s?%D4=%D4"),
    ("utf-8", "/s?q=тест", "http://example.org/s?q=%D1%82%D0%B5%D1%81%D1%82"),
    ("utf-16-le", "/s?q=т", "http://example.org/s?q=%D1%82"),
    ("cp1251", "/s?q=\ud800", None),
]
"""Codec of the page, reference and canonical form. Browsers give the same."""


@pytest.mark.parametrize(("charset", "reference", "expected"), QUERIES)
def test_a_query_is_encoded_in_the_charset_of_its_page(charset: str, reference: str, expected: str | None) -> None:
    assert canonical(reference, BASE, SESSION_IDS, form=2, charset=charset) == expected
    assert Scope(("*",)).joiner(BASE, charset)(reference) == expected
    assert Scope(("*",), form=1).joiner(BASE, charset)(reference) == canonical(reference, BASE, SESSION_IDS)


@given(st.text("ab%0123479aAbBeEfF/?#", max_size=20))
@example("%%37%45")
@example("%3%37%45")
@example("%%34%31")
@settings(max_examples=1_000)
def test_uniform_is_idempotent(text: str) -> None:
    assert uniform(uniform(text)) == uniform(text)


@given(st.text("ab%0123479aAbBeEfF/?#", max_size=20))
@example("%%34%31")
@settings(max_examples=1_000)
def test_uniform_keeps_the_bytes(text: str) -> None:
    assert unquote_to_bytes(uniform(text)) == unquote_to_bytes(text)


def test_proven_parameters_are_removed_at_their_site_whatever_their_value() -> None:
    scope, own = Scope(("*",), session_ids=("a", "sid", "b*")), "http://www.example.org/x?sid=1"
    join = scope.proving(scope.joiner(own), own, 0b110)
    assert join("/y?sid=2&a=3") == "http://example.org/y?a=3"
    assert join("?SID=7") == "http://example.org/x"
    assert join("/y?big=1&c=2") == "http://example.org/y?c=2"
    assert join("http://other.example/y?sid=2") == "http://other.example/y?sid=2"
    assert join("/y;sid=2") == "http://example.org/y;sid=2"
    assert join("mailto:x") is None
    plain = scope.joiner(own)
    assert scope.proving(plain, own, 0) is plain


def test_without_a_base_only_absolute_urls_have_a_form() -> None:
    assert canonical("http://example.org/x") == "http://example.org/x"
    assert canonical("/x") is None
    assert canonical("") is None
    assert canonical("/x", "no base") is None


@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize(
    "name", ["a;sid=" + SESSION.lower(), ";sid=" + SESSION.lower(), f"(s({SESSION[:24].lower()}))"]
)
def test_a_session_in_the_name_of_a_host_stays(name: str, form: int) -> None:
    """Without it the URL would be one of another site, and `http:///x` is `http://x/` by the standard."""
    url = f"http://{name}/x"
    assert canonical(url, None, ("sid",), False, form) == url
    assert canonical(f"{url};sid={SESSION}/y", None, ("sid",), False, form) == f"{url}/y"
    assert Joiner(url, ("sid",), False, form)("/y") == f"http://{name}/y"


def test_only_the_given_session_parameters_are_removed() -> None:
    assert canonical("http://h/?sid=1&tok9=2", None, ("tok*",)) == "http://h/?sid=1"
    assert canonical("http://h/?sid=1", None, ()) == "http://h/?sid=1"
    assert canonical("http://h/?a.b=1&axb=2", None, ("a.b",)) == "http://h/?axb=2"


@given(references, st.none() | bases, st.booleans(), FORMS, CHARSETS)
@example("http://h/..;sid=1/..;sid=2?sid=3", None, True, 1, "")
@example(f"http://h/..;sid={SESSION}/..;sid={SESSION}?sid={SESSION}", None, True, 2, "")
@example("http://h/%%37%45?%%37%45", None, True, 2, "")
@example("http://www.www.example.org/", None, True, 2, "")
@example("http://www..org/", None, True, 2, "")
@settings(max_examples=500, deadline=None)
def test_canonical_is_idempotent(reference: str, base: str | None, www: bool, form: int, charset: str) -> None:
    once = canonical(reference, base, SESSION_IDS, www, form, charset)
    if once is not None:
        assert canonical(once, None, SESSION_IDS, www, form) == once
        assert canonical(once, "http://other.example/x", SESSION_IDS, www, form, "cp1251") == once
        assert once.startswith(("http://", "https://"))
        assert "#" not in once
        assert once.isascii()


@given(
    references | plain_references, bases | st.just("https://www.example.org/a/b.html"), st.booleans(), FORMS, CHARSETS
)
@example("http://Example.ORG:80/x", "http://example.org/", False, 2, "")
@example("http://www.example.org:8080/x", "http://www.example.org/", True, 2, "")
@example("../x?%73id=1", "http://example.org/%7Eu/%41/", True, 2, "")
@settings(max_examples=700, deadline=None)
def test_joiner_agrees_with_canonical(reference: str, base: str, www: bool, form: int, charset: str) -> None:
    join = Joiner(base, SESSION_IDS, www, form, charset)
    expected = canonical(reference, base, SESSION_IDS, www, form, charset)
    assert join(reference) == expected
    assert join(reference) == expected, "again, when the root is cached"


@given(references, bases)
@settings(deadline=None)
def test_the_parts_of_a_canonical_url_give_it_back(reference: str, base: str) -> None:
    url = canonical(reference, base)
    if url is not None:
        parts = split(url)
        assert origin(url) == f"{parts.scheme}://{parts.host}:{parts.port}"
        assert host(url) == parts.host
        assert canonical(origin(url) + parts.path) == url


def test_parts_and_origins_of_urls() -> None:
    parts = split("https://[::1]:8443/a?b")
    assert (parts.scheme, parts.host, parts.port, parts.path) == ("https", "[::1]", 8443, "/a?b")
    assert origin("https://example.org/x:1") == "https://example.org:443"
    assert origin("http://[::1]/") == "http://[::1]:80"
    assert host("http://example.org:81/") == "example.org"


def test_a_fingerprint_depends_on_text_and_seed_only() -> None:
    assert fingerprint("http://example.org/", 7) == fingerprint(b"http://example.org/", 7)
    assert fingerprint("http://example.org/", 7) != fingerprint("http://example.org/", 8)
    assert 0 <= fingerprint("", 0) < 2**64


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", UrlClass.PAGE),
        ("/a.html", UrlClass.PAGE),
        ("/v1.2/", UrlClass.PAGE),
        ("/a.b/c", UrlClass.PAGE),
        ("/?a", UrlClass.DYNAMIC),
        ("/a.PHP", UrlClass.DYNAMIC),
        ("/a.jsp;x=1", UrlClass.DYNAMIC),
        ("/a.cgi?x=a.jpg", UrlClass.DYNAMIC),
        ("/a.JPG", UrlClass.IMAGE),
        ("/a.png?width=3", UrlClass.IMAGE),
        ("/a.mp3", UrlClass.AUDIO),
        ("/a.mp4", UrlClass.VIDEO),
        ("/a.pdf", UrlClass.DOCUMENT),
        ("/a.exe", UrlClass.SOFTWARE),
        ("/a.c", UrlClass.SOURCE),
        ("/a.tar.gz", UrlClass.ARCHIVE),
        ("/x?file=a.pdf", UrlClass.DYNAMIC),
        ("/readme.txt", UrlClass.PAGE),
    ],
)
def test_the_extension_decides_the_class(path: str, expected: UrlClass) -> None:
    found = classify(f"http://www.example.zip{path}")
    assert found is expected
    assert found.page == (expected in (UrlClass.PAGE, UrlClass.DYNAMIC))
    assert found.dynamic == (expected is UrlClass.DYNAMIC)


@given(references, bases)
@settings(deadline=None)
def test_the_extension_is_the_one_that_decides_the_class(reference: str, base: str) -> None:
    url = canonical(reference, base)
    if url is not None and (ending := extension(url)):
        assert f".{ending}" in url.lower()
        if "?" not in url:
            assert classify(url) is classify(f"http://h/x.{ending}")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/", ""), ("/a.HTML", "html"), ("/a.b/c", ""), ("/a.tar.gz?x=1.jpg", "gz"), ("/a.jsp;v=2", "jsp"), ("/a.", "")],
)
def test_extensions(path: str, expected: str) -> None:
    assert extension(f"http://www.example.org{path}") == expected


def test_classes_come_from_the_settings() -> None:
    own = SeederSettings(images=("png",), documents=("html",), dynamic=("jpg",), static=())
    classes = Scope.of(own).classes
    assert classes.of("http://h/a.png") is UrlClass.IMAGE
    assert classes.of("http://h/a.html") is UrlClass.DOCUMENT
    assert classes.of("http://h/a.jpg") is UrlClass.DYNAMIC
    assert classes.of("http://h/a.gif") is UrlClass.PAGE
    assert Scope.of(SeederSettings()).classes is Scope.of(SeederSettings(url_length=2_000)).classes


def test_no_extension_has_two_classes() -> None:
    seeder = SeederSettings()
    lists = (
        seeder.static,
        seeder.dynamic,
        seeder.images,
        seeder.audio,
        seeder.video,
        seeder.documents,
        seeder.software,
        seeder.source,
        seeder.archives,
    )
    each = [extension for extensions in lists for extension in extensions]
    assert sorted(each) == sorted(set(each))


def test_domains_match_whole_labels() -> None:
    scope = Scope(("example.org", "cl", "10.0.0.1", "[::1]"))
    accepted = ("example.org", "www.example.org", "uchile.cl", "cl", "10.0.0.1", "[::1]")
    assert all(scope.accepts(name) for name in accepted)
    refused = ("badexample.org", "example.org.evil.com", "org", "1.10.0.0.1", "110.0.0.1", "0.0.1", "[::2]")
    assert not any(scope.accepts(name) for name in refused)
    assert not Scope(("0.0.1", "")).accepts("10.0.0.1")
    assert Scope(("*",)).accepts("anything.example")
    assert not Scope(()).accepts("example.org")
    assert Scope(("x",)) == Scope.of(SeederSettings(domains=("x",)))


@pytest.mark.parametrize(
    ("domain", "accepted", "refused"),
    [
        (".cl", "uchile.cl", "uchile.org"),
        ("Example.ORG", "a.example.org", "ample.org"),
        ("bücher.example", "xn--bcher-kva.example", "b.example"),
        ("www.example.org", "example.org", "a.example.org"),
        ("www.example.org", "a.www.example.org", "org"),
        ("www.co.uk", "www.co.uk", "example.co.uk"),
    ],
)
def test_domains_are_read_as_people_write_them(domain: str, accepted: str, refused: str) -> None:
    scope = Scope((domain,))
    assert scope.accepts(accepted)
    assert not scope.accepts(refused)


def test_without_the_setting_a_domain_with_www_accepts_only_that_name() -> None:
    scope = Scope(("www.example.org",), www=False)
    assert scope.accepts("www.example.org")
    assert not scope.accepts("example.org")


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("www.example.org", "example.org"),
        ("www.example.co.uk", "example.co.uk"),
        ("www.a.test.org", "a.test.org"),
        ("www.www.example.org", "example.org"),
        ("www.example.org.", "example.org."),
        ("www.com.", "www.com."),
        ("www.com", "www.com"),
        ("www.co.uk", "www.co.uk"),
        ("www.localhost", "www.localhost"),
        ("www.www.com", "www.com"),
        ("www.github.io", "www.github.io"),
        ("www2.example.org", "www2.example.org"),
        ("wwwx.example.org", "wwwx.example.org"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.", "www."),
    ],
)
def test_www_is_removed_if_a_registrable_name_remains(name: str, bare: str) -> None:
    assert without_www(name) == bare
    for url in (f"http://{name}/x?www.a=1", f"https://{name}:8443/"):
        assert canonical(url, None, (), True) == url.replace(name, bare, 1)
        assert canonical(url) == url
    assert Joiner(f"http://{name}/", (), True)("/y") == f"http://{bare}/y"


@given(st.lists(st.sampled_from(("www", "example", "co", "uk", "org", "com", "")), max_size=5).map(".".join))
def test_without_www_is_idempotent(name: str) -> None:
    assert without_www(without_www(name)) == without_www(name)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("www.example.org", "example.org", True),
        ("example.org", "www.example.org", True),
        ("www.www.example.org", "www.example.org", True),
        ("www.com", "com", True),
        ("example.org", "example.org", False),
        ("www.www.example.org", "example.org", False),
        ("www2.example.org", "example.org", False),
        ("www.example.org", "example.com", False),
    ],
)
def test_two_names_of_one_host_differ_by_one_www(one: str, other: str, expected: bool) -> None:
    assert are_twins(one, other) is expected


def test_www_is_added_for_the_request() -> None:
    assert spelled("https://example.org:8443/a//b", True) == "https://www.example.org:8443/a//b"
    assert spelled("https://example.org/", False) == "https://example.org/"
    with_www = ("http://www.example.org/", "HTTPS://WWW.example.org", "//www.example.org/x")
    assert all(map(has_www, with_www))
    without = ("http://example.org/www.", "/x//www.y", "www.example.org", "", "http://wwwx.org/", "http:/www.x.org/")
    assert not any(map(has_www, without))


TRANSFORMS = st.lists(
    st.sampled_from(
        (
            r"[?&]utm_\w+=[^&]* => ",
            r"/index\.html$ => /",
            r"^http: => https:",
            r"/(\d+)/(\d+) => /\2/\1",
            "a => b",
            "b => a",
            "a => aa",
            r"//+ => /",
            r"^https?://[^/]+ => mailto:",
            r"c\.html => #c",
            r"/b => ?sid=1",
            "^http://example => http://www.example",
        )
    ),
    max_size=3,
).map(tuple)


@given(references | plain_references, bases, TRANSFORMS)
@settings(max_examples=400, deadline=None)
def test_scope_canonical_is_idempotent(reference: str, base: str, rules: tuple[str, ...]) -> None:
    """This includes rewriting."""
    scope = Scope(("*",), transform=rules)
    once = scope.canonical(reference, base)
    if once is not None:
        assert scope.canonical(once) == once


@given(references | plain_references, bases, TRANSFORMS)
@settings(max_examples=400, deadline=None)
def test_scope_joiner_agrees_with_scope_canonical(reference: str, base: str, rules: tuple[str, ...]) -> None:
    scope = Scope(("*",), transform=rules)
    assert scope.joiner(base)(reference) == scope.canonical(reference, base)


def test_rewriting_rules_apply_in_order_until_nothing_changes() -> None:
    scope = Scope(("*",), transform=(r"/print/ => /", r"([?&])ref=\w+&? => \1", r"^http: => https:"))
    assert scope.canonical("http://www.example.org/print/print/a?ref=x&b=1&ref=y") == "https://example.org/a?b=1&"
    endless = Scope(("*",), transform=("a => ba",))
    assert endless.canonical("http://h/a") == "http://h/a"
    assert Scope(("*",), transform=(r"^http://h/ => javascript:",)).canonical("http://h/a") is None


REJECTED = """
    /login /Login.aspx /login/ /user/login?x=1 /user/LOGIN /log-in /log_in.php /logout /account/logout.do?x /logoff
    /logon.asp /signup /sign-up/ /signin?next=%2F /sign_out /users/sign_in /register /register/ /user/register
    /register.php;x=1 /user-login/ /userlogin.asp /memberlogin /lost-password/ /forgot_password /wp-login.php
    /wp-login.php?action=register /wp-admin/ /blog/wp-admin/post.php /xmlrpc.php /node/12/edit /comment/reply/12/13
    /comments/12/delete /index.php?action=edit /w/index.php?title=Main&action=edit
    /w/index.php?title=Special:UserLogin&returnto=Main /wiki/Special:UserLogin /w/index.php?title=Main&action=history
    /doku.php?id=start&do=login /doku.php?id=start&do=edit /ucp.php?mode=register /ucp.php?mode=login&x=3
    /index.php?option=com_users&view=registration /post?replytocom=77 /shop/?add-to-cart=12 /?p=4;add_to_wishlist=3
    /viewtopic.php?f=2&mode=reply /posting.php?mode=quote&p=3 /page?login /page?login=1 /page?a=b&logout=true
    /page?return=/x&signup
""".split()  # noqa: SIM905
NOT_REJECTED = """
    / /catalogin/ /blog/in /blog/out.html /catalog/ /log/in /logins/ /login-problems-solved.html
    /how-to-register-a-company.html /registered-trademark.html /registration/ /conference/registration.html /registry
    /registers/ /cash-register /signing.html /sign/ /signs/up /designin/ /editor/ /edition/3 /editorial.html /credit/
    /deleted-scenes.html /replies/ /history/ /history.html?page=2 /print/ /add/ /addresses /about?section=history
    /search?q=login+page /search?q=how%20to%20register /index.php?title=Login_problems /index.php?page=historylog
    /x?logintime=3 /x?signupdate=2004 /x?a=registered /dologin.html /wp-content/uploads/x.html /wp-json/
    /xmlrpc-tutorial.html /cart-of-the-week /special:offers /wiki/Special:RecentChanges
    /news/2004/05/signin-ceremony.html /logos/ /logistics/ /logic/in/ /loginov/ /user/ /members/ /password.html
    /mode=print /x?mode=printer /x?action=view /x?task=article /reset.html
""".split()  # noqa: SIM905


def test_default_patterns_reject_only_urls_of_forms() -> None:
    scope = Scope(("*",))
    assert [path for path in REJECTED if not scope.rejects(f"https://example.org{path}")] == []
    assert [path for path in NOT_REJECTED if scope.rejects(f"https://example.org{path}")] == []
    hosts = (
        "https://login.org/",
        "https://register.com/x",
        "http://edit.example.org/",
        "https://login.example.org/a.html",
    )
    assert [url for url in hosts if scope.rejects(url)] == []


def test_patterns_accept_and_reject_together() -> None:
    scope = Scope(("*",), accept=("/news/", r"\.html$"), reject=("/old/", "/Private"))
    assert not scope.rejects("http://h/NEWS/1")
    assert not scope.rejects("http://h/a.html")
    assert scope.rejects("http://h/a")
    assert scope.rejects("http://h/old/a.html")
    assert scope.rejects("http://h/Private.html")
    assert not scope.rejects("http://h/private.html"), "a pattern with a capital letter is case-sensitive"
    assert not Scope(("*",), reject=()).rejects("http://h/login")


_PATTERNS = st.lists(
    st.sampled_from(
        ("/a", "/b(?:c|d)", r"(.)\1", "(?i)/A", "(?P<x>q)=(?P=x)", "^https:", "a$", "/a|b$", "[/?]x", r"\Wz", "Y")
    ),
    max_size=5,
)


_PARTS = st.sampled_from(
    (
        "a",
        "b?",
        "(?:c|d)",
        "(?:c|)",
        "[ab]",
        "x*",
        "y+",
        "z{2}",
        r"\?",
        r"\??",
        ".",
        "a|b",
        "$",
        "q??",
        "(?:a(?:b|c)?|d)",
    )
)


@given(
    st.sampled_from(("/", "/a?", r"\?(?:[^?]*[&;=])?", "")),
    st.lists(st.lists(_PARTS, max_size=4).map("".join), min_size=1, max_size=4),
    st.text("abcdqxyz?&=/", max_size=12).map("http://h/{}".format),
)
@settings(deadline=None)
def test_patterns_that_begin_alike_match_like_each_alone(prefix: str, rests: list[str], url: str) -> None:
    """What they have in common is matched once, and what follows only where it can begin."""
    patterns = tuple(prefix + rest for rest in rests)
    assert found_in(patterns)(url) == any(re.search(each, url.lower()) for each in patterns)


def test_the_default_patterns_are_tried_only_where_one_can_begin() -> None:
    """A URL of 230 question marks took 140 µs: each mark was compared with the beginning of every pattern."""
    queries = [each for each in SeederSettings().reject if each.startswith(r"\?")]
    assert len(queries) > 2
    assert _joined(queries).startswith(r"\?(?:[^?]*[&;=])?(?=[adelmorst])(?:")
    assert _joined([each for each in SeederSettings().reject if each.startswith("/")]).startswith(
        "/(?=[adeflmrsuwx])(?:"
    )


@given(_PATTERNS, st.text("abcdxyzqYA/?=", max_size=12).map("http://h/{}".format))
@settings(deadline=None)
def test_patterns_combined_match_like_each_alone(patterns: list[str], url: str) -> None:
    assert found_in(tuple(patterns))(url) == any(found_in((each,))(url) for each in patterns)


# fmt: off
_IN_LINES = (
    "/a", "/b(?:c|d)", "^https?:", "a$", "/a|b$", "[/?]x", "a[^/]*z", r"[^]x]b", r"[^\w]z$", "d{2,3}", "x*?A", "", "Y",
    r"\?(?:[^?]*[&;=])?q", *SeederSettings().reject,
)
_ALONE = (
    r"(.)\1", "(?i)/A", "(?P<x>q)=(?P=x)", r"\Wz", r"a\Z", r"[\s\S]+z$", "a(?!b)", "(?<!/)a", "[a-z/]*+$", "[^b]++a",
    "(?s).z", r"[\t-/]x", r"\D$",
)
# fmt: on
_PATHS = st.text("abcdxyzqYAlogin123/?=&;.-", max_size=12)


@given(
    st.lists(st.sampled_from(_IN_LINES + _ALONE), max_size=4),
    st.lists(_PATHS.map("http://h/{}".format), max_size=6, unique=True),
)
@settings(deadline=None)
def test_found_among_agrees_with_found_in(patterns: list[str], urls: list[str]) -> None:
    found = found_in(tuple(patterns))
    assert found_among(tuple(patterns))(urls) == {url for url in urls if found(url)}


@pytest.mark.parametrize("pattern", SeederSettings().reject)
def test_default_patterns_are_searched_in_all_urls_at_once(pattern: str) -> None:
    urls = [f"http://h{path}" for path in (*REJECTED, *NOT_REJECTED)]
    assert found_among((pattern,))(urls) == set(filter(found_in((pattern,)), urls))
    assert within_a_line(pattern) is not None


@given(
    st.lists(st.sampled_from(_IN_LINES), max_size=2),
    st.lists(st.sampled_from(_IN_LINES), max_size=2),
    st.lists(st.tuples(_PATHS, _PATHS).map(lambda two: f"http://h/{two[0]}/{two[1]}"), max_size=6, unique=True),
    st.integers(0, 3),
)
@settings(deadline=None)
def test_rejected_agrees_with_rejects(accept: list[str], reject: list[str], urls: list[str], repeats: int) -> None:
    scope = Scope(("*",), accept=tuple(accept), reject=tuple(reject), repeats=repeats)
    assert scope.rejected(urls) == set(filter(scope.rejects, urls))
    assert scope.entrapped(urls) == set(filter(scope.entraps, urls))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("www.example.org", "example.org"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.xn--exmple-cua.de", "xn--exmple-cua.de"),
    ],
)
def test_the_registrable_domain_follows_the_public_suffix_list(name: str, expected: str) -> None:
    assert registrable(name) == expected


def test_names_that_no_name_server_has_stay_and_are_not_remembered() -> None:
    """A page may have 4,000 `www.` in a name, and as many names as it likes."""
    scope = Scope(("example.org",))
    join = scope.joiner("http://example.org/")
    names, of_scope, of_canonical = (
        importlib.import_module(f"gossamer.urls.{n}") for n in ("names", "scope", "canonical")
    )
    caches = names._registrable, names._without_www, of_scope._accepts
    before = [cache.cache_info().currsize for cache in caches]
    roots = [dict(scope._admitted), {www: dict(of) for www, of in of_canonical._roots.items()}]
    for n in range(5):
        host = f"{'www.' * 4_000}n{n}.example"
        assert join(f"http://{host}/x") == f"http://{host}/x" == scope.canonical(f"http://{host}/x")
        assert without_www(host) == host
        assert registrable(host) == f"n{n}.example", "such names count for their domain as others do"
        assert not scope.admits(f"http://{host}/x")
        assert scope.accepts(f"{host}.example.org")
    assert [cache.cache_info().currsize for cache in caches] == before
    assert roots == [dict(scope._admitted), {www: dict(of) for www, of in of_canonical._roots.items()}]
    longest = f"www.{'a.' * 124}b"
    assert len(longest) == names.LONGEST_HOST - 1
    assert without_www(longest) == longest[4:]


def test_a_reference_may_go_up_as_far_as_it_likes() -> None:
    raw = "../" * 100_000 + "x/y"
    assert (
        Joiner("http://example.org/a/b/c")(raw)
        == canonical(raw, "http://example.org/a/b/c")
        == "http://example.org/x/y"
    )
