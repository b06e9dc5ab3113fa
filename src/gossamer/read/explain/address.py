"""The steps from a given URL to its canonical form, and whether the settings accept that form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ada_url import normalize_url

from gossamer import urls
from gossamer.base.model import Counted
from gossamer.config.settings import SeederSettings
from gossamer.read.explain.answers import Rewrite, ScopeVerdict
from gossamer.urls.patterns import found_in

FOLLOWED: Final = {
    "links": "Links to it are followed.",
    "sitemaps": "Links to it are not followed, by seeder.follow: it is requested if a sitemap lists it.",
    "none": "Links to it are not followed, by seeder.follow: it is requested if it is a seed.",
}
_NOT_FETCHED = "links to it are counted, and it is never requested as a page"


@dataclass(frozen=True, slots=True)
class Address:
    """A URL, its canonical form, and the steps between them."""

    given: str
    canonical: str | None
    """None if it is not a URL of a page."""
    steps: tuple[Rewrite, ...]
    """Only the steps that changed something."""


def address_of(given: str, settings: SeederSettings, scope: urls.Scope) -> Address:
    """White space around the URL is removed silently: it is not a step."""
    text = typed = given.strip()
    if "://" not in text and "@" not in text.partition("/")[0]:
        text = f"https://{text}"
    if text.partition("://")[2].startswith("/"):  # a path: the URL standard would read its first segment as a host
        return Address(given, None, ())
    try:
        standard: str | None = normalize_url(text)
    except ValueError:
        standard = None
    plain = urls.canonical(text)
    uniform = urls.canonical(text, form=scope.form)
    without = urls.canonical(text, None, settings.session_ids, False, scope.form)
    bare = urls.canonical(text, None, settings.session_ids, settings.www, scope.form)
    whole = scope.canonical(text)
    forms = [
        ("scheme added", typed, text),
        ("normalized by the URL standard", text, standard),
        ("fragment, user information or empty query removed", standard, plain),
        ("percent-encodings in one spelling", plain, uniform),
        ("session parameters removed (seeder.session_ids)", uniform, without),
        ("`www.` removed (seeder.www)", without, bare),
        ("rewritten (seeder.transform)", bare, whole),
    ]
    steps = tuple(
        Rewrite(what=what, before=a, after=b) for what, a, b in forms if a is not None and b is not None and a != b
    )
    return Address(given, whole, steps)


def scope_verdict(url: str, settings: SeederSettings, scope: urls.Scope) -> ScopeVerdict:
    """Whether a link to this canonical URL becomes a page, by URL and settings alone."""
    kind, host = scope.classes.of(url), urls.host(url)
    if len(url.encode()) > settings.url_length:
        why, words = "too_long", f"It is longer than seeder.url_length = {settings.url_length}: {_NOT_FETCHED}."
    elif not kind.page:
        word = Counted(int(kind)).name.lower()
        why, words = word, f"Its extension (.{urls.extension(url)}) is of class {word}: {_NOT_FETCHED}."
    elif not scope.accepts(host):
        domains = ", ".join(settings.domains[:5]) + (", …" if len(settings.domains) > 5 else "")
        why, words = "out_of_scope", f"{host} is not in seeder.domains ({domains}): {_NOT_FETCHED}."
    elif not scope.accepts_port(url):
        why, words = "out_of_scope", f"Its port is not in seeder.ports: {_NOT_FETCHED}, unless it is a seed."
    elif scope.rejects(url):
        why, words = "rejected", f"{_rejecting(url, settings)}: {_NOT_FETCHED}, unless it is a seed."
    elif scope.entraps(url):
        words = f"Its path or query repeats itself more often than seeder.repeats = {settings.repeats}: {_NOT_FETCHED}."
        why = "trap"
    else:
        words = FOLLOWED[settings.follow]
        return {"accepted": True, "why": None, "class": kind.name.lower(), "words": words}
    return {"accepted": False, "why": why, "class": kind.name.lower(), "words": words}


def _rejecting(url: str, settings: SeederSettings) -> str:
    pattern = next((p for p in settings.reject if found_in((p,))(url)), None)
    return (
        "No pattern of seeder.accept matches it"
        if pattern is None
        else f"The pattern {pattern} of seeder.reject matches it"
    )
