"""Seeds from the command line and from files. Lines that are not URLs are reported with file and line, and skipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gossamer import urls
from gossamer.base.errors import UsageError
from gossamer.config.settings import SeederSettings


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds that were read."""

    urls: tuple[str, ...]
    """Canonical, except that a given `www.` is kept; in order, each page once."""
    complaints: tuple[str, ...]
    """Lines that are not accepted: "FILE, line N: TEXT", then the reason."""


def read_seeds(given: Iterable[str], files: Iterable[Path], settings: SeederSettings) -> Seeds:
    """Reads seeds: empty lines and lines that begin with # are skipped, a name without a scheme gets https. The
    patterns of the settings rewrite seeds, as they rewrite links, but never reject them."""
    scope = urls.Scope.of(settings)
    found: dict[str, str] = {}
    complaints = []
    for place, text in _lines(given, files):
        url = scope.canonical(_with_scheme(text))
        if url is None:
            complaints.append(f"{place}: {text[:100]!r} is not an http or https URL")
        elif urls.port_text(url) == "0":
            complaints.append(f"{place}: {url[:100]!r} has port 0, on which no server can listen")
        elif len(url) > settings.url_length:
            complaints.append(f"{place}: {url[:100]!r}... is longer than seeder.url_length = {settings.url_length}")
        elif not scope.classes.of(url).page:
            complaints.append(f"{place}: {url[:100]!r} is not a page by its extension; only pages are requested")
        else:
            found.setdefault(url, _as_given(_with_scheme(text), url, scope))
    return Seeds(tuple(found.values()), tuple(complaints))


def _as_given(text: str, url: str, scope: urls.Scope) -> str:
    """The canonical URL with the `www.` of the seed, if the canonical form dropped it."""
    spelled = urls.spelled(url, urls.has_www(text) and not urls.has_www(url))
    return spelled if scope.canonical(spelled) == url else url


def _with_scheme(text: str) -> str:
    """Adds https:// to a bare name; a mail address (with or without mailto:) is not a name."""
    return text if "://" in text or "@" in text.partition("/")[0] else f"https://{text}"


def _lines(given: Iterable[str], files: Iterable[Path]) -> Iterable[tuple[str, str]]:
    for text in given:
        yield "seed", text.strip()
    for path in files:
        try:
            lines = path.read_text("utf-8-sig", errors="replace").splitlines()
        except OSError as error:
            raise UsageError(f"--seeds {path}: {error.strerror}", "Give a file with one URL per line.") from error
        for number, line in enumerate(lines, 1):
            if (text := line.strip()) and not text.startswith("#"):
                yield f"{path}, line {number}", text
