"""The parts of a canonical URL, by plain string operations, and its fingerprint.

All functions take URLs in canonical form: scheme and host in lower case, no user information, a path of at least "/".
"""

from __future__ import annotations

from dataclasses import dataclass

from xxhash import xxh3_64_intdigest


@dataclass(frozen=True, slots=True)
class Parts:
    scheme: str
    host: str
    """As written in the URL: an IPv6 address keeps its brackets."""
    port: int
    path: str
    """Path and query; begins with "/"."""


def split(url: str) -> Parts:
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    name, port = _name_and_port(authority)
    return Parts(scheme, name, port or (443 if scheme == "https" else 80), "/" + path)


def origin(url: str) -> str:
    """Scheme, host and port, the port always written: "https://example.org:443"."""
    scheme, _, rest = url.partition("://")
    authority = rest[: rest.index("/")]
    if _name_and_port(authority)[1]:
        return f"{scheme}://{authority}"
    return f"{scheme}://{authority}:{443 if scheme == 'https' else 80}"


def host(url: str) -> str:
    start = url.index("://") + 3
    return _name_and_port(url[start : url.index("/", start)])[0]


def port_text(url: str) -> str:
    """The port as written in the URL, or the default port of its scheme."""
    start = url.index("://") + 3
    authority = url[start : url.index("/", start)]
    if ":" not in authority or authority[-1] == "]":
        return "443" if url.startswith("https:") else "80"
    return authority.rpartition(":")[2]


def folder(url: str) -> str:
    """The URL of the folder that contains a page: /a/ for /a/b and for /a/b/."""
    path = url.partition("?")[0]
    root = path.index("/", 8)
    return path[: max(root, path.rfind("/", root, len(path) - 1)) + 1]


def _name_and_port(authority: str) -> tuple[str, int]:
    """Host and port; port 0 if none is written. The colons of an IPv6 address are inside its brackets."""
    if ":" not in authority or authority[-1] == "]":
        return authority, 0
    name, _, port = authority.rpartition(":")
    return name, int(port)


def fingerprint(text: str | bytes, seed: int) -> int:
    """A 64-bit hash (xxh3) with the random seed of the collection, so that nobody can prepare URLs that collide."""
    return xxh3_64_intdigest(text.encode() if isinstance(text, str) else text, seed)
