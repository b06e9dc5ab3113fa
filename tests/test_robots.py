from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from gossamer.robots import Rules
from gossamer.robots.match import verdicts, verdicts_many
from gossamer.robots.parse import LIMIT
from gossamer.urls import canonical

SITE = "https://example.org"

RFC_5_1 = b"""User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


def allowed(text: str | bytes, path: str, agent: str = "Gossamer") -> bool:
    """By the Python matcher, which must be that of the kernel too."""
    rules = Rules.parse(text.encode() if isinstance(text, str) else text, agent)
    verdict = rules.allows(SITE + path)
    url = canonical(SITE + path)
    if url == SITE + path:
        assert kernel(rules, [url]) == [verdict]
    return verdict


def kernel(rules: Rules, urls: list[str]) -> list[bool]:
    texts = [url.encode() for url in urls]
    offsets = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
    found = verdicts(np.frombuffer(rules.compiled(), np.uint8), np.frombuffer(b"".join(texts), np.uint8), offsets)
    return [bool(v) for v in found]


@pytest.mark.parametrize(
    ("agent", "path", "expected"),
    [
        ("anybot", "/x.gif", False), ("anybot", "/x.gif?y", True), ("anybot", "/example/", False),
        ("anybot", "/example", True),
        ("anybot", "/publications/x.gif", True), ("foobot", "/", False), ("foobot", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True), ("foobot", "/example/other.gif", False),
        ("barbot", "/example/page.html", False),
        ("BazBot/2.1", "/example/page.html", False), ("bazbot", "/x.gif", True), ("quxbot", "/example/x.gif", True),
    ],
)  # fmt: skip
def test_rfc_9309_simple_example(agent: str, path: str, expected: bool) -> None:
    assert allowed(RFC_5_1, path, agent) is expected


def test_rfc_9309_longest_match() -> None:
    text = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    assert not allowed(text, "/example/page/disallowed.gif", "foobot")
    assert allowed(text, "/example/page/other.gif", "foobot")


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-%2a.html"),
        ("/path/foo-%24", "/path/foo-$"),
        ("/a b", "/a%20b"),
        ("/%c3%BC", "/%C3%bc"),
        ("/*%2Fprivate", "/x?u=%2Fprivate"),
        ("/*%2Fprivate", "/x?u=/private"),
    ],
)
def test_paths_are_compared_octet_by_octet_whatever_their_spelling(rule: str, path: str) -> None:
    assert not allowed(f"User-agent: *\nDisallow: {rule}", path)


@pytest.mark.parametrize(
    ("rule", "path"),
    [("/a%2Fb", "/a/b"), ("/a/b", "/a%2Fb"), ("/a%3Fb", "/a?b"), ("/path/file-%2A.html", "/path/file-x.html"),
     ("/x%24", "/x"),
     ("/%zz", "/%25zz"), ("/a%26b", "/a?&b"), ("/A", "/a")],
)  # fmt: skip
def test_an_escaped_separator_is_no_separator(rule: str, path: str) -> None:
    assert allowed(f"User-agent: *\nDisallow: {rule}", path)


@pytest.mark.parametrize(
    ("rule", "path", "hit"),
    [("/fish", "/fish.html", True), ("/fish", "/Fish", False), ("/fish*", "/fishheads/yummy.html", True),
     ("/fish/", "/fish", False),
     ("/*.php", "/folder/any.php.file.html", True), ("/*.php$", "/x.php", True), ("/*.php$", "/x.php?y", False),
     ("/fish*.php", "/fishheads/catfish.php?p", True), ("*", "/x", True), ("/$", "/", True), ("/$", "/x", False),
     ("/a$b", "/a$b", True), ("/*a*b$", "/xaxbxb", True), ("/*a*b$", "/xaxbx", False), ("/**a", "/xa", True),
     ("$", "/", False),
     ("fish", "/fish", False), ("https://example.org/fish", "/fish", False)],
)  # fmt: skip
def test_star_and_dollar(rule: str, path: str, hit: bool) -> None:
    assert allowed(f"User-agent: *\nDisallow: {rule}", path) is not hit


def test_allow_wins_a_tie_in_whatever_order() -> None:
    for lines in ("Allow: /p\nDisallow: /p", "Disallow: /p\nAllow: /p"):
        assert allowed(f"User-agent: *\n{lines}", "/page")


def test_groups_of_one_name_are_merged_and_star_is_for_those_without() -> None:
    named = "User-agent: gossamer\nDisallow: /a\n\n", "User-agent: GOSSAMER/3 (x)\nDisallow: /b\n"
    text = f"{named[0]}User-agent: *\nDisallow: /c\n\n{named[1]}"
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]
    assert [allowed(text, path, "other") for path in ("/a", "/b", "/c")] == [True, True, False]
    assert [allowed(text, "/a", name) for name in ("gossamer-news", "goss")] == [True, True]


def test_star_groups_are_merged_too() -> None:
    text = "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: *\nDisallow: /b"
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_other_lines_end_no_group() -> None:
    text = "User-agent: gossamer\nSitemap: https://example.org/s.xml\nHost: x\nUser-agent: x\nnonsense\nDisallow: /a"
    assert not allowed(text, "/a")
    assert not allowed(text, "/a", "x")
    assert Rules.parse(text.encode(), "y").sitemaps == ("https://example.org/s.xml",)


def test_a_group_of_ours_without_rules_allows_all() -> None:
    assert allowed("User-agent: gossamer\nDisallow:\n\nUser-agent: *\nDisallow: /", "/x")


def test_rules_before_any_group_are_ignored() -> None:
    assert allowed("Disallow: /\nUser-agent: *\nDisallow: /a", "/x")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\n\r\n", b" # comment\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"# hello\n\n"])
def test_line_ends_comments_and_byte_order_mark(start: bytes, end: bytes) -> None:
    text = start + end.join([b"USER-AGENT :  *", b"disALLOW:/a", b"Allow: /a/b# x", b""])
    assert not allowed(text, "/a")
    assert allowed(text, "/a/b")


def test_a_missing_colon_is_tolerated_in_lines_of_two_words() -> None:
    assert not allowed("User-agent *\nDisallow /a", "/a")
    assert allowed("User-agent: *\nDisallow /a b", "/a")
    assert allowed("User-agent: *\nDisallow", "/a")


def test_only_the_first_500_kib_are_read_and_no_half_line() -> None:
    head = b"User-agent: *\nDisallow: /a\n#"
    fill = head + b"x" * (LIMIT - len(head) - len(b"\nDisallow: /"))
    assert not allowed(fill + b"\nDisallow: /", "/z")
    assert allowed(fill + b"\nDisallow: /long", "/z")
    assert not allowed(fill + b"\nDisallow: /\nx", "/z")
    assert allowed(fill + b"xxxxxxxxxxxxxxxxxxx\nDisallow: /z", "/z")
    assert not allowed(fill + b"xxxxxxxxxxxxxxxxxxx\nDisallow: /z", "/a")


def test_robots_txt_itself_is_always_allowed() -> None:
    assert allowed("User-agent: *\nDisallow: /", "/robots.txt")
    assert not allowed("User-agent: *\nDisallow: /", "/robots.txt?x")


def test_delay_and_sitemaps() -> None:
    text = (
        b"Sitemap: https://example.org/a.xml\nUser-agent: x\nCrawl-delay: 9\n"
        b"User-agent: *\nCrawl-delay: 2.5\nDisallow: /x\n"
        b"User-agent: gossamer\nCrawl-delay: 3\nSitemap: /b.xml\nCrawl-delay: 4\n"
        b"Crawl-delay: soon\nCrawl-delay: -1\nDisallow:\n"
    )
    assert Rules.parse(text, "Gossamer").delay == 4
    assert Rules.parse(text, "other").delay == 2.5
    assert Rules.parse(text, "x").delay == 9
    assert Rules.parse(text, "other").sitemaps == ("https://example.org/a.xml", "/b.xml")
    assert Rules.parse(b"", "x").delay is None


_words = st.lists(
    st.sampled_from(["/", "a", "b", "*", "$", "?", "=", "%2F", "%61", "%2a", "ü", "%C3%BC", ":", "%3a", "%", "%zz"
    , "&", "%26"]), max_size=8
).map("".join)  # fmt: skip
_rule = st.tuples(st.sampled_from(["Allow", "Disallow"]), _words).map(lambda r: f"{r[0]}: /{r[1]}")
_files = st.lists(_rule, max_size=8).map(lambda lines: "\n".join(["User-agent: *", *lines]).encode())
_urls = st.lists(_words, min_size=1, max_size=6).map(lambda ws: [u for w in ws if (u := canonical(f"{SITE}/{w}"))])


@given(_files, _urls)
@settings(max_examples=400, deadline=None)
def test_kernel_agrees_with_python(data: bytes, urls: list[str]) -> None:
    rules = Rules.parse(data, "Gossamer")
    assert kernel(rules, urls) == [rules.allows(url) for url in urls]


@given(_files, _urls)
@settings(deadline=None)
def test_compiled_rules_say_the_same(data: bytes, urls: list[str]) -> None:
    rules = Rules.parse(data, "Gossamer")
    again = Rules.from_compiled(rules.compiled())
    assert again.compiled() == rules.compiled()
    assert [again.allows(url) for url in urls] == [rules.allows(url) for url in urls]


@given(st.lists(_rule, max_size=6), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_equal_rule_sets_share_their_bytes(lines: list[str], dice) -> None:  # type: ignore[no-untyped-def]
    shuffled = lines + lines[:2]
    dice.shuffle(shuffled)
    first, second = ("\n".join(["User-agent: *", *each]).encode() for each in (lines, shuffled))
    assert Rules.parse(first, "x").compiled() == Rules.parse(second, "y").compiled()


def test_rules_that_forbid_nothing_are_no_bytes() -> None:
    for text in (b"", b"User-agent: *\nDisallow:\n", b"User-agent: *\nAllow: /a\n", b"<html>not found</html>"):
        assert Rules.parse(text, "x").compiled() == b""


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes_are_a_robots_txt(data: bytes) -> None:
    Rules.parse(data, "x").allows(SITE + "/a")
    Rules.parse(b"User-agent: *\nDisallow: /" + data, "x").allows(SITE + "/a")


def test_many_origins_at_once_have_each_their_own_rules() -> None:
    files = [b"User-agent: *\nDisallow: /a", b"", b"User-agent: *\nDisallow: /b$"]
    compiled = [Rules.parse(f, "x").compiled() for f in files]
    ends = np.cumsum([len(c) for c in compiled]).astype(np.int64)
    starts = ends - [len(c) for c in compiled]
    texts = [f"http://h{o}.org{p}".encode() for o in range(3) for p in ("/a", "/b", "/bc")]
    offsets = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
    origins = np.repeat(np.arange(3, dtype=np.uint32), 3)
    rules, buffer = (np.frombuffer(b"".join(parts), np.uint8) for parts in (compiled, texts))
    found = verdicts_many(rules, starts, ends, buffer, offsets, origins)
    assert found.tolist() == [0, 1, 1, 1, 1, 1, 1, 0, 1]
    empty = np.zeros(0, np.uint8)
    assert len(verdicts_many(rules, starts, ends, empty, np.zeros(1, np.int64), np.zeros(0, np.uint32))) == 0


def test_a_pattern_of_many_stars_is_matched_in_little_time() -> None:
    rules = Rules.parse(b"User-agent: *\nDisallow: /" + b"*a" * 500 + b"$", "x")
    url = SITE + "/" + "a" * 1900 + "b"
    kernel(rules, [url])
    start = time.process_time()
    assert kernel(rules, [url]) == [True]
    assert rules.allows(url)
    assert time.process_time() - start < 2


def test_a_url_that_takes_too_many_steps_is_forbidden_by_kernel_and_python_alike() -> None:
    rules = Rules.parse(
        b"User-agent: *\n" + b"".join(b"Disallow: /*%sb%d\n" % (b"a" * 900, i) for i in range(200)), "x"
    )
    urls = [f"{SITE}/{'a' * n}" for n in (10, 50, *range(90, 105), 1900)]
    found = kernel(rules, urls)
    start = time.process_time()
    assert kernel(rules, urls) == found == [rules.allows(url) for url in urls]
    assert found[:2] == [True, True]
    assert found[-1] is False
    assert time.process_time() - start < 10


_plain_words = st.lists(st.sampled_from(["/", "a", "b", "c", "*", ".x"]), max_size=6).map("".join)
_plain_rule = st.tuples(st.sampled_from(["Allow", "Disallow"]), _plain_words, st.sampled_from(["", "$"])).map(
    lambda r: f"{r[0]}: /{r[1]}{r[2]}"
)
_agents = st.lists(st.sampled_from(["*", "gossamer", "otherbot"]), min_size=1, max_size=2).map(
    lambda names: [f"User-agent: {name}" for name in names]
)
_groups = st.lists(st.tuples(_agents, st.lists(_plain_rule, min_size=1, max_size=4)), min_size=1, max_size=4).map(
    lambda groups: "\n".join(line for agents, rules in groups for line in (*agents, *rules))
)


@given(_groups, st.lists(_plain_words, min_size=1, max_size=5), st.sampled_from(["gossamer", "stranger"]))
@settings(max_examples=400, deadline=None)
def test_protego_is_of_the_same_opinion(text: str, words: list[str], agent: str) -> None:
    rules, other = Rules.parse(text.encode(), agent), Protego.parse(text)
    for word in words:
        url = canonical(f"{SITE}/{word}")
        assert url is not None
        assert rules.allows(url) == other.can_fetch(url, agent), url


@pytest.mark.parametrize(
    ("text", "path", "ours", "why"),
    [
        ("User-agent: *\nDisallow: /x?u=https://f", "/x?u=https%3A%2F%2Ff", False, "2.2.2, first example"),
        ("User-agent: *\nDisallow: /a%26b", "/a&b", True, "2.2.2: an escaped reserved character stays escaped"),
        ("\ufeffUser-agent: *\nDisallow: /a", "/a", False, "2.3: UTF-8, which may begin with a byte order mark"),
        ("User-agent: gossamer\nCrawl-delay: 3\nUser-agent: y\nDisallow: /a"
        , "/a", False, "2.2.4: other records end no group"),
        ("User-agent: gossamer/2.0\nDisallow: /a", "/a", False, "2.2.1: the product token is letters, - and _"),
        ("User-agent: goss\nDisallow: /a", "/a", True, "2.2.1: the whole token, not a beginning of it"),
    ],
)  # fmt: skip
def test_where_protego_differs_the_rfc_decides(text: str, path: str, ours: bool, why: str) -> None:
    assert allowed(text, path) is ours, why
    assert Protego.parse(text).can_fetch(SITE + path, "gossamer") is not ours, f"no difference any more: {why}"
