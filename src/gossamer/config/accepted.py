"""What each setting accepts beyond its type: ranges of numbers, closed lists of words, and the form of texts.

Each check takes a value and returns nothing, or raises `Wrong`, which says what is wrong, and in which part of a list
or table, so that the message can name the line of that part.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Any, Final
from zoneinfo import ZoneInfo

from gossamer.base.units import Duration, Size, Speed
from gossamer.config.quiet import span_of

RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "collection.max_pages": (1, 2**32 - 2),
    "collection.max_sites": (1, 2**32 - 2),
    "collection.max_memory": (0, 2**62),
    "collection.seal_visits": (1, 2**32 - 2),
    "collection.seal_every": (1, 7 * 86_400),
    "collection.warc_size": (1_000_000, 10**12),
    "collection.warc_every": (0, 3_650 * 86_400),
    "seeder.pages_per_site": (1, 2**32 - 2),
    "seeder.sites_per_domain": (1, 2**32 - 2),
    "seeder.pages_per_domain": (1, 2**32 - 2),
    "seeder.depth_static": (0, 254),
    "seeder.depth_dynamic": (0, 254),
    "seeder.url_length": (16, 65_535),
    "seeder.repeats": (0, 1_000),
    "seeder.url_form": (1, 2),
    "seeder.sitemap_every": (3_600, 365 * 86_400),
    "seeder.sitemaps_per_site": (1, 1_000),
    "manager.weights": (0, 1_000),
    "manager.boosts": (0, 1),
    "manager.alpha": (0, 100),
    "manager.gamma": (0, 100),
    "manager.rank_every": (1, 2**32 - 2),
    "manager.new_share": (0, 1),
    "manager.min_period": (0, 36_500 * 86_400),
    "manager.change_period": (1, 36_500 * 86_400),
    "manager.batch_size": (1, 2**32 - 2),
    "manager.batch_per_site": (1, 2**32 - 2),
    "harvester.workers": (0, 1_024),
    "harvester.connections": (1, 100_000),
    "harvester.least_connections": (0, 100_000),
    "harvester.wait": (0, 30 * 86_400),
    "harvester.wait_large": (0, 30 * 86_400),
    "harvester.large_site": (0, 2**32 - 2),
    "harvester.per_turn": (1, 65_535),
    "harvester.pause": (0, 86_400),
    "harvester.address_wait": (0, 86_400),
    "harvester.domain_wait": (0, 86_400),
    "harvester.wait_factor": (0, 10_000),
    "harvester.max_delay": (0, 30 * 86_400),
    "harvester.name_timeout": (0.001, 3_600),
    "harvester.lookups": (1, 10_000),
    "harvester.connect_timeout": (0.001, 3_600),
    "harvester.first_byte_timeout": (0.001, 3_600),
    "harvester.whole_timeout": (0.001, 86_400),
    "harvester.lowest_speed": (0, 10**9),
    "harvester.slow_time": (1, 3_600),
    "harvester.max_download": (1, 2**31 - 1),
    "harvester.max_sitemap": (1, 2**31 - 1),
    "harvester.retry": (0, 365 * 86_400),
    "harvester.tries": (1, 255),
    "harvester.robots_valid": (0, 86_400),
    "harvester.robots_unreachable": (86_400, 36_500 * 86_400),
    "harvester.bandwidth": (0, 10**12),
    "harvester.bandwidth_depth": (1, 1_000),
    "harvester.bandwidth_patience": (0, 3_600),
    "gatherer.timeout": (0.1, 86_400),
    "gatherer.max_stored": (0, 2**31 - 1),
    "gatherer.max_decoded": (1, 2**31 - 1),
    "gatherer.max_links": (0, 65_535),
    "gatherer.anchor_length": (0, 65_535),
    "plugins.timeout": (0.1, 3_600),
    "plugins.memory": (100_000_000, 10**12),
}
"""Lowest and highest accepted number, for every numeric setting. For a table: of each number in it."""

LEAST_WEIGHT: Final = 1e-6
"""A weight is 0 or at least this: smaller weights are lost in the rounding of single precision."""
PRESET_VALUE: Final = -1.0
"""The value that means: use the value of the preset."""
RETIRED: Final = ("manager.beta", "manager.index_value")
"""Settings of earlier versions that did not change the order of pages: they are accepted in files, and ignored."""
OF_PRESET: Final = ("manager.alpha", "manager.gamma", "manager.min_period")
"""Settings that the preset may determine."""

# fmt: off
SCORES: Final = (
    "completed", "opic", "pagerank", "indegree", "hub", "authority", "siterank", "linkrank", "depth", "static",
    "pending", "boost", "plugin",
)
"""Scores that can have a weight."""

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "manager.policy": (
        "value", "completed-pagerank", "breadth-first", "shallow-first", "backlink-count", "batch-pagerank",
        "partial-pagerank", "opic", "opic-kept", "larger-sites-first", "windowed-rankmass", "fractional-pagerank",
        "random-frontier", "mercator", "historical-pagerank-parent", "plugin",
    ),
    "manager.preset": ("research", "archive", "news", "mirror", "general"),
    "manager.revisit": (
        "expected", "profit", "outdated", "uniform", "proportional", "freshness", "age", "harmonic", "webfountain",
        "adaptive", "fronts", "fronts-evenly", "quality", "random",
    ),
    "manager.weights": SCORES,
    "seeder.follow": ("links", "sitemaps", "none"),
    "harvester.families": ("ipv4", "ipv6"),
    "harvester.pace": ("polite", "gentle"),
}
# fmt: on
"""Closed lists of accepted words: for a text, for the texts in a list, or for the names in a table."""

PATTERNS: Final = ("seeder.accept", "seeder.reject", "seeder.transform")
"""Lists of regular expressions. `--set` does not split them at commas, because a comma may be part of a pattern."""

CLASSES: Final = ("static", "dynamic", "images", "audio", "video", "documents", "software", "source", "archives")
"""The lists of extensions in the section `seeder`."""


class Wrong(ValueError):
    """A value that a setting does not accept. `part` is the text in a list, or the name in a table, that is at fault;
    "" is the value as a whole."""

    def __init__(self, message: str, part: str = "") -> None:
        super().__init__(message)
        self.part = part


def check(key: str, value: Any) -> None:
    """Checks a value of the right type. Raises `Wrong`, which says what is accepted instead."""
    if key in RANGES and isinstance(value, dict):
        for name, number in value.items():
            _in_range(key, number, name)
    elif key in RANGES and not (key in OF_PRESET and value == PRESET_VALUE):
        _in_range(key, value)
    if key in WORDS:
        for word in (value,) if isinstance(value, str) else value:
            _known_word(key, word)
    if key in _CHECKS:
        _CHECKS[key](value)


def check_together(section: str, values: Any) -> None:
    """Checks the settings of one section against each other; `values` is the section."""
    if section == "seeder":
        seen: dict[str, str] = {}
        for name in CLASSES:
            for extension in getattr(values, name):
                other = seen.setdefault(extension, name)
                if other != name:
                    raise Wrong(f"{extension!r} is in {other} and in {name}; an extension has one class", extension)
        if values.follow == "sitemaps" and not values.sitemaps:
            raise Wrong('follow = "sitemaps" needs sitemaps = true', "follow")
    if section == "gatherer":
        for tag in values.keep:
            if tag in values.drop:
                raise Wrong(f"{tag!r} is in drop and in keep", tag)


def limits(key: str, kind: Any = float) -> str:
    """What a setting accepts, in words; "" if it accepts every value of its type."""
    words = ", ".join(WORDS.get(key, ()))
    if key not in RANGES:
        return f"one of {words}" if words else ""
    numbers = _range(key, kind)
    if kind not in (int, float, Duration, Size, Speed):
        numbers = f"each {numbers}"
    return f"names {words}, {numbers}" if words else numbers


def _range(key: str, kind: Any) -> str:
    low, high = (_limit(limit, kind) for limit in RANGES[key])
    if key == "manager.weights":
        low = f"0, or {LEAST_WEIGHT:.6f}"
    return f"{low} to {high}" + (f", or {PRESET_VALUE:g}" if key in OF_PRESET else "")


def _limit(limit: float, kind: Any) -> str:
    """The limit, written as a value of this type."""
    whole = int(limit) if limit == int(limit) else limit
    return str(kind(whole)) if kind in (Duration, Size, Speed) else str(whole)


def _in_range(key: str, value: float, part: str = "") -> None:
    low, high = RANGES[key]
    if not low <= value <= high:
        prefix = f"{part}: " if part else ""
        raise Wrong(f"{prefix}{value} is out of range; accepted: {_range(key, type(value))}", part)


def _known_word(key: str, word: str) -> None:
    if word not in WORDS[key]:
        near = get_close_matches(word, WORDS[key], 1)
        mean = f"; did you mean {near[0]}?" if near else ""
        raise Wrong(f"{word!r} is not one of {', '.join(WORDS[key])}{mean}", word)


def _each(rule: Callable[[str], None]) -> Callable[[Iterable[str]], None]:
    def checked(texts: Iterable[str]) -> None:
        for text in texts:
            try:
                rule(text)
            except re.error as error:
                raise Wrong(f"{text!r} is not a regular expression: {error}", text) from error
            except ValueError as error:
                raise Wrong(f"{text!r} {error}", text) from error

    return checked


def _one(rule: Callable[[str], None]) -> Callable[[str], None]:
    return lambda text: _each(rule)([text])


def _like(form: str, wanted: str) -> Callable[[str], None]:
    matches = re.compile(form).fullmatch

    def checked(text: str) -> None:
        if not matches(text):
            raise ValueError(f"is not accepted: {wanted}")

    return checked


def _pattern(text: str) -> None:
    if not text:
        raise ValueError("is an empty regular expression, which matches every URL")
    re.compile(text)


def _rewrite(text: str) -> None:
    pattern, arrow, replacement = (part.strip() for part in text.partition("=>"))
    if not (arrow and pattern):
        raise ValueError("is not accepted: write it as 'regular expression => replacement'")
    try:
        re.compile(pattern).sub(replacement, "")
    except IndexError as error:
        raise ValueError(f"has an invalid replacement: {error}") from error


def _network(text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(f"is neither an address nor a network like 192.0.2.0/24: {error}") from error


def _domain(text: str) -> None:
    if text != "*" and not re.fullmatch(r"\.?[^\s/:@*?#]+|\[[0-9a-fA-F:.]+\]", text):
        raise ValueError('is not a domain: write a name like "example.org", a suffix like "cl", an address, or "*"')


def _port(text: str) -> None:
    if text != "*" and not (re.fullmatch(r"[1-9][0-9]{0,4}", text) and int(text) < 65_536):
        raise ValueError('is not a port: write a number from 1 to 65535, or "*" for all')


def _weights(weights: Mapping[str, float]) -> None:
    for name, weight in weights.items():
        if 0 < weight < LEAST_WEIGHT:
            raise Wrong(f"{name}: {weight} is out of range; accepted: {_range('manager.weights', float)}", name)
    if not any(weights.values()):
        raise Wrong("no score has a weight above 0; give one to at least one score, as in { opic = 1.0 }")


def endpoint(text: str) -> tuple[str, int] | None:
    """Address (without brackets) and port (0 if there is none) of "127.0.0.1:8080", "[::1]:8080", "127.0.0.1" or "::1";
    None if the text is not an address."""
    host, port = text, "0"
    if text.count(":") == 1 or "]:" in text:
        host, _, port = text.rpartition(":")
    if host[:1] == "[" and host[-1:] == "]":
        host = host[1:-1]
        if ":" not in host:
            return None
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        return None
    return str(address), int(port)


def _resolve(targets: Mapping[str, str]) -> None:
    for pattern, target in targets.items():
        if target != "none" and endpoint(target) is None:
            cure = "write it like 127.0.0.1:8080"
            raise Wrong(f"{pattern!r} leads to {target!r}, which is not an address with a port: {cure}", pattern)


def _server(text: str) -> None:
    if endpoint(text) is None:
        raise ValueError(
            "is not the address of a name server: write it like 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53"
        )


def _families(words: Sequence[str]) -> None:
    if not words or len(set(words)) < len(words):
        raise Wrong('name at least one family, and each only once, as in ["ipv4", "ipv6"]')


LEAST_SPEED: Final = 1_000
"""Bytes per second. With less, not even the headers of an answer would arrive in time."""
_SPAN: Final = re.compile(r"([01]?[0-9]|2[0-3])-([01]?[0-9]|2[0-4])")


def hours_of(span: str) -> list[int]:
    """The hours of a span like "08-18", or "22-06", which continues after midnight. ValueError if it is not a span."""
    match = _SPAN.fullmatch(span.strip())
    first, last = (int(match[1]), int(match[2])) if match else (0, 0)
    if first == last or (first, last) == (0, 0):
        raise ValueError(
            f"{span!r} is not a span of hours: write its first hour and the hour at which it ends, like 08-18"
        )
    return list(range(first, last)) if first < last else [*range(first, 24), *range(last)]


def _speed(text: str | Speed) -> None:
    if 0 < Speed.parse(text) < LEAST_SPEED:
        raise ValueError(f"{text} is too slow: write at least {Speed(LEAST_SPEED)}, or 0 for no limit")


def _by_hour(speeds: Mapping[str, str]) -> None:
    taken: dict[int, str] = {}
    for span, speed in speeds.items():
        try:
            _speed(speed)
            hours = hours_of(span)
        except ValueError as error:
            raise Wrong(str(error), span) from error
        for hour in hours:
            other = taken.setdefault(hour, span)
            if other != span:
                raise Wrong(f"{span!r} and {other!r} both contain the hour from {hour}; an hour has one speed", span)


def _zone(name: str) -> None:
    if name:
        try:
            ZoneInfo(name)
        except (KeyError, OSError, ValueError) as error:
            raise Wrong(f"{name!r} is not a time zone that this machine knows: write it like Europe/Rome") from error


def _quiet(spans: Sequence[str]) -> None:
    minutes: dict[object, set[int]] = {}
    for text in spans:
        try:
            span = span_of(text)
        except ValueError as error:
            raise Wrong(str(error), text) from error
        last = span.last if span.first < span.last else span.last + 1440
        minutes.setdefault(span.zone, set()).update(minute % 1440 for minute in range(span.first, last))
    if any(len(quiet) == 1440 for quiet in minutes.values()):
        raise Wrong("every minute of the day is quiet: nothing would ever be requested", spans[-1])


def _date(text: str) -> None:
    year = text if text.count("-") == 2 else f"2000-{text}"  # a leap year
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", year):
        raise ValueError('is not a date: write it like "2026-04-06", or "12-25" for every year')
    try:
        date.fromisoformat(year)
    except ValueError as error:
        raise ValueError(f"is not a date: {error}") from error


_PLUGIN: Final = _each(
    _like(
        r"[^\s:][^:]*\.py:[A-Za-z_][A-Za-z0-9_]*|[A-Za-z0-9][A-Za-z0-9_.-]*",
        'write a file and what to call in it, like "my.py:extract", or the name of an installed plug-in',
    )
)


def _one_plugin(names: Sequence[str]) -> None:
    _PLUGIN(names)
    if len(names) > 1:
        raise Wrong(f"{len(names)} are named, and one is accepted: combine them in one function", names[1])


_TAG: Final = r"[a-z][a-z0-9-]*"
_EXTENSIONS: Final = _each(_like(r"[a-z0-9_+~-]+", "write an extension in lower case without its dot, like html"))
_CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    "seeder.domains": _each(_domain),
    "seeder.ports": _each(_port),
    "seeder.session_ids": _each(
        _like(r"[^\s=&;/?#*]+\*?", "write the name of a parameter, or a prefix and *, like sess*")
    ),
    "seeder.accept": _each(_pattern),
    "seeder.reject": _each(_pattern),
    "seeder.transform": _each(_rewrite),
    **{f"seeder.{name}": _EXTENSIONS for name in CLASSES},
    "manager.weights": _weights,
    "manager.boosts": _each(_pattern),
    "harvester.contact": _one(_like(r"[ -~]*", "write a mail address or a URL, in ASCII")),
    "harvester.about": _one(_like(r"(?:https?://[!-'*-\[\]-~]+)?", "write a URL like https://example.org/crawler")),
    "harvester.agent": _one(_like(r"[A-Za-z0-9_.-]+", "write a name made of letters, digits, _ . and -")),
    "harvester.forbidden": _each(_network),
    "harvester.resolve": _resolve,
    "harvester.resolvers": _each(_server),
    "harvester.families": _families,
    "harvester.bandwidth": _speed,
    "harvester.bandwidth_by_hour": _by_hour,
    "harvester.quiet_hours": _quiet,
    "harvester.time_zone": _zone,
    "harvester.holidays": _each(_date),
    **{f"plugins.{name}": _PLUGIN for name in ("process", "filter", "report", "audit")},
    **{f"plugins.{name}": _one_plugin for name in ("score", "strategy")},
    "gatherer.links": _each(_like(rf"{_TAG} {_TAG}", 'write tag and attribute, like "a href"')),
    "gatherer.drop": _each(_like(_TAG, "write the name of a tag in lower case, like script")),
    "gatherer.keep": _each(_like(_TAG, "write the name of a tag in lower case, like strong")),
}
