"""A URL as it was given, step by step to the form that stands for the page, and what the settings say to that form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ada_url import normalize_url

from gossamer import urls
from gossamer.base.model import Counted
from gossamer.config.settings import SeederSettings
from gossamer.urls.patterns import found_in

Said = dict[str, Any]

_NOT_FETCHED = "is counted where it is linked, and never asked for as a page"


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Address:
    given: str
    canonical: str | None
    steps: tuple[Step, ...]
    """Only those that changed something."""


def address_of(given: str, settings: SeederSettings, scope: urls.Scope) -> Address:
    """White space around it is no part of it, and not worth a word."""
    text = typed = given.strip()
    if "://" not in text and "@" not in text.partition("/")[0]:
        text = f"https://{text}"
    if text.partition("://")[2].startswith("/"):  # a path: the standard would take its first part for a host
        return Address(given, None, ())
    try:
        standard: str | None = normalize_url(text)
    except ValueError:
        standard = None
    plain = urls.canonical(text)
    without = urls.canonical(text, None, settings.session_ids)
    bare = urls.canonical(text, None, settings.session_ids, settings.www)
    whole = scope.canonical(text)
    forms = [
        ("a scheme was put before it", typed, text),
        ("brought to the standard form", text, standard),
        ("fragment, user information or empty query left out", standard, plain),
        ("session parameters removed (seeder.session_ids)", plain, without),
        ("`www.` left out (seeder.www)", without, bare),
        ("rewritten (seeder.transform)", bare, whole),
    ]
    steps = tuple(Step(what, a, b) for what, a, b in forms if a is not None and b is not None and a != b)
    return Address(given, whole, steps)


def scope_verdict(url: str, settings: SeederSettings, scope: urls.Scope) -> Said:
    """Whether a link to this canonical URL becomes a page, by URL and settings alone: `accepted`, `why`, `words`."""
    kind, host = scope.classes.of(url), urls.host(url)
    if len(url.encode()) > settings.url_length:
        why, words = "too_long", f"Longer than seeder.url_length = {settings.url_length}: it {_NOT_FETCHED}."
    elif not kind.page:
        word = Counted(int(kind)).name.lower()
        why, words = word, f"By its extension (.{urls.extension(url)}) of the class {word}: it {_NOT_FETCHED}."
    elif not scope.accepts(host):
        domains = ", ".join(settings.domains[:5]) + (", …" if len(settings.domains) > 5 else "")
        why, words = "out_of_scope", f"{host} is not below seeder.domains ({domains}): it {_NOT_FETCHED}."
    elif not scope.accepts_port(url):
        why, words = "out_of_scope", f"Its port is not one of seeder.ports: it {_NOT_FETCHED}, unless it is a seed."
    elif scope.rejects(url):
        why, words = "rejected", f"{_rejecting(url, settings)}: it {_NOT_FETCHED}, unless it is a seed."
    elif scope.entraps(url):
        words = f"It says the same thing more often than seeder.repeats = {settings.repeats}: it {_NOT_FETCHED}."
        why = "trap"
    else:
        return {"accepted": True, "why": None, "class": kind.name.lower(), "words": "Links to it are followed."}
    return {"accepted": False, "why": why, "class": kind.name.lower(), "words": words}


def _rejecting(url: str, settings: SeederSettings) -> str:
    pattern = next((p for p in settings.reject if found_in((p,))(url)), None)
    return "No pattern of seeder.accept is found in it" if pattern is None else f"seeder.reject has {pattern}"
