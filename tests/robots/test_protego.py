"""Compares thousands of generated files and URLs with protego: every difference must have a named reason.

A reason rewrites file and URL so that protego reads them as the RFC demands. A difference is explained if one reason,
or all reasons together, make protego agree. So a reason cannot excuse an unrelated difference.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest
from protego import Protego

from bench.made_robots import made, path
from gossamer.robots import Rules
from gossamer.robots.parse import LIMIT, product_token
from gossamer.urls import canonical

SITE = "https://example.org"
AGENT = "Gossamer"
FILES = 1_500
KEY = re.compile(r"^\s*([A-Za-z-]+)\s*:\s*(.*?)\s*$")


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|[\r\n]", text)


def each_line(change: Callable[[str, str], str | None]) -> Callable[[str], str]:
    """Apply `change` to each line with a key: it gets key (in lower case) and value; None keeps the line."""

    def changed(text: str) -> str:
        out = []
        for line in lines_of(text):
            found = KEY.match(line.partition("#")[0])
            new = change(found[1].lower(), found[2]) if found else None
            out.append(line if new is None else new)
        return "\n".join(out)

    return changed


def known_keys(text: str) -> str:
    def keep(key: str, value: str) -> str | None:
        return None if key in ("user-agent", "allow", "disallow", "sitemap") else ""

    kept = [line for line in lines_of(text) if KEY.match(line) or len(line.split()) == 2]
    return each_line(keep)("\n".join(kept))


def token_only(key: str, value: str) -> str | None:
    if key != "user-agent":
        return None
    name = "*" if value.split()[:1] == ["*"] else product_token(value)
    return f"User-agent: {name if name in ('*', AGENT.lower()) else 'another'}"


def not_index(key: str, value: str) -> str | None:
    """An equivalent rule that avoids a special case of protego."""
    return f"{key}: {value}*" if key == "allow" and value.endswith("/index.html") else None


def dollars(key: str, value: str) -> str | None:
    """Only a final $ is an anchor; other $ are literal characters."""
    if key not in ("allow", "disallow"):
        return None
    head, last = (value[:-1], "$") if value.endswith("$") else (value, "")
    return f"{key}: {no_dollar(head)}{last}"


def no_dollar(text: str) -> str:
    return text.replace("$", "~d").replace("%24", "~d")


class Reason(NamedTuple):
    """A reason for differences: the section of the RFC, and how to rewrite file and URL."""

    why: str
    file: Callable[[str], str]
    example: tuple[str, str]
    """A file and a path for which the verdicts differ for this reason alone."""
    url: Callable[[str], str] = lambda url: url


def _escapes(key: str, value: str) -> str | None:
    return f"{key}: {_same(value)}" if key in ("allow", "disallow") else None


_RESERVED = "%(3A|2F|3F|23|5B|5D|40|21|26|27|28|29|2B|2C|3B|3D|25)"


def _same(text: str) -> str:
    """Replace escapes of reserved characters, which protego decodes, by other letters; keep escapes of "*" and "$"."""
    return re.sub(_RESERVED, lambda found: f"~{found[1].lower()}", text, flags=re.IGNORECASE)


def _in_query(text: str) -> str:
    head, mark, query = text.partition("?")
    for raw, escaped in ((":", "%3A"), ("/", "%2F"), ("?", "%3F"), ("@", "%40")):
        query = re.sub(escaped, raw, query, flags=re.I)
    return head + mark + query


REASONS = {
    "byte order mark": Reason(
        "2.3: the file is UTF-8, which may begin with one",
        lambda text: text.removeprefix("\ufeff"),
        ("\ufeffUser-agent: *\nDisallow: /a", "/a"),
    ),
    "other keys": Reason(
        "2.2.4: lines with other keys, such as Crawl-delay, are not rules and do not end a group",
        known_keys,
        ("User-agent: gossamer\nCrawl-delay: 3\nUser-agent: y\nDisallow: /a", "/a"),
    ),
    "product token": Reason(
        "2.2.1: the whole product token counts (letters, - and _), and nothing after it",
        each_line(token_only),
        ("User-agent: gossamer/2.0\nDisallow: /a", "/a"),
    ),
    "index.html": Reason(
        "2.2.2: an Allow of /index.html applies only to /index.html",
        each_line(not_index),
        ("User-agent: *\nDisallow: /\nAllow: /index.html", "/"),
    ),
    "dollar": Reason(
        "2.2.3: $ at the end of a rule is an anchor, elsewhere a literal character",
        each_line(dollars),
        ("User-agent: *\nDisallow: /a$\nAllow: /a", "/a$"),
        no_dollar,
    ),
    "query": Reason(
        "2.2.2, first example: in a query :, /, ? and @ mean the same when escaped",
        each_line(lambda key, value: f"{key}: {_in_query(value)}" if key in ("allow", "disallow") else None),
        ("User-agent: *\nDisallow: /x?u=https://f", "/x?u=https%3A%2F%2Ff"),
        _in_query,
    ),
    "reserved": Reason(
        "2.2.2: an escaped reserved character is not the character",
        each_line(_escapes),
        ("User-agent: *\nDisallow: /a%26b", "/a&b"),
        _same,
    ),
    "500 KiB": Reason(
        "2.5: only the first 500 KiB are read",
        lambda text: (
            text if len(text.encode()) <= LIMIT else text.encode()[:LIMIT].decode(errors="ignore").rpartition("\n")[0]
        ),
        ("User-agent: *\n" + "# fill\n" * 75_000 + "Disallow: /a", "/a"),
    ),
    "line ends": Reason(
        "2.2: lines end in CR, LF or both, and nothing else",
        lambda text: re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", "_", text),
        ("User-agent: *\nDisallow: /b\u2028Disallow: /a", "/a"),
    ),
}


def ours(text: str, url: str) -> bool:
    return Rules.parse(text.encode(), AGENT).allows(url)


def theirs(text: str, url: str) -> bool:
    return Protego.parse(text).can_fetch(url, AGENT)


def reason_of(text: str, url: str) -> str | None:
    """Why the verdicts differ: the name of a reason, "several", or None."""
    wanted, together, changed = ours(text, url), text, url
    for name, reason in REASONS.items():
        if theirs(reason.file(text), reason.url(url)) == wanted:
            return name
        together, changed = reason.file(together), reason.url(changed)
    return "several" if theirs(together, changed) == wanted else None


_ODD = (
    "Disallow: /a%2Fb",
    "Disallow: /a%26b*",
    "Allow: /*%3D",
    "Disallow: /x$y",
    "Allow: /x$",
    "Disallow: admin",
    "Noindex: /",
    "Crawl-delay: 5",
    "Host: example.org",
    "User-agent: gossamer/1.0",
    "User-agent: goss",
    "User-agent: *",
    "Disalow: /a",
    "Allow: /news/index.html",
    "Disallow: /?u=https://b.example/",
    "# x",
    "Disallow:",
    "Disallow: /*?u=https%3A%2F%2Fb",
    "Disallow: *",
    "Disallow: /ü/",
    "Disallow: /%C3%BC/x",
    "Allow: /%61dmin",
    "Disallow /print",
    "Useragent: gossamer",
    "Content-Usage: train-ai=n",
    "User-agent: gossamer",
    "Allow: /$",
    "Disallow: /**a**b",
    "Disallow: /;x=1",
    "nonsense",
)
_ODD_PATHS = (
    "/a%2Fb",
    "/a/b",
    "/a&b/c",
    "/a%26b",
    "/q?a=b",
    "/x$y",
    "/x",
    "/x$",
    "/admin",
    "/news/",
    "/news/index.html",
    "/",
    "/?u=https://b.example/",
    "/p?u=https%3A%2F%2Fb.example%2F",
    "/%C3%BC/x",
    "/print",
    "/ab",
    "/;x=1",
    "/a",
    "/goss",
)


def odd_file(dice: random.Random) -> str:
    base = (made(dice) or b"User-agent: *\n").decode() if dice.random() < 0.5 else "User-agent: *\n"
    lines = lines_of(base[:2_000])
    for _ in range(dice.randrange(1, 8)):
        lines.insert(dice.randrange(len(lines) + 1), dice.choice(_ODD))
    return ("\ufeff" if dice.random() < 0.1 else "") + dice.choice(("\n", "\r\n", "\r")).join(lines)


def test_every_difference_from_protego_has_a_reason() -> None:
    dice, found, compared = random.Random(5), Counter[str](), 0
    for number in range(FILES):
        text = odd_file(dice) if number % 3 == 0 else (made(dice) or b"").decode()
        if len(text) > 20_000:
            continue
        rules, other = Rules.parse(text.encode(), AGENT), Protego.parse(text)
        paths = [path(dice).replace("*", dice.choice(("x", "/a/", "b=1"))).rstrip("$") for _ in range(6)]
        for each in (*paths, *dice.sample(_ODD_PATHS, 6)):
            url = canonical(SITE + (each if each.startswith("/") else "/" + each))
            if url is None:
                continue
            compared += 1
            if rules.allows(url) != other.can_fetch(url, AGENT):
                why = reason_of(text, url)
                assert why is not None, (text, url)
                found[why] += 1
    assert compared > 10 * FILES
    assert sum(found.values()) < compared / 10
    assert len(found) >= 5, found


@pytest.mark.parametrize("name", REASONS)
def test_each_reason_has_an_example_that_no_other_reason_explains(name: str) -> None:
    text, where = REASONS[name].example
    url = SITE + where
    wanted = ours(text, url)
    assert theirs(text, url) != wanted, "no difference any more"
    assert [r for r, each in REASONS.items() if theirs(each.file(text), each.url(url)) == wanted] == [name]
