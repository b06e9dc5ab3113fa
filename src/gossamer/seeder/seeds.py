"""Seeds from the command line and from files. A line that is no URL is named, with file and line, and skipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gossamer import urls
from gossamer.config.settings import SeederSettings
from gossamer.errors import UsageError


@dataclass(frozen=True, slots=True)
class Seeds:
    urls: tuple[str, ...]
    """Canonical, in order, each once."""
    complaints: tuple[str, ...]
    """Lines that are no URL: "FILE, line N: TEXT: why"."""


def read_seeds(given: Iterable[str], files: Iterable[Path], settings: SeederSettings) -> Seeds:
    """Empty lines and lines that begin with # are passed over; a name without a scheme is taken as https."""
    found: dict[str, None] = {}
    complaints = []
    for place, text in _lines(given, files):
        url = urls.canonical(_with_scheme(text), None, settings.session_ids)
        if url is None:
            complaints.append(f"{place}: {text[:100]!r} is no http or https URL")
        elif len(url.encode()) > settings.url_length:
            complaints.append(f"{place}: {url[:100]!r}... is longer than seeder.url_length = {settings.url_length}")
        elif not urls.classify(url).page:
            complaints.append(f"{place}: {url[:100]!r} is not a page by its extension; only pages are asked for")
        else:
            found[url] = None
    return Seeds(tuple(found), tuple(complaints))


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
