"""URLs: canonical form, parts, class, and the scope of a crawl. Pure functions."""

from gossamer.urls.canonical import Joiner, canonical
from gossamer.urls.classify import UrlClass, extension
from gossamer.urls.names import are_twins, has_www, registrable, spelled, without_www
from gossamer.urls.parts import fingerprint, folder, host, origin, port_text, split
from gossamer.urls.scope import Join, Scope, classify

__all__ = [
    "Join",
    "Joiner",
    "Scope",
    "UrlClass",
    "are_twins",
    "canonical",
    "classify",
    "extension",
    "fingerprint",
    "folder",
    "has_www",
    "host",
    "origin",
    "port_text",
    "registrable",
    "spelled",
    "split",
    "without_www",
]
