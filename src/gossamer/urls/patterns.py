"""What in a URL decides about it: patterns of the settings, which accept, reject or rewrite it; and repeated parts.

A pattern without capital letters ignores case: it is searched in the URL in lower case. A pattern with a capital letter
is searched in the URL as it is. (Refused: `re.IGNORECASE`. It disables every fast search of `re` and makes the default
patterns of `reject` five times slower.)

Cost of the default patterns of `reject`: 0.45 µs for a link without a query, 1.1 µs for a link with a query; a third of
that for all links of a page together (`found_among`).

Repeated parts are typical of endless link structures (A.6.2): a/b/c/c/c, ?x=1&x=1&x=1. A relative link that should have
begun at the root adds a segment at each step; so does a program that appends to its own query. A path segment, or a
parameter with its value, may occur at most `most` times in a URL. Numeric path segments are exempt, because dates
repeat them (/2011/11/11/). BUbiNG has the same rule for paths; CobWeb removes repeated parts, which may give a
different page. Cost: 0.1 µs for a link with a short path, 0.2 µs for a link in a folder that was seen before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Final

_ESCAPES: Final = re.compile(r"\\.|\(\?P")
_FIRST: Final = re.compile(r"\\.|\[\^?\]?[^\]]*\]|[^(]")
_ROUNDS: Final = 5
_ONE_PART: Final = 3
"""Number of slashes in a URL whose path has one segment."""
_MOST_FOLDERS: Final = 1 << 14

_PUNCTUATION: Final = r"!-/:-@\[-`{-~"
_LINE_TOKEN: Final = re.compile(
    r"\[(?P<negated>\^?)(?P<members>\]?(?:\\.|[^\\\]])*)\]"
    rf"|\\[wdS{_PUNCTUATION}]|\(\?:|\((?!\?)|[*+?}}](?!\+)|[^\x00-\x1f\\(\[*+?}}]",
    re.ASCII | re.DOTALL,
)
"""A part of a pattern that matches no line feed, a class of characters excepted."""
_LINE_MEMBERS: Final = re.compile(rf"(?:\\[wdS{_PUNCTUATION}]|[^\x00-\x1f\\])*", re.ASCII)
"""The members of a class of characters that has no line feed."""

Found = Callable[[str], bool]
FoundAmong = Callable[[Collection[str]], set[str]]
Search = Callable[..., re.Match[str] | None]


@lru_cache(maxsize=64)
def found_in(patterns: tuple[str, ...]) -> Found:
    """A function: whether any of the patterns occurs in a URL."""
    small = _searches([p for p in patterns if not _has_capitals(p)])
    exact = _searches([p for p in patterns if _has_capitals(p)])

    if len(small) == 2 and not exact:
        first, second = small  # the default patterns: without a loop it takes 0.1 µs less
        return lambda url: (first(lower := url.lower()) or second(lower)) is not None

    def found(url: str) -> bool:
        lower = url.lower()
        for search in small:
            if search(lower):
                return True
        return any(search(url) for search in exact) if exact else False

    return found


@lru_cache(maxsize=64)
def found_among(patterns: tuple[str, ...]) -> FoundAmong:
    """A function: the URLs, of several, in which any of the patterns occurs.

    Most patterns are searched in all URLs at once, one to a line. A pattern that could reach into the next line is
    searched in each URL.

    Invariant: `found_among_agrees_with_found_in`.
    """
    in_lines, alone = dict[str, str](), list[str]()
    for pattern in patterns:
        if (line := within_a_line(pattern)) is None:
            alone.append(pattern)
        else:
            in_lines[pattern] = line
    small = _searches([line for p, line in in_lines.items() if not _has_capitals(p)], re.MULTILINE)
    exact = _searches([line for p, line in in_lines.items() if _has_capitals(p)], re.MULTILINE)
    others = found_in(tuple(alone)) if alone else None

    def among(urls: Collection[str]) -> set[str]:
        lines = "\n".join(urls)
        lower = lines.lower()
        found = {line for search in small for line in _lines_with(search, lower)}
        if found:
            found = {url for url in urls if url.lower() in found}
        for search in exact:
            found.update(_lines_with(search, lines))
        if others is not None:
            found.update(filter(others, urls))
        return found

    return among


def within_a_line(pattern: str) -> str | None:
    """A pattern that occurs in the same URLs, and looks at one line only: negated classes leave line feeds out. None if
    that cannot be said for sure, as of what looks ahead, or does not take back what it took."""
    parts, at = list[str](), 0
    while at < len(pattern):
        token = _LINE_TOKEN.match(pattern, at)
        if token is None or (token["negated"] == "" and not _LINE_MEMBERS.fullmatch(token["members"])):
            return None
        if token["negated"]:
            members = token["members"]
            escape = "\\" if members.startswith("]") else ""
            parts.append(rf"[^\n{escape}{members}]")
        else:
            parts.append(token[0])
        at = token.end()
    return "".join(parts)


def _lines_with(search: Search, lines: str) -> Iterator[str]:
    """The lines in which something is found."""
    at = 0
    while at < len(lines) and (found := search(lines, at)):
        end = lines.find("\n", found.end())
        if end < 0:
            end = len(lines)
        yield lines[lines.rfind("\n", 0, found.start()) + 1 : end]
        at = end + 1


def _has_capitals(pattern: str) -> bool:
    """Whether a pattern has capital letters. Escapes like \\W and (?P do not count."""
    rest = _ESCAPES.sub("", pattern)
    return rest != rest.lower()


def _searches(patterns: Sequence[str], flags: int = 0) -> list[Search]:
    """Combine patterns that begin alike into one search: `re` first scans for a common first character.

    Patterns with groups or flags are not combined: they might change their meaning after other patterns.
    """
    alike: dict[str, list[str]] = {}
    for number, pattern in enumerate(patterns):
        compiled, first = re.compile(pattern), _FIRST.match(pattern)
        together = first is not None and not compiled.groups and compiled.flags == re.UNICODE
        alike.setdefault(f"like {first[0]}" if first and together else str(number), []).append(pattern)
    return [re.compile(_joined(ps) if len(ps) > 1 else ps[0], flags).search for ps in alike.values()]


def _joined(patterns: Sequence[str]) -> str:
    """One pattern for several: what all begin with is matched once, and the rest only where it can begin. A URL of 230
    question marks took 93 µs, and takes 6."""
    pieces = [_pieces(pattern) for pattern in patterns]
    if any("|" in each for each in pieces):
        return "|".join(f"(?:{p})" for p in patterns)
    common = list(takewhile(lambda same: len(set(same)) == 1, zip(*pieces, strict=False)))
    rests = ["".join(each[len(common) :]) for each in pieces]
    letters = _first_letters("|".join(rests))
    ahead = f"(?=[{''.join(map(re.escape, sorted(letters)))}])" if letters else ""
    return "".join(same[0] for same in common) + ahead + f"(?:{'|'.join(rests)})"


def _pieces(pattern: str) -> list[str]:
    """The parts of a pattern, each with its quantifier: characters, classes, groups, and "|" between alternatives."""
    pieces, depth = list[str](), 0
    for token in _TOKEN.findall(pattern):
        if depth or (pieces and token[0] in "*+?{"):
            pieces[-1] += token
        else:
            pieces.append(token)
        depth += (token == "(") - (token == ")")
    return pieces


def _first_letters(pattern: str) -> set[str] | None:
    """The characters with which the texts that a pattern matches begin; None if that is not known."""
    letters, known = set[str](), False
    for piece in [*_pieces(pattern), "|"]:
        if piece == "|":
            if not known:
                return None
            known = False
        elif not known:
            whole = _OPTIONAL.fullmatch(piece)
            plain = whole["plain"] if whole else piece
            first = _first_letters(plain[3:-1]) if plain.startswith("(?:") and plain.endswith(")") else None
            if first is None and not (_LITERAL.fullmatch(plain)):
                return None
            letters |= first or {plain[-1]}
            known = whole is None
    return letters


_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|\{[0-9,]*\}|.", re.DOTALL)
_OPTIONAL: Final = re.compile(r"(?P<plain>.+)[?*][?+]?", re.DOTALL)
_LITERAL: Final = re.compile(r"\\[^\w\s]|[\w/&=;:,@~!'\"<>-]", re.ASCII)


def rule(text: str) -> tuple[re.Pattern[str], str]:
    """Parse "pattern => replacement"; raises ValueError or re.error with the reason if it is invalid."""
    pattern, arrow, replacement = (part.strip() for part in text.partition("=>"))
    if not (arrow and pattern):
        raise ValueError("not of the form: regular expression => replacement")
    compiled = re.compile(pattern)
    compiled.sub(replacement, "")
    return compiled, replacement


class Rewrites:
    """Rewriting rules, applied in order and repeatedly until nothing changes.

    Invariant: `scope_canonical_is_idempotent` covers rewriting. If a URL still changes after five rounds, it is not
    rewritten at all.
    """

    __slots__ = ("_canonical", "_rules")

    def __init__(self, rules: tuple[str, ...], canonical: Callable[[str], str | None]) -> None:
        """`canonical` gives the canonical form of a rewritten URL."""
        self._rules = [rule(text) for text in rules]
        self._canonical = canonical

    def __call__(self, url: str) -> str | None:
        """The rewritten form of a canonical URL; None if the rules make it invalid."""
        before = url
        for _ in range(_ROUNDS + 1):
            now = self._once(before)
            if now is None or now == before:
                return now
            before = now
        return url

    def _once(self, url: str) -> str | None:
        made = url
        for pattern, replacement in self._rules:
            made = pattern.sub(replacement, made)
        return url if made == url else self._canonical(made)


@lru_cache(maxsize=64)
def repeating_among(most: int) -> FoundAmong:
    """A function: the URLs, of several in canonical form, that repeat something more than `most` times."""
    repeats, shortest = repeating(most), _ONE_PART + most

    def among(urls: Collection[str]) -> set[str]:
        return {url for url in urls if (url.count("/") >= shortest or "&" in url) and repeats(url)}

    return among if most else lambda urls: set()


@lru_cache(maxsize=64)
def repeating(most: int) -> Found:
    """A function: whether a canonical URL repeats something more than `most` times. 0 disables the check."""
    if not most:
        return lambda url: False
    shortest = _ONE_PART + most
    calm = set[str]()  # folders without a repeated segment: no URL directly in them has a segment three times

    def repeats(url: str) -> bool:
        if url.count("/") >= shortest and (folder := url[: url.rfind("/")]) not in calm:
            parts = url.partition("?")[0].split("/")[3:]
            if len(parts) == len(set(parts)) and most > 1:
                if len(calm) >= _MOST_FOLDERS:
                    calm.clear()
                calm.add(folder)
            elif _more_than(most, [part for part in parts if not part.isdigit()]):
                return True
        return "&" in url and _more_than(most, url.partition("?")[2].split("&"))

    return repeats


def _more_than(most: int, parts: Sequence[str]) -> bool:
    if len(parts) - len(set(parts)) < most:
        return False
    return any(n > most for part, n in Counter(parts).items() if part)
