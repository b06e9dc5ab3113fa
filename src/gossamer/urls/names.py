"""Host names: IP addresses, registrable domains, and names with and without `www.`.

`www.example.org` and `example.org` are one site (A.2.5). The prefix is removed if the rest is a name that can be
registered: `www.com` and `www.co.uk` stay as they are.

A host of more than `LONGEST_HOST` characters has no address, and pages may name as many of them as they like: it keeps
its `www.`, and nothing is remembered of it. (A link to 4,000 `www.` took 0.2 s, and the memory of hosts a gigabyte.)

Invariant: `without_www_is_idempotent`: without_www(without_www(host)) == without_www(host).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from publicsuffixlist import PublicSuffixList

LONGEST_HOST: Final = 254
"""Characters of a name that has an address, with a final dot (RFC 1035, 2.3.4)."""
_WWW: Final = "www."
_NAMES_WWW: Final = re.compile(r"\s*(?:https?:)?//www\.", re.IGNORECASE).match


def is_address(host: str) -> bool:
    """Whether a host is an IP address: IPv4 (in canonical form, only its last label is a number) or bracketed IPv6."""
    return host[:1] == "[" or host.rpartition(".")[2].isdecimal()


def registrable(host: str) -> str:
    """The registrable domain of a host by the public suffix list; the host itself if it has none."""
    return _registrable(host) if len(host) <= LONGEST_HOST else _registrable.__wrapped__(host)


@lru_cache(maxsize=1 << 16)
def _registrable(host: str) -> str:
    if is_address(host) or "." not in host:
        return host
    return _suffixes().privatesuffix(host) or host


def without_www(host: str) -> str:
    """The host without `www.`. `host`: as in a canonical URL, including a final dot."""
    return _without_www(host) if len(host) <= LONGEST_HOST else host


@lru_cache(maxsize=1 << 16)
def _without_www(host: str) -> str:
    while host.startswith(_WWW):
        rest = host[len(_WWW) :]
        name = rest.removesuffix(".")
        if "." not in name[1:] or is_address(name) or _suffixes().is_public(name):
            break
        host = rest
    return host


def bare(url: str) -> str:
    """The URL without the `www.` of its host. `url`: absolute, with scheme and host in lower case."""
    start = url.index("//") + 2
    if not url.startswith(_WWW, start):
        return url
    end = url.index("/", start)
    name, colon, port = url[start:end].partition(":")
    return f"{url[:start]}{without_www(name)}{colon}{port}{url[end:]}"


def spelled(url: str, www: bool) -> str:
    """A canonical URL in the form in which it is requested: with `www.` before its host if `www` is true."""
    if not www:
        return url
    start = url.index("//") + 2
    return f"{url[:start]}{_WWW}{url[start:]}"


def are_twins(one: str, other: str) -> bool:
    """Whether two host names are two names of one host: they differ by one leading `www.`."""
    return one == f"{_WWW}{other}" or other == f"{_WWW}{one}"


def has_www(reference: str) -> bool:
    """Whether a reference, as written in a page, names a host that begins with `www.`."""
    return _NAMES_WWW(reference) is not None


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    """The public suffix list, loaded on first use (50 ms)."""
    return PublicSuffixList()
