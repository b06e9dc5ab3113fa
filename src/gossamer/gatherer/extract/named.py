"""Extraction as the reader uses it. What few crawls need is imported only if the settings name it."""

from __future__ import annotations

from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser

from gossamer.config.settings import PluginSettings
from gossamer.plugins.kinds import BUILT_IN
from gossamer.urls import Scope

Extract = Callable[[LexborHTMLParser, bytes, str], bytes]
"""Takes tree, markup and charset of a page; returns the lines of all tables that it fills (`plugins/rows.py`)."""
ExtractOf = Callable[[str, int], Extract]
"""Takes the URL of a page, and the session parameters that are proven at its site (`Scope.proving`)."""


def extractor(settings: PluginSettings, scope: Scope) -> ExtractOf | None:
    """What fills the tables of the settings; None if they name none that needs no code of the user."""
    if not settings.extract and not any(name in BUILT_IN for name in settings.process):
        return None
    from gossamer.gatherer.extract.extractor import Extractor
    from gossamer.gatherer.extract.page import extracted

    own = Extractor(settings)

    def of(url: str, proven: int) -> Extract:
        return lambda tree, markup, charset: own(extracted(url, tree, markup, charset, scope, proven))

    return of
