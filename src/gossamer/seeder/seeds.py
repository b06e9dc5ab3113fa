"""Seeds from the command line and from files. A line that is no URL is named, with file and line, and skipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gossamer import urls
from gossamer.base.errors import UsageError
from gossamer.config.settings import SeederSettings


@dataclass(frozen=True, slots=True)
class Seeds:
    urls: tuple[str, ...]
    """Canonical, but for the `www.` that they were given with; in order, each page once."""
    complaints: tuple[str, ...]
    """Lines that are no URL: "FILE, line N: TEXT: why"."""


def read_seeds(given: Iterable[str], files: Iterable[Path], settings: SeederSettings) -> Seeds:
    """Empty lines and lines that begin with # are passed over; a name without a scheme is taken as https.

    The patterns of the settings rewrite seeds, as they do links, but never reject them.
    """
    scope = urls.Scope.of(settings)
    found: dict[str, str] = {}
    complaints = []
    for place, text in _lines(given, files):
        url = scope.canonical(_with_scheme(text))
        if url is None:
            complaints.append(f"{place}: {text[:100]!r} is no http or https URL")
        elif urls.port_text(url) == "0":
            complaints.append(f"{place}: {url[:100]!r} names port 0, at which nobody listens")
        elif len(url) > settings.url_length:
            complaints.append(f"{place}: {url[:100]!r}... is longer than seeder.url_length = {settings.url_length}")
        elif not scope.classes.of(url).page:
            complaints.append(f"{place}: {url[:100]!r} is not a page by its extension; only pages are asked for")
        else:
            found.setdefault(url, _as_given(_with_scheme(text), url, scope))
    return Seeds(tuple(found.values()), tuple(complaints))


def _as_given(text: str, url: str, scope: urls.Scope) -> str:
    """With its `www.` again, if it had one that does not matter."""
    spelled = urls.spelled(url, urls.has_www(text) and not urls.has_www(url))
    return spelled if scope.canonical(spelled) == url else url


def _with_scheme(text: str) -> str:
    """A name gets one; a mail address (mailto: or not) is no name."""
    return text if "://" in text or "@" in text.partition("/")[0] else f"https://{text}"


def _lines(given: Iterable[str], files: Iterable[Path]) -> Iterable[tuple[str, str]]:
    for text in given:
        yield "--seed", text.strip()
    for path in files:
        try:
            lines = path.read_text("utf-8-sig", errors="replace").splitlines()
        except OSError as error:
            raise UsageError(f"--seeds {path}: {error.strerror}", "Name a file of URLs, one a line.") from error
        for number, line in enumerate(lines, 1):
            if (text := line.strip()) and not text.startswith("#"):
                yield f"{path}, line {number}", text
