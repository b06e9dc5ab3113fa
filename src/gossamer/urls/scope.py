"""Which URLs a crawl accepts, by URL and settings alone: what a worker can decide without the desk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

from gossamer.urls.canonical import SESSION_IDS


@dataclass(frozen=True, slots=True)
class Scope:
    """Domain suffixes, the longest URL, and the session parameters to remove before either is looked at."""

    domains: tuple[str, ...]
    """ "example.org" accepts itself and every name below it; "*" accepts all; an address accepts itself only."""
    url_length: int = 2_000
    """Bytes of the canonical form."""
    session_ids: tuple[str, ...] = SESSION_IDS

    def accepts(self, host: str) -> bool:
        """`host` as in a canonical URL."""
        return _accepts(self.domains, host)


@lru_cache(maxsize=1 << 16)
def _accepts(domains: tuple[str, ...], host: str) -> bool:
    if "*" in domains or host in domains:
        return True
    return not is_address(host) and any(host.endswith(f".{d}") for d in domains if d and not is_address(d))


def is_address(host: str) -> bool:
    """An IPv4 address (in canonical form the last label is a number only there) or a bracketed IPv6 one."""
    return host[:1] == "[" or host.rpartition(".")[2].isdecimal()


@lru_cache(maxsize=1 << 16)
def registrable(host: str) -> str:
    """The domain that somebody registered, by the public suffix list; the host itself if it has none."""
    if is_address(host) or "." not in host:
        return host
    return _suffixes().privatesuffix(host) or host


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    """Read on first use: 50 ms."""
    return PublicSuffixList()
