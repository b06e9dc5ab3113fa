"""URLs: their canonical form, their parts, their class, and which of them a crawl accepts. Pure."""

from gossamer.urls.canonical import SESSION_IDS, Joiner, canonical
from gossamer.urls.classify import UrlClass, classify
from gossamer.urls.parts import Parts, fingerprint, host, origin, site_name, split
from gossamer.urls.scope import Scope, registrable

__all__ = [
    "SESSION_IDS", "Joiner", "Parts", "Scope", "UrlClass", "canonical", "classify", "fingerprint", "host", "origin",
    "registrable", "site_name", "split",
]  # fmt: skip
