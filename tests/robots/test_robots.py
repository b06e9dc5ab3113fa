"""Tests of robots.txt: the rules of RFC 9309, the kernel against Python, preferences, and protego."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from gossamer.config.accepted import RANGES
from gossamer.robots import Rules, preferences
from gossamer.robots.match import verdicts, verdicts_many
from gossamer.robots.parse import LIMIT
from gossamer.robots.rules import TOO_MANY
from gossamer.urls import canonical
from gossamer.web.fetch.fetch import MAX_ROBOTS
from tests.support.strategies import joined
from tests.support.timing import grows_less, takes_less

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
    """The verdict of the Python matcher, after a check that the kernel gives the same."""
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
        ("anybot", "/x.gif", False),
        ("anybot", "/x.gif?y", True),
        ("anybot", "/example/", False),
        ("anybot", "/example", True),
        ("anybot", "/publications/x.gif", True),
        ("foobot", "/", False),
        ("foobot", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/example/other.gif", False),
        ("barbot", "/example/page.html", False),
        ("BazBot/2.1", "/example/page.html", False),
        ("bazbot", "/x.gif", True),
        ("quxbot", "/example/x.gif", True),
    ],
)
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
def test_paths_are_compared_octet_by_octet_in_any_spelling(rule: str, path: str) -> None:
    assert not allowed(f"User-agent: *\nDisallow: {rule}", path)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/a%2Fb", "/a/b"),
        ("/a/b", "/a%2Fb"),
        ("/a%3Fb", "/a?b"),
        ("/path/file-%2A.html", "/path/file-x.html"),
        ("/x%24", "/x"),
        ("/%zz", "/%25zz"),
        ("/a%26b", "/a?&b"),
        ("/A", "/a"),
    ],
)
def test_an_escaped_separator_is_not_a_separator(rule: str, path: str) -> None:
    assert allowed(f"User-agent: *\nDisallow: {rule}", path)


@pytest.mark.parametrize(
    ("rule", "path", "hit"),
    [
        ("/fish", "/fish.html", True),
        ("/fish", "/Fish", False),
        ("/fish*", "/fishheads/yummy.html", True),
        ("/fish/", "/fish", False),
        ("/*.php", "/folder/any.php.file.html", True),
        ("/*.php$", "/x.php", True),
        ("/*.php$", "/x.php?y", False),
        ("/fish*.php", "/fishheads/catfish.php?p", True),
        ("*", "/x", True),
        ("/$", "/", True),
        ("/$", "/x", False),
        ("/a$b", "/a$b", True),
        ("/*a*b$", "/xaxbxb", True),
        ("/*a*b$", "/xaxbx", False),
        ("/**a", "/xa", True),
        ("$", "/", False),
        ("fish", "/fish", False),
        ("https://example.org/fish", "/fish", False),
    ],
)
def test_star_and_dollar(rule: str, path: str, hit: bool) -> None:
    assert allowed(f"User-agent: *\nDisallow: {rule}", path) is not hit


def test_allow_wins_a_tie_in_any_order() -> None:
    for lines in ("Allow: /p\nDisallow: /p", "Disallow: /p\nAllow: /p"):
        assert allowed(f"User-agent: *\n{lines}", "/page")


def test_groups_of_one_name_are_merged_and_star_is_for_unnamed_crawlers() -> None:
    named = "User-agent: gossamer\nDisallow: /a\n\n", "User-agent: GOSSAMER/3 (x)\nDisallow: /b\n"
    text = f"{named[0]}User-agent: *\nDisallow: /c\n\n{named[1]}"
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]
    assert [allowed(text, path, "other") for path in ("/a", "/b", "/c")] == [True, True, False]
    assert [allowed(text, "/a", name) for name in ("gossamer-news", "goss")] == [True, True]


def test_star_groups_are_merged_too() -> None:
    text = "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: *\nDisallow: /b"
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_other_lines_do_not_end_a_group() -> None:
    text = "User-agent: gossamer\nSitemap: https://example.org/s.xml\nHost: x\nUser-agent: x\nnonsense\nDisallow: /a"
    assert not allowed(text, "/a")
    assert not allowed(text, "/a", "x")
    assert Rules.parse(text.encode(), "y").sitemaps == ("https://example.org/s.xml",)


def test_a_group_for_us_without_rules_allows_all() -> None:
    assert allowed("User-agent: gossamer\nDisallow:\n\nUser-agent: *\nDisallow: /", "/x")


def test_rules_before_any_group_are_ignored() -> None:
    assert allowed("Disallow: /\nUser-agent: *\nDisallow: /a", "/x")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\n\r\n", b" # comment\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"# hello\n\n"])
def test_line_ends_comments_and_byte_order_mark_are_read(start: bytes, end: bytes) -> None:
    text = start + end.join([b"USER-AGENT :  *", b"disALLOW:/a", b"Allow: /a/b# x", b""])
    assert not allowed(text, "/a")
    assert allowed(text, "/a/b")


def test_a_missing_colon_is_tolerated_in_lines_of_two_words() -> None:
    assert not allowed("User-agent *\nDisallow /a", "/a")
    assert allowed("User-agent: *\nDisallow /a b", "/a")
    assert allowed("User-agent: *\nDisallow", "/a")


@pytest.mark.parametrize(
    ("rule", "path", "hit"),
    [
        ("/*%", "/a%20b", True),
        ("/*%", "/a?b=%2F", True),
        ("/*%", "/ab", False),
        ("/*%2", "/a%2Fb", True),
        ("/*%2", "/a%C3%BC", False),
        ("/*%c", "/a%C3%BC", False),
        ("/*%C", "/a%C3%BC", True),
        ("/a%*b", "/a%2Fxb", True),
        ("/a%*B", "/a%C3%BB", True),
        ("/a%*b", "/axb", False),
        ("/*%$", "/a%20", False),
        ("/%zz", "/%zz/x", True),
        ("/x%%41B", "/x%%41B", True),
        ("/*%2$", "/a%2", True),
    ],
)
def test_an_unfinished_escape_matches_what_it_says(rule: str, path: str, hit: bool) -> None:
    assert allowed(f"User-agent: *\nDisallow: {rule}", path) is not hit


def test_a_rule_with_an_unfinished_escape_changes_no_other() -> None:
    text = "User-agent: *\nDisallow: /a%2Fb\nDisallow: /*%\nAllow: /x%2"
    found = [allowed(text, path) for path in ("/a%2Fb", "/a/b", "/%20", "/x%20", "/y%2Ax")]
    assert found == [False, True, False, True, False]


@pytest.mark.parametrize(
    "key",
    ["Disalow", "Dissallow", "Dissalow", "Diasllow", "disallaw", "DISALLOW", "Disallows", "Disallow-all", "Disallowed"],
)
def test_misspelled_prohibitions_count(key: str) -> None:
    assert not allowed(f"User-agent: *\n{key}: /a", "/a")


@pytest.mark.parametrize("key", ["User Agent", "Useragent", "user-agents", "USERAGENT"])
def test_misspelled_names_count(key: str) -> None:
    assert not allowed(f"{key}: gossamer\nDisallow: /a", "/a")
    assert allowed(f"User-agent: gossamer\nDisallow: /b\n{key}: another\nDisallow: /a", "/a")


@pytest.mark.parametrize("key", ["Alow", "Allowed", "Allow-all", "Alllow"])
def test_misspelled_permissions_do_not_count(key: str) -> None:
    assert not allowed(f"User-agent: *\nDisallow: /a\n{key}: /a/b", "/a/b")


def test_a_sitemap_may_have_a_hyphen() -> None:
    assert Rules.parse(b"Site-map: /a.xml\nsitemaps: /b.xml\nSite map: /c.xml", "x").sitemaps == ("/a.xml", "/b.xml")


@pytest.mark.parametrize(
    ("agent", "named", "ours"),
    [
        ("web3bot", "web3bot", True),
        ("web3bot", "Web3Bot/2.0", True),
        ("web3bot", "web", False),
        ("web3bot", "web9", False),
        ("Gossamer", "gossamer2", False),
        ("Gossamer", "gossamer/2", True),
        ("360Spider", "360spider (x)", True),
        ("360Spider", "spider", False),
    ],
)
def test_agent_names_with_digits_are_compared_whole(agent: str, named: str, ours: bool) -> None:
    assert allowed(f"User-agent: {named}\nDisallow: /a", "/a", agent) is not ours


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_a_mark_is_read(codec: str) -> None:
    text = "\ufeffUser-agent: *\r\nDisallow: /a\r\nDisallow: /ü\r\nSitemap: /ж.xml"
    assert [allowed(text.encode(codec), path) for path in ("/a", "/%C3%BC", "/b")] == [False, False, True]
    assert Rules.parse(text.encode(codec), "x").sitemaps == ("/ж.xml",)
    assert allowed(text[1:].encode(codec), "/a"), "without a mark it is not UTF-16"
    cut = f"\ufeffUser-agent: *\nDisallow: /a\n#{'x' * LIMIT}\nDisallow: /b".encode(codec)
    assert [allowed(cut[: LIMIT + 1], path) for path in ("/a", "/b")] == [False, True]


LETTERS = bytes.maketrans(b"0123456789", b"abcdefghij")


def pieces(piece: bytes, count: int) -> bytes:
    """Different lines. Names of agents have no digits: a product token of the RFC has none."""
    key, value = piece.split(b"%d") if piece.startswith(b"User-agent: %d") else (b"", b"")
    if key:
        return b"".join(key + (b"%d" % n).translate(LETTERS) + value for n in range(count))
    return b"".join(piece % n for n in range(count))


PIECES = [
    b"User-agent: %d\n",
    b"Useragent: *\n#%d\n",
    b"Crawl-delay: %d\n",
    b"Content-Usage: /%d train-ai=n\n",
    b"Content-Signal: a%d=y\n",
    b"License: /%d\n",
    b"Sitemap: /%d\n",
    b"Disallow: /%d\n",
    b"Disallow: /*%%%d*%%\xff\n",
    b"\n \n%d",
]


@pytest.mark.parametrize("second", PIECES)
@pytest.mark.parametrize("first", PIECES)
def test_the_work_grows_with_the_file_and_not_with_its_square(first: bytes, second: bytes) -> None:
    def parsing(size: int) -> Callable[[], object]:
        file = b"User-agent: *\n" + pieces(first, size) + pieces(second, size)
        return lambda: Rules.parse(file, "x")

    assert grows_less(parsing, (300, 4_800), than=16 * 4)


@pytest.mark.parametrize("line", PIECES)
def test_500_kib_of_the_worst_kind_take_less_than_a_second(line: bytes) -> None:
    names = pieces(PIECES[0], LIMIT // 36)
    rest = pieces(line, (LIMIT - len(names)) // len(line))
    for file in (names + b"User-agent: *\n" + rest, (b"User-agent: *\n" + rest * 3)[:LIMIT]):
        assert takes_less(lambda file=file: Rules.parse(file, "x"), than=1.0)  # type: ignore[misc]


def test_rules_that_are_too_many_forbid_their_origin_and_say_so() -> None:
    text = "\ufeffUser-agent: *\n" + "".join(f"Disallow: /{n}{'中' * 2_000}\n" for n in range(125))
    rules = Rules.parse(text.encode("utf-16-le"), "x")
    assert rules.compiled() == TOO_MANY
    assert kernel(rules, [f"{SITE}/a"]) == [rules.allows(f"{SITE}/a")] == [False]
    assert rules.lines() == [rules.deciding("/a")] == ["Disallow: / # instead of rules that are too many to keep"]


def test_a_rule_of_many_stars_is_kept() -> None:
    assert not allowed(b"User-agent: *\nDisallow: /" + b"*" * 70_000 + b"b", "/ab")
    assert allowed(b"User-agent: *\nDisallow: /" + b"*a" * 40_000, "/ab")


def test_only_whole_lines_of_the_first_500_kib_are_read() -> None:
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


def test_crawl_delay_and_sitemaps_are_read() -> None:
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


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("600 seconds", 600.0),
        ("120s", 120.0),
        ("2.5sec", 2.5),
        (".5", 0.5),
        ("+7", 7.0),
        ("1e2", 100.0),
        ("5 # m", 5.0),
        ("0", 0.0),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("info", None),
        ("", None),
    ],
)
def test_a_crawl_delay_is_its_leading_number(value: str, seconds: float | None) -> None:
    assert Rules.parse(f"User-agent: *\nCrawl-delay: {value}\nDisallow:".encode(), "x").delay == seconds


@pytest.mark.parametrize("value", ["inf", "Infinity", "1e400", "9" * 5_000, "1e30s"])
def test_an_infinite_crawl_delay_exceeds_the_longest_honoured_delay(value: str) -> None:
    delay = Rules.parse(f"User-agent: *\nCrawl-delay: {value}\nDisallow:".encode(), "x").delay
    assert delay is not None
    assert RANGES["harvester.max_delay"][1] < np.float32(delay) < np.inf


_words = joined(
    ["/", "a", "b", "*", "$", "?", "=", "%2F", "%61", "%2a", "ü", "%C3%BC", ":", "%3a", "%", "%zz", "&", "%26"], most=8
)
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
def test_compiled_rules_give_the_same_verdicts(data: bytes, urls: list[str]) -> None:
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


def test_rules_that_forbid_nothing_compile_to_no_bytes() -> None:
    for text in (b"", b"User-agent: *\nDisallow:\n", b"User-agent: *\nAllow: /a\n", b"<html>not found</html>"):
        assert Rules.parse(text, "x").compiled() == b""


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes_can_be_parsed_as_robots_txt(data: bytes) -> None:
    """Both matchers give the same verdict."""
    for rules in (Rules.parse(data, "x"), Rules.parse(b"User-agent: *\nDisallow: /" + data, "x")):
        assert kernel(rules, [SITE + "/a"]) == [rules.allows(SITE + "/a")]


def test_each_origin_is_judged_by_its_own_rules() -> None:
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


def test_the_byte_order_mark_is_part_of_the_500_kib() -> None:
    """The fetcher reads one byte more than the limit, so that a cut file is recognised as cut."""
    head = b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n#"
    fill = head + b"x" * (LIMIT - len(head) - len(b"\nDisallow: /")) + b"\nDisallow: /"
    assert len(fill) == LIMIT
    assert not allowed(fill, "/z")
    assert allowed(fill + b"l", "/z")
    assert allowed((fill + b"long\nDisallow: /")[:MAX_ROBOTS], "/z")


def _by_expression(rule: str, path: str) -> bool:
    """Whether a rule without escapes matches, by a regular expression."""
    end = "$" if rule.endswith("$") else ""
    parts = map(re.escape, rule.removesuffix("$").split("*"))
    return re.match(".*".join(parts) + end.replace("$", r"\Z"), path, re.DOTALL) is not None


_parts = joined(["a", "b", "ab", "*", "*", "a" * 40, "b" * 70, "/"], most=12)


@given(_parts, st.sampled_from(["", "$"]), st.lists(_parts, max_size=5))
@settings(deadline=None, max_examples=150)
def test_a_rule_matches_what_a_regular_expression_would(rule: str, end: str, paths: list[str]) -> None:
    urls = [f"{SITE}/{path.replace('*', 'ab')}" for path in paths]
    rules = Rules.parse(f"User-agent: *\nDisallow: /{rule}{end}".encode(), "x")
    expected = [not _by_expression(f"/{rule}{end}", url.removeprefix(SITE)) for url in urls]
    assert [rules.allows(url) for url in urls] == expected == kernel(rules, urls)


def test_rules_compiled_by_older_versions_give_the_same_verdicts() -> None:
    rules = Rules.parse(b"User-agent: *\nDisallow: /a\nAllow: /ab\nDisallow: /*c$\n", "x")
    old = bytearray(rules.compiled())
    at = 1
    while at < len(old):
        old[at] &= 1  # the first version had no other kinds
        at += 3 + int.from_bytes(old[at + 1 : at + 3], "little")
    before, urls = Rules.from_compiled(bytes(old)), [f"{SITE}/{path}" for path in ("a", "ab", "b", "bc", "abc")]
    assert before.compiled() != rules.compiled()
    assert kernel(before, urls) == kernel(rules, urls) == [before.allows(url) for url in urls]


def test_preferences_come_from_our_groups_and_from_the_whole_file() -> None:
    text = (
        b"License: https://example.org/rsl.xml\nUser-agent: x\nContent-Signal: search=no\nDisallow: /x\n"
        b"User-agent: *\ncontent-signal:  search=yes, ai-train=no # hm\nContent-Usage: /news/ train-ai=n\nAllow: /\n"
        b"User-agent: gossamer\nContent-Usage: train-ai=y\nContent-Usage: train-ai=y\nDisallow:\nLicense: /other\n"
    )
    everyone = ("License: https://example.org/rsl.xml", "License: /other")
    assert Rules.parse(text, "x").preferences == (*everyone, "Content-Signal: search=no")
    assert Rules.parse(text, "Gossamer").preferences == (*everyone, "Content-Usage: train-ai=y")
    assert Rules.parse(text, "other").preferences == (
        *everyone,
        "Content-Signal: search=yes, ai-train=no",
        "Content-Usage: /news/ train-ai=n",
    )
    assert Rules.parse(b"Content-Signal: search=no\nUser-agent: *\nDisallow: /", "y").preferences == (
        "Content-Signal: search=no",
    )
    assert not allowed("User-agent: a\nContent-Usage: train-ai=n\nUser-agent: gossamer\nDisallow: /a", "/a")


def test_preferences_are_bounded() -> None:
    lines = b"".join(b"License: https://example.org/%d/%s\n" % (i, b"x" * 400) for i in range(9))
    kept = Rules.parse(lines + b"License: /short\n", "x").preferences
    assert sum(len(line.encode()) + 1 for line in kept) <= preferences.LIMIT
    assert kept[-2:] == ("License: /short", "left-out: 5 lines")
    assert Rules.parse(b"License: \xff\xfe", "x").preferences == ("License: \ufffd\ufffd",)


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        (["train-ai=n, search=y"], "/x", "search=y, train-ai=n"),
        (["/a/ train-ai=n"], "/x", ""),
        (["train-ai=n", "/a/ train-ai=y"], "/a/x", "train-ai=y"),
        (["train-ai=n", "/a/ search=y"], "/a/x", "search=y"),
        (["/a/ train-ai=y", "/a/ train-ai=n, search=y"], "/a/x", "search=y, train-ai=n"),
        (["/*.html$ train-ai=n", "/a train-ai=y"], "/a.html", "train-ai=n"),
        ([""], "/", ""),
        (["/%61/ train-ai=n"], "/a/", "train-ai=n"),
        (["Train-AI=N;x=1, other, odd=3"], "/", "train-ai=n"),
        (["train-ai=n, train-ai=y"], "/", "train-ai=y"),
    ],
)
def test_the_longest_path_of_content_usage_decides_and_equal_ones_combine(
    lines: list[str], path: str, expected: str
) -> None:
    text = "User-agent: *\n" + "".join(f"Content-Usage: {line}\n" for line in lines)
    assert Rules.parse(text.encode(), "x").usage(SITE + path) == expected


_USES = st.tuples(
    st.sampled_from(["", "/a/ ", "/a/b/ ", f"/{'x' * 900}/ ", "/a/b/c/ "]),
    st.sampled_from(["train-ai=y", "train-ai=n", "search=y", "search=n, train-ai=y", "search=y, train-ai=n"]),
)


@given(st.lists(_USES, max_size=40), st.integers(0, 600))
def test_lines_left_out_never_add_a_permission(uses: list[tuple[str, str]], limit: int) -> None:
    lines = [f"Content-Usage: {path}{values}" for path, values in uses]
    kept = preferences.bounded(lines, limit + 40)
    assert sum(len(line) + 1 for line in kept) <= limit + 40
    assert set(kept) <= {*lines, kept[-1] if kept else ""}
    if set(lines) - set(kept):
        assert re.fullmatch(rf"left-out: {len(set(lines) - set(kept))} lines?", kept[-1])
    for path in ("/", "/a/", "/a/b/x", "/a/b/c/"):
        allowed = {word for word in preferences.usage(kept, path).split(", ") if word.endswith("=y")}
        assert allowed <= set(preferences.usage(lines, path).split(", "))


def test_preferences_that_only_permit_are_left_out_first() -> None:
    allowed = "Content-Usage: train-ai=y, search=y, train-genai=y"
    lines = [allowed, *(f"Content-Usage: /d{i}/ train-ai=n" for i in range(30)), "License: /l"]
    assert preferences.bounded(lines) == tuple(lines), "30 lines are not many"
    assert preferences.bounded(lines, sum(len(line) + 1 for line in lines) - 1) == (*lines[1:], "left-out: 1 line")
    fewer = preferences.bounded(lines, 900)
    assert preferences.usage(fewer, "/d29/") == ""
    assert fewer[-1].startswith("left-out: ")
    assert preferences.usage(fewer, "/d3/") == "train-ai=n"


@given(st.lists(st.text(max_size=30), max_size=4), st.text(max_size=10))
@settings(deadline=None)
def test_any_text_is_accepted_as_a_preference(lines: list[str], path: str) -> None:
    usage = preferences.usage([f"Content-Usage: {line}" for line in lines], "/" + path)
    names = [part.partition("=")[0] for part in usage.split(", ")] if usage else []
    assert len(names) == len(set(names)), "each use once"


def test_a_pattern_with_many_stars_is_matched_fast() -> None:
    rules = Rules.parse(b"User-agent: *\nDisallow: /" + b"*a" * 500 + b"$", "x")
    url = SITE + "/" + "a" * 1900 + "b"
    kernel(rules, [url])
    assert kernel(rules, [url]) == [True]
    assert rules.allows(url)
    assert takes_less(lambda: kernel(rules, [url]), than=0.1)
    assert takes_less(lambda: rules.allows(url), than=0.1)


def test_a_url_that_needs_too_many_steps_is_forbidden_by_kernel_and_python() -> None:
    rules = Rules.parse(
        b"User-agent: *\n" + b"".join(b"Disallow: /*b%02d%s\n" % (i, b"a" * 900) for i in range(40)), "x"
    )
    urls = [f"{SITE}/{'a' * n}" for n in (10, 1000, 1600, 1700, 1900)]
    assert kernel(rules, urls) == [rules.allows(url) for url in urls] == [True, True, True, False, False]
    assert rules.deciding(urls[0]) is None
    assert rules.deciding(urls[-1]) == "Disallow: / # instead of rules that take too many steps to match"


_plain_words = joined(["/", "a", "b", "c", "*", ".x"], most=6)
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
def test_protego_gives_the_same_verdicts(text: str, words: list[str], agent: str) -> None:
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
        (
            "User-agent: gossamer\nCrawl-delay: 3\nUser-agent: y\nDisallow: /a",
            "/a",
            False,
            "2.2.4: other records end no group",
        ),
        ("User-agent: gossamer/2.0\nDisallow: /a", "/a", False, "2.2.1: the product token is letters, - and _"),
        ("User-agent: goss\nDisallow: /a", "/a", True, "2.2.1: the whole token, not a beginning of it"),
    ],
)
def test_we_follow_the_rfc_where_protego_does_not(text: str, path: str, ours: bool, why: str) -> None:
    assert allowed(text, path) is ours, why
    assert Protego.parse(text).can_fetch(SITE + path, "gossamer") is not ours, f"no difference any more: {why}"
